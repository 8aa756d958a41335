"""Writes datasets by pylance into a folder, and what each of their versions holds as NAME.VERSION.arrow beside them.

With the argument "fixture" only the small one that lies beside this script is written, in the version that may follow.
"""
import os, sys
import lance
import pyarrow as pa

out = sys.argv[1]
OLD = dict(data_storage_version="2.0")


def expect(name):
    """Writes down all versions of a dataset."""
    path = os.path.join(out, name + ".lance")
    for v in lance.dataset(path).versions():
        table = lance.dataset(path, version=v["version"]).to_table()
        with pa.ipc.new_file(os.path.join(out, f"{name}.{v['version']}.arrow"), table.schema) as w:
            w.write_table(table)


def evolved(name, rows, per_file, version="2.0"):
    path = os.path.join(out, name + ".lance")
    n = list(range(rows))
    table = pa.table({
        "id": pa.array(n, pa.int64()),
        "name": [None if i % 7 == 0 else f"row {i}" for i in n],
        "at": pa.StructArray.from_arrays(
            [pa.array(n, pa.int32()), pa.array([f"y{i}" for i in n]), pa.array([i / 4 for i in n])],
            names=["x", "y", "z"]),
        "tags": pa.array([[{"k": f"k{j}", "v": j} for j in range(i % 3)] for i in n]),
    })
    lance.write_dataset(table, path, max_rows_per_file=per_file, data_storage_version=version)
    lance.dataset(path).delete("id % 10 = 3")
    lance.dataset(path).tags.create("cleaned", 2)
    lance.dataset(path).update({"name": "'changed'"}, where="id % 11 = 5")
    lance.dataset(path).add_columns({"twice": "id * 2"})
    lance.dataset(path).alter_columns({"path": "twice", "name": "double"})
    lance.dataset(path).drop_columns(["at.y"])
    lance.dataset(path).alter_columns({"path": "at.x", "name": "ex"})
    lance.dataset(path).alter_columns({"path": "id", "data_type": pa.int32()})
    lance.dataset(path).drop_columns(["name"])
    lance.dataset(path).delete(f"id >= {per_file} and id < {per_file * 2}")
    more = pa.table({"id": pa.array([rows + 1, rows + 2], pa.int32())})
    lance.write_dataset(more, path, mode="append", data_storage_version=version)


os.makedirs(out, exist_ok=True)
if len(sys.argv) > 2:
    # Since version 2.1 null structs and structs in lists are stored as they are.
    version = sys.argv[3] if len(sys.argv) > 3 else "2.0"
    evolved("evolved", 60, 20, version)
    expect("evolved")
    sys.exit()

for version in ("2.0", "2.1", "2.2"):
    evolved("evolved-" + version.replace(".", "-"), 3000, 1000, version)
    expect("evolved-" + version.replace(".", "-"))

# Nulls and empty lists at every level, all of them read through deletions.
path = os.path.join(out, "nested.lance")
n = range(4000)
nested = pa.table({
    "id": pa.array(n, pa.int64()),
    "s": pa.array([None if i % 5 == 1 else {"a": None if i % 3 else i, "l": None if i % 4 == 2 else ["x" * (i % 3)] * (i % 6)} for i in n]),
    "l": pa.array([None if i % 6 == 5 else [None if k % 2 else {"k": k, "v": [None, k]} for k in range(i % 4)] for i in n]),
    "v": pa.array([None if i % 9 == 0 else [i, i + 1, None] for i in n], pa.list_(pa.float32(), 3)),
})
lance.write_dataset(nested, path, max_rows_per_file=1500, data_storage_version="2.1")
lance.dataset(path).delete("id % 4 = 1")
lance.dataset(path).add_columns({"more": "id + 1"})
lance.dataset(path).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(
    lance.dataset(path).to_table(filter="id > 3900"))
lance.dataset(path).optimize.compact_files()
expect("nested")

path = os.path.join(out, "many.lance")
big = pa.table({"n": pa.array(range(50000), pa.int64()), "s": ["x" * (i % 5) for i in range(50000)]})
lance.write_dataset(big, path, max_rows_per_file=20000, **OLD)
lance.dataset(path).delete("n % 2 = 1")  # dense: a bitmap
lance.dataset(path).delete("n > 1000 and n < 15000")
lance.write_dataset(big.slice(0, 10), path, mode="append", **OLD)
lance.write_dataset(pa.table({"other": [1.5, None]}), path, mode="overwrite", **OLD)
lance.dataset(path).delete("true")
expect("many")

path = os.path.join(out, "names.lance")
for i in range(12):
    lance.write_dataset(pa.table({"i": [i]}), path, mode="append" if i else "create", enable_v2_manifest_paths=False, **OLD)
expect("names")

path = os.path.join(out, "stable.lance")
lance.write_dataset(big.slice(0, 100), path, enable_stable_row_ids=True, **OLD)
lance.dataset(path).update({"s": "'u'"}, where="n < 5")
expect("stable")

lance.write_dataset(big.slice(0, 0), os.path.join(out, "empty.lance"), **OLD)
expect("empty")

for version in ["2.3", "legacy"]:
    lance.write_dataset(big.slice(0, 10), os.path.join(out, f"refused-{version}.lance"), data_storage_version=version)
lance.dataset(os.path.join(out, "stable.lance")).shallow_clone(os.path.join(out, "refused-clone.lance"), 1)
