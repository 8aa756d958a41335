"""Opens a table of shards with pyiceberg and with DuckDB's Iceberg extension and prints what each sees, as JSON.

Arguments: kind of catalog (sqlite, postgres, rest), its URI, the warehouse, the namespace, the table's metadata file.
The table is NAMESPACE.engines; NAMESPACE.harmed is one that may be broken."""
import json
import sys
import tempfile
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog

kind, uri, warehouse, namespace, metadata = sys.argv[1:]
if not warehouse.startswith("file:"):
    warehouse = "file://" + warehouse


def pyiceberg_catalog():
    if kind == "rest":
        return RestCatalog("shardcat", uri=uri.removeprefix("rest+"))
    path = uri.removeprefix("sqlite:")
    uri_there = f"sqlite:///{path}" if kind == "sqlite" else uri.replace("postgres://", "postgresql+psycopg2://")
    return SqlCatalog("shardcat", uri=uri_there, warehouse=warehouse)


def refused(what):
    """What the engine says to what it is asked, "" if it does it."""
    try:
        what()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return ""


def seen_by_pyiceberg():
    table = pyiceberg_catalog().load_table((namespace, "engines"))
    return {
        "snapshots": " ".join(s.summary.operation.value for s in table.metadata.snapshots),
        "records": table.current_snapshot().summary["total-records"],
        "types": " ".join(str(f.field_type) for f in table.schema().fields),
        "manifests": str(len(table.inspect.manifests())),
        "history": str(len(table.inspect.history())),
        "refs": " ".join(table.inspect.refs().column("name").to_pylist()),
        "refusal": refused(lambda: table.scan().to_arrow()),
        "refusal of files": refused(lambda: table.inspect.files()),
        "refusal of entries": refused(lambda: table.inspect.entries()),
        "refusal of partitions": refused(lambda: table.inspect.partitions()),
    }


def harmed_by_pyiceberg():
    table = pyiceberg_catalog().load_table((namespace, "harmed"))
    rows = pa.Table.from_pylist([{"id": 1}], schema=pa.schema([("id", pa.int64())]))
    file = Path(tempfile.mkdtemp()) / "harm.parquet"
    pq.write_table(rows, file)
    before = table.current_snapshot().snapshot_id
    return {
        "refusal of append": refused(lambda: table.append(rows)),
        "refusal of add_files": refused(lambda: table.add_files([f"file://{file}"])),
        "changed": str(pyiceberg_catalog().load_table((namespace, "harmed")).current_snapshot().snapshot_id != before),
    }


def seen_by_duckdb():
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for extension in (duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg):
        name = extension.__name__.removeprefix("duckdb_extension_")
        [file] = Path(extension.__file__).parent.glob(f"extensions/*/{name}.duckdb_extension")
        con.execute(f"LOAD '{file}'")
    source = f"'{metadata}'"
    if kind == "rest":
        endpoint = uri.removeprefix("rest+")
        con.execute(f"ATTACH '' AS shardcat (TYPE iceberg, ENDPOINT '{endpoint}', AUTHORIZATION_TYPE 'none')")
        source = f"shardcat.{namespace}.engines"
        columns = con.execute(f"DESCRIBE {source}").fetchall()
        scan = f"SELECT * FROM {source}"
    else:
        columns = con.execute(f"DESCRIBE SELECT * FROM iceberg_scan({source})").fetchall()
        scan = f"SELECT * FROM iceberg_scan({source})"
    entries = con.execute(f"SELECT record_count FROM iceberg_metadata({source}) WHERE status <> 'DELETED' AND content = 'EXISTING'").fetchall()
    return {
        "snapshots": str(con.execute(f"SELECT count(*) FROM iceberg_snapshots({source})").fetchone()[0]),
        "columns": " ".join(sorted(c[0] for c in columns)),
        "entries": str(sum(e[0] for e in entries)),
        "refusal": refused(lambda: con.execute(scan).fetchall()),
        "pruned": str(con.execute(f"{scan} WHERE id > 1000000").fetchall()),
    }


print(json.dumps({"pyiceberg": seen_by_pyiceberg(), "duckdb": seen_by_duckdb(), "harm": harmed_by_pyiceberg()}))
