"""Measures how fast clients read a table, against servers and formats that do as little as possible.

    bench/clients/run [--scale 0.5] [--rounds 5] [--page bench/performance/page/500-clients.md]

builds what is needed and calls this. lineitem and orders of TPC-H are made by tpchgen-cli as Parquet with zstd, and landed in tables. Then, in
turns, so that a machine that is busy for a while is busy for all: the whole of lineitem as Arrow over HTTP and Flight, and the very same Arrow
stream as a file from nginx and from Python's http.server; the queries of TPC-H in the tests, by DuckDB and Spark, of tables and of the
Parquet files. Every figure is the median, with the lowest and the highest; the processor time is that of the server.
"""

import argparse
import getpass
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

import duckdb
import pyarrow as pa
import pyarrow.flight

import shardcat

QUESTIONS = {
    "needle: all columns of one row": "SELECT * FROM lineitem WHERE l_orderkey = 4801 AND l_linenumber = 2",
    "two columns": "SELECT sum(l_orderkey), sum(l_quantity) FROM lineitem",
    "filter: one month": "SELECT count(*), sum(l_extendedprice) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-02-01'",
    "aggregate": "SELECT l_returnflag, sum(l_quantity), count(*) FROM lineitem GROUP BY l_returnflag",
    "join": "SELECT o_orderpriority, count(*), sum(l_extendedprice) FROM orders JOIN lineitem ON o_orderkey = l_orderkey WHERE o_orderdate < DATE '1992-03-01' GROUP BY o_orderpriority",
}
MONTH = "l_shipdate >= '1994-01-01T00:00:00Z' AND l_shipdate < '1994-02-01T00:00:00Z'"
# What a client without DuckDB's plan has to read: table, columns, filter.
READS = {
    "needle: all columns of one row": [("lineitem", None, "l_orderkey = 4801 AND l_linenumber = 2")],
    "two columns": [("lineitem", ["l_orderkey", "l_quantity"], None)],
    "filter: one month": [("lineitem", ["l_extendedprice", "l_shipdate"], MONTH)],
    "aggregate": [("lineitem", ["l_returnflag", "l_quantity"], None)],
    "join": [("lineitem", ["l_orderkey", "l_extendedprice"], None), ("orders", ["o_orderkey", "o_orderpriority", "o_orderdate"], "o_orderdate < '1992-03-01T00:00:00Z'")],
}


