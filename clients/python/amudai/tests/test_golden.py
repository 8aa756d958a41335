"""Golden shards of another writer: every record must be the one that was written."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings
from decimal import Decimal

import numpy as np
import pytest

import amudai

HERE = pathlib.Path(__file__).resolve()


def cases():
    tree = next((p for p in HERE.parents if (p / "testdata" / "golden").is_dir()), None)
    found = []
    if tree:
        golden = tree / "testdata" / "golden"
        found += sorted(golden.glob("*/shard.amudai.shard")) + sorted(golden.glob("merged/*/shard.amudai.shard"))
    interop = os.environ.get("SHARDCAT_INTEROP")
    if interop:
        index = json.loads((pathlib.Path(interop) / "index.json").read_text())
        found += [pathlib.Path(interop) / c["name"] / c["shard"] for c in index]
    else:
        warnings.warn("SHARDCAT_INTEROP is not set: only the shards in testdata are read")
    return found


CASES = cases()
TICKS = re.compile(r"(-?)(?:(\d+)\.)?(\d\d):(\d\d):(\d\d)(?:\.(\d{7}))?\Z")


def test_there_are_cases():
    assert CASES, "no golden shards found: run from a checkout, or set SHARDCAT_INTEROP"


@pytest.mark.skipif(not os.environ.get("SHARDCAT_INTEROP"), reason="SHARDCAT_INTEROP IS NOT SET: THE 131 SHARDS ARE NOT READ")
def test_interop_is_complete():
    assert len([c for c in CASES if os.environ["SHARDCAT_INTEROP"] in str(c)]) >= 131


def same(a, b, field):
    """a is what was read, b what was written, both from JSON with numbers as text."""
    if a is None or b is None:
        return a is b
    t = field.type
    if t == "Decimal":
        x, y = Decimal(a), Decimal(b)
        return (x.is_nan() and y.is_nan()) or (x == y and x.is_signed() == y.is_signed())
    if field.basic in ("Float32", "Float64"):
        kind = np.float32 if field.basic == "Float32" else np.float64
        return kind(a).tobytes() == kind(b).tobytes() or (a == "NaN" and b == "NaN")
    if field.basic in ("List", "FixedSizeList"):
        return len(a) == len(b) and all(same(x, y, field.children[0]) for x, y in zip(a, b))
    if field.basic == "Map":
        return len(a) == len(b) and all(list(x) == list(y) == ["key", "value"] and same(x["key"], y["key"], field.children[0])
                                        and same(x["value"], y["value"], field.children[1]) for x, y in zip(a, b))
    if field.basic == "Struct":
        return list(a) == list(b) == [c.name for c in field.children] and all(same(a[c.name], b[c.name], c) for c in field.children)
    return type(a) is type(b) and a == b


def loads(line):
    # numbers stay text, so that nothing is rounded on the way; a wrapper distinguishes them from strings
    return json.loads(line, parse_int=Number, parse_float=Number)


class Number(str):
    pass


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.parent.name)
def test_rows(path):
    s = amudai.open(path)
    n = 0
    with gzip.open(path.parent / "rows.ndjson.gz", "rt", encoding="utf-8") as f:
        for line, got in zip(f, s.ndjson(), strict=True):
            want, have = loads(line), loads(got)
            assert list(have) == list(want)
            for field in s.schema:
                assert same(have[field.name], want[field.name], field), \
                    f"record {n}, {field}: {have[field.name]!r}, written as {want[field.name]!r}"
            n += 1
    assert n == s.records


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.parent.name)
def test_verify(path):
    amudai.open(path).verify()


@pytest.mark.parametrize("path", CASES[:8] + CASES[8::12], ids=lambda p: p.parent.name)
def test_rows_and_arrow_agree(path):
    pytest.importorskip("pyarrow")
    s = amudai.open(path)
    table = s.to_arrow()
    assert table.num_rows == s.records
    assert table.column_names == [f.name for f in s.schema]
    rows = list(s.rows())
    for f in s.schema:
        if f.basic in ("Int8", "Int16", "Int32", "Int64", "String", "Boolean", "Binary") and f.type != "TimeSpan":
            assert table[f.name].to_pylist() == [r[f.name] for r in rows]
        else:
            assert table[f.name].null_count == sum(r[f.name] is None for r in rows)


def test_select_and_limit():
    path = CASES[0]
    names = [f.name for f in amudai.open(path).schema]
    run = subprocess.run([sys.executable, "-m", "amudai", "cat", str(path), "--select", names[-1], "--limit", "1"],
                         capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 1 and list(json.loads(lines[0])) == [names[-1]]
    run = subprocess.run([sys.executable, "-m", "amudai", "cat", str(path), "--select", "no such"], capture_output=True, text=True)
    assert run.returncode == 2 and "no such" in run.stderr


def damaged(path, tmp_path, change):
    folder = tmp_path / "copy"
    shutil.copytree(path.parent, folder, dirs_exist_ok=True)
    for p in folder.iterdir():
        os.chmod(p, 0o644)
    change(folder)
    with pytest.raises(amudai.ShardError) as e:
        s = amudai.open(folder / path.name)
        s.verify()
        list(s.ndjson())
    assert e.value.object and e.value.offset >= 0 and e.value.kind in ("corrupt", "unsupported", "missing")
    return e.value


def first(name):
    return next(p for p in CASES if p.parent.name == name)


def test_a_cut_shard(tmp_path):
    path = first("wide-plain-one-1")
    size = path.stat().st_size
    for n in (0, 1, 7, 8, 35, 36, size // 2, size - 9, size - 1):
        damaged(path, tmp_path, lambda d: (d / path.name).write_bytes(path.read_bytes()[:n]))


def test_a_missing_stripe(tmp_path):
    path = first("wide-p10-highcomp-two-255")
    e = damaged(path, tmp_path, lambda d: [p.unlink() for p in d.glob("*.stripe")])
    assert e.kind == "missing"


@pytest.mark.parametrize("name", ["wide-p10-highcomp-two-255", "nest-emptylists-balanced-one-256", "wide-p10-plain-two-3s17"])
def test_flipped_bytes(name, tmp_path):
    """A changed byte is noticed, or lies where nothing is read; it never makes another exception."""
    path = first(name)
    rng = np.random.default_rng(1)
    whole = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.suffix in (".shard", ".stripe")}
    want = list(amudai.open(path).ndjson())
    for k in range(60):
        pick = sorted(whole)[k % len(whole)]
        b = bytearray(whole[pick])
        b[int(rng.integers(len(b)))] ^= int(rng.integers(1, 256))
        folder = tmp_path / str(k)
        folder.mkdir()
        for n, data in whole.items():
            (folder / n).write_bytes(bytes(b) if n == pick else data)
        try:
            assert list(amudai.open(folder / path.name).ndjson()) == want
        except amudai.ShardError as e:
            assert e.object
