"""Reads tables through the gateway with pyiceberg and DuckDB and prints what each sees, as JSON.

Arguments: URL of the server, read token, first snapshot of default.deleted and its time in ms, the snapshot of default.evolved before its
schema changed, the file of the rows of default.types."""
import base64
import datetime
import decimal
import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema

url, token, first, first_ms, before, rows_file = sys.argv[1:]
first, before = int(first), int(before)


def summary(table):
    """Numbers that tell rows apart: count, sum of ids, names that are not null, sum of four times the prices, and so on."""
    rows = table.to_pylist()
    name = "name" if "name" in table.column_names else "label"
    return " ".join(str(n) for n in (
        len(rows), sum(r["id"] for r in rows), sum(r[name] is not None for r in rows),
        int(sum((r.get("price") or 0) * 4 for r in rows)), sum(r["small"] for r in rows),
        int(sum(r["at"].timestamp() - 1_700_000_000 for r in rows))))


def wanted(column, v):
    """A value of the file of rows as an Iceberg engine sees it."""
    if v is None:
        return None
    if column in ("bin", "fsb"):
        return base64.b64decode(v)
    if column == "t":
        return datetime.datetime.fromisoformat(v.replace("Z", "+00:00"))
    if column == "m":
        return list(v.items())
    if column == "u64":
        return decimal.Decimal(v)
    if column == "un":
        return {"variant0": v if isinstance(v, int) else None, "variant1": v if isinstance(v, str) else None}
    if column == "dy":
        return json.dumps(v, separators=(",", ":"))
    if column == "ts":
        return int(v.split(".")[1])
    return v


def differences(table, but=()):
    """The columns in which a table differs from the file of rows."""
    with open(rows_file) as f:
        rows = [row for row in map(json.loads, f) if row["i32"] >= 100]
    out = []
    for name in table.column_names:
        seen = table[name].to_pylist()
        if name == "g":
            seen = [v and str(v) for v in seen]
        if name not in but and seen != [wanted(name, row[name]) for row in rows]:
            first = next((i, v, wanted(name, row[name])) for i, (v, row) in enumerate(zip(seen, rows)) if v != wanted(name, row[name]))
            out.append(f" {name} {first}")
    return f"{table.num_rows} rows, columns that differ:" + "".join(out)


def refusal(what):
    try:
        what()
    except Exception as e:
        return type(e).__name__
    return "done"


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
        "tag": summary(deleted.scan().use_ref("tagged").to_arrow()),
        "branch": summary(deleted.scan().use_ref("side").to_arrow()),
        "evolved": summary(evolved.scan().to_arrow()), "evolved columns": " ".join(evolved.schema().column_names),
        "evolved before": summary(evolved.scan(snapshot_id=before).to_arrow()),
        "days": summary(days.scan().to_arrow()), "days filter": summary(days.scan(row_filter="small = 3").to_arrow()),
        "days files": str(len(list(days.scan(row_filter="small = 3").plan_files()))),
        "merged": summary(catalog.load_table("default.merged").scan().to_arrow()),
        # pyiceberg makes empty lists of null lists of structs, of any Parquet file
        "types": differences(catalog.load_table("default.types").scan().to_arrow(), but=("ls",)),
        "pruned files": str(len(list(flat.scan(row_filter="id < 10").plan_files()))),
        "files": " ".join(sorted(f"{f['content']}/{f['record_count']}" for f in files)),
        "entries": str(deleted.inspect.entries().num_rows), "partitions": str(days.inspect.partitions().num_rows),
        "snapshots": str(deleted.inspect.snapshots().num_rows), "refs": " ".join(sorted(deleted.inspect.refs()["name"].to_pylist())),
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
        "merged": read("merged"), "types": differences(con.execute("select * from cat.default.types order by i32").to_arrow_table()),
        "snapshots": number("select count(*) from iceberg_snapshots(cat.default.deleted)"),
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
