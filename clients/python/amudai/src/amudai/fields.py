"""Fields: the values in the buffers of one node of the schema in one stripe."""
import struct
from typing import NamedTuple

import numpy as np

from . import blocks, values
from .buffers import BlockStream, SuperBlocks
from .errors import Bad, ShardError, TooMany
from .meta import Located
from .schema import BASIC, INTS
from .wire import checksum

MAX_POSITIONS = 1 << 24  # at most this many values of a node are held at once


def dtype(f):
    if f.basic in INTS:
        return np.dtype(f"<{'i' if f.signed else 'u'}{INTS[f.basic]}")
    return {"Float32": np.dtype("<f4"), "Float64": np.dtype("<f8"), "DateTime": np.dtype("<u8")}.get(f.basic)


# ---- what is read: a range of positions

class Vec:
    """Values of consecutive positions. ``valid`` is None or an array of bool."""

    def __init__(self, field, n, valid=None):
        self.field, self.n, self.valid = field, n, valid

    def weight(self):
        """About how many bytes the values take."""
        return 8 * self.n + sum(c.weight() for c in getattr(self, "children", ()) if c)

    def nulled(self, out):
        if self.valid is not None:
            for i in np.flatnonzero(~self.valid):
                out[i] = None
        return out


class ConstVec(Vec):
    def __init__(self, field, n, value):
        super().__init__(field, n)
        self.value = value

    def to_py(self):
        return [self.value] * self.n


class NumVec(Vec):
    def __init__(self, field, n, data, valid):
        super().__init__(field, n, valid)
        self.data = data

    def to_py(self):
        # what stands in a null slot means nothing, and need not be a value
        data = self.data if self.valid is None else np.where(self.valid, self.data, self.data.dtype.type(0))
        return self.nulled(values.numbers(self.field, data.tolist()))


class BytesVec(Vec):
    """parts: Views, one after another."""

    def __init__(self, field, n, parts, valid):
        super().__init__(field, n, valid)
        self.parts = parts

    def weight(self):
        return 8 * self.n + sum(int(p.lens.sum()) for p in self.parts)

    def to_py(self):
        make = values.of_bytes(self.field)
        out, k = [], 0
        for p in self.parts:
            memo = {}
            for s, l in zip(p.starts.tolist(), p.lens.tolist()):
                if self.valid is not None and not self.valid[k]:
                    out.append(None)
                else:
                    v = memo.get((s, l))
                    if v is None:
                        v = memo[s, l] = make(bytes(p.data[s:s + l]))
                    out.append(v)
                k += 1
        return out


class ListVec(Vec):
    def __init__(self, field, n, offsets, children, valid):
        super().__init__(field, n, valid)
        self.offsets, self.children = offsets, children

    def to_py(self):
        c = [x.to_py() for x in self.children]
        items = c[0] if len(c) == 1 else [{"key": k, "value": v} for k, v in zip(*c)]
        o = self.offsets.tolist()
        return self.nulled([items[o[i]:o[i + 1]] for i in range(self.n)])


class StructVec(Vec):
    def __init__(self, field, n, children, valid):
        super().__init__(field, n, valid)
        self.children = children

    def to_py(self):
        names = [c.name for c in self.field.children]
        if not names:
            return self.nulled([{} for _ in range(self.n)])
        return self.nulled([dict(zip(names, row)) for row in zip(*[c.to_py() for c in self.children])])


class Variant(NamedTuple):
    """A value of a union, and which of its variants it is of."""

    variant: int
    value: object


class UnionVec(Vec):
    def __init__(self, field, n, codes, at, children, valid):
        super().__init__(field, n, valid)
        self.codes, self.at, self.children = codes, at, children

    def to_py(self):
        c = [x.to_py() if x else [] for x in self.children]
        return [Variant(k, c[k][i]) if ok and c[k][i] is not None else None
                for k, i, ok in zip(self.codes.tolist(), self.at.tolist(), self.valid.tolist())]


# ---- columns: all positions of a node in a stripe, read by range

