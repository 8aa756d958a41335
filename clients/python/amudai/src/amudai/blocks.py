"""Blocks: from bytes to values.

Numbers are decoded as unsigned words of their width, which is all that most encodings care for, and are looked at as what
they are in the end. Byte strings are decoded to views: where each starts in some bytes, and how long it is.
"""
import struct

import lz4.block
import numpy as np
import zstandard

from .errors import Bad

MAX_DEPTH = 16
MAX_EXPANSION = 1 << 30
# The encodings that do not fit a type, by its kind: unsigned, signed, float.
UNFIT = {"u": {8, 9, 10, 11, 12, 13, 15, 18}, "i": {2, 12, 13, 15}, "f": {2, 3, 4, 5, 8, 9, 10, 11, 15, 18}}
FL_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)
F64_POW = np.array([float(f"1e{i}") for i in range(24)])
F64_NEG = np.array([float(f"1e-{i}") for i in range(24)])
F32_POW = np.array([float(f"1e{i}") for i in range(11)], np.float32)
F32_NEG = np.array([float(f"1e-{i}") for i in range(11)], np.float32)


class Views:
    """Byte strings: starts and lens (int64) into data, and which of them are null by their codes."""

    __slots__ = ("starts", "lens", "data", "nulls")

    def __init__(self, starts, lens, data, nulls=None):
        self.starts, self.lens, self.data, self.nulls = starts, lens, data, nulls

    def __len__(self):
        return len(self.starts)


