"""Spark reads tasks in partitions, with filters pushed down, and sees the same rows as Arrow."""

import datetime
import decimal

import pyarrow as pa
import pytest

import shardcat

pyspark = pytest.importorskip("pyspark")
from pyspark.sql import functions as F  # noqa: E402


@pytest.fixture(params=["server", "program"])
def flights(request, spark, served, lake, binary):
    reader = spark.read.format("shardcat").option("table", "flights").option("splitSize", "60000")
    if request.param == "server":
        return reader.option("url", served)
    return reader.options(binary=binary, **lake)


def test_rows_and_partitions(flights, served):
    df = flights.schema("carrier string, dep_delay bigint").load()
    assert df.rdd.getNumPartitions() >= 4
    got = df.groupBy("carrier").agg(F.count("*").alias("n"), F.sum("dep_delay").alias("s")).orderBy("carrier").collect()
    want = shardcat.connect(served).table("flights").to_arrow(columns=["carrier", "dep_delay"]).group_by("carrier").aggregate([([], "count_all"), ("dep_delay", "sum")])
    want = want.sort_by("carrier").to_pylist()
    assert [(r.carrier, r.n, r.s) for r in got] == [(w["carrier"], w["count_all"], w["dep_delay_sum"]) for w in want]


def test_one_source_answers_many_questions(flights):
    """Spark keeps what it once pushed down, so nothing is by default."""
    df = flights.load()
    assert df.where("carrier = 'HA'").count() == 31 and df.count() == 27004


def test_filters_are_pushed_down(flights, served):
    flights = flights.option("pushdown", "true")
    df = flights.load().where("origin = 'JFK' AND dep_delay > 1000 AND carrier LIKE 'H%' AND tailnum IS NOT NULL")
    plan = df._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan, plan  # Spark has none of them left to look at
    assert [(r.carrier, r.dep_delay) for r in df.collect()] == [("HA", 1301)]
    # Times are pushed too, and looked at again.
    hour = datetime.datetime(2013, 1, 9, 14, tzinfo=datetime.timezone.utc)
    at = flights.load().where(F.col("time_hour") == F.lit(hour)).where("carrier = 'HA'")
    assert [(r.dep_delay, r.dest) for r in at.collect()] == [(1301, "HNL")]
    either = "dep_delay > 1000 OR carrier = 'OO'"
    assert flights.load().where(either).count() == shardcat.connect(served).table("flights").to_arrow(where=either).num_rows > 1


def test_types(spark, served, lake, binary):
    rows = pa.table({
        "u": pa.array([2**64 - 1, None], pa.uint64()), "d": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(12, 2)), "f": pa.array([float("nan"), 1.0]),
        "l": pa.array([[1, None], []], pa.list_(pa.int32())), "s": pa.array([{"a": 1}, None], pa.struct([("a", pa.int64())])),
        "t": pa.array([datetime.datetime(1960, 1, 1, 0, 0, 0, 5, datetime.timezone.utc), None], pa.timestamp("us", "UTC")),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), "b": pa.array([b"x", None]), "o": pa.array([True, None]),
        "span": pa.array([datetime.timedelta(seconds=1), None]), "a.b": ["dot", "dot"],
    })
    shardcat.connect(binary=binary, **lake).table("types").append(rows, create=True)
    load = spark.read.format("shardcat").option("url", served).option("pushdown", "true")
    r = load.load("types").where("`a.b` = 'dot'").orderBy(F.col("u").desc_nulls_last()).collect()
    assert (r[0].u, r[0].d, r[0].l, r[0].s.a, r[0].m, bytes(r[0].b), r[0].o, r[0].span) == (
        2**64 - 1, decimal.Decimal("1.50"), [1, None], 1, {"k": 1}, b"x", True, datetime.timedelta(seconds=1))
    assert r[1].u is None and r[1].l == [] and r[1].s is None and r[1].t is None
    # NaN is greater than all numbers in Spark, and in no comparison true here.
    assert load.load("types").where("f > 5").count() == 1
    assert load.load("types").where("t = timestamp'1960-01-01 00:00:00.000005'").count() == 1


def test_refused(spark, served):
    with pytest.raises(Exception, match="not known"):
        spark.read.format("shardcat").option("url", served).option("tabel", "flights").load()
    with pytest.raises(Exception, match="not found"):
        spark.read.format("shardcat").option("url", served).load("nobody")
