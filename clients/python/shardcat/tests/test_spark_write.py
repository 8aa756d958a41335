"""Spark writes a partition in each task, and one commit brings all of them, or nothing."""

import datetime
import decimal
import os
import subprocess
import time

import pyarrow as pa
import pytest

import shardcat

pytest.importorskip("pyspark")
from pyspark.sql import functions as F  # noqa: E402


@pytest.fixture(params=["server", "program"])
def target(request, spark, served, lake, binary):
    """A table to write to, and the options of a writer."""
    name = "written_" + request.param + "_" + request.function.__name__
    types = pa.schema([("id", pa.int64()), ("part", pa.int32()), ("price", pa.decimal128(12, 2)), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string()))])
    local = shardcat.connect(binary=binary, **lake).table(name)
    local.append(types.empty_table(), create=True)
    options = {"url": served, "token": "append"} if request.param == "server" else {"binary": binary, **lake}
    return local, {"table": name, **options}


def frame(spark, rows, partitions):
    at = F.lit(datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc))
    return spark.range(0, rows, 1, partitions).select(
        "id", F.spark_partition_id().alias("part"), (F.col("id") / 4).cast("decimal(12,2)").alias("price"), at.alias("at"), F.array(F.lit("a"), F.lit(None)).alias("tags"))


def write(df, options, **more):
    df.write.format("shardcat").options(**options, **more).mode("append").save()


def snapshots(table):
    run = subprocess.run([table.source.path, "--catalog", table.source.catalog, "--warehouse", table.source.warehouse, "table", "history", table.name],
                         capture_output=True, text=True, check=True)
    return len(run.stdout.splitlines())


def objects(table, lake):
    """Names of the table's shards and stripes."""
    folder = os.path.join(lake["warehouse"], "vault", table.describe()["table_uuid"])
    return sorted(f for _, _, files in os.walk(folder) for f in files if ".amudai." in f)


def test_tasks_write_and_one_commit_brings_them(spark, target):
    table, options = target
    before = snapshots(table)
    write(frame(spark, 1000, 4), options)
    assert snapshots(table) == before + 1 and table.describe()["shards"] == 4
    rows = table.to_arrow().sort_by("id").to_pylist()
    assert [r["id"] for r in rows] == list(range(1000)) and {r["part"] for r in rows} == {0, 1, 2, 3}
    assert rows[3] == {"id": 3, "part": 0, "price": decimal.Decimal("0.75"), "at": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc), "tags": ["a", None]}
    back = spark.read.format("shardcat").options(**{k: v for k, v in options.items() if k != "token"}).load()
    assert back.agg(F.sum("id"), F.count("*")).collect()[0][:] == (499500, 1000)


def test_a_failed_task_leaves_nothing(spark, target, lake):
    table, options = target
    boom = F.udf(lambda i: 1 // (777 - i), "bigint")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        write(frame(spark, 1000, 4).withColumn("id", boom("id")), options, jobId="boom")
    # Spark does not wait for the other tasks before it gives up. What they write then is discarded like all, once they have ended.
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos
    for _ in range(300):
        if sum(e.numRunningTasks() for e in executors()) == 0:
            break
        time.sleep(0.2)
    table.job("boom").discard()
    assert table.describe()["rows"] == 0 and objects(table, lake) == []


def test_the_same_job_is_committed_once(spark, target, lake):
    table, options = target
    for _ in range(2):
        write(frame(spark, 100, 2), options, jobId="night-7")
    assert table.describe()["rows"] == 100
    write(frame(spark, 0, 2), options)
    assert table.describe()["rows"] == 100


def test_refused(spark, target):
    table, options = target
    with pytest.raises(Exception, match="no columns"):
        write(spark.range(3).withColumnRenamed("id", "idd"), options)
    with pytest.raises(Exception, match="mode append"):
        frame(spark, 3, 1).write.format("shardcat").options(**options).mode("overwrite").save()
    assert table.describe()["rows"] == 0
