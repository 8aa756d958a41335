"""Every client gives the answers that DuckDB gives over the original Parquet files of TPC-H, before and after compaction."""

import datetime
import decimal
import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shardcat
from conftest import ROOT

pytestmark = pytest.mark.skipif("SHARDCAT_FLIGHT" not in os.environ, reason="SHARDCAT_FLIGHT names no shardcat-flight")

KEY = "l_orderkey = 4801 AND l_linenumber = 2"
MONTH = "l_shipdate >= '1994-01-01T00:00:00Z' AND l_shipdate < '1994-02-01T00:00:00Z'"
EARLY = "o_orderdate < '1992-03-01T00:00:00Z'"
# What is read for a question: table, columns (None for all), filter.
READS = {
    "needle": ("lineitem", None, KEY),
    "two columns": ("lineitem", ["l_orderkey", "l_quantity"], None),
    "filter": ("lineitem", ["l_orderkey", "l_linenumber", "l_extendedprice", "l_shipdate"], MONTH),
    "aggregate": ("lineitem", ["l_returnflag", "l_quantity"], None),
}
# The questions over whole tables, as DuckDB and Spark understand them.
SQL = {
    "needle": f"SELECT * FROM lineitem WHERE {KEY}",
    "two columns": "SELECT l_orderkey, l_quantity FROM lineitem",
    "filter": "SELECT l_orderkey, l_linenumber, l_extendedprice, l_shipdate FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-02-01'",
    "aggregate": "SELECT l_returnflag, sum(l_quantity), count(*) FROM lineitem GROUP BY l_returnflag",
    "join": "SELECT o_orderpriority, count(*), sum(l_extendedprice) FROM orders JOIN lineitem ON o_orderkey = l_orderkey WHERE o_orderdate < DATE '1992-03-01' GROUP BY o_orderpriority",
}
TOKEN = "secret"


