"""Builds and queries the peers of the search benchmark.

    peers.py KIND build LOG DIR        writes files below DIR, prints what it cost as JSON
    peers.py KIND ask DIR TURNS URL    runs the queries, a JSON list on standard input, prints the results; URL is a slow store or empty

Processor times are those of the whole process; importing modules and reading Python's own files is not counted, nor is it for any other contestant.
Every query reopens the files.
"""
import json
import os
import resource
import sys
import time
import urllib.request

os.environ.setdefault("LANCE_CPU_THREADS", "1")
os.environ.setdefault("TOKIO_WORKER_THREADS", "1")

import pyarrow as pa

kind, action = sys.argv[1], sys.argv[2]


def processor():
    return time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)


def batches(path):
    with pa.memory_map(path) as source:
        reader = pa.ipc.open_file(source)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)


def schema_of(path):
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).schema


def size(path):
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


class Tantivy:
    """Words of the message, and trace ids as wholes, without positions; all columns stored. One thread indexes."""

    def __init__(self):
        import tantivy
        self.tantivy = tantivy
        self.version = tantivy.__version__

    def build(self, log, dir, step):
        t = self.tantivy
        b = t.SchemaBuilder()
        b.add_integer_field("t", stored=True, indexed=False)
        for name in ("level", "service", "host"):
            b.add_bytes_field(name, stored=True, indexed=False)
        b.add_text_field("trace", stored=True, tokenizer_name="raw", index_option="basic")
        b.add_text_field("message", stored=True, tokenizer_name="default", index_option="basic")
        os.makedirs(dir + "/index")
        index = t.Index(b.build(), path=dir + "/index")
        writer = index.writer(heap_size=512 << 20, num_threads=1)
        Document = t.Document
        for batch in batches(log):
            times = batch.column(0).cast(pa.int64()).to_pylist()
            rest = [c.cast(pa.large_binary()).to_pylist() for c in batch.columns[1:4]] + [c.to_pylist() for c in batch.columns[4:6]]
            for when, level, service, host, trace, message in zip(times, *rest):
                d = Document()
                d.add_integer("t", when)
                d.add_bytes("level", level)
                d.add_bytes("service", service)
                d.add_bytes("host", host)
                d.add_text("trace", trace)
                d.add_text("message", message)
                writer.add_document(d)
        step("documents")
        writer.commit()
        writer.wait_merging_threads()
        step("commit and merges")
        stored = sum(os.path.getsize(os.path.join(dir, "index", n)) for n in os.listdir(dir + "/index") if n.endswith(".store"))
        return stored, size(dir) - stored

    def open(self, dir, url):
        return self.tantivy.Index.open(dir + "/index")

    def ask(self, index, q):
        t, text = self.tantivy.Query, q["text"]
        s = index.schema

        def term(field, value):
            return t.term_query(s, field, value, index_option="basic")

        if q["kind"] == "all":
            query = t.boolean_query([(self.tantivy.Occur.Must, term("message", w)) for w in text.split()])
        elif q["kind"] == "prefix":
            query = t.regex_query(s, "message", text + ".*")
        elif q["kind"] == "substring":  # within a word: a search of all terms
            query = t.regex_query(s, "message", ".*" + text + ".*")
        else:
            query = term("trace" if q["kind"] == "trace" else "message", text)
        query = t.const_score_query(query, 1.0)
        searcher = index.searcher()
        if not q["rows"]:
            return searcher.search(query, limit=1, count=True).count
        hits = searcher.search(query, limit=q["rows"], count=False).hits
        return len([searcher.doc(address).to_dict() for _, address in hits])


class Lance:
    """A dataset with an inverted index of the message without positions, and a B-tree of the trace id."""

    def __init__(self):
        import lance
        self.lance = lance
        self.version = lance.__version__

    def build(self, log, dir, step):
        schema = schema_of(log)
        data = self.lance.write_dataset(pa.RecordBatchReader.from_batches(schema, batches(log)), dir + "/log.lance")
        step("data")
        stored = size(dir)
        data.create_scalar_index("message", "INVERTED", with_position=False, base_tokenizer="simple", lower_case=True,
                                 stem=False, remove_stop_words=False, ascii_folding=False)
        step("text index")
        data.create_scalar_index("trace", "BTREE")
        step("trace index")
        return stored, size(dir) - stored

    def open(self, dir, url):
        if not url:
            return self.lance.dataset(dir + "/log.lance")
        options = {"endpoint": url, "allow_http": "true", "region": "us-east-1", "access_key_id": "none", "secret_access_key": "none",
                   "virtual_hosted_style_request": "false"}
        return self.lance.dataset("s3://log/log.lance", storage_options=options)

    def ask(self, data, q):
        from lance.query import BooleanQuery, MatchQuery, Occur, FullTextOperator
        text, kind = q["text"], q["kind"]
        if kind == "trace":
            how = {"filter": f"trace = '{text}'"}
        elif kind == "prefix":  # no query of the index is one of prefixes: a scan
            how = {"filter": f"message LIKE '% {text}%'"}
        elif kind == "substring":
            how = {"filter": f"message LIKE '%{text}%'"}
        elif kind == "all":
            how = {"full_text_query": MatchQuery(text, "message", operator=FullTextOperator.AND)}
        else:
            how = {"full_text_query": MatchQuery(text, "message")}
        if q["rows"]:
            return data.scanner(limit=q["rows"], **how).to_table().num_rows
        if "filter" in how:
            return data.count_rows(filter=how["filter"])
        return sum(b.num_rows for b in data.scanner(columns=[], with_row_id=True, **how).to_batches())


