"""Reads tables through the gateway with Polars, Daft, DataFusion (by iceberg-rust) and ClickHouse (by chdb) and prints the answers as JSON.

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


def snapshots():
    """Snapshots of default.deleted that engines read by their numbers: of a time, a tag and a branch, as pyiceberg finds them."""
    t = table("deleted")
    return {"as of": t.snapshot_as_of_timestamp(int(first_ms)).snapshot_id, "tag": t.snapshot_by_name("tagged").snapshot_id,
            "branch": t.snapshot_by_name("side").snapshot_id}


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
        "append": str(refusal(lambda: scan("flat").collect().write_iceberg(table("flat"), mode="append")) != "done"),
        "overwrite": str(refusal(lambda: scan("flat").collect().write_iceberg(table("flat"), mode="overwrite")) != "done"),
        "evolved before": read(scan("evolved", snapshot_id=before)),
    } | {question: read(scan("deleted", snapshot_id=id)) for question, id in snapshots().items()}


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
        "overwrite": str(refusal(lambda: scan("flat").write_iceberg(table("flat"), mode="overwrite")) != "done"),
        "evolved before": read(scan("evolved", snapshot_id=before)),
        "as of": read(scan("deleted", snapshot_id=snapshots()["as of"])),
        "tag": read(scan("deleted", tag="tagged")), "branch": read(scan("deleted", branch="side")),
    }


def by_datafusion():
    from datafusion import SessionContext
    from pyiceberg_core.datafusion import IcebergDataFusionTable

    def sql(name, query, metadata=None):
        t = table(name)
        session = SessionContext()  # which must live as long as its tables are read
        session.register_table("t", IcebergDataFusionTable(
            identifier=t.name(), metadata_location=metadata or t.metadata_location,
            file_io_properties={k: v for k, v in t.io.properties.items() if isinstance(v, str)}))
        return session.sql(query).to_arrow_table()

    def at(name, ms):
        """The metadata file that was the table's at a time: this is how earlier snapshots are read."""
        return [line for line in table(name).metadata.metadata_log if line.timestamp_ms <= ms][-1].metadata_file

    def number(name, query):
        return str(sql(name, query).column(0)[0].as_py())

    def read(name, where="true", metadata=None):
        return summary(sql(name, "select * from t where " + where, metadata))

    return {
        "snapshot": read("deleted", metadata=at("deleted", table("deleted").snapshot_by_id(first).timestamp_ms)),
        "as of": read("deleted", metadata=at("deleted", int(first_ms))),
        "evolved before": read("evolved", metadata=at("evolved", table("evolved").snapshot_by_id(before).timestamp_ms)),
        "append": str(refusal(lambda: sql("flat", "insert into t select * from t")) != "done"),
        "flat": read("flat"), "count": number("flat", "select count(*) from t"), "deleted count": number("deleted", "select count(*) from t"),
        "filter": read("flat", "id >= 990 and id < 1010 and name is not null"), "projection": number("flat", "select sum(small) from t"),
        "deleted": read("deleted"), "days": read("days"), "days filter": read("days", "small = 3"),
        "merged": read("merged"), "types": differences(rows_file, sql("types", "select * from t order by i32"), but=("g",)),  # a uuid is its bytes
    }


def without_null_groups(column, v):
    """A value as ClickHouse has it: null lists and maps are empty, null structs have null members, and binary is text."""
    def struct(v, **empty):
        return empty if v is None else {name: empty[name] if e is None else e for name, e in v.items()}

    match column:
        case "bin":
            return v and v.decode()
        case "l" | "fl" | "m":
            return v or []
        case "ll":
            return [e or [] for e in v or []]
        case "ls":
            return [struct(e, p=None, q=None) for e in v or []]
        case "st":
            return struct(v, a=None, c=None, d=[])
        case "un":
            return struct(v, variant0=None, variant1=None)
    return v


def by_chdb():
    from chdb.session import Session

    session = Session()

    def sql(name, query, settings=""):
        t = table(name)
        s3, location = t.io.properties, t.location()
        key, metadata = location.removeprefix("s3://"), t.metadata_location.removeprefix(location + "/")
        return session.query(query.format(
            f"icebergS3('{s3['s3.endpoint']}/{key}/', '{s3['s3.access-key-id']}', '{s3['s3.secret-access-key']}', '{s3['s3.session-token']}', "
            f"SETTINGS iceberg_metadata_file_path = '{metadata}')") + " SETTINGS output_format_arrow_string_as_string = 1" + settings, "ArrowTable")

    def number(name, query):
        return str(sql(name, query).column(0)[0].as_py())

    def read(name, where="true", **settings):
        return summary(sql(name, "select * from {} where " + where, "".join(f", {k} = {v}" for k, v in settings.items())))

    return {
        "flat": read("flat"), "count": number("flat", "select count() from {}"), "deleted count": number("deleted", "select count() from {}"),
        "filter": read("flat", "id >= 990 and id < 1010 and name is not null"), "projection": number("flat", "select sum(small) from {}"),
        "deleted": read("deleted"), "snapshot": read("deleted", iceberg_snapshot_id=first), "as of": read("deleted", iceberg_timestamp_ms=first_ms),
        "evolved": read("evolved"), "evolved columns": " ".join(sql("evolved", "select * from {}").column_names),
        "evolved before": read("evolved", iceberg_snapshot_id=before),
        "days": read("days"), "days filter": read("days", "small = 3"), "merged": read("merged"),
        "types": differences(rows_file, sql("types", "select * from {} order by i32"), seen_as=without_null_groups),
        "append": str(refusal(lambda: sql("flat", "insert into function {} select * from numbers(1)")) != "done"),
    } | {question: read("deleted", iceberg_snapshot_id=id) for question, id in snapshots().items() if question != "as of"}


print(json.dumps({engine: globals()["by_" + engine]() for engine in engines.split(",")}), flush=True)
os._exit(0)  # Daft aborts while Python ends
