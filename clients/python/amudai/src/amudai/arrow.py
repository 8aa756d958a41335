"""Columns as pyarrow arrays."""
import re

import numpy as np
import pyarrow as pa

from .fields import Variant

UNIX = 621_355_968_000_000_000  # ticks from 0001-01-01 to 1970-01-01
PER = {"us": 10, "ms": 10_000, "s": 10_000_000}


def arrow_type(f, unit="us"):
    t, b = f.type, f.basic
    if t == "TimeSpan":
        return pa.duration(unit)
    if t == "Decimal":
        return pa.string()
    simple = {"Unit": pa.null(), "Boolean": pa.bool_(), "Float32": pa.float32(), "Float64": pa.float64(),
              "Binary": pa.binary(), "String": pa.string(), "Guid": pa.binary(16), "DateTime": pa.timestamp(unit, "UTC")}
    if b in simple:
        return simple[b]
    if b.startswith("Int"):
        return getattr(pa, t.lower())()
    if b == "FixedSizeBinary":
        return pa.binary(f.fixed_size)
    kids = [arrow_type(c, unit) for c in f.children]
    if b == "List":
        return pa.list_(pa.field("item", kids[0]))
    if b == "FixedSizeList":
        return pa.list_(pa.field("item", kids[0]), f.fixed_size)
    if b == "Map":
        return pa.map_(*kids)
    if b == "Struct":
        return pa.struct([pa.field(c.name, k) for c, k in zip(f.children, kids)])
    return pa.dense_union([pa.field(c.name or str(i), k) for i, (c, k) in enumerate(zip(f.children, kids))])


_DT = re.compile(r"(.{10})T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z")
_TS = re.compile(r"(-?)(?:(\d+)\.)?(\d\d):(\d\d):(\d\d)(?:\.(\d+))?")


def _ticks(m, days):
    h, mi, s, frac = m.groups()[-4:]
    return (days * 86400 + int(h) * 3600 + int(mi) * 60 + int(s)) * 10_000_000 + int((frac or "").ljust(7, "0"))


def _scaled(ticks, unit):
    if unit == "ns":
        return ticks * 100
    return ticks // PER[unit]


def _plain(f, v, unit):
    """A value as pa.array takes it: times as integers, guids as bytes, decimals as text."""
    if v is None:
        return None
    t, b = f.type, f.basic
    if b == "DateTime":
        m = _DT.fullmatch(v)
        return _scaled(_ticks(m, int(np.datetime64(m[1], "D").astype(int))), unit)
    if t == "TimeSpan":
        m = _TS.fullmatch(v)
        ticks = _ticks(m, int(m[2] or 0))
        return _scaled(-ticks if m[1] else ticks, unit)
    if t == "Decimal":
        return str(v)
    if b == "Guid":
        return v.bytes
    if b in ("List", "FixedSizeList"):
        return [_plain(f.children[0], x, unit) for x in v]
    if b == "Map":
        return [(_plain(f.children[0], x["key"], unit), _plain(f.children[1], x["value"], unit)) for x in v]
    if b == "Struct":
        return {c.name: _plain(c, v[c.name], unit) for c in f.children}
    return v


def _array(f, v, unit):
    t = arrow_type(f, unit)
    if f.basic == "Union":
        codes = [x.variant if isinstance(x, Variant) else 0 for x in v]
        kids, offsets = [[] for _ in f.children], []
        for x, c in zip(v, codes):
            offsets.append(len(kids[c]))
            kids[c].append(x.value if x is not None else None)
        return pa.UnionArray.from_dense(pa.array(codes, pa.int8()), pa.array(offsets, pa.int32()),
                                        [_array(c, k, unit) for c, k in zip(f.children, kids)],
                                        [t.field(i).name for i in range(t.num_fields)])
    return pa.array([_plain(f, x, unit) for x in v], t)


def table(shard, columns, unit):
    if unit not in PER and unit != "ns":
        raise ValueError(f"time_unit {unit!r}: s, ms, us or ns")
    want = shard.select(columns)
    chunks = [[] for _ in want]
    n = 0
    for lists, count in shard._lists(columns):
        n += count
        for f, out, v in zip(want, chunks, lists):
            out.append(_array(f, v, unit))
    types = [arrow_type(f, unit) for f in want]
    schema = pa.schema([pa.field(f.name, t) for f, t in zip(want, types)])
    return pa.table([pa.chunked_array(c, t) for c, t in zip(chunks, types)], schema=schema)