class DuckDB:
    """A Parquet file with zstd, trace ids with dictionaries and so with Bloom filters; words are looked for by LIKE."""

    def __init__(self):
        import duckdb
        self.duckdb = duckdb
        self.version = duckdb.__version__

    def build(self, log, dir, step):
        con = self.duckdb.connect()
        con.execute("SET threads = 1; SET preserve_insertion_order = true; SET enable_progress_bar = false")
        reader = pa.RecordBatchReader.from_batches(schema_of(log), batches(log))
        con.execute(f"COPY (SELECT * FROM reader) TO '{dir}/log.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880, "
                    "DICTIONARY_SIZE_LIMIT 122880, STRING_DICTIONARY_PAGE_SIZE_LIMIT 16000000, WRITE_BLOOM_FILTER true)")
        step("data")
        self.filters = con.execute(f"SELECT count(bloom_filter_offset) FROM parquet_metadata('{dir}/log.parquet') WHERE path_in_schema = 'trace'").fetchone()[0]
        if not self.filters:
            raise SystemExit("no Bloom filter of trace was written")
        return size(dir), 0

    def open(self, dir, url):
        con = self.duckdb.connect(config={"allow_unsigned_extensions": "true"})
        con.execute("SET threads = 1; SET enable_progress_bar = false")
        if url:
            import duckdb_ext
            path = os.path.join(os.path.dirname(duckdb_ext.__file__) if duckdb_ext.__file__ else list(duckdb_ext.__path__)[0],
                                f"extensions/v{self.version}/linux_amd64/httpfs.duckdb_extension")
            con.execute(f"LOAD '{path}'")
        self.file = f"{url}/log/log.parquet" if url else f"{dir}/log.parquet"
        return con

    def ask(self, con, q):
        text = q["text"]
        where = {"trace": f"trace = '{text}'", "prefix": f"message LIKE '% {text}%'",
                 "all": " AND ".join(f"message LIKE '%{w}%'" for w in text.split())}.get(q["kind"], f"message LIKE '%{text}%'")
        if q["rows"]:
            return con.execute(f"SELECT * FROM '{self.file}' WHERE {where} LIMIT {q['rows']}").fetch_arrow_table().num_rows
        return con.execute(f"SELECT count(*) FROM '{self.file}' WHERE {where}").fetchone()[0]


peer = {"tantivy": Tantivy, "lance": Lance, "duckdb": DuckDB}[kind]()


def build(log, dir):
    parts, last = [], [processor()]
    began, start = last[0], time.monotonic_ns()

    def step(what):
        now = processor()
        parts.append({"what": what, "processor": now - last[0]})
        last[0] = now

    data, index = peer.build(log, dir, step)
    print(json.dumps({"processor": processor() - began, "wall": time.monotonic_ns() - start, "data": data, "index": index, "parts": parts,
                      "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, "version": peer.version}))


def counted(url):
    if not url:
        return {}
    with urllib.request.urlopen(url + "/counters") as answer:
        return json.loads(answer.read())


def ask(dir, turns, url):
    out = []
    for q in json.load(sys.stdin):
        best = None
        for _ in range(turns):
            counted(url)
            used, start = processor(), time.monotonic_ns()
            got = peer.ask(peer.open(dir, url), q)
            a = {"got": got, "processor": processor() - used, "wall": time.monotonic_ns() - start, **counted(url)}
            if best is None or a["processor"] < best["processor"]:
                best = a
            if a["processor"] > 1e9:
                break
        out.append(best)
    print(json.dumps(out))


if action == "build":
    build(sys.argv[3], sys.argv[4])
else:
    ask(sys.argv[3], int(sys.argv[4]), sys.argv[5])