class Server:
    """A process that prints its address on its first line, or not at all."""

    def __init__(self, command, speaks=True, **env):
        self.run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **env})
        self.said = self.run.stdout.readline() if speaks else ""

    def seconds(self):
        """Processor time so far, of this process and its children."""
        ticks = 0
        for pid in [str(self.run.pid), *children(self.run.pid)]:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def peak(self):
        with open(f"/proc/{self.run.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

    def stop(self):
        self.run.send_signal(signal.SIGTERM)
        self.run.wait()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return f.read().split()


def over_http(url):
    with urllib.request.urlopen(url) as answer:
        return sum(b.num_rows for b in pa.ipc.open_stream(answer))


def over_flight(address, query):
    with pa.flight.connect(address) as client:
        info = client.get_flight_info(pa.flight.FlightDescriptor.for_command(command(query)))
        return sum(chunk.data.num_rows for e in info.endpoints for chunk in client.do_get(e.ticket))


def command(query):
    """A CommandStatementQuery of Flight SQL, in an Any of protobuf; for texts below 128 bytes."""
    text = query.encode()
    statement = b"\x0a" + bytes([len(text)]) + text
    kind = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
    return b"\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(statement)]) + statement


class Lake:
    """The tables, the Parquet files that they were made of, and their servers."""

    def __init__(self, binary, flight, place, scale):
        self.binary, self.place = binary, place
        self.at = {"warehouse": f"{place}/warehouse", "catalog": f"sqlite:{place}/catalog.db"}
        self.flags = [f"--{k}={v}" for k, v in self.at.items()]
        if not os.path.exists(f"{place}/catalog.db"):
            generate = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
            subprocess.run([generate, "parquet", "-s", str(scale), "-c", "ZSTD(1)", "--row-group-bytes", "64MB", "--output-dir", place, "--tables", "lineitem,orders"], check=True)
            for table in "lineitem", "orders":
                subprocess.run([binary, *self.flags, "ingest", table, f"{place}/{table}.parquet", "--create"], check=True, stdout=subprocess.DEVNULL)
                subprocess.run([binary, *self.flags, "policy", "set", table, "pause=true"], check=True, stdout=subprocess.DEVNULL)
        self.http = Server([binary, *self.flags, "serve", "--listen", "127.0.0.1:0", "--json"])
        self.url = json.loads(self.http.said)["url"].rstrip("/")
        self.flight = Server([flight, *self.flags, "--listen", "127.0.0.1:0"])
        self.address = "grpc://" + self.flight.said.split()[-1]
        self.tables = shardcat.connect(binary=binary, **self.at)
        self.rows = self.tables.table("lineitem").describe()["rows"]

    def stop(self):
        self.http.stop()
        self.flight.stop()


def files(lake, nginx):
    """The Arrow stream of lineitem as files, compressed and not, and the servers that serve them."""
    folder = f"{lake.place}/files"
    os.makedirs(folder, exist_ok=True)
    for compression in "zstd", "none":
        with urllib.request.urlopen(f"{lake.url}/v1/tables/lineitem/rows?format=arrow&compression={compression}") as answer, open(f"{folder}/{compression}", "wb") as f:
            while piece := answer.read(1 << 20):
                f.write(piece)
    python = Server([sys.executable, "-u", "-m", "http.server", "-b", "127.0.0.1", "-d", folder, "0"])
    servers = {"python -m http.server": (python, f"http://127.0.0.1:{python.said.split()[5]}")}
    if nginx:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(f"{lake.place}/nginx.conf", "w") as f:
            f.write(f"daemon off; user {getpass.getuser()}; worker_processes 1; error_log /dev/null; pid {lake.place}/nginx.pid; events {{}}\n"
                    f"http {{ access_log off; sendfile on; client_body_temp_path {lake.place}/body; proxy_temp_path {lake.place}/proxy; fastcgi_temp_path {lake.place}/fastcgi;\n"
                    f"uwsgi_temp_path {lake.place}/uwsgi; scgi_temp_path {lake.place}/scgi; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
        servers["nginx"] = (Server([nginx, "-c", f"{lake.place}/nginx.conf", "-p", lake.place], speaks=False), f"http://127.0.0.1:{port}")
        time.sleep(1)
    return folder, servers


def throughput(lake, nginx, rounds):
    """Reads all of lineitem, in turns by every way."""
    folder, servers = files(lake, nginx)
    size = {c: os.path.getsize(f"{folder}/{c}") for c in ("zstd", "none")}
    ways = {}
    for compression, name in ("zstd", "zstd"), ("none", "not compressed"):
        rows = f"{lake.url}/v1/tables/lineitem/rows?format=arrow&compression={compression}"
        ways[f"shardcat serve, Arrow {name}"] = (lake.http, compression, lambda rows=rows: over_http(rows))
        for server, (run, url) in servers.items():
            ways[f"{server}, the same Arrow, {name}"] = (run, compression, lambda url=url, c=compression: over_http(f"{url}/{c}"))
    ways["shardcat-flight"] = (lake.flight, "none", lambda: over_flight(lake.address, "SELECT * FROM lineitem"))
    took = {w: ([], []) for w in ways}
    try:
        for n in range(rounds + 1):
            for way, (server, _, read) in ways.items():
                before, began = server.seconds(), time.perf_counter()
                assert read() == lake.rows, way
                if n:  # the first round is for caches
                    took[way][0].append(time.perf_counter() - began)
                    took[way][1].append(server.seconds() - before)
    finally:
        for run, _ in servers.values():
            run.stop()
    out = ["| way | MiB sent | seconds | MiB of values a second | seconds of the server's processor |", "| --- | ---: | ---: | ---: | ---: |"]
    for way, (wall, cpu) in took.items():
        sent = size[ways[way][1]] / (1 << 20)
        out.append(f"| {way} | {sent:.0f} | {spread(wall)} | {size['none'] / (1 << 20) / statistics.median(wall):.0f} | {statistics.median(cpu):.2f} |")
    return out + ["", f"Peak memory: {lake.http.peak():.0f} MiB of `shardcat serve`, {lake.flight.peak():.0f} MiB of `shardcat-flight`."]


def in_duckdb(lake, way, name, question, reads):
    c = duckdb.connect()
    for table in "lineitem", "orders":
        if way == "Parquet, zstd":
            c.execute(f"CREATE VIEW {table} AS FROM '{lake.place}/{table}.parquet'")
    if way != "Parquet, zstd":
        source = lake.tables if way == "the program" else shardcat.connect(lake.url)
        for table, columns, where in reads:
            c.register(table, source.table(table).to_arrow(columns=columns, where=where) if name == "join" else source.table(table).scan(columns=columns, where=where))
    return c.execute(question).fetchall()


def questions_in_duckdb(lake, sql, rounds):
    ways = ["Parquet, zstd", "the program", "the server"]
    asks = {w: lambda name, q, w=w: in_duckdb(lake, w, name, q, READS[name]) for w in ways}
    if sql:
        asks["shardcat-sql"] = lambda name, q: subprocess.run([sql, *lake.flags, q], check=True, stdout=subprocess.DEVNULL)
        ways.append("shardcat-sql")
    return table_of(ways, asks, rounds)


def questions_in_spark(lake, rounds):
    from pyspark.sql import SparkSession

    import shardcat.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4").config("spark.log.level", "ERROR")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").config("spark.sql.session.timeZone", "UTC").getOrCreate())
    shardcat.spark.register(spark)

    def ask(way, name, question):
        for table, columns, where in READS[name]:
            if way == "Parquet, zstd":
                frame = spark.read.parquet(f"{lake.place}/{table}.parquet")
            else:
                source = spark.read.format("shardcat").option("url", lake.url).option("splitSize", str(16 << 20))
                source = source.option("columns", ",".join(columns)) if columns else source
                frame = (source.option("where", where) if where else source).load(table)
            frame.createOrReplaceTempView(table)
        return spark.sql(question.replace("count(*)", "count(1)")).collect()

    ways = ["Parquet, zstd", "the server"]
    out = table_of(ways, {w: lambda name, q, w=w: ask(w, name, q) for w in ways}, rounds)
    spark.stop()
    return out


