"""Reads a Parquet file by each library that is installed and prints every value as JSON: {reader: {column: [value, …]}}."""

import importlib.util
import json
import re
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq

UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def value(s):
    """A value of Arrow as the text by which it is compared."""
    if not s.is_valid:
        return None
    if isinstance(s, pa.ExtensionScalar):
        return value(s.value)
    t = s.type
    if pa.types.is_map(t) or pa.types.is_list(t) or pa.types.is_large_list(t):
        return [value(x) for x in s.values]
    if pa.types.is_struct(t):
        return {f.name: value(s[f.name]) for f in t}
    if pa.types.is_timestamp(t):
        assert t.unit == "us", t
        return f"us {s.value}"
    if pa.types.is_float32(t):
        return str(struct.unpack("<I", struct.pack("<f", s.as_py()))[0])
    if pa.types.is_float64(t):
        return str(struct.unpack("<Q", struct.pack("<d", s.as_py()))[0])
    if pa.types.is_boolean(t):
        return "true" if s.as_py() else "false"
    v = s.as_py()
    if isinstance(v, bytes):
        return v.hex()
    if isinstance(v, str):
        return v.replace("-", "") if UUID.fullmatch(v) else v
    return str(v)


def has(name):
    return importlib.util.find_spec(name) is not None


def tables(path, first):
    yield "pyarrow", pq.read_table(path)
    if has("duckdb"):
        import duckdb

        got = duckdb.sql(f"SELECT * FROM '{path}'")
        yield "duckdb", getattr(got, "to_arrow_table", got.arrow)()
        # a filter and a projection: some row groups and columns are left out
        got = duckdb.sql(f"SELECT serial, s FROM '{path}' WHERE serial BETWEEN {first} AND {first} + 5")
        yield "duckdb filtered", getattr(got, "to_arrow_table", got.arrow)()
    if has("polars"):
        import polars

        yield "polars", polars.read_parquet(path).to_arrow()
    if has("datafusion"):
        import datafusion

        ctx = datafusion.SessionContext()
        ctx.register_parquet("t", path)
        yield "datafusion", ctx.sql("SELECT * FROM t ORDER BY serial").to_arrow_table()


out = {}
for reader, table in tables(sys.argv[1], sys.argv[2]):
    if not isinstance(table, pa.Table):
        table = table.read_all()
    out[reader] = {name: [value(x) for x in table[name]] for name in table.column_names}
json.dump(out, sys.stdout)
