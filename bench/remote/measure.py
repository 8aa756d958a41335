"""Tables on an object store that takes 30 ms a request, ours beside pyiceberg, delta-rs, Lance, DuckDB and polars.

    SHARDCAT_SERVERS=s3 .ci/servers python bench/remote/measure.py REMOTE PART...

REMOTE is the program of this folder (go build ./remote), whose proxy delays and counts the requests of every tool alike. The parts:

    writers   appends of 100 rows to one table by 1, 4, 16 and 64 writers
    appends   an append, the 101st append and the count after them; requests of each
    year      appends of 1 MB: requests by kind, compaction and expiry, for the price of a year

Each prints lines of JSON. The Python has pyiceberg with an SQL catalog, deltalake, pylance, polars, duckdb and its extensions httpfs, iceberg and avro."""
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
STORE = urllib.parse.urlparse(os.environ["SHARDCAT_TEST_S3"])
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
    if os.environ.get("SHARDCAT_POSTGRES"):
        uris = {"PostgreSQL": os.environ["SHARDCAT_POSTGRES"]}
    for slow in False, True:
        at = "30 ms" if slow else "local"
        for n in 1, 4, 16, 64:
            for catalog, uri in uris.items():
                for processes in False, True:
                    if processes and n > MOST_PROCESSES and slow:
                        continue
                    folder = f"{RUN}/w{slow:d}{n}{processes:d}"
                    args = ["-catalog", uri or f"sqlite:{DIR}/{folder.replace('/', '-')}.db", "-table", f"default.w{slow:d}_{n}_{processes:d}", "-writers", str(n), "-for", f"{SECONDS}s"]
                    args += ["-warehouse", f"s3://{BUCKET}/{folder}", "-mount", mount(proxy, folder)] if slow else ["-warehouse", f"{DIR}/{folder}"]
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

    def __init__(self, proxy, folder):
        self.proxy, self.folder = proxy, folder

    def scan(self, columns=None, where=None):
        raise NotImplementedError


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


if __name__ == "__main__":
    for part in PARTS:
        globals()[part]()