def table_of(ways, asks, rounds):
    took = {(name, w): [] for name in QUESTIONS for w in ways}
    for n in range(rounds + 1):
        for name, question in QUESTIONS.items():
            for w in ways:
                began = time.perf_counter()
                asks[w](name, question)
                if n:
                    took[name, w].append(time.perf_counter() - began)
    out = ["| question | " + " | ".join(ways) + " |", "| --- |" + " ---: |" * len(ways)]
    return out + [f"| {name} | " + " | ".join(spread(took[name, w]) for w in ways) + " |" for name in QUESTIONS]


def spread(seconds):
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f})"


def main():
    p = argparse.ArgumentParser()
    for name in "binary", "flight", "place":
        p.add_argument("--" + name, required=True)
    p.add_argument("--sql", help="the program shardcat-sql, to be measured as well")
    p.add_argument("--nginx", help="the program nginx, to be measured as well")
    p.add_argument("--scale", type=float, default=0.5)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--no-spark", action="store_true")
    p.add_argument("--page", help="the fragment of bench/results.md whose part between the marks of this program is replaced")
    o = p.parse_args()
    lake = Lake(o.binary, o.flight, o.place, o.scale)
    loads = [os.getloadavg()[0]]
    try:
        parts = {"Throughput": throughput(lake, o.nginx, o.rounds)}
        loads.append(os.getloadavg()[0])
        parts["Questions in DuckDB, seconds"] = questions_in_duckdb(lake, o.sql, o.rounds)
        loads.append(os.getloadavg()[0])
        if not o.no_spark:
            parts["Questions in Spark, two cores, seconds"] = questions_in_spark(lake, min(o.rounds, 3))
            loads.append(os.getloadavg()[0])
    finally:
        lake.stop()
    stored = lake.tables.table("lineitem").describe()["bytes"] / (1 << 20)
    head = (f"lineitem of scale {o.scale:g}: {lake.rows:,} rows; {os.path.getsize(lake.place + '/lineitem.parquet') / (1 << 20):.0f} MiB as Parquet with zstd, {stored:.0f} MiB as shards. "
            f"{os.cpu_count()} processors of {platform.machine()}, everything on one machine; its load was {', '.join(f'{x:.1f}' for x in loads)} before, between and after the parts. "
            f"{time.strftime('%Y-%m-%d', time.gmtime())}; DuckDB {duckdb.__version__}, pyarrow {pa.__version__}. Medians of {o.rounds} rounds (Spark {min(o.rounds, 3)}) with the lowest and the highest.")
    text = "\n\n".join([head, *(f"### {title}\n\n" + "\n".join(lines) for title, lines in parts.items())])
    print(text)
    if o.page:
        with open(o.page) as f:
            before, rest = f.read().split("<!-- clients -->\n", 1)
        before = time.strftime("recorded: %Y-%m-%d\n", time.gmtime()) + before.split("\n", 1)[1]
        with open(o.page, "w") as f:
            f.write(before + "<!-- clients -->\n\n" + text + "\n\n<!-- end of clients -->" + rest.split("<!-- end of clients -->", 1)[1])


if __name__ == "__main__":
    main()
