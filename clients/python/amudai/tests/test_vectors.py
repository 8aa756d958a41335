"""The test vectors of docs/format/vectors: every one decodes to its values."""
import json
import pathlib
import re
import struct

import numpy as np
import pytest

import amudai
from amudai import blocks, buffers, fields, schema, wire

FOLDER = next((p / "docs" / "format" / "vectors" for p in pathlib.Path(__file__).resolve().parents
               if (p / "docs" / "format" / "vectors").is_dir()), None)
WIDTHS = {"Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "UInt8": 1, "UInt16": 2, "UInt32": 4, "UInt64": 8, "Float32": 4, "Float64": 8}


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["vectors"]


def cases(*names):
    return [pytest.param(v, id=f"{n}: {v['name']} {v.get('tree', '')}") for n in names for v in load(n)]


def data(v):
    return bytes.fromhex("".join(v["bytes"]))


def texts(typ, sub, n, valid):
    """The values of a sub-block as a vector has them."""
    if typ in WIDTHS:
        w = WIDTHS[typ]
        x = blocks.numbers(sub, w, n, typ[0].lower())
        if typ.startswith("Float"):
            out = [f"{int(b):0{2 * w}x}" for b in x]
        else:
            out = [str(b) for b in x.view(f"<{'i' if typ.startswith('I') else 'u'}{w}").tolist()]
    else:
        fixed = re.fullmatch(r"FixedSizeBinary\((\d+)\)", typ)
        x = blocks.strings(sub, int(fixed[1]) if fixed else 0, n)
        out = [bytes(x.data[s:s + k]).hex() for s, k in zip(x.starts.tolist(), x.lens.tolist())]
    return [t if valid is None or valid[i] else None for i, t in enumerate(out)]


def unframed(b):
    assert struct.unpack("<I", b[-4:])[0] == wire.checksum(b[:-4])
    return b[:-4]


@pytest.mark.parametrize("v", cases("integers", "floats", "bytes", "presence"))
def test_block(v):
    p, sub = blocks.split(unframed(data(v)), v["count"])
    assert texts(v["type"], sub, v["count"], blocks.presence(p, v["count"])) == v["values"]


class Object:
    """Bytes in memory, as a buffer is read from."""

    name = "vector"

    def __init__(self, b):
        self.b, self.size = b, len(b)

    def read(self, start, end, what=""):
        return self.b[start:end]


@pytest.mark.parametrize("v", cases("buffers"))
def test_piece(v):
    b, h = data(v), v["holds"]
    if h["kind"] == "block map":
        values, sizes = buffers.block_map(b)
        assert values.tolist() == h["values"] and sizes.tolist() == h["bytes"] and int(values.sum()) == v["count"]
    elif h["kind"] == "stream":
        values, sizes = buffers.block_map(b[h["block_map"]:])
        got, at = [], 0
        for n, size in zip(values.tolist(), sizes.tolist()):
            p, sub = blocks.split(unframed(b[at:at + size]), n)
            got += texts(v["type"], sub, n, blocks.presence(p, n))
            at += size
        assert got == v["values"] and len(values) == h["blocks"]
    elif h["kind"] == "value dictionary":
        f = schema.Field()
        f.basic, f.fixed_size = re.sub(r"\(.*", "", v["type"]), h["fixed_size"]
        f.signed = True
        d = fields.Dictionary({"object": Object(b), "start": 0, "end": len(b)}, f)
        got = [bytes(d.views.data[s:s + n]).hex() for s, n in zip(d.views.starts.tolist(), d.views.lens.tolist())]
        assert [None if i == d.null else t for i, t in enumerate(got)] == v["values"]
    elif h["kind"] == "super-block":
        parts = buffers.super_block(b, True)
        assert [[at, at + len(p)] for at, p in parts] == h["members"]
        for _, p in parts:
            blocks.split(unframed(p), v["count"])
    elif h["kind"] == "named block":
        _, sub = blocks.split(unframed(b), v["count"])
        known, codes = blocks.named(sub)
        assert known == h["dictionary"]
        assert texts(v["type"], codes, v["count"], None) == v["values"]
    else:
        assert h["kind"] == "range index"
        least, greatest, invalid = buffers.range_index(b, v["count"])
        assert [x.hex() for x in least] == h["least"]
        assert [x.hex() for x in greatest] == h["greatest"]
        assert invalid.tolist() == h["invalid"]


@pytest.mark.parametrize("v", cases("shards"))
def test_shard(v, tmp_path):
    path = tmp_path / "shard.amudai.shard"
    path.write_bytes(data(v))
    s = amudai.open(path)
    s.verify()
    assert [json.loads(x) for x in s.ndjson()] == [json.loads(x) for x in v["holds"]["rows"]]
    assert len(v["holds"]["rows"]) == v["count"]


def test_annotated_shard(tmp_path):
    page = (FOLDER / "shard.md").read_text(encoding="utf-8")
    b = b""
    for m in re.finditer(r"^([0-9a-f]{6})  (?:00 × (\d+)|([0-9a-f]+))(?: |$)", page, re.M):
        assert int(m[1], 16) == len(b)
        b += bytes(int(m[2])) if m[2] else bytes.fromhex(m[3])
    path = tmp_path / "shard.amudai.shard"
    path.write_bytes(b)
    s = amudai.open(path)
    s.verify()
    want = re.search(r"```json\n(.*?)```", page, re.S)[1].splitlines()
    assert [json.loads(x) for x in s.ndjson()] == [json.loads(x) for x in want]


def test_there_are_vectors():
    assert FOLDER, "the vectors lie in the tree: run from a checkout"
    assert len(cases("integers", "floats", "bytes", "presence", "buffers", "shards")) > 150
