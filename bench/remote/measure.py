"""Tables on an object store that takes 30 ms a request, ours beside pyiceberg, delta-rs, Lance, DuckDB and polars.

    SHARDCAT_SERVERS=s3 .ci/servers python bench/remote/measure.py REMOTE PART...

REMOTE is the program of this folder (go build ./remote), whose proxy delays and counts the requests of every tool alike. The parts:

    writers   appends of 100 rows to one table by 1, 4, 16 and 64 writers
    appends   an append, the 101st append and the count after them; requests of each
    year      appends of 1 MB: requests by kind, compaction and expiry, for the price of a year
    scans     questions to a table of 200 appends of 15,000 rows, before and after each tool's compaction; APPENDS and ROWS_OF_APPEND
              change these numbers, ONLY names one tool

Each prints lines of JSON; `measure.py REMOTE table < LINES` makes a table of those of scans. The Python has pyiceberg with an SQL catalog, deltalake, pylance, polars,
duckdb and its extensions httpfs, iceberg, avro and ducklake."""
import atexit
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import pyarrow as pa

REMOTE, PARTS = sys.argv[1], sys.argv[2:]
STORE = urllib.parse.urlparse(os.environ.get("SHARDCAT_TEST_S3", ""))
OPTIONS = dict(urllib.parse.parse_qsl(STORE.query))
BUCKET = STORE.netloc
DIR = os.environ.setdefault("REMOTE_DIR", tempfile.mkdtemp())  # also for the processes of writers
SECONDS = float(os.environ.get("SECONDS", "8"))
MOST_PROCESSES = 16  # of the peers: each is a Python of some 200 MB
os.environ.pop("AWS_ENDPOINT_URL_S3", None)  # which goes around the proxy
RUN = str(time.time_ns())


def say(**what):
    print(json.dumps(what), flush=True)


class Proxy:
    """A proxy before the S3 server."""

    def __init__(self, delay):
        self.process = subprocess.Popen([REMOTE, "proxy", "-to", OPTIONS["endpoint"], "-delay", delay], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.url = self.process.stdout.readline().strip()

    def counts(self):
        with urllib.request.urlopen(self.url + "/-/counts") as answer:
            return json.load(answer)

    def close(self):
        self.process.kill()
        self.process.wait()


def mount(proxy, folder):
    return f"s3://{BUCKET}/{folder}?" + urllib.parse.urlencode({**OPTIONS, "endpoint": proxy})


def iceberg(proxy, folder, name="c"):
    from pyiceberg.catalog.sql import SqlCatalog

    s3 = {"s3.endpoint": proxy, "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"], "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"],
          "s3.region": os.environ.get("AWS_REGION", "us-east-1")} if proxy else {}
    at = f"s3://{BUCKET}/{folder}" if proxy else f"file://{DIR}/{folder}"
    return SqlCatalog(name, uri=f"sqlite:///{DIR}/{folder.replace('/', '-')}.db", warehouse=at, **s3)


def storage(proxy):
    """The options of delta-rs, Lance and polars."""
    return {"aws_endpoint": proxy, "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
            "aws_region": os.environ.get("AWS_REGION", "us-east-1"), "aws_allow_http": "true", "aws_conditional_put": "etag",
            "aws_virtual_hosted_style_request": "false"} if proxy else None