def up8(n):
    return -(-n // 8) * 8


def split(b, n):
    """(presence section, value sub-block) of a block without its checksum."""
    if len(b) < 8:
        raise Bad("block: too small")
    ps, vs = struct.unpack_from("<II", b)
    at = up8(8 + ps)
    if at + vs > len(b):
        raise Bad("block: its sections exceed it")
    return b[8:8 + ps], b[at:at + vs]


def named(v):
    """(id of the value dictionary, sub-block of the codes) of a value sub-block that names the one of several."""
    code, zero, known = struct.unpack_from("<HHI", v)
    if code != 256 or zero:
        raise Bad(f"encoding {code}, which does not name one of several dictionaries")
    return known, v[8:]


# ---- presence

def presence(b, n):
    """None if all n values are present, else an array of bool."""
    if len(b) == 0:
        return None
    kind = b[0]
    if kind == 1 and len(b) == 1:
        return np.zeros(n, bool)
    if kind == 2:
        if len(b) != n + 1:
            raise Bad(f"presence: {len(b) - 1} bytes for {n} values")
        return np.frombuffer(b, np.uint8, n, 1) != 0
    if kind == 3 and len(b) >= 2:
        out = np.zeros(n, bool)
        _roaring(b[2:], out)
        return ~out if b[1] else out
    raise Bad(f"presence: form {kind}", 0, "unsupported" if kind > 3 else "corrupt")


def _roaring(b, out):
    """The portable serialization of a Roaring bitmap of 32-bit positions."""
    if len(b) < 4:
        raise Bad("bitmap: cut off")
    cookie = struct.unpack_from("<I", b)[0]
    runs = b""
    if cookie & 0xFFFF == 12347:
        count = (cookie >> 16) + 1
        at = 4 + (count + 7) // 8
        runs = b[4:at]
    elif cookie == 12346:
        count = struct.unpack_from("<I", b, 4)[0]
        at = 8
    else:
        raise Bad(f"bitmap: cookie {cookie}")
    if count > 65536 or at + 4 * count > len(b):
        raise Bad("bitmap: cut off")
    head = np.frombuffer(b, "<u2", 2 * count, at).astype(np.int64)
    at += 4 * count
    if not runs or count >= 4:
        at += 4 * count
    last = -1
    for i in range(count):
        key, card = int(head[2 * i]), int(head[2 * i + 1]) + 1
        if key <= last:
            raise Bad("bitmap: containers do not rise")
        last = key
        if runs and runs[i // 8] >> (i % 8) & 1:
            m = struct.unpack_from("<H", b, at)[0]
            r = np.frombuffer(b, "<u2", 2 * m, at + 2).astype(np.int64).reshape(m, 2)
            at += 2 + 4 * m
            end = -1
            for s, l in r:
                if s <= end:
                    raise Bad("bitmap: runs do not rise")
                end = s + l
                if key * 65536 + end >= len(out):
                    raise Bad("bitmap: a position beyond the values")
                out[key * 65536 + s:key * 65536 + end + 1] = True
            continue
        if card <= 4096:
            pos = np.frombuffer(b, "<u2", card, at).astype(np.int64)
            at += 2 * card
            if np.any(np.diff(pos) <= 0):
                raise Bad("bitmap: positions do not rise")
        else:
            if at + 8192 > len(b):
                raise Bad("bitmap: cut off")
            pos = np.flatnonzero(np.unpackbits(np.frombuffer(b, np.uint8, 8192, at), bitorder="little"))
            at += 8192
            if len(pos) != card:
                raise Bad("bitmap: wrong cardinality")
        pos = pos + key * 65536
        if len(pos) and pos[-1] >= len(out):
            raise Bad("bitmap: a position beyond the values")
        out[pos] = True
    if at != len(b):
        raise Bad(f"bitmap: {len(b) - at} bytes behind its containers")


# ---- shared pieces

def _take(b, at, n, what):
    if at + n > len(b):
        raise Bad(f"{what}: cut off", at)
    return b[at:at + n]


def _code(b, depth):
    if depth > MAX_DEPTH:
        raise Bad(f"encodings nested {MAX_DEPTH} deep", 0)
    if len(b) < 2:
        raise Bad("sub-block: cut off")
    return struct.unpack_from("<H", b)[0]


def _raw(b, w, n, exact, what):
    if len(b) < n * w or (exact and len(b) != n * w):
        raise Bad(f"{what}: {len(b)} bytes for {n} values of {w}")
    return np.frombuffer(b, f"<u{w}", n)


def _stream(b, w, n, nested, depth, what, exact=False):
    if nested > 1:
        raise Bad(f"{what}: a flag of {nested}")
    if nested:
        return numbers(b, w, n, "u", depth + 1)
    return _raw(b, w, n, exact, what)


def unzstd(b, declared=None):
    limit = min(MAX_EXPANSION, 131072 * (len(b) // 4 + 1))
    if declared is not None:
        limit = min(limit, declared)
    # read() takes memory as it goes, never by what the frame claims
    out = bytearray()
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(bytes(b), read_across_frames=True) as r:
            while True:
                c = r.read(1 << 18)
                if not c:
                    break
                out += c
                if len(out) > limit:
                    raise Bad(f"Zstd: more than {limit} bytes")
    except (zstandard.ZstdError, MemoryError) as e:
        # a frame that names a dictionary is compressed with an opaque one
        raise Bad(f"Zstd: {e}", 0, "unsupported" if "ictionary" in str(e) else "corrupt") from e
    return bytes(out)


def unlz4(b):
    if len(b) < 4:
        raise Bad("LZ4: cut off")
    size = struct.unpack_from("<I", b)[0]
    if size > min(MAX_EXPANSION, 255 * len(b)):
        raise Bad(f"LZ4: {size} bytes from {len(b) - 4}")
    if size == 0:
        return b""
    try:
        out = lz4.block.decompress(bytes(b[4:]), uncompressed_size=size)
    except (lz4.block.LZ4BlockError, ValueError, MemoryError) as e:
        raise Bad(f"LZ4: {e}") from e
    if len(out) != size:
        raise Bad(f"LZ4: {len(out)} bytes, not {size}")
    return out


def unpack(b, w, n, width):
    """FastLanes: chunks of 1024 words of w bytes, in 128 * width bytes each."""
    bits = 8 * w
    if not 1 <= width <= bits:
        raise Bad(f"bit width {width} for words of {bits} bits")
    chunks = -(-n // 1024)
    if len(b) % (128 * width) or len(b) < chunks * 128 * width:
        raise Bad(f"packed: {len(b)} bytes for {n} values of {width} bits")
    lanes = 1024 // bits
    t = np.dtype(f"<u{w}")
    words = np.frombuffer(b, t, chunks * width * lanes).reshape(chunks, width, lanes)
    out = np.empty((chunks, 1024), t)
    mask = t.type((1 << width) - 1)
    for row in range(bits):
        word, shift = divmod(row * width, bits)
        v = words[:, word, :] >> t.type(shift)
        if shift + width > bits:
            v = v | (words[:, word + 1, :] << t.type(bits - shift))
        o = FL_ORDER[row // 8] * 16 + row % 8 * 128
        out[:, o:o + lanes] = v & mask
    return out.reshape(-1)[:n]


# ---- numbers

def numbers(b, w, n, kind="u", depth=1):
    """n values of w bytes each, unsigned, signed or floats (u, i, f), as unsigned words."""
    code = _code(b, depth)
    if code == 0 or code > 19:
        raise Bad(f"encoding {code}", 0, "unsupported")
    if code in UNFIT[kind]:
        raise Bad(f"encoding {code} does not fit the type")
    t = np.dtype(f"<u{w}")
    if code == 1:
        return _raw(b[2:], w, n, True, "Plain")
    if code == 2:
        return unpack(b[8:], w, n, _take(b, 2, 1, "FLBitPack")[0])
    if code == 7:
        return np.full(n, np.frombuffer(_take(b, 2, w, "SingleValue"), t)[0], t)
    if code == 3:
        least = np.frombuffer(_take(b, 2, w, "FrameOfReference"), t)[0]
        return numbers(b[up8(2 + w):], w, n, "u", depth + 1) + least
    if code == 4:
        p = _take(b, 2, w + 1, "FusedFrameOfReference")
        return unpack(b[up8(3 + w):], w, n, p[w]) + np.frombuffer(p, t, 1)[0]
    if code == 5:
        first = np.frombuffer(_take(b, 2, w, "Delta"), t)
        if n == 0:
            raise Bad("Delta: no values")
        d = numbers(b[up8(2 + w):], w, n - 1, kind, depth + 1)
        return np.cumsum(np.concatenate([first, d]), dtype=t)
    if code == 6:
        return _runs(b, w, n, kind, depth)
    if code in (8, 9, 10, 11):
        s = 1 << (code - 8)
        if s > w:
            raise Bad(f"a truncation to {s} bytes of values of {w}")
        v = _stream(b[8:], s, n, _take(b, 2, 1, "Truncate")[0], depth, "Truncate", True)
        return v.view(f"<i{s}").astype(f"<i{w}").view(t)
    if code == 12:
        return _alp(b, w, n, depth)
    if code == 13:
        return _alp_rd(b, w, n, depth)
    if code == 14:
        size, entries, nested = struct.unpack_from("<IIB", b, 2)
        codes = _codes(b, size, entries, n, depth)
        at = 16 + size
        values = np.zeros(entries + 1, t)
        if nested:
            values[1:] = numbers(b[at:], w, entries, kind, depth + 1)
        else:
            values[1:] = _raw(b[at:], w, entries, False, "BlockDictionary")
        return values[codes]
    if code == 16:
        return _raw(unzstd(b[8:], n * w), w, n, True, "Zstd")
    if code == 17:
        return _raw(unlz4(b[8:]), w, n, True, "LZ4")
    if code == 18:
        v = _stream(b[8:], w, n, _take(b, 2, 1, "ZigZag")[0], depth, "ZigZag", True)
        return (v >> t.type(1)) ^ (~(v & t.type(1)) + t.type(1))
    count, size, np_, nv = struct.unpack_from("<IIBB", b, 2)
    if count > n:
        raise Bad(f"Sparse: {count} of {n} values")
    out = np.zeros(n, t)
    if count:
        pos = _stream(_take(b, 16, size, "Sparse"), 4, count, np_, depth, "Sparse").astype(np.int64)
        if np.any(np.diff(pos) <= 0) or pos[-1] >= n:
            raise Bad("Sparse: positions do not rise")
        at = up8(16 + size)
        out[pos] = numbers(b[at:], w, count, kind, depth + 1) if nv else _raw(b[at:], w, count, False, "Sparse")
    return out


def _limit(count, n, b, what):
    if count > n + 8 * len(b):
        raise Bad(f"{what}: {count} for {n} values in {len(b)} bytes")


def _runs(b, w, n, kind, depth):
    size, runs, nv, nl = struct.unpack_from("<IIBB", b, 2)
    _limit(runs, n, b, "RunLength: runs")
    if nv > 1:
        raise Bad(f"RunLength: a flag of {nv}")
    v = _take(b, 16, size, "RunLength")
    values = numbers(v, w, runs, kind, depth + 1) if nv else _raw(v, w, runs, False, "RunLength")
    lengths = _stream(b[up8(16 + size):], 4, runs, nl, depth, "RunLength").astype(np.int64)
    if int(lengths.sum()) != n:
        raise Bad(f"RunLength: runs of {int(lengths.sum())} values, not {n}")
    return np.repeat(values, lengths)


def _alp(b, w, n, depth):
    if w not in (4, 8):
        raise Bad("ALP of a type that is no float")
    size, exceptions, exponent, factor = struct.unpack_from("<IHBB", b, 2)
    ints = numbers(_take(b, 16, size, "ALP"), w, n, "i", depth + 1).view(f"<i{w}")
    pow_, neg = (F64_POW, F64_NEG) if w == 8 else (F32_POW, F32_NEG)
    if exponent >= len(pow_) or factor >= len(pow_):
        raise Bad(f"ALP: exponent {exponent}, factor {factor}")
    f = np.dtype(f"<f{w}")
    with np.errstate(over="ignore", invalid="ignore"):
        out = ints.astype(f) * pow_[factor] * neg[exponent]
    out = out.astype(f, copy=False).view(f"<u{w}")
    at = 16 + size
    if len(b) != at + exceptions * (4 + w):
        raise Bad("ALP: exceptions do not end with the sub-block")
    if exceptions:
        pos = np.frombuffer(b, "<u4", exceptions, at)
        if pos.max() >= n:
            raise Bad("ALP: an exception beyond the values")
        out = out.copy()
        out[pos] = np.frombuffer(b, f"<u{w}", exceptions, at + 4 * exceptions)
    return out


def _alp_rd(b, w, n, depth):
    if w not in (4, 8):
        raise Bad("ALP-RD of a type that is no float")
    left, right, exceptions, bits, entries = struct.unpack_from("<IIHBB", b, 2)
    if not 1 <= 8 * w - bits <= 16:
        raise Bad(f"ALP-RD: {bits} right bits")
    t = np.dtype(f"<u{w}")
    if not 1 <= entries <= 8:
        raise Bad(f"ALP-RD: a dictionary of {entries} entries")
    words = np.frombuffer(_take(b, 16, 2 * entries, "ALP-RD"), "<u2")
    at = 16 + 2 * entries
    codes = numbers(_take(b, at, left, "ALP-RD"), 2, n, "u", depth + 1)
    if n and codes.max() >= entries:
        raise Bad("ALP-RD: a code beyond the dictionary")
    at += left
    low = numbers(_take(b, at, right, "ALP-RD"), w, n, "u", depth + 1)
    at += right
    high = words[codes] if n else np.zeros(0, "<u2")
    if len(b) != at + exceptions * 6:
        raise Bad("ALP-RD: exceptions do not end with the sub-block")
    if exceptions:
        pos = np.frombuffer(b, "<u4", exceptions, at)
        if pos.max() >= n:
            raise Bad("ALP-RD: an exception beyond the values")
        high[pos] = np.frombuffer(b, "<u2", exceptions, at + 4 * exceptions)
    return (high.astype(t) << t.type(bits)) | low


def _codes(b, size, entries, n, depth):
    _limit(entries, n, b, "BlockDictionary: entries")
    codes = numbers(_take(b, 16, size, "BlockDictionary"), 4, n, "u", depth + 1)
    if n and codes.max() > entries:
        raise Bad("BlockDictionary: a code beyond the entries")
    return codes


# ---- byte strings

def strings(b, fixed, n, depth=1):
    """n byte strings as Views; fixed is their size if they are of one size, else 0."""
    code = _code(b, depth)
    if code == 0 or code > 19:
        raise Bad(f"encoding {code}", 0, "unsupported")
    if code == 1:
        if fixed:
            if _take(b, 2, 1, "Plain")[0] != 0:
                raise Bad(f"Plain: offsets of {b[2]} bytes for values of one size", 2)
            return _fixed(_take(b, 3, len(b) - 3, "Plain"), fixed, n)
        if len(b) < 3 + 8 * (n + 1):
            raise Bad("Plain: cut off")
        if b[2] != 8:
            raise Bad(f"Plain: offsets of {b[2]} bytes", 2)
        return _views(np.frombuffer(b, "<u8", n + 1, 3), b[3 + 8 * (n + 1):])
    if code == 7:
        if fixed and len(b) - 2 != fixed:
            raise Bad(f"SingleValue: {len(b) - 2} bytes, not {fixed}")
        return Views(np.zeros(n, np.int64), np.full(n, len(b) - 2, np.int64), bytes(b[2:]))
    if code == 14:
        size, lsize, entries, nested = struct.unpack_from("<IIIB", b, 2)
        codes = _codes(b, size, entries, n, depth).astype(np.int64)
        at = up8(16 + size)
        if fixed:
            data = bytes(b[at:])
            lens = np.full(entries, fixed, np.int64)
        else:
            lens = _stream(_take(b, at, lsize, "BlockDictionary"), 4, entries, nested, depth, "BlockDictionary", True)
            lens = lens.astype(np.int64)
            data = bytes(b[at + lsize:])
        ends = np.cumsum(lens)
        if int(lens.sum()) != len(data):
            raise Bad(f"BlockDictionary: {len(data)} bytes for entries of {int(lens.sum())}")
        # code 0 is null, and has no bytes
        starts = np.concatenate([[0], ends - lens]).astype(np.int64)
        lens = np.concatenate([[0], lens]).astype(np.int64)
        return Views(starts[codes], lens[codes], data, codes == 0)
    if code == 15:
        symbols, size, nested, width = struct.unpack_from("<BIBB", b, 2)
        at = 16 + 9 * symbols
        text = unfsst(_take(b, 16, 9 * symbols, "FSST"), symbols, _take(b, at, size, "FSST"))
    elif code in (16, 17):
        size, width, nested = struct.unpack_from("<IBB", b, 2)
        at = 8
        part = _take(b, at, size, "compressed")
        text = unzstd(part) if code == 16 else unlz4(part)
    else:
        raise Bad(f"encoding {code} does not fit the type")
    if fixed:
        if width:
            raise Bad(f"offsets of {width} bytes for values of one size")
        return _fixed(text, fixed, n)
    rest = b[up8(at + size):]
    if width != 8:
        raise Bad(f"offsets of {width} bytes")
    return _views(_stream(rest, 8, n + 1, nested, depth, "offsets", True), text)


def _fixed(data, size, n):
    if len(data) != size * n:
        raise Bad(f"{len(data)} bytes for {n} values of {size}")
    return Views(np.arange(n, dtype=np.int64) * size, np.full(n, size, np.int64), bytes(data))


def _views(offsets, data):
    if offsets[0] != 0 or offsets[-1] != len(data) or np.any(offsets[1:] < offsets[:-1]):
        raise Bad("offsets of byte strings fall, or do not end with the bytes")
    o = offsets.astype(np.int64)
    return Views(o[:-1], np.diff(o), bytes(data))


def unfsst(table, symbols, stream):
    lens = table[8 * symbols:]
    table = [bytes(table[8 * i:8 * i + lens[i]]) for i in range(symbols)]
    if any(not 1 <= n <= 8 for n in lens):
        raise Bad("FSST: length of a symbol")
    out, i, n = [], 0, len(stream)
    s = bytes(stream)
    while i < n:
        c = s[i]
        if c == 255:
            if i + 1 >= n:
                raise Bad("FSST: an escape at the end")
            out.append(s[i + 1:i + 2])
            i += 2
            continue
        if c >= symbols:
            raise Bad(f"FSST: symbol {c} of {symbols}")
        out.append(table[c])
        i += 1
    return b"".join(out)
