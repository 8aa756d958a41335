"""Reads the datasets of a folder, NAME.FRAGMENTS.lance, and compares them with the tables that lie beside them as .arrow files;
then appends to those that have rows, and deletes."""
import glob, os, sys
import lance
import pyarrow as pa

for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.lance"))):
    base = path[: -len(".lance")]
    want = pa.ipc.open_file(base + ".arrow").read_all()
    d = lance.dataset(path)
    got = d.to_table()
    assert d.data_storage_version == "2.0", d.data_storage_version
    assert len(d.get_fragments()) == int(base.rsplit(".", 1)[1]), d.get_fragments()
    assert d.count_rows() == want.num_rows, (d.count_rows(), want.num_rows)
    assert got.column_names == want.column_names, got.column_names
    for name in want.column_names:
        a, b = got[name], want[name]
        assert a.type == b.type and got.schema.field(name).nullable == want.schema.field(name).nullable, (path, name, a.type, b.type)
        if pa.types.is_dictionary(a.type):
            a, b = a.cast(a.type.value_type), b.cast(b.type.value_type)
        assert a.combine_chunks().equals(b.combine_chunks()), (path, name)
    if want.num_rows == 0:
        continue
    assert d.to_table(columns=["id"], filter="id = 0").num_rows == 1
    d = lance.write_dataset(want, path, mode="append")
    assert d.count_rows() == 2 * want.num_rows
    d.delete("id = 0")
    assert lance.dataset(path).count_rows() == 2 * want.num_rows - 2
