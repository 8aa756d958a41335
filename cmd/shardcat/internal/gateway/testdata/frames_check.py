"""Reads tables through the gateway with Polars, Daft and DataFusion (by iceberg-rust) and prints the answers as JSON.

Arguments: URL of the server, read token, first snapshot of default.deleted and its time in ms, the snapshot of default.evolved before its
schema changed, the file of the rows of default.types, the engines with commas."""
import json
import os
import sys

from pyiceberg.catalog import load_catalog

from answers import differences, refusal, summary

url, token, first, first_ms, before, rows_file, engines = sys.argv[1:]
first, before = int(first), int(before)
catalog = load_catalog("shardcat", uri=url + "/iceberg", credential="me:" + token)


def table(name):
    return catalog.load_table("default." + name)


def by_polars():
    import polars

    def scan(name, **options):
        t = table(name)
        s3 = t.io.properties
        return polars.scan_iceberg(t, reader_override="native", storage_options={
            "aws_endpoint_url": s3["s3.endpoint"], "aws_access_key_id": s3["s3.access-key-id"], "aws_region": "us-east-1", "aws_allow_http": "true",
            "aws_secret_access_key": s3["s3.secret-access-key"], "aws_session_token": s3["s3.session-token"]}, **options)

    def read(frame):
        return summary(frame.collect().to_arrow())

    id, name = polars.col("id"), polars.col("name")
    return {
        "flat": read(scan("flat")), "count": str(scan("flat").select(polars.len()).collect().item()),
        "deleted count": str(scan("deleted").select(polars.len()).collect().item()),
        "filter": read(scan("flat").filter((id >= 990) & (id < 1010) & name.is_not_null())),
        "projection": str(scan("flat").select("small").sum().collect().item()),
        "deleted": read(scan("deleted")), "snapshot": read(scan("deleted", snapshot_id=first)),
        "evolved": read(scan("evolved")), "evolved columns": " ".join(scan("evolved").collect_schema().names()),
        "days": read(scan("days")), "days filter": read(scan("days").filter(polars.col("small") == 3)), "merged": read(scan("merged")),
        "types": differences(rows_file, scan("types").sort("i32").collect().to_arrow(),
                             but=("g",)),  # a uuid is its bytes
    }


def by_daft():
    import daft

    def scan(name, **options):
        return daft.read_iceberg(table(name), **options)

    def read(frame):
        return summary(frame.to_arrow())

    id, name = daft.col("id"), daft.col("name")
    return {
        "flat": read(scan("flat")), "count": str(scan("flat").count_rows()), "deleted count": str(scan("deleted").count_rows()),
        "filter": read(scan("flat").where((id >= 990) & (id < 1010) & name.not_null())),
        "projection": str(sum(scan("flat").select("small").to_arrow()["small"].to_pylist())),
        "deleted": read(scan("deleted")), "snapshot": read(scan("deleted", snapshot_id=first)),
        "evolved": read(scan("evolved")), "evolved columns": " ".join(scan("evolved").column_names),
        "days": read(scan("days")), "days filter": read(scan("days").where(daft.col("small") == 3)), "merged": read(scan("merged")),
        "types": differences(rows_file, scan("types").sort("i32").to_arrow(), but=()),
        "append": str(refusal(lambda: scan("flat").write_iceberg(table("flat"))) != "done"),
    }


def by_datafusion():
    from datafusion import SessionContext
    from pyiceberg_core.datafusion import IcebergDataFusionTable

    def sql(name, query):
        t = table(name)
        session = SessionContext()  # which must live as long as its tables are read
        session.register_table("t", IcebergDataFusionTable(
            identifier=t.name(), metadata_location=t.metadata_location, file_io_properties=t.io.properties))
        return session.sql(query).to_arrow_table()

    def number(name, query):
        return str(sql(name, query).column(0)[0].as_py())

    def read(name, where="true"):
        return summary(sql(name, "select * from t where " + where))

    return {
        "flat": read("flat"), "count": number("flat", "select count(*) from t"), "deleted count": number("deleted", "select count(*) from t"),
        "filter": read("flat", "id >= 990 and id < 1010 and name is not null"), "projection": number("flat", "select sum(small) from t"),
        "deleted": read("deleted"), "days": read("days"), "days filter": read("days", "small = 3"),
        "merged": read("merged"), "types": differences(rows_file, sql("types", "select * from t order by i32"), but=("g",)),  # a uuid is its bytes
    }


print(json.dumps({engine: globals()["by_" + engine]() for engine in engines.split(",")}), flush=True)
os._exit(0)  # Daft aborts while Python ends
