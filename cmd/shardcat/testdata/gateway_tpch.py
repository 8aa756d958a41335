"""The queries of TPC-H by DuckDB, over tables read through the gateway and over the original Parquet files.

    gateway_tpch.py make FOLDER SCALE                writes the Parquet files of the eight tables
    gateway_tpch.py compare FOLDER URL TOKEN QUERY…  prints the number of queries with equal answers, and what differs"""
import math
import sys
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import duckdb_extension_tpch

TABLES = "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"


def connect(*extensions):
    con = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": "2"})
    for extension in extensions:
        name = extension.__name__.removeprefix("duckdb_extension_")
        [file] = Path(extension.__file__).parent.glob(f"extensions/*/{name}.duckdb_extension")
        con.execute(f"load '{file}'")
    con.execute("set timezone = 'UTC'")
    return con


def make(folder, scale):
    con = connect(duckdb_extension_tpch)
    con.execute(f"call dbgen(sf = {scale})")
    for table in TABLES:
        con.execute(f"copy {table} to '{folder}/{table}.parquet' (row_group_size 8192)")


def equal(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


def compare(folder, url, token, *queries):
    original, gateway = connect(duckdb_extension_tpch), connect(duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg, duckdb_extension_tpch)
    gateway.execute(f"attach '' as cat (type iceberg, endpoint '{url}/iceberg', client_id 'me', client_secret '{token}', "
                    f"oauth2_server_uri '{url}/iceberg/v1/oauth/tokens')")
    for table in TABLES:
        original.execute(f"create view {table} as from '{folder}/{table}.parquet'")
        # decimals are strings in tables of shards, and dates are times
        columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind, *_ in original.execute(f"describe {table}").fetchall())
        gateway.execute(f"create view {table} as select {columns} from cat.default.{table}")
    same = 0
    for query in queries or [str(n) for n in range(1, 23)]:
        want, seen = (con.execute(f"pragma tpch({query})").fetchall() for con in (original, gateway))
        if want and equal(want, seen):
            same += 1
        else:
            print(f"query {query}: {len(seen)} rows {seen[:1]}, want {len(want)} rows {want[:1]}")
    print("equal:", same)


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
