"""DuckDB and pyiceberg over the gateway, and over the same tables as Iceberg tables of zstd Parquet behind an S3 server.

    SHARDCAT_BINARY=shardcat SHARDCAT_SERVERS=s3 .ci/servers python bench/gateway/measure.py [SCALE [ROUNDS]]

.ci/servers starts the S3 server and names it by SHARDCAT_TEST_S3 (s3://BUCKET/PREFIX?endpoint=…). The Python has DuckDB and its extensions for
Iceberg, Avro, HTTP and TPC-H, and pyiceberg with s3fs and an SQL catalog, which writes the peer's tables as it does by default. Shards and Parquet
files have the same rows and types: decimals and dates are as a table of shards has them. Each number is the best of ROUNDS (default 5), the two
sides taking turns, with a new connection and warm servers; processor times are those of the same run, bytes what the client received."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse
from functools import partial

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../cmd/shardcat/testdata"))
os.environ.setdefault("SHARDCAT_READ_TOKEN", "read")

import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import duckdb_extension_tpch
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog

from gateway_tpch import TABLES, connect, make

COLUMNS = ("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus",
           "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode", "l_comment")
RANGE = "l_orderkey between 1000 and 1100"
# Planning is a filter that the manifest's bounds refuse.
QUERIES = {
    "planning": "select max(l_partkey) from {} where l_orderkey < 0",
    "count": "select count(*) from {}",
    "all sixteen columns": "select " + ", ".join(f"max({c})" for c in COLUMNS) + " from {}",
    "two columns": "select max(l_partkey), max(l_returnflag) from {}",
    "a range of the key, two columns": "select sum(l_partkey) from {} where " + RANGE,
}
SCANS = {
    "all sixteen columns": {},
    "two columns": {"selected_fields": ("l_partkey", "l_returnflag")},
    "a range of the key, two columns": {"selected_fields": ("l_orderkey", "l_partkey"), "row_filter": "l_orderkey >= 1000 and l_orderkey <= 1100"},
}


def processor(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def own():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1000


def received(con):
    """Bytes of the answers that DuckDB logged."""
    return con.execute("select coalesce(sum(response.headers['Content-Length']::bigint), 0), count(*) from duckdb_logs_parsed('HTTP') where request.type = 'GET'").fetchone()


def main(scale="0.1", rounds="5"):
    folder = tempfile.mkdtemp()
    make(folder, scale)
    at = ["--catalog", f"sqlite:{folder}/catalog.db", "--warehouse", f"{folder}/warehouse"]
    binary = os.environ["SHARDCAT_BINARY"]
    for table in TABLES:
        subprocess.run([binary, *at, "ingest", table, f"{folder}/{table}.parquet", "--create"], check=True, capture_output=True)
        subprocess.run([binary, *at, "policy", "set", table, "pause=true"], check=True, capture_output=True)
    server = subprocess.Popen([binary, *at, "serve", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    url = json.loads(server.stdout.readline())["url"].rstrip("/")
    s3 = urllib.parse.urlsplit(os.environ["SHARDCAT_TEST_S3"])
    endpoint = urllib.parse.parse_qs(s3.query)["endpoint"][0]
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID", "x"), os.environ.get("AWS_SECRET_ACCESS_KEY", "x")
    listening = subprocess.run(["ss", "-ltnpH", f"sport = :{urllib.parse.urlsplit(endpoint).port}"], capture_output=True, text=True).stdout
    store = int(listening.split("pid=")[1].split(",")[0])

    ours = RestCatalog("ours", uri=url + "/iceberg", token=os.environ["SHARDCAT_READ_TOKEN"])
    settings = {"uri": f"sqlite:///{folder}/peer.db", "warehouse": f"s3://{s3.netloc}/gateway", "s3.endpoint": endpoint, "s3.access-key-id": key,
                "s3.secret-access-key": secret, "s3.region": "us-east-1"}
    peer = SqlCatalog("peer", **settings)
    # The test server does not take pyarrow's uploads in parts.
    writer = SqlCatalog("peer", **settings, **{"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"})
    writer.create_namespace("default")
    at_peer = {}
    kinds = {}
    original = connect()
    for table in TABLES:
        rows = ours.load_table(("default", table)).scan().to_arrow()
        made = writer.create_table(("default", table), rows.schema)
        made.append(rows)
        at_peer[table] = made.metadata_location
        kinds[table] = original.execute(f"describe from '{folder}/{table}.parquet'").fetchall()

    extensions = duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg, duckdb_extension_tpch

    def open_gateway():
        con = connect(*extensions)
        con.execute(f"attach '' as cat (type iceberg, endpoint '{url}/iceberg', client_id 'me', client_secret '{os.environ['SHARDCAT_READ_TOKEN']}', "
                    f"oauth2_server_uri '{url}/iceberg/v1/oauth/tokens')")
        return con, lambda table: f"cat.default.{table}"

    def open_peer():
        con = connect(*extensions)
        at = urllib.parse.urlsplit(endpoint)
        con.execute(f"create secret (type s3, key_id '{key}', secret '{secret}', endpoint '{at.netloc}', url_style 'path', "
                    f"use_ssl {str(at.scheme == 'https').lower()}, region 'us-east-1')")
        return con, lambda table: f"iceberg_scan('{at_peer[table]}')"

    def duckdb(open_side, work, pid):
        con, source = open_side()
        con.execute("call enable_logging('HTTP')")
        before, served, start = own(), processor(pid), time.perf_counter()
        work(con, source)
        took = time.perf_counter() - start
        numbers = took * 1000, own() - before, processor(pid) - served
        size, requests = received(con)
        con.close()
        return *numbers, size / 1e6, requests

    def tpch(con, source):
        for table in TABLES:
            columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind, *_ in kinds[table])
            con.execute(f"create view {table} as select {columns} from {source(table)}")
        for n in range(1, 23):
            con.execute(f"pragma tpch({n})").fetchall()

    def pyiceberg(catalog, scan, pid):
        before, served, start = own(), processor(pid), time.perf_counter()
        catalog.load_table(("default", "lineitem")).scan(**scan).to_arrow()
        return (time.perf_counter() - start) * 1000, own() - before, processor(pid) - served, None, None

    def asked(query):
        return lambda con, source: con.execute(query.format(source("lineitem"))).to_arrow_table()

    # Each case is a run over the gateway and one over the peer.
    works = {name: asked(query) for name, query in QUERIES.items()} | {"TPC-H, 22 queries": tpch}
    cases = {("DuckDB", name): (partial(duckdb, open_gateway, work, server.pid), partial(duckdb, open_peer, work, store)) for name, work in works.items()}
    cases |= {("pyiceberg", name): (partial(pyiceberg, ours, scan, server.pid), partial(pyiceberg, peer, scan, store)) for name, scan in SCANS.items()}

    def best(runs):
        took, *rest = min(runs)
        client, served, size, requests = rest
        return f"{took:,.0f} | {client:,.0f} + {served:,.0f}" + ("" if size is None else f" | {size:,.1f} in {requests}")

    try:
        sizes = [os.path.getsize(os.path.join(f"{folder}", f"{t}.parquet")) for t in TABLES]
        print(f"scale {scale}, original files {sum(sizes) / 1e6:,.1f} MB; ms | processor ms of client + server | MB received in requests")
        for (client, name), (gateway, parquet) in cases.items():
            a, b = [], []
            for _ in range(int(rounds)):
                a.append(gateway())
                b.append(parquet())
            print(f"{client}, {name}\n    gateway  {best(a)}\n    Parquet  {best(b)}\n    {min(a)[0] / min(b)[0]:.1f} times", flush=True)
    finally:
        server.terminate()
        server.wait()


main(*sys.argv[1:])