def rows(writer, n, count=100):
    return pa.table({"id": pa.array(range(n * count, (n + 1) * count), pa.int64()), "at": pa.array([time.time_ns() // 1000] * count, pa.int64()),
                     "text": [f"writer {writer} row {i}" for i in range(count)]})


# Writers

def pyiceberg_writer(proxy, folder):
    t = iceberg(proxy, folder).load_table("default.writers")

    def append(data):
        tries = 0
        while True:
            tries += 1
            try:
                t.refresh()
                t.append(data)
                return tries
            except Exception as e:
                if type(e).__name__ != "CommitFailedException" and "locked" not in str(e):
                    raise
                time.sleep(random.random() * 0.1)

    return append


def delta_writer(proxy, folder):
    from deltalake import CommitProperties, write_deltalake

    at = f"s3://{BUCKET}/{folder}/t" if proxy else f"{DIR}/{folder}/t"

    def append(data):
        write_deltalake(at, data, mode="append", storage_options=storage(proxy), commit_properties=CommitProperties(max_commit_retries=1000))
        return 1

    return append


def child(make, proxy, folder, writer, ready, begin, out):
    append = make(proxy, folder)
    ready.release()
    begin.wait()
    took, tries, failed, end = [], 0, 0, time.time() + SECONDS
    while time.time() < end:
        began = time.time()
        try:
            tries += append(rows(writer, len(took)))
            took.append(time.time() - began)
        except Exception as e:
            failed += 1
            print(type(e).__name__, str(e)[:200], file=sys.stderr)
    out.put((took, tries, failed))


def peers_write(make, proxy, folder, writers):
    context = multiprocessing.get_context("spawn")
    ready, begin, out = context.Semaphore(0), context.Event(), context.Queue()
    children = [context.Process(target=child, args=(make, proxy, folder, i, ready, begin, out)) for i in range(writers)]
    for c in children:
        c.start()
    for _ in children:
        ready.acquire()
    began = time.time()
    begin.set()
    all = [out.get() for _ in children]
    took = time.time() - began
    for c in children:
        c.join()
    seconds = sorted(s for each, _, _ in all for s in each)
    at = lambda share: seconds[int(share * (len(seconds) - 1))] if seconds else 0
    return {"appends": len(seconds), "per_second": len(seconds) / took, "tries": sum(t for _, t, _ in all) / max(1, len(seconds)), "p50": at(0.5), "p99": at(0.99),
            "max": at(1), "fewest": min(len(each) for each, _, _ in all), "errors": sum(f for _, _, f in all)}


def writers():
    slowly = Proxy("30ms")
    proxy = slowly.url
    uris = {"SQLite": None}
    for name, variable in ("PostgreSQL", "SHARDCAT_POSTGRES"), ("REST", "SHARDCAT_REST"):
        if os.environ.get(variable):
            uris = {name: os.environ[variable]}
    for slow in False, True:
        at = "30 ms" if slow else "local"
        if slow and "REST" in uris:  # whose server has no store but its folder
            continue
        for n in 1, 4, 16, 64:
            for catalog, uri in uris.items():
                for processes in False, True:
                    if processes and n > MOST_PROCESSES and slow:
                        continue
                    folder = f"{RUN}/w{slow:d}{n}{processes:d}"
                    args = ["-catalog", uri or f"sqlite:{DIR}/{folder.replace('/', '-')}.db", "-table", f"default.w{slow:d}_{n}_{processes:d}", "-writers", str(n), "-for", f"{SECONDS}s"]
                    local = os.environ.get("SHARDCAT_REST_WAREHOUSE", DIR) if catalog == "REST" else DIR
                    args += ["-warehouse", f"s3://{BUCKET}/{folder}", "-mount", mount(proxy, folder)] if slow else ["-warehouse", f"{local}/{folder}"]
                    done = subprocess.run([REMOTE, "writers", *args, *(["-processes"] if processes else [])], stdout=subprocess.PIPE, text=True)
                    if done.returncode == 0:
                        say(part="writers", store=at, writers=n, who=f"shardcat, {catalog}, {'processes' if processes else 'one process'}", **json.loads(done.stdout))
            if "SQLite" not in uris or n > MOST_PROCESSES:
                continue
            through = proxy if slow else None
            folder = f"{RUN}/i{slow:d}{n}"
            if through is None:
                os.makedirs(f"{DIR}/{folder}", exist_ok=True)
            c = iceberg(through, folder)
            c.create_namespace("default")
            c.create_table("default.writers", rows(0, 0).schema)
            say(part="writers", store=at, writers=n, who="pyiceberg, SQLite, processes", **peers_write(pyiceberg_writer, through, folder, n))
            delta_writer(through, folder + "d")(rows(0, 0))
            say(part="writers", store=at, writers=n, who="delta-rs, processes", **peers_write(delta_writer, through, folder + "d", n))
    slowly.close()


# Appends and the price of a year

class Tool:
    """A table of one tool; each call reopens it, as a new process does."""

    def __init__(self, proxy, folder, slow=None):
        self.proxy, self.folder, self.slow = proxy, folder, slow

    def prepare(self):
        """What is done once after the appends, before questions."""


def ours(part, proxy):
    """This project's side of a part."""
    folder = f"{RUN}/{part}ours"
    done = subprocess.run([REMOTE, part, "-catalog", f"sqlite:{DIR}/{part}-ours.db", "-warehouse", f"s3://{BUCKET}/{folder}", "-mount", mount(proxy.url, folder)],
                          stdout=subprocess.PIPE, check=True, text=True)
    for line in done.stdout.splitlines():
        say(part=part, **json.loads(line))


class PyIceberg(Tool):
    name = "pyiceberg"

    def table(self):
        return iceberg(self.proxy, self.folder).load_table("default.t")

    def create(self, data):
        c = iceberg(self.proxy, self.folder)
        c.create_namespace("default")
        c.create_table("default.t", data.schema)

    def append(self, data):
        self.table().append(data)

    def compact(self):
        t = self.table()
        t.overwrite(t.scan().to_arrow())

    def expire(self):
        t = self.table()
        t.maintenance.expire_snapshots().older_than(__import__("datetime").datetime.now()).commit()

    def count(self):
        return self.table().scan().count()


class Delta(Tool):
    name = "delta-rs"

    @property
    def at(self):
        return f"s3://{BUCKET}/{self.folder}/t"

    def table(self):
        from deltalake import DeltaTable

        return DeltaTable(self.at, storage_options=storage(self.proxy))

    def create(self, data):
        from deltalake import DeltaTable

        DeltaTable.create(self.at, data.schema, storage_options=storage(self.proxy))

    def append(self, data):
        from deltalake import write_deltalake

        write_deltalake(self.at, data, mode="append", storage_options=storage(self.proxy))

    def compact(self):
        self.table().optimize.compact()

    def expire(self):
        t = self.table()
        t.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        t.create_checkpoint()

    def count(self):
        return self.table().count()


class Lance(Tool):
    name = "Lance"

    @property
    def at(self):
        return f"s3://{BUCKET}/{self.folder}/t.lance"

    def table(self):
        import lance

        return lance.dataset(self.at, storage_options=storage(self.proxy))

    def create(self, data):
        self.append(data.slice(0, 0))

    def append(self, data):
        import lance

        lance.write_dataset(data, self.at, mode="append", storage_options=storage(self.proxy))

    def compact(self):
        self.table().optimize.compact_files()

    def expire(self):
        self.table().cleanup_old_versions(__import__("datetime").timedelta(0))

    def count(self):
        return self.table().count_rows()


PEERS = PyIceberg, Delta, Lance


def counted(proxy, do):
    """The requests and seconds of one call."""
    proxy.counts()
    began = time.time()
    out = do()
    return {"seconds": round(time.time() - began, 3), **{k: v for k, v in proxy.counts().items() if v}}, out


def megabyte(n):
    """About 1 MB of Parquet with zstd: numbers and words that hardly compress."""
    r = random.Random(n)
    count = 30_000
    return pa.table({"id": pa.array(range(n * count, (n + 1) * count), pa.int64()), "at": pa.array([1_760_000_000_000_000 + 2000 * i for i in range(count)], pa.int64()),
                     "value": pa.array([r.random() for _ in range(count)], pa.float64()), "noise": pa.array([r.getrandbits(63) for _ in range(count)], pa.int64())})


def year(appends=120, every=60):
    """Appends of 1 MB; a compaction and an expiry after each hour of them, then the same once more, so that a second one shows what history adds."""
    proxy = Proxy("0s")
    ours("year", proxy)
    for make in PEERS:
        tool = make(proxy.url, f"{RUN}/y{make.name}")
        tool.create(megabyte(0))
        for n in range(appends):
            took, _ = counted(proxy, lambda: tool.append(megabyte(n)))
            if n % 10 == 9 or n in (0, 1):
                say(part="year", who=tool.name, what=f"append {n + 1}", **took)
            if n % every == every - 1:
                for what in "compact", "expire":
                    took, _ = counted(proxy, getattr(tool, what))
                    say(part="year", who=tool.name, what=f"{what} after {n + 1}", **took)
    proxy.close()


def appends():
    """An append of 100 rows, the 101st, and the count of all rows."""
    proxy = Proxy("30ms")
    ours("appends", proxy)
    for make in PEERS:
        tool = make(proxy.url, f"{RUN}/a{make.name}")
        tool.create(rows(0, 0))
        for n in range(101):
            took, _ = counted(proxy, lambda: tool.append(rows(0, n)))
            if n in (1, 100):
                say(part="appends", who=tool.name, what=f"append {n + 1}", **took)
        took, count = counted(proxy, tool.count)
        say(part="appends", who=tool.name, what="count after 101 commits", rows=count, **took)
    proxy.close()


# Scans

APPENDS, ROWS_OF_APPEND = int(os.environ.get("APPENDS", "200")), int(os.environ.get("ROWS_OF_APPEND", "15000"))
WORDS = ("w007", "w011")  # each in one line of a hundred
PREFIX = "zq1"  # of one word in ten thousand lines


def logs(n):
    """Rows of an append: key, host and value are in no order."""
    import numpy as np

    r = np.random.default_rng(n)
    count = ROWS_OF_APPEND
    words = np.array([f"w{i:03d}" for i in range(1000)])
    common = words[r.integers(100, 1000, (count, 6))]
    text = [" ".join(line) for line in common]
    for word in WORDS:
        for i in np.flatnonzero(r.random(count) < 0.01):
            text[i] += " " + word
    for i in np.flatnonzero(r.random(count) < 0.0001):
        text[i] += f" {PREFIX}{i:05d}"
    ids = np.arange(n * count, (n + 1) * count)
    return pa.table({"id": pa.array(ids), "at": pa.array(1_760_000_000_000_000 + 2000 * ids),
                     "key": pa.array([f"{a:016x}" for a in r.integers(0, 1 << 62, count)]), "host": pa.array([f"host-{a:03d}" for a in r.integers(0, 500, count)]),
                     "value": pa.array(r.random(count)), "level": pa.array(r.integers(0, 5, count), pa.int32()), "text": pa.array(text)})


def has(word):
    return rf"\b{word}\b"


class PyIcebergScans(PyIceberg):
    """It has no order and no search in text."""

    def asked(self):
        return iceberg(self.slow, self.folder).load_table("default.t")

    def questions(self, key):
        scan = lambda **of: len(self.asked().scan(**of).to_arrow())
        yield "count", lambda: self.asked().scan().count()
        yield "filter on an unsorted column", lambda: scan(row_filter="value < 0.0005")
        yield "two columns of all rows", lambda: scan(selected_fields=("id", "value"))
        yield "all columns of all rows", lambda: scan()
        yield "one row by its key", lambda: scan(row_filter=f"key = '{key}'")


def duckdb_with(*extensions):
    import importlib
    from pathlib import Path

    import duckdb

    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in extensions:
        found = importlib.import_module(f"duckdb_extension_{name}")
        [file] = Path(found.__file__).parent.glob(f"extensions/*/{name}.duckdb_extension")
        con.execute(f"LOAD '{file}'")
    return con


def secret(con, proxy):
    con.execute(f"""CREATE SECRET (TYPE s3, KEY_ID '{os.environ["AWS_ACCESS_KEY_ID"]}', SECRET '{os.environ["AWS_SECRET_ACCESS_KEY"]}',
        REGION '{os.environ.get("AWS_REGION", "us-east-1")}', ENDPOINT '{urllib.parse.urlparse(proxy).netloc}', URL_STYLE 'path', USE_SSL false)""")


class DuckDBScans:
    """Questions in SQL, each by a new connection."""

    def questions(self, key):
        def ask(sql):
            def run():
                with self.connection() as con:
                    out = con.execute(sql.format(t=self.relation())).to_arrow_table()
                return out.column(0)[0].as_py() if sql.startswith("SELECT count") else len(out)

            return run

        for name, sql in (("count", "SELECT count(*) FROM {t}"), ("filter on an unsorted column", "SELECT * FROM {t} WHERE value < 0.0005"),
                          ("two columns of all rows", "SELECT id, value FROM {t}"), ("all columns of all rows", "SELECT * FROM {t}"),
                          ("top 10 of all rows", "SELECT * FROM {t} ORDER BY value DESC LIMIT 10"), ("one row by its key", f"SELECT * FROM {{t}} WHERE key = '{key}'"),
                          ("lines with two words", f"SELECT * FROM {{t}} WHERE regexp_matches(text, '{has(WORDS[0])}') AND regexp_matches(text, '{has(WORDS[1])}')"),
                          ("lines with a prefix", f"SELECT * FROM {{t}} WHERE regexp_matches(text, '\\b{PREFIX}')")):
            yield name, ask(sql)


class DuckDBIceberg(DuckDBScans, PyIcebergScans):
    """The Iceberg table of pyiceberg, which made it."""

    name = "DuckDB, Iceberg"

    def connection(self):
        con = duckdb_with("avro", "httpfs", "iceberg")
        secret(con, self.slow)
        return con

    def relation(self):
        return f"iceberg_scan('{iceberg(self.proxy, self.folder).load_table('default.t').metadata_location}')"


class DuckLake(DuckDBScans, Tool):
    name = "DuckLake"

    def attached(self, proxy):
        con = duckdb_with("httpfs", "ducklake")
        secret(con, proxy)
        con.execute(f"ATTACH 'ducklake:{DIR}/{self.folder.replace('/', '-')}.ducklake' AS l (DATA_PATH 's3://{BUCKET}/{self.folder}/')")
        return con

    def connection(self):
        return self.attached(self.slow)

    def relation(self):
        return "l.t"

    def create(self, data):
        self.con = self.attached(self.proxy)
        self.con.execute("CREATE TABLE l.t AS SELECT * FROM data LIMIT 0")

    def append(self, data):
        self.con.execute("INSERT INTO l.t SELECT * FROM data")

    def prepare(self):
        self.con.close()

    def compact(self):
        con = self.attached(self.proxy)
        con.execute("CALL ducklake_merge_adjacent_files('l')")
        con.close()


class PolarsDelta(Delta):
    """polars over the table of delta-rs."""

    name = "polars, delta-rs"

    def questions(self, key):
        import polars as pl

        c = pl.col
        frame = lambda: pl.scan_delta(self.at, storage_options=storage(self.slow))
        rows = lambda q: len(q.collect())
        yield "count", lambda: frame().select(pl.len()).collect().item()
        yield "filter on an unsorted column", lambda: rows(frame().filter(c("value") < 0.0005))
        yield "two columns of all rows", lambda: rows(frame().select("id", "value"))
        yield "all columns of all rows", lambda: rows(frame())
        yield "top 10 of all rows", lambda: rows(frame().sort("value", descending=True).head(10))
        yield "one row by its key", lambda: rows(frame().filter(c("key") == key))
        yield "lines with two words", lambda: rows(frame().filter(c("text").str.contains(has(WORDS[0])) & c("text").str.contains(has(WORDS[1]))))
        yield "lines with a prefix", lambda: rows(frame().filter(c("text").str.contains(rf"\b{PREFIX}")))


class LanceScans(Lance):
    """With an index of the key and one of words."""

    def prepare(self):
        t = self.table()
        t.create_scalar_index("key", "BTREE")
        t.create_scalar_index("text", "INVERTED", with_position=False, stem=False, remove_stop_words=False)

    def compact(self):
        t = self.table()
        t.optimize.compact_files()
        t.optimize.optimize_indices()

    def questions(self, key):
        import lance
        from lance.query import BooleanQuery, MatchQuery, Occur

        t = lambda: lance.dataset(self.at, storage_options=storage(self.slow))
        two = lambda: BooleanQuery([(Occur.MUST, MatchQuery(w, "text")) for w in WORDS])
        yield "count", lambda: t().count_rows()
        yield "filter on an unsorted column", lambda: t().to_table(filter="value < 0.0005").num_rows
        yield "two columns of all rows", lambda: t().to_table(columns=["id", "value"]).num_rows
        yield "all columns of all rows", lambda: t().to_table().num_rows
        yield "one row by its key", lambda: t().to_table(filter=f"key = '{key}'").num_rows
        yield "lines with two words", lambda: t().to_table(full_text_query=two(), limit=1_000_000).num_rows
        yield "lines with a prefix", lambda: t().to_table(filter=f"regexp_like(text, '\\b{PREFIX}')").num_rows


def scans():
    """Each question by a new reader, with its start, but without loading of modules; appends and compaction go around the delay."""
    import pyarrow.parquet as pq

    os.makedirs(f"{DIR}/data", exist_ok=True)
    for n in range(APPENDS):
        if not os.path.exists(f"{DIR}/data/{n:04d}.parquet"):
            pq.write_table(logs(n), f"{DIR}/data/{n:04d}.parquet", compression="zstd")
    key = pq.read_table(f"{DIR}/data/{APPENDS // 2:04d}.parquet", columns=["key"]).column(0)[77].as_py()
    only = os.environ.get("ONLY", "")
    fast, slow = Proxy("0s"), Proxy("30ms")
    if only in ("", "shardcat"):
        folder = f"{RUN}/scansours"
        subprocess.run([REMOTE, "scans", "-catalog", f"sqlite:{DIR}/scans-{RUN}.db", "-warehouse", f"s3://{BUCKET}/{folder}", "-mount", mount(fast.url, folder),
                        "-slow", mount(slow.url, folder), "-data", f"{DIR}/data", "-key", key], check=True, text=True)
    for make in PyIcebergScans, PolarsDelta, DuckDBIceberg, LanceScans, DuckLake:
        if only not in ("", make.__name__):
            continue
        tool = make(fast.url, f"{RUN}/s{make.__name__}", slow.url)
        tool.create(logs(0).slice(0, 0))
        for n in range(APPENDS):
            tool.append(pq.read_table(f"{DIR}/data/{n:04d}.parquet"))
        tool.prepare()
        for when in "before", "after":
            if when == "after":
                took, _ = counted(fast, tool.compact)
                say(part="scans", who=tool.name, what="compact", **took)
            for name, run in tool.questions(key):
                try:
                    took, n = counted(slow, run)
                    say(part="scans", who=tool.name, what=f"{when}: {name}", rows=n, **took)
                except Exception as e:
                    say(part="scans", who=tool.name, what=f"{when}: {name}", error=f"{type(e).__name__}: {e}"[:300])
    fast.close()
    slow.close()


def table():
    """The lines of scans as a table: seconds and requests before and after a compaction. Rows that differ are an error."""
    cells, rows, whats, tools = {}, {}, [], []
    for line in sys.stdin:
        if not line.startswith("{"):
            continue
        e = json.loads(line)
        if ": " not in e["what"]:
            continue
        when, what = e["what"].split(": ", 1)
        cells[e["who"], what, when] = "failed" if "error" in e else f"{e['seconds']:.2f} s, {sum(e.get(k, 0) for k in ('Get', 'Head', 'List', 'Post', 'Put'))}"
        if "error" not in e and rows.setdefault(what, e["rows"]) != e["rows"]:
            raise SystemExit(f"{e['who']}: {what}: {e['rows']} rows, others have {rows[what]}")
        whats += [what] * (what not in whats)
        tools += [e["who"]] * (e["who"] not in tools)
    print("| question (rows) | " + " | ".join(tools) + " |\n| --- |" + " ---: |" * len(tools))
    for what in whats:
        each = [[cells.get((who, what, when), "–") for when in ("before", "after")] for who in tools]
        print(f"| {what} ({rows.get(what)}) | " + " | ".join("–" if b == a == "–" else f"{b} → {a}" for b, a in each) + " |")


if __name__ == "__main__":
    for part in PARTS:
        globals()[part]()