class Column:
    def __init__(self, field, length, obj, at):
        self.field, self.length, self.obj, self.at = field, length, obj, at

    def fail(self, reason, kind="corrupt"):
        raise ShardError(self.obj.name, self.at, f"field {self.field.id} ({self.field.name}): {reason}", kind)

    def read(self, a, b):
        if not 0 <= a <= b <= self.length:
            self.fail(f"positions {a} to {b} of {self.length}")
        if b - a > MAX_POSITIONS:
            raise TooMany(self.obj.name, self.at, f"{b - a} values of field {self.field.id} ({self.field.name})", "unsupported")
        return self._read(a, b)

    def verify(self):
        for s in self.streams():
            for k in range(len(s.values)):
                s.block(k)

    def streams(self):
        return []

    def children(self):
        return []


class ConstColumn(Column):
    def __init__(self, field, length, obj, at, value):
        super().__init__(field, length, obj, at)
        self.value = value

    def _read(self, a, b):
        return ConstVec(self.field, b - a, self.value)


class Padded(Column):
    """A column whose positions beyond its end are null."""

    def __init__(self, inner, length):
        super().__init__(inner.field, length, inner.obj, inner.at)
        self.inner = inner

    def _read(self, a, b):
        n = self.inner.length
        if b <= n:
            return self.inner.read(a, b)
        rest = ConstVec(self.field, b - max(a, n), None)
        if a >= n:
            return rest
        return ConcatVec(self.field, b - a, [self.inner.read(a, n), rest])

    def streams(self):
        return self.inner.streams()

    def children(self):
        return self.inner.children()


class ConcatVec(Vec):
    def __init__(self, field, n, parts):
        super().__init__(field, n)
        self.parts = parts

    def to_py(self):
        return [v for p in self.parts for v in p.to_py()]


def without_nulls(b, n, w):
    """The unsigned numbers of a block in which nothing may be null."""
    p, v = blocks.split(b, n)
    if blocks.presence(p, n) is not None:
        raise Bad("nulls where there may be none")
    return blocks.numbers(v, w, n)


