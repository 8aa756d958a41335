"""Opens a table of shards with pyiceberg and with DuckDB's Iceberg extension and prints what each sees, as JSON.

Arguments: kind of catalog (sqlite, postgres, rest), its URI, the warehouse, the namespace, the table's metadata file.
The table is NAMESPACE.engines."""
import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog

kind, uri, warehouse, namespace, metadata = sys.argv[1:]
if not warehouse.startswith("file:"):
    warehouse = "file://" + warehouse


def seen_by_pyiceberg():
    if kind == "rest":
        catalog = RestCatalog("shardcat", uri=uri.removeprefix("rest+"))
    else:
        path = uri.removeprefix("sqlite:")
        uri_there = f"sqlite:///{path}" if kind == "sqlite" else uri.replace("postgres://", "postgresql+psycopg2://")
        catalog = SqlCatalog("shardcat", uri=uri_there, warehouse=warehouse)
    table = catalog.load_table((namespace, "engines"))
    try:
        table.scan().to_arrow()
        refusal = ""
    except ValueError as e:
        refusal = str(e)
    return {
        "snapshots": " ".join(s.summary.operation.value for s in table.metadata.snapshots),
        "records": table.current_snapshot().summary["total-records"],
        "types": " ".join(str(f.field_type) for f in table.schema().fields),
        "manifests": str(len(table.inspect.manifests())),
        "refusal": refusal,
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
    try:
        con.execute(scan).fetchall()
        refusal = ""
    except duckdb.Error as e:
        refusal = str(e)
    return {
        "snapshots": str(con.execute(f"SELECT count(*) FROM iceberg_snapshots({source})").fetchone()[0]),
        "columns": " ".join(sorted(c[0] for c in columns)),
        "entries": str(sum(e[0] for e in entries)),
        "refusal": refusal,
    }


print(json.dumps({"pyiceberg": seen_by_pyiceberg(), "duckdb": seen_by_duckdb()}))
