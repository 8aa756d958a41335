"""Opens a table of shards with pyiceberg and prints what it sees, as JSON. Arguments: catalog file, warehouse."""
import json
import sys

from pyiceberg.catalog.sql import SqlCatalog

catalog = SqlCatalog("shardcat", uri=f"sqlite:///{sys.argv[1]}", warehouse=f"file://{sys.argv[2]}")
table = catalog.load_table("default.people")
manifests = table.inspect.manifests()
try:
    table.scan().to_arrow()
    rows = "read"
except ValueError as e:
    rows = str(e)
print(json.dumps({
    "tables": [".".join(t) for t in catalog.list_tables("default")],
    "fields": {f.field_id: [f.name, str(f.field_type)] for f in table.schema().fields},
    "snapshots": [s.summary.operation.value for s in table.metadata.snapshots],
    "history": len(table.inspect.history()),
    "refs": table.inspect.refs().column("name").to_pylist(),
    "manifests": len(manifests),
    "records": table.current_snapshot().summary["total-records"],
    "rows": rows,
}))
