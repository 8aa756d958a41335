"""The queries of TPC-H by DuckDB and by Spark over tables read through the gateway, and by DuckDB over the original Parquet files.

    gateway_tpch.py make FOLDER SCALE                writes the Parquet files of the eight tables
    gateway_tpch.py compare FOLDER URL TOKEN QUERY…  prints the number of queries with equal answers, and what differs
    gateway_tpch.py spark JARS FOLDER URL TOKEN QUERY…  the same by Spark, with Iceberg's runtime and its AWS bundle in JARS, with commas"""
import decimal
import math
import os
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


def equal(a, b, tolerance=1e-9):
    if isinstance(a, float) and isinstance(b, (float, decimal.Decimal)):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y, tolerance) for x, y in zip(a, b))
    return a == b


def compare(folder, url, token, *queries):
    original, gateway = connect(duckdb_extension_tpch), connect(duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg, duckdb_extension_tpch)
    gateway.execute(f"attach '' as cat (type iceberg, endpoint '{url}/iceberg', client_id 'me', client_secret '{token}', "
                    f"oauth2_server_uri '{url}/iceberg/v1/oauth/tokens')")
    create_views(original, folder, lambda table, columns: gateway.execute(f"create view {table} as select {columns} from cat.default.{table}"))
    report(original, queries, lambda query, _: gateway.execute(f"pragma tpch({query})").fetchall(), 1e-9)


def create_views(original, folder, through):
    for table in TABLES:
        original.execute(f"create view {table} as from '{folder}/{table}.parquet'")
        # decimals are strings in tables of shards, and dates are times
        through(table, ", ".join(f"cast({name} as {kind}) as {name}" for name, kind, *_ in original.execute(f"describe {table}").fetchall()))


def report(original, queries, answer, tolerance):
    """Prints which answers differ and how many are equal. If GATEWAY_TPCH_UNTIL names a file, the queries are asked until it exists and once more;
    the file with .begun is made after the first time."""
    until = os.environ.get("GATEWAY_TPCH_UNTIL")
    while True:
        last = not until or os.path.exists(until)
        same = 0
        for query in queries or [str(n) for n in range(1, 23)]:
            [[text]] = original.execute(f"select query from tpch_queries() where query_nr = {query}").fetchall()
            want, seen = original.execute(f"pragma tpch({query})").fetchall(), answer(query, text)
            if want and equal(want, seen, tolerance):
                same += 1
            else:
                print(f"query {query}: {len(seen)} rows {seen[:1]}, want {len(want)} rows {want[:1]}")
        if last:
            break
        Path(until + ".begun").touch()
    print("equal:", same)


def spark(jars, folder, url, token, *queries):
    os.environ["TZ"] = "UTC"
    from pyspark.sql import SparkSession

    catalog = "spark.sql.catalog.cat"
    session = (
        SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config(catalog, "org.apache.iceberg.spark.SparkCatalog").config(catalog + ".type", "rest")
        .config(catalog + ".uri", url + "/iceberg").config(catalog + ".credential", "me:" + token).getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    original = connect(duckdb_extension_tpch)
    create_views(original, folder, lambda table, columns: session.sql(
        f"select {columns.replace('VARCHAR', 'STRING')} from cat.default.{table}").createOrReplaceTempView(table))
    # Spark divides decimals to six digits where DuckDB makes doubles of them.
    report(original, queries, lambda _, text: [tuple(row) for row in session.sql(text.rstrip().rstrip(";")).collect()], 1e-5)


if __name__ == "__main__":
    {"make": make, "compare": compare, "spark": spark}[sys.argv[1]](*sys.argv[2:])
