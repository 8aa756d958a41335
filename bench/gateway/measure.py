"""Times of DuckDB over the gateway and over the same table as zstd Parquet behind an S3 server.

    SHARDCAT_BINARY=shardcat SHARDCAT_SERVERS=s3 .ci/servers python bench/gateway/measure.py [SCALE]

.ci/servers starts the S3 server and names it by SHARDCAT_TEST_S3 (s3://BUCKET/PREFIX?endpoint=…). The Python has DuckDB and its extensions for
Iceberg, Avro, HTTP and TPC-H. Each number is the best of three, in milliseconds, with a new connection and warm servers."""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../cmd/shardcat/testdata"))
os.environ.setdefault("SHARDCAT_READ_TOKEN", "read")

import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import duckdb_extension_tpch

from gateway_tpch import TABLES, connect, make

QUERIES = {
    "count": "select count(*) from lineitem",
    "all columns": "select " + ", ".join(f"max({c})" for c in (
        "l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus",
        "l_shipdate", "l_commitdate", "l_receiptdate", "l_shipinstruct", "l_shipmode", "l_comment")) + " from lineitem",
    "two of sixteen columns": "select max(l_partkey), max(l_returnflag) from lineitem",
    "filter": "select sum(l_partkey) from lineitem where l_orderkey between 1000 and 1100",
}


def best(new, work):
    times = []
    for _ in range(3):
        con = new()
        start = time.perf_counter()
        work(con)
        times.append((time.perf_counter() - start) * 1000)
        con.close()
    return round(min(times), 1)


def tpch(con):
    for n in range(1, 23):
        con.execute(f"pragma tpch({n})").fetchall()


def main(scale):
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
    endpoint = urllib.parse.urlsplit(urllib.parse.parse_qs(s3.query)["endpoint"][0])
    extensions = duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg, duckdb_extension_tpch
    kinds = {}

    def parquet():
        con = connect(*extensions)
        con.execute(f"create secret (type s3, key_id '{os.environ.get('AWS_ACCESS_KEY_ID', 'x')}', secret '{os.environ.get('AWS_SECRET_ACCESS_KEY', 'x')}', "
                    f"endpoint '{endpoint.netloc}', url_style 'path', use_ssl {str(endpoint.scheme == 'https').lower()}, region 'us-east-1')")
        for table in TABLES:
            if kinds:
                con.execute(f"create view {table} as from 's3://{s3.netloc}/gateway/{table}.parquet'")
        return con

    con = parquet()
    for table in TABLES:
        con.execute(f"copy (from '{folder}/{table}.parquet') to 's3://{s3.netloc}/gateway/{table}.parquet' (compression zstd)")
        kinds[table] = con.execute(f"describe from '{folder}/{table}.parquet'").fetchall()

    def gateway():
        con = connect(*extensions)
        con.execute(f"attach '' as cat (type iceberg, endpoint '{url}/iceberg', client_id 'me', client_secret '{os.environ['SHARDCAT_READ_TOKEN']}', "
                    f"oauth2_server_uri '{url}/iceberg/v1/oauth/tokens')")
        for table in TABLES:
            columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind, *_ in kinds[table])
            con.execute(f"create view {table} as select {columns} from cat.default.{table}")
        return con

    try:
        print("| query | gateway, ms | zstd Parquet, ms |\n|---|---|---|")
        for name, work in {**{name: (lambda con, q=query: con.execute(q).fetchall()) for name, query in QUERIES.items()}, "TPC-H, 22 queries": tpch}.items():
            print(f"| {name} | {best(gateway, work)} | {best(parquet, work)} |", flush=True)
    finally:
        server.terminate()
        server.wait()


main(sys.argv[1] if len(sys.argv) > 1 else "0.1")