class Lake:
    """The tables lineitem and orders, of many shards each, with a server of each kind over them."""

    def __init__(self, binary, place):
        self.at = {"warehouse": str(place / "warehouse"), "catalog": f"sqlite:{place}/catalog.db"}
        self.flags = [f"--{k}={v}" for k, v in self.at.items()]
        self.binary, self.parquet = binary, str(place)
        generate = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
        subprocess.run([generate, "parquet", "-s", "0.01", "--output-dir", str(place), "--tables", "lineitem,orders"], check=True)
        for table, rows in ("lineitem", 16000), ("orders", 4000):
            self.run("ingest", table, f"{place}/{table}.parquet", "--create", "--shard-rows", str(rows))
            self.run("policy", "set", table, "pause=true")

    def run(self, *arguments):
        subprocess.run([self.binary, *self.flags, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def serve(self):
        self.http = subprocess.Popen([self.binary, *self.flags, "serve", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = json.loads(self.http.stdout.readline())["url"].rstrip("/")
        self.flight = subprocess.Popen([os.environ["SHARDCAT_FLIGHT"], *self.flags, "--listen", "127.0.0.1:0", "--split-size", "400000"],
                                       stdout=subprocess.PIPE, text=True, env={**os.environ, "SHARDCAT_READ_TOKEN": TOKEN})
        self.address = self.flight.stdout.readline().split()[-1]

    def stop(self):
        for server in self.http, self.flight:
            server.terminate()
            server.wait()

    def duckdb(self):
        """DuckDB over the original files."""
        c = duckdb.connect()
        for table in "lineitem", "orders":
            c.execute(f"CREATE VIEW {table} AS FROM '{self.parquet}/{table}.parquet'")
        return c

    def rows_url(self, question, format):
        table, columns, where = READS[question]
        q = {"format": format, **({"select": ",".join(columns)} if columns else {}), **({"where": where} if where else {})}
        return f"{self.url}/v1/tables/{table}/rows?" + urllib.parse.urlencode(q)


@pytest.fixture(scope="module")
def tpch(binary, tmp_path_factory):
    lake = Lake(binary, tmp_path_factory.mktemp("tpch"))
    lake.serve()
    yield lake
    lake.stop()


@pytest.fixture(scope="module", params=["as ingested", "compacted"])
def lake(request, tpch):
    if request.param == "compacted":
        for table in "lineitem", "orders":
            tpch.run("compact", table)
    shards = shardcat.connect(binary=tpch.binary, **tpch.at).table("lineitem").describe()["shards"]
    assert (shards == 1) == (request.param == "compacted")
    return tpch


def text(value):
    """A value in a form that does not depend on the client."""
    if isinstance(value, datetime.datetime):
        value = value.date()
    if isinstance(value, (decimal.Decimal, float)):
        return f"{value:.2f}"
    return str(value)


def told(rows):
    return sorted(tuple(text(v) for v in row) for row in rows)


def want(lake, question):
    rows = told(lake.duckdb().sql(SQL[question]).fetchall())
    assert rows
    return rows


def of_arrow(table):
    return zip(*(c.to_pylist() for c in table.columns))


def grouped(question, table):
    """The answer, of the rows that were read for it."""
    if question == "aggregate":
        table = table.group_by("l_returnflag").aggregate([("l_quantity", "sum"), ([], "count_all")])
    return told(of_arrow(table))


@pytest.mark.parametrize("question", READS)
def test_pyarrow(lake, question):
    table = pa.ipc.open_stream(urllib.request.urlopen(lake.rows_url(question, "arrow"))).read_all()
    assert grouped(question, table) == want(lake, question)


@pytest.mark.parametrize("question", READS)
def test_pandas(lake, question):
    import pandas

    table, columns, where = READS[question]
    frame = shardcat.connect(lake.url).table(table).to_pandas(where=where, columns=columns)
    if question == "aggregate":
        frame = frame.groupby("l_returnflag").agg(s=("l_quantity", "sum"), n=("l_quantity", "count")).reset_index()
    assert isinstance(frame, pandas.DataFrame) and told(frame.itertuples(index=False)) == want(lake, question)


@pytest.mark.parametrize("question", READS)
def test_polars(lake, question):
    import polars

    frame = polars.read_ipc_stream(lake.rows_url(question, "arrow"))
    if question == "aggregate":
        frame = frame.group_by("l_returnflag").agg(polars.col("l_quantity").sum(), polars.len())
    assert told(frame.rows()) == want(lake, question)


@pytest.mark.parametrize("question", SQL)
def test_duckdb(lake, question):
    c = duckdb.connect()
    tables = shardcat.connect(binary=lake.binary, **lake.at)
    for name in "lineitem", "orders":
        c.register(name, tables.table(name).to_arrow(where=EARLY if (question, name) == ("join", "orders") else None))
    assert told(c.sql(SQL[question]).fetchall()) == want(lake, question)


def simple(question):
    """The question as Flight SQL understands it."""
    table, columns, where = READS[question]
    return f"SELECT {', '.join(columns) if columns else '*'} FROM {table}" + (f" WHERE {where}" if where else "")


def test_adbc_python(lake):
    import adbc_driver_flightsql.dbapi as adbc

    with adbc.connect("grpc://" + lake.address, {"adbc.flight.sql.authorization_header": "Bearer " + TOKEN}, autocommit=True) as c, c.cursor() as cursor:
        for question in READS:
            cursor.execute(simple(question))
            assert grouped(question, cursor.fetch_arrow_table()) == want(lake, question), question


@pytest.mark.skipif("SHARDCAT_ADBC_GO" not in os.environ, reason="SHARDCAT_ADBC_GO names no program that uses ADBC's driver for Go")
def test_adbc_go(lake):
    for question in READS:
        run = subprocess.run([os.environ["SHARDCAT_ADBC_GO"], "grpc://" + lake.address, TOKEN, simple(question)], check=True, stdout=subprocess.PIPE)
        assert grouped(question, pa.ipc.open_stream(run.stdout).read_all()) == want(lake, question), question


PARAMETERS = "SELECT l_orderkey, l_linenumber, l_extendedprice, l_shipdate FROM lineitem WHERE l_shipdate >= ? AND l_shipdate < ?"


def test_parameters_by_adbc_python(lake):
    import adbc_driver_flightsql.dbapi as adbc

    with adbc.connect("grpc://" + lake.address, {"adbc.flight.sql.authorization_header": "Bearer " + TOKEN}, autocommit=True) as c, c.cursor() as cursor:
        cursor.execute("SELECT * FROM lineitem WHERE l_orderkey = ? AND l_linenumber = ?", (4801, 2))
        assert told(of_arrow(cursor.fetch_arrow_table())) == want(lake, "needle")
        cursor.execute(PARAMETERS, (datetime.date(1994, 1, 1), datetime.date(1994, 2, 1)))
        assert told(of_arrow(cursor.fetch_arrow_table())) == want(lake, "filter")


@pytest.mark.skipif("SHARDCAT_ADBC_GO" not in os.environ, reason="SHARDCAT_ADBC_GO names no program that uses ADBC's driver for Go")
def test_parameters_by_adbc_go(lake):
    run = subprocess.run([os.environ["SHARDCAT_ADBC_GO"], "grpc://" + lake.address, TOKEN, PARAMETERS, "1994-01-01T00:00:00Z", "1994-02-01T00:00:00Z"], check=True, stdout=subprocess.PIPE)
    assert told(of_arrow(pa.ipc.open_stream(run.stdout).read_all())) == want(lake, "filter")


@pytest.mark.skipif("SHARDCAT_JDBC" not in os.environ, reason="SHARDCAT_JDBC names no JDBC driver of Flight SQL")
def test_jdbc(lake):
    host, port = lake.address.rsplit(":", 1)
    ask = os.path.join(ROOT, "clients/python/shardcat/tests/Ask.java")
    command = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Duser.timezone=UTC", "-cp", os.environ["SHARDCAT_JDBC"], ask, f"jdbc:arrow-flight-sql://{host}:{port}", TOKEN]
    out = subprocess.run([*command, *map(simple, READS)], check=True, stdout=subprocess.PIPE, text=True).stdout
    for question, rows in zip(READS, out.split("\n.\n")):
        got = [tuple(line.split("\t")) for line in rows.splitlines() if line]
        if question == "aggregate":
            sums = {}
            for flag, quantity in got:
                n, s = sums.get(flag, (0, decimal.Decimal(0)))
                sums[flag] = n + 1, s + decimal.Decimal(quantity)
            got = told((flag, s, n) for flag, (n, s) in sums.items())
        assert sorted(got) == want(lake, question), question


def test_spark(lake, spark):
    for name in "lineitem", "orders":
        source = spark.read.format("shardcat").option("url", lake.url).option("splitSize", "400000" if name == "lineitem" else "60000").load(name)
        assert name != "lineitem" or source.rdd.getNumPartitions() >= 4
        source.createOrReplaceTempView(name)
    for question, sql in SQL.items():
        assert told(spark.sql(sql.replace("count(*)", "count(1)")).collect()) == want(lake, question), question
