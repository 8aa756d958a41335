"""Opens a table of shards with Spark and Iceberg's own runtime and prints what it sees and what it is refused, as JSON.

Arguments: kind of catalog (sqlite, rest), its URI, the warehouse, the namespace, the jars (Iceberg's runtime, SQLite's JDBC driver), with
commas. The table is NAMESPACE.spark."""
import json
import sys

from pyspark.sql import SparkSession

kind, uri, warehouse, namespace, jars = sys.argv[1:]
if not warehouse.startswith("file:"):
    warehouse = "file://" + warehouse
catalog = "spark.sql.catalog.shardcat"  # the name of its entries in a catalog of SQL
build = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", jars)
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
    .config(catalog + ".warehouse", warehouse)
)
if kind == "rest":
    build = build.config(catalog + ".type", "rest").config(catalog + ".uri", uri.removeprefix("rest+"))
else:
    build = (
        build.config(catalog + ".type", "jdbc")
        .config(catalog + ".uri", "jdbc:sqlite:" + uri.removeprefix("sqlite:"))
        .config(catalog + ".jdbc.schema-version", "V1")
    )
spark = build.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
table = f"shardcat.{namespace}.spark"


def rows(sql):
    return " ".join(str(r[0]) for r in spark.sql(sql).collect())


def refused(sql):
    """What Spark says to what it is asked, "" if it does it."""
    try:
        spark.sql(sql).collect()
    except Exception as e:
        lines = str(e).splitlines()
        return next((line.strip() for line in lines if "amudai" in line.lower() or "GC is disabled" in line), str(e))
    return ""


print(
    json.dumps(
        {
            "columns": " ".join(f"{f.name}:{f.dataType.simpleString()}" for f in spark.sql(f"SELECT * FROM {table}").schema.fields),
            "snapshots": rows(f"SELECT operation FROM {table}.snapshots ORDER BY committed_at"),
            "history": rows(f"SELECT count(*) FROM {table}.history"),
            "refs": rows(f"SELECT name FROM {table}.refs"),
            "manifests": rows(f"SELECT count(*) FROM {table}.manifests"),
            "records": rows(f"SELECT sum(data_file.record_count) FROM {table}.entries WHERE status < 2"),
            "files": rows(f"SELECT sum(record_count) FROM {table}.files"),
            "refusal of files": refused(f"SELECT * FROM {table}.files"),
            "refusal": refused(f"SELECT * FROM {table}"),
            "refusal of count": refused(f"SELECT count(id) FROM {table}"),
            "refusal of INSERT": refused(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 0"),
            "refusal of VALUES": refused(f"INSERT INTO {table} (id) VALUES (1)"),
            "refusal of DELETE": refused(f"DELETE FROM {table} WHERE id = 5"),
            "refusal of UPDATE": refused(f"UPDATE {table} SET id = 6 WHERE id = 5"),
            "refusal of rewrite_data_files": refused(f"CALL shardcat.system.rewrite_data_files(table => '{namespace}.spark', options => map('rewrite-all', 'true'))"),
            "refusal of rewrite_manifests": refused(f"CALL shardcat.system.rewrite_manifests('{namespace}.spark')"),
            "refusal of expire_snapshots": refused(f"CALL shardcat.system.expire_snapshots(table => '{namespace}.spark', older_than => TIMESTAMP '2999-01-01', retain_last => 1)"),
            "refusal of remove_orphan_files": refused(f"CALL shardcat.system.remove_orphan_files(table => '{namespace}.spark')"),
            "refusal of DROP PURGE": refused(f"DROP TABLE {table} PURGE"),
        }
    )
)
