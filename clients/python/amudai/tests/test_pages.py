"""The examples on the pages of docs/format, and the README's."""
import os
import pathlib
import re
import struct

import numpy as np
import pytest

from amudai import blocks, buffers, values, wire

ROOT = pathlib.Path(__file__).resolve().parents[4]


def test_checksums():
    assert wire.checksum(b"testdata") == 0x59981402
    assert struct.pack("<I", wire.checksum(b"")).hex().upper() == "C714D515"


def test_block_map():
    b = bytes.fromhex("00000000 00000000 00000000 00000000 64000000 C8000000 08 08 0300 00326400 0032640000000000")
    b += struct.pack("<9Q", 0, 450, 0, 40, 450, 3, 1, 1024, 750)
    v, s = buffers.block_map(b)
    assert v.tolist() == [100, 150, 200] and s.tolist() == [200, 250, 300]
    v, s = buffers.block_map(struct.pack("<7Q", 0, 0, 0, 0, 0, 1024, 0))
    assert len(v) == len(s) == 0
    for i in range(len(b)):
        damaged = bytearray(b)
        damaged[i] ^= 1
        if 31 <= i < 32 or 35 <= i < 40:  # padding
            continue
        with pytest.raises(buffers.Bad):
            buffers.block_map(bytes(damaged))


@pytest.mark.parametrize("w", [1, 2, 4, 8])
def test_order_of_bits(w):
    """Packs by the formula of the page, one bit at a time."""
    rng = np.random.default_rng(w)
    bits = 8 * w
    lanes = 1024 // bits
    for width in {1, 3, bits - 1, bits}:
        want = [int(x) & (1 << width) - 1 for x in rng.integers(0, 1 << 63, 1024, np.uint64, endpoint=True)]
        words = [0] * (width * lanes)
        for step in range(bits):
            for lane in range(lanes):
                v = want[(0, 4, 2, 6, 1, 5, 3, 7)[step // 8] * 16 + step % 8 * 128 + lane]
                word, shift = divmod(step * width, bits)
                words[word * lanes + lane] |= v << shift & (1 << bits) - 1
                if shift + width > bits:
                    words[(word + 1) * lanes + lane] |= v >> bits - shift
        packed = b"".join(x.to_bytes(w, "little") for x in words)
        sub = struct.pack("<HB5x", 2, width) + packed
        assert blocks.numbers(sub, w, 1024).tolist() == want
        assert blocks.numbers(sub, w, 1000).tolist() == want[:1000]


def test_values():
    assert values.datetime_text(0) == "0001-01-01T00:00:00Z"
    assert values.datetime_text(621_355_968_000_000_001) == "1970-01-01T00:00:00.0000001Z"
    assert values.datetime_text(3_155_378_976_000_000_000) == "3155378976000000000 ticks"
    assert values.datetime_text((1 << 64) - 1) == "18446744073709551615 ticks"
    assert values.datetime_text(values.MAX_DATETIME) == "9999-12-31T23:59:59.9999999Z"
    assert values.timespan_text(-1) == "-00:00:00.0000001"
    assert values.timespan_text(864_000_000_000 * 3 + 600_000_000) == "3.00:01:00"
    assert values.timespan_text(-1 << 63) == "-10675199.02:48:05.4775808"
    one = bytes.fromhex("01000000000000000000000000000822")
    assert str(values.decimal(one)) == "1"
    assert str(values.decimal(one[:15] + b"\xa2")) == "-1"
    assert str(values.decimal(bytes(15) + b"\x78")) == "Infinity"
    assert str(values.decimal(bytes(15) + b"\x7c")) == "NaN"
    assert sorted(set(values.DECLETS)) == [f"{i:03d}" for i in range(1000)]


def test_escape_of_fsst():
    table = b"ab".ljust(8, b"\0") + b"c".ljust(8, b"\0") + bytes([2, 1])
    assert blocks.unfsst(table, 2, bytes([0, 1, 255, 7, 255, 255, 0])) == b"abc\x07\xffab"
    for bad in ([2], [0, 255]):
        with pytest.raises(blocks.Bad):
            blocks.unfsst(table, 2, bytes(bad))


def test_a_dictionary_of_byte_strings():
    codes = struct.pack("<H4I", 1, 2, 0, 1, 2)
    sub = struct.pack("<HIIIBx", 14, len(codes), 8, 2, 0) + codes
    sub += bytes(-len(sub) % 8) + struct.pack("<II", 3, 1) + b"abcd"  # codes are padded, lengths are not
    v = blocks.strings(sub, 0, 4)
    assert [v.data[s:s + n] for s, n in zip(v.starts, v.lens)] == [b"d", b"", b"abc", b"d"]


def test_readme(capsys):
    pytest.importorskip("pyarrow")
    code = re.search(r"```python\n(.*?)```", (pathlib.Path(__file__).parents[1] / "README.md").read_text(), re.S)[1]
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        exec(compile(code, "README.md", "exec"), {})
    finally:
        os.chdir(here)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == re.search(r"print\(s.records.*?# (.*)", code)[1]
