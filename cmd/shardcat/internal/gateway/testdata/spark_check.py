"""Reads tables through the gateway with Spark and Iceberg's runtime and prints the answers as JSON.

Arguments: URL of the server, read token, first snapshot of default.deleted and its time in ms, the snapshot of default.evolved before its
schema changed, the file of the rows of default.types, the jars (Iceberg's runtime and its AWS bundle) with commas."""
import datetime
import json
import os
import sys
import time

os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession

from answers import differences, refusal, summary

url, token, first, first_ms, before, rows_file, jars = sys.argv[1:]
catalog = "spark.sql.catalog.cat"
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", jars)
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
    .config(catalog + ".type", "rest")
    .config(catalog + ".uri", url + "/iceberg")
    .config(catalog + ".credential", "me:" + token)
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")


def read(table, where="true"):
    return summary(spark.sql(f"select * from cat.default.{table} where {where}").toArrow())


def text(query):
    return " ".join(" ".join(str(v) for v in r) for r in spark.sql(query).collect())


when = datetime.datetime.fromtimestamp(int(first_ms) / 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
out = {
    "tables": " ".join(sorted(r.tableName for r in spark.sql("show tables in cat.default").collect())),
    "flat": read("flat"), "count": text("select count(*) from cat.default.flat"), "deleted count": text("select count(*) from cat.default.deleted"),
    "filter": read("flat", "id >= 990 and id < 1010 and name is not null"), "projection": text("select sum(small) from cat.default.flat"),
    "deleted": read("deleted"), "snapshot": read(f"deleted version as of {first}"), "as of": read(f"deleted timestamp as of '{when}'"),
    "tag": read("deleted version as of 'tagged'"), "branch": read("deleted version as of 'side'"),
    "evolved": read("evolved"), "evolved columns": " ".join(spark.table("cat.default.evolved").columns),
    "evolved before": read(f"evolved version as of {before}"),
    "days": read("days"), "days filter": read("days", "small = 3"),
    "merged": read("merged"), "types": differences(rows_file, spark.sql("select * from cat.default.types order by i32").toArrow()),
    "files": text("select concat(content, '/', record_count) from cat.default.deleted.files order by 1"),
    "entries": text("select count(*) from cat.default.deleted.entries"),
    "partitions": text("select count(*) from cat.default.days.partitions"),
    "snapshots": text("select count(*) from cat.default.deleted.snapshots"),
    "refs": text("select name from cat.default.deleted.refs order by name"),
    "history": text("select count(*) from cat.default.deleted.history"),
    "manifests": text("select count(*) > 0 from cat.default.deleted.manifests"),
    "position deletes": text("select count(*), min(pos), max(pos) from cat.default.deleted.position_deletes"),
}
for name, write in {
    "append": "insert into cat.default.flat select * from cat.default.flat", "delete": "delete from cat.default.flat where id = 3",
    "update": "update cat.default.flat set small = 1 where id = 3",
    "overwrite": "insert overwrite cat.default.flat select * from cat.default.flat where id = 1",
    "truncate": "truncate table cat.default.flat",
    "drop": "drop table cat.default.flat", "purge": "drop table cat.default.flat purge",
    "rename": "alter table cat.default.flat rename to cat.default.other", "create": "create table cat.default.new (a int) using iceberg",
    "alter": "alter table cat.default.flat add column x int", "create namespace": "create namespace cat.other",
    "drop namespace": "drop namespace cat.default", "create branch": "alter table cat.default.flat create branch b",
    "expire": "call cat.system.expire_snapshots(table => 'default.deleted', older_than => timestamp '2999-01-01', retain_last => 1)",
    "rewrite": "call cat.system.rewrite_data_files(table => 'default.deleted', options => map('rewrite-all', 'true'))",
    "rewrite manifests": "call cat.system.rewrite_manifests('default.deleted')",
    "orphans": "call cat.system.remove_orphan_files(table => 'default.deleted')",
    "rollback": f"call cat.system.rollback_to_snapshot('default.deleted', {first})",
}.items():
    out[name] = str(refusal(lambda: spark.sql(write).collect()) != "done")
out["after"], out["deleted after"] = read("flat"), read("deleted")
print(json.dumps({"spark": out}))