def bit_stream(col, buf, n, what):
    s = BlockStream(buf["object"], buf, lambda b, k: without_nulls(b, k, 1))
    if s.length != -(-n // 8):
        col.fail(f"{what} of {s.length} bytes for {n} positions")
    return s


def bits(s, a, b):
    parts = [v[i:j] for v, i, j in s.range(a // 8, -(-b // 8))]
    if not parts:
        return np.zeros(0, bool)
    x = np.unpackbits(np.concatenate(parts), bitorder="little")
    return x[a - a // 8 * 8:][:b - a] != 0


class Present:
    """Presence from a PRESENCE buffer, if there is one."""

    def __init__(self, col, fd):
        buf = fd.buffers.get("PRESENCE")
        self.s = bit_stream(col, buf, col.length, "PRESENCE") if buf else None

    def read(self, a, b):
        return bits(self.s, a, b) if self.s else None

    def streams(self):
        return [self.s] if self.s else []


def both(x, y):
    return y if x is None else x if y is None else x & y


def stream(col, buf, decode, group):
    """The blocks of a buffer, or of a member of the packed group of the parent."""
    if "member" not in buf:
        return BlockStream(buf["object"], buf, decode)
    if group is None:
        col.fail("a member of a packed group whose struct is stored otherwise", "unsupported")
    return group.member(buf["member"], decode)


class PackedBoolColumn(Column):
    """Booleans in a packed group: a byte each."""

    def __init__(self, field, fd, group):
        super().__init__(field, fd.positions, fd.obj, fd.at)

        def decode(b, n):
            p, v = blocks.split(b, n)
            v = blocks.numbers(v, 1, n)
            if np.any(v > 1):
                raise Bad("a boolean that is neither 0 nor 1")
            return v != 0, blocks.presence(p, n)

        self.data = stream(self, fd.buffers["DATA"], decode, group)
        if self.data.length != self.length:
            self.fail(f"blocks of {self.data.length} values, descriptor: {self.length}")

    def _read(self, a, b):
        parts = [(v[i:j], np.ones(j - i, bool) if p is None else p[i:j]) for (v, p), i, j in self.data.range(a, b)]
        none = np.zeros(0, bool)
        return NumVec(self.field, b - a, np.concatenate([v for v, _ in parts] or [none]), np.concatenate([p for _, p in parts] or [none]))

    def streams(self):
        return [self.data]


class BoolColumn(Column):
    def __init__(self, field, fd):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        self.data = bit_stream(self, fd.buffers["DATA"], self.length, "DATA")
        self.present = Present(self, fd)

    def _read(self, a, b):
        return NumVec(self.field, b - a, bits(self.data, a, b), self.present.read(a, b))

    def streams(self):
        return [self.data] + self.present.streams()


class DataColumn(Column):
    """Numbers and byte strings: a stream of blocks with the nulls inside, or of codes into a dictionary."""

    def __init__(self, field, fd, group=None):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        buf = fd.buffers["DATA"]
        self.dtype = dtype(field)
        self.dict = None
        if "OFFSETS" in fd.buffers:
            self.fail("OFFSETS beside byte strings", "unsupported")
        named = {}
        if len(fd.dictionaries) > 1:
            named = self._named(fd.dictionaries)
        elif fd.dictionaries:
            self.dict = Dictionary(fd.dictionaries[0], field)
        t = np.dtype("<u4") if self.dict else self.dtype
        if t is None and not named and not field.fixed_size and not buf.get("offsets", True):
            self.fail("byte strings without offsets", "unsupported")

        def decode(b, n):
            p, v = blocks.split(b, n)
            valid = blocks.presence(p, n)
            if valid is not None and not buf.get("presence", True) and not valid.all():
                raise Bad("nulls in a block of a buffer without embedded_presence")
            if named:
                known, codes = blocks.named(v)
                if known not in named:
                    raise Bad(f"codes of dictionary {known}, which the field does not have")
                return named[known].look(blocks.numbers(codes, 4, n), valid)
            if t is not None:
                return blocks.numbers(v, t.itemsize, n, t.kind).view(t), valid
            v = blocks.strings(v, field.fixed_size, n)
            if v.nulls is not None and np.any(v.nulls):
                if valid is None:
                    raise Bad("BlockDictionary: the code of null in a block without presence")
                valid = valid & ~v.nulls
            if field.fixed_size and np.any((v.lens != field.fixed_size) & (True if valid is None else valid)):
                raise Bad(f"a null code for a value that is present, or one that is not of {field.fixed_size} bytes")
            return v, valid

        self.data = stream(self, buf, decode, group)
        if self.data.length != self.length:
            self.fail(f"blocks of {self.data.length} values, descriptor: {self.length}")
        self.present = Present(self, fd)

    def _named(self, buffers):
        """Several dictionaries by their ids, by which blocks name them."""
        out = {b["id"]: Dictionary(b, self.field) for b in buffers}
        if 0 in out or len(out) < len(buffers):
            self.fail("several value dictionaries that ids do not distinguish")
        return out

    def _read(self, a, b):
        parts, valids, any_null = [], [], False
        for (v, valid), i, j in self.data.range(a, b):
            any_null |= valid is not None
            valids.append(np.ones(j - i, bool) if valid is None else valid[i:j])
            parts.append(blocks.Views(v.starts[i:j], v.lens[i:j], v.data) if isinstance(v, blocks.Views) else v[i:j])
        valid = both(np.concatenate(valids) if any_null else None, self.present.read(a, b))
        n = b - a
        if self.dict:
            codes = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
            v, valid = self.dict.look(codes, valid)
            if self.dtype is None:
                return BytesVec(self.field, n, [v], valid)
            return NumVec(self.field, n, v, valid)
        if self.dtype is None:
            return BytesVec(self.field, n, parts, valid)
        return NumVec(self.field, n, np.concatenate(parts) if parts else np.zeros(0, self.dtype), valid)

    def streams(self):
        return [self.data] + self.present.streams()


class Dictionary:
    """A value dictionary. Sections and checksums are verified when it is opened."""

    def __init__(self, buf, field):
        self.obj, self.at = buf["object"], buf["start"]
        with Located(self.obj, self.at):
            b = self.obj.read(buf["start"], buf["end"])
            if len(b) < 128 or struct.unpack_from("<I", b, 124)[0] != checksum(b[:124]):
                raise Bad("value dictionary: wrong checksum of its header")
            if b[0] >= len(BASIC) or BASIC[b[0]] != field.basic:
                raise Bad(f"value dictionary: of type {b[0]} for a field of {field.basic}")
            if b[5] > 1:
                raise Bad(f"value dictionary: a flag of {b[5]} for its null entry")
            self.entries = struct.unpack_from("<I", b, 1)[0]
            self.null = struct.unpack_from("<I", b, 6)[0] if b[5] else None
            size = struct.unpack_from("<I", b, 10)[0]
            t = dtype(field)
            if size not in (0, t.itemsize if t is not None else field.fixed_size):
                raise Bad(f"value dictionary: entries of {size} bytes for a field of {field.basic}")
            data = self._section(b, 14)
            if size:
                if len(data) != size * self.entries:
                    raise Bad(f"value dictionary: {len(data)} bytes for {self.entries} entries of {size}")
                starts = np.arange(self.entries, dtype=np.int64) * size
                lens = np.full(self.entries, size, np.int64)
            else:
                o = self._section(b, 30)
                if len(o) != 8 * (self.entries + 1):
                    raise Bad(f"value dictionary: offsets of {len(o)} bytes for {self.entries} entries")
                v = blocks._views(np.frombuffer(o, "<u8"), data)
                starts, lens = v.starts, v.lens
            if self.null is not None and self.null >= self.entries:
                raise Bad("value dictionary: the null entry is none of its entries")
            want = field.fixed_size if field.basic in ("FixedSizeBinary", "Guid") else 0
            t = dtype(field)
            want = t.itemsize if t is not None else want
            if want:
                real = np.ones(self.entries, bool)
                if self.null is not None:
                    real[self.null] = False
                if np.any(lens[real] != want):
                    raise Bad(f"value dictionary: entries that are not of {want} bytes")
            self.views = blocks.Views(starts, lens, bytes(data))
            self.numbers = None
            if t is not None:
                raw = [bytes(data[s:s + l]).ljust(want, b"\0")[:want] for s, l in zip(starts.tolist(), lens.tolist())]
                self.numbers = np.frombuffer(b"".join(raw), t)

    @staticmethod
    def _section(b, at):
        s, e = struct.unpack_from("<QQ", b, at)
        if s > e or e > len(b) or e - s < 12:
            raise Bad("value dictionary: a section outside of the buffer", at)
        n = struct.unpack_from("<Q", b, s)[0]
        if n > e - s - 12:
            raise Bad("value dictionary: a section longer than its range", s)
        data = b[s + 8:s + 8 + n]
        if struct.unpack_from("<I", b, e - 4)[0] != checksum(data):
            raise Bad("value dictionary: wrong checksum of a section", s)
        return data

    def look(self, codes, valid):
        c = codes if valid is None else np.where(valid, codes, 0)
        if len(c) and (self.entries == 0 or c.max() >= self.entries):
            if self.entries == 0 and valid is not None and not valid.any():
                n = len(c)
                z = np.zeros(n, np.int64)
                return (blocks.Views(z, z, b"") if self.numbers is None else z.astype(self.numbers.dtype)), valid
            raise ShardError(self.obj.name, self.at, f"code {c.max()} of a dictionary of {self.entries}")
        if self.null is not None:
            valid = both(valid, codes != self.null)
        if self.numbers is not None:
            return self.numbers[c], valid
        return blocks.Views(self.views.starts[c], self.views.lens[c], self.views.data), valid


def offsets_stream(col, fd, n):
    buf = fd.buffers["OFFSETS"]
    s = BlockStream(buf["object"], buf, lambda b, k: without_nulls(b, k, 8))
    if s.length != n:
        col.fail(f"{s.length} offsets for {col.length} positions")
    return s


def column(stripe, field, length, group=None):
    """The column of a node, which has ``length`` positions, or the number in its descriptor if that is None. group is the
    packed group of its parent."""
    fd = stripe.field(field.id)
    if fd is None:
        return ConstColumn(field, length if length is not None else 1 << 62, stripe.obj, 0, None)
    col = _column(stripe, field, fd, group)
    if length is not None and col.length != length:
        col.fail(f"{col.length} positions, not {length}")
    return col


def _column(stripe, field, fd, group):
    n, basic = fd.positions, field.basic
    if fd.nulls is not None and fd.nulls > n:
        raise ShardError(fd.obj.name, fd.at, f"{fd.nulls} nulls in {n} positions")
    if basic == "Unit":
        return ConstColumn(field, n, fd.obj, fd.at, None)
    if fd.constant is not None:
        with Located(fd.obj, fd.at):
            return ConstColumn(field, n, fd.obj, fd.at, values.constant(field, fd.constant))
    if not fd.buffers and (n == 0 or fd.nulls == n):
        return ConstColumn(field, n, fd.obj, fd.at, None)
    if basic in ("List", "Map"):
        if "OFFSETS" in fd.buffers:
            return ListColumn(stripe, field, fd)
    elif basic == "Struct":
        return PackedColumn(stripe, field, fd) if fd.packed else StructColumn(stripe, field, fd)
    elif basic == "FixedSizeList":
        return FixedListColumn(stripe, field, fd)
    elif "DATA" in fd.buffers:
        member = "member" in fd.buffers["DATA"]
        if basic == "Union" and not member:
            return UnionColumn(stripe, field, fd)
        if basic == "Boolean":
            return PackedBoolColumn(field, fd, group) if member else BoolColumn(field, fd)
        if basic != "Union":
            return DataColumn(field, fd, group)
    raise ShardError(fd.obj.name, fd.at, f"field {field.id} ({field.name}) lacks its buffers")


class ListColumn(Column):
    def __init__(self, stripe, field, fd):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        self.offsets = offsets_stream(self, fd, self.length + 1)
        self.items = [column(stripe, c, None) for c in field.children]
        self.present = Present(self, fd)
        if self.length and self._ends(0, 1)[0] != 0:
            self.fail("offsets do not start at 0")

    def _ends(self, a, b):
        return np.concatenate([v[i:j] for v, i, j in self.offsets.range(a, b)])

    def _read(self, a, b):
        valid = self.present.read(a, b)
        if a == b:
            return ListVec(self.field, 0, np.zeros(1, np.int64), [c.read(0, 0) for c in self.items], valid)
        o = self._ends(a, b + 1)
        if np.any(o[1:] < o[:-1]) or o[-1] >= 1 << 62:
            self.fail("offsets fall")
        o = o.astype(np.int64)
        s, e = int(o[0]), int(o[-1])
        if e > min((c.length for c in self.items), default=0):
            self.fail(f"offsets lead to {e}, behind the end of the child")
        return ListVec(self.field, b - a, o - s, [c.read(s, e) for c in self.items], valid)

    def streams(self):
        return [self.offsets] + self.present.streams()

    def children(self):
        return self.items


class FixedListColumn(Column):
    def __init__(self, stripe, field, fd):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        self.size = field.fixed_size
        self.present = Present(self, fd)
        c = column(stripe, field.children[0], None)
        n = self.length * self.size
        self.item = Padded(c, n) if c.length < n else c

    def _read(self, a, b):
        valid, n = self.present.read(a, b), b - a
        if valid is not None and not valid.any():
            return ConstVec(self.field, n, None)
        return ListVec(self.field, n, np.arange(n + 1, dtype=np.int64) * self.size,
                       [self.item.read(a * self.size, b * self.size)], valid)

    def streams(self):
        return self.present.streams()

    def children(self):
        return [self.item]


class StructColumn(Column):
    def __init__(self, stripe, field, fd):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        self.present = Present(self, fd)
        self.members = [column(stripe, c, self.length) for c in field.children]

    def _read(self, a, b):
        valid = self.present.read(a, b)
        return StructVec(self.field, b - a, [c.read(a, b) for c in self.members], valid)

    def streams(self):
        return self.present.streams()

    def children(self):
        return self.members


class PackedColumn(Column):
    """A struct whose members' blocks lie side by side in super-blocks."""

    def __init__(self, stripe, field, fd):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        buf = fd.buffers.get("DATA")
        if buf is None or "member" in buf or len(fd.buffers) != 1:
            self.fail("a packed group has one buffer, DATA")
        self.group = SuperBlocks(buf["object"], buf)
        if self.group.length != self.length:
            self.fail(f"super-blocks of {self.group.length} positions, descriptor: {self.length}")
        self.present = self.group.member(-1, self._presence) if buf["presence"] else None
        self.members = [column(stripe, c, self.length, self.group) for c in field.children]

    @staticmethod
    def _presence(b, n):
        p, v = blocks.split(b, n)
        if v:
            raise Bad("values in the presence of a packed group")
        p = blocks.presence(p, n)
        return np.ones(n, bool) if p is None else p

    def _read(self, a, b):
        valid = None
        if self.present:
            valid = np.concatenate([v[i:j] for v, i, j in self.present.range(a, b)] or [np.zeros(0, bool)])
        return StructVec(self.field, b - a, [c.read(a, b) for c in self.members], valid)

    def streams(self):
        return [self.present] if self.present else []

    def children(self):
        return self.members


class UnionColumn(Column):
    def __init__(self, stripe, field, fd):
        super().__init__(field, fd.positions, fd.obj, fd.at)
        buf = fd.buffers["DATA"]

        def decode(b, n):
            p, v = blocks.split(b, n)
            return blocks.numbers(v, 1, n), blocks.presence(p, n)

        self.codes = BlockStream(buf["object"], buf, decode)
        if self.codes.length != self.length:
            self.fail(f"{self.codes.length} variants for {self.length} positions")
        self.offsets = offsets_stream(self, fd, self.length) if "OFFSETS" in fd.buffers else None
        self.present = Present(self, fd)
        self.variants = [column(stripe, c, None if self.offsets else self.length) for c in field.children]

    def _read(self, a, b):
        n = b - a
        codes, valid = np.zeros(n, np.uint8), np.ones(n, bool)
        at = 0
        for (v, p), i, j in self.codes.range(a, b):
            codes[at:at + j - i] = v[i:j]
            if p is not None:
                valid[at:at + j - i] = p[i:j]
            at += j - i
        valid = both(valid, self.present.read(a, b))
        if np.any(codes[valid] >= len(self.variants)):
            self.fail("a variant out of range")
        pos = np.arange(a, b, dtype=np.int64)
        if self.offsets:
            pos = np.concatenate([v[i:j] for v, i, j in self.offsets.range(a, b)] or [np.zeros(0, "<u8")])
            if n and np.any(pos[valid] >= 1 << 62):
                self.fail("offsets behind the end of a variant")
            pos = pos.astype(np.int64)
        out, index = [], np.zeros(n, np.int64)
        for k, c in enumerate(self.variants):
            mine = np.flatnonzero((codes == k) & valid)
            if not len(mine):
                out.append(None)
                continue
            p = pos[mine]
            lo, hi = int(p.min()), int(p.max()) + 1
            if hi > c.length:
                self.fail("offsets behind the end of a variant")
            out.append(c.read(lo, hi))
            index[mine] = p - lo
        return UnionVec(self.field, n, codes, index, out, valid)

    def streams(self):
        return [self.codes] + ([self.offsets] if self.offsets else []) + self.present.streams()

    def children(self):
        return self.variants
