"""Reads tables through the gateway with pyiceberg and DuckDB and prints what each sees, as JSON.

Arguments: URL of the server, read token, first snapshot of default.deleted and its time in ms, the snapshot of default.evolved before its
schema changed, the file of the rows of default.types."""
import datetime
import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema

from answers import differences, refusal, summary

url, token, first, first_ms, before, rows_file = sys.argv[1:]
first, before = int(first), int(before)


def by_pyiceberg():
    catalog = load_catalog("shardcat", uri=url + "/iceberg", credential="me:" + token)
    flat, deleted, evolved, days = (catalog.load_table("default." + n) for n in ("flat", "deleted", "evolved", "days"))
    bearer = load_catalog("bearer", uri=url + "/iceberg", token=token)
    files = deleted.inspect.files().to_pylist()
    out = {
        "namespaces": str(catalog.list_namespaces()), "tables": " ".join(n for _, n in sorted(catalog.list_tables("default"))),
        "views": str(catalog.list_views("default")), "exists": f"{catalog.table_exists('default.flat')} {catalog.table_exists('default.none')}",
        "flat": summary(bearer.load_table("default.flat").scan().to_arrow()),
        "count": str(flat.scan().count()), "deleted count": str(deleted.scan().count()),
        "filter": summary(flat.scan(row_filter="id >= 990 and id < 1010 and name is not null").to_arrow()),
        "projection": str(sum(flat.scan(selected_fields=("small",)).to_arrow()["small"].to_pylist())),
        "deleted": summary(deleted.scan().to_arrow()),
        "snapshot": summary(deleted.scan(snapshot_id=first).to_arrow()),
        "as of": summary(deleted.scan(snapshot_id=deleted.snapshot_as_of_timestamp(int(first_ms)).snapshot_id).to_arrow()),
        "tag": summary(deleted.scan().use_ref("tagged").to_arrow()),
        "branch": summary(deleted.scan().use_ref("side").to_arrow()),
        "evolved": summary(evolved.scan().to_arrow()), "evolved columns": " ".join(evolved.schema().column_names),
        "evolved before": summary(evolved.scan(snapshot_id=before).to_arrow()),
        "days": summary(days.scan().to_arrow()), "days filter": summary(days.scan(row_filter="small = 3").to_arrow()),
        "days files": str(len(list(days.scan(row_filter="small = 3").plan_files()))),
        "merged": summary(catalog.load_table("default.merged").scan().to_arrow()),
        # pyiceberg makes empty lists of null lists of structs, of any Parquet file
        "types": differences(rows_file, catalog.load_table("default.types").scan().to_arrow(), but=("ls",)),
        "pruned files": str(len(list(flat.scan(row_filter="id < 10").plan_files()))),
        "files": " ".join(sorted(f"{f['content']}/{f['record_count']}" for f in files)),
        "entries": str(deleted.inspect.entries().num_rows), "partitions": str(days.inspect.partitions().num_rows),
        "snapshots": str(deleted.inspect.snapshots().num_rows), "refs": " ".join(sorted(deleted.inspect.refs()["name"].to_pylist())),
        "history": str(deleted.inspect.history().num_rows), "manifests": str(deleted.inspect.manifests().num_rows > 0),
    }
    for name, write in {
        "append": lambda: flat.append(flat.scan().to_arrow()), "delete": lambda: flat.delete("id = 3"),
        "drop": lambda: catalog.drop_table("default.flat"), "purge": lambda: catalog.purge_table("default.flat"),
        "rename": lambda: catalog.rename_table("default.flat", "default.other"), "create": lambda: catalog.create_table("default.new", Schema()),
        "create namespace": lambda: catalog.create_namespace("other"), "drop namespace": lambda: catalog.drop_namespace("default"),
        "expire": lambda: deleted.maintenance.expire_snapshots().by_id(first).commit(),
    }.items():
        out[name] = str(refusal(write) != "done")
    out["after"] = summary(catalog.load_table("default.flat").scan().to_arrow())
    return out


def by_duckdb():
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for extension in (duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg):
        name = extension.__name__.removeprefix("duckdb_extension_")
        [file] = Path(extension.__file__).parent.glob(f"extensions/*/{name}.duckdb_extension")
        con.execute(f"load '{file}'")
    con.execute("set timezone = 'UTC'")
    con.execute(f"attach '' as cat (type iceberg, endpoint '{url}/iceberg', client_id 'me', client_secret '{token}', "
                f"oauth2_server_uri '{url}/iceberg/v1/oauth/tokens')")

    def read(table, where="true"):
        return summary(con.execute(f"select * from cat.default.{table} where {where}").to_arrow_table())

    def number(query):
        return str(con.execute(query).fetchone()[0])

    when = datetime.datetime.fromtimestamp(int(first_ms) / 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    out = {
        "tables": " ".join(r[0] for r in con.execute("select table_name from duckdb_tables() where database_name = 'cat' order by 1").fetchall()),
        "flat": read("flat"), "count": number("select count(*) from cat.default.flat"),
        "deleted count": number("select count(*) from cat.default.deleted"),
        "filter": read("flat", "id >= 990 and id < 1010 and name is not null"),
        "projection": number("select sum(small) from cat.default.flat"), "deleted": read("deleted"),
        "snapshot": read(f"deleted at (version => {first})"), "as of": read(f"deleted at (timestamp => timestamp '{when}')"),
        "evolved": read("evolved"), "evolved before": read(f"evolved at (version => {before})"), "days": read("days"),
        "days filter": read("days", "small = 3"),
        "merged": read("merged"), "types": differences(rows_file, con.execute("select * from cat.default.types order by i32").to_arrow_table()),
        "snapshots": number("select count(*) from iceberg_snapshots(cat.default.deleted)"),
        "entries": number("select count(*) from iceberg_metadata(cat.default.deleted)"),
    }
    for name, write in {
        "append": "insert into cat.default.flat select * from cat.default.flat", "delete": "delete from cat.default.flat where id = 3",
        "drop": "drop table cat.default.flat", "create": "create table cat.default.new (a integer)",
        "create namespace": "create schema cat.other", "drop namespace": "drop schema cat.default",
    }.items():
        out[name] = str(refusal(lambda: con.execute(write)) != "done")
    out["after"] = read("flat")
    return out


print(json.dumps({"pyiceberg": by_pyiceberg(), "duckdb": by_duckdb()}))
