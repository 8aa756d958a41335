"""Buffers: block maps, block streams, value dictionaries."""
import struct
from collections import OrderedDict

import numpy as np

from . import blocks
from .errors import Bad, ShardError
from .wire import checksum

MAX_BLOCK_VALUES = 4_194_304
RANGE_WIDTHS = {2: 1, 3: 2, 4: 4, 5: 8, 6: 4, 7: 8, 9: 16, 12: 8}  # by code of the basic type; 9 stands for decimals


def _deltas(b, at, width, n, least):
    if width not in (8, 16, 32):
        raise Bad(f"block map: width {width}", at)
    size = n * width // 8
    if at + size > len(b):
        raise Bad("block map: cut off", at)
    return np.frombuffer(b, f"<u{width // 8}", n, at).astype(np.int64) + least, at + size


def block_map(b):
    """(values, sizes) of the blocks, arrays of int64, after checking every sum in the map against the others."""
    if len(b) < 56:
        raise Bad("block map: too small")
    values, blocks, segments, per, total = struct.unpack_from("<5Q", b, len(b) - 40)
    if per != 1024 or segments != -(-blocks // 1024) or segments > len(b) // 28:
        raise Bad("block map: blocks and segments disagree", len(b) - 40)
    lists = len(b) - 40 - 16 * (segments + 1)
    if lists < 0:
        raise Bad("block map: too small")
    ends = np.frombuffer(b, "<u8", segments + 1, lists)
    recs = np.frombuffer(b, "<u8", segments + 1, lists + 8 * (segments + 1))
    all_v, all_s = [], []
    pos = off = at = 0
    for k in range(segments):
        if ends[k] != pos or recs[k] != at or at + 28 > lists:
            raise Bad(f"block map: segment {k} does not follow", at)
        p, o, lv, ls, wv, ws, n = struct.unpack_from("<QQIIBBH", b, at)
        if p != pos or o != off or n != min(1024, blocks - 1024 * k):
            raise Bad(f"block map: segment {k} does not follow", at)
        v, e = _deltas(b[:lists], at + 28, wv, n, lv)
        s, e = _deltas(b[:lists], -(-e // 4) * 4, ws, n, ls)
        at = -(-e // 8) * 8
        if v.max() > MAX_BLOCK_VALUES:
            raise Bad(f"block map: a block of {v.max()} values", at, "unsupported")
        pos += int(v.sum())
        off += int(s.sum())
        all_v.append(v)
        all_s.append(s)
    if at != lists or ends[-1] != pos or recs[-1] != at or (pos, off) != (values, total):
        raise Bad("block map: sums disagree", lists)
    none = np.zeros(0, np.int64)
    return np.concatenate(all_v or [none]), np.concatenate(all_s or [none])


def range_index(b, positions):
    """(minima, maxima, invalid) of a range index: lists of bytes, and how many values of each block are null or NaN."""
    if len(b) < 40:
        raise Bad("range index: too small")
    version, basic, sums, n, size_min, size_max, size_inv, per, zero = struct.unpack_from("<HBBQQQQHH", b)
    if version != 1 or n != positions or per == 0 or zero or basic not in RANGE_WIDTHS:
        raise Bad(f"range index: version {version}, type {basic}, {n} positions")
    w, count, at, out = RANGE_WIDTHS[basic], -(-n // per), 40, []
    for size, width in ((size_min, w), (size_max, w), (size_inv, 2)):
        if size == 0 and width == 2:
            out.append(np.zeros(count, "<u2"))
            continue
        part = b[at:at + size]
        if len(part) != size or size < 12:
            raise Bad("range index: cut off", at)
        if sums:
            if struct.unpack("<I", part[-4:])[0] != checksum(part[:-4]):
                raise Bad("range index: wrong checksum", at)
            part = part[:-4]
        raw = blocks.numbers(blocks.split(part, count * width)[1], 1, count * width).tobytes()
        out.append(np.frombuffer(raw, "<u2") if width == 2 and len(out) == 2 else [raw[i:i + w] for i in range(0, len(raw), w)])
        at += size
    return tuple(out)


class BlockStream:
    """A buffer of blocks. ``decode(block bytes, values) -> anything`` makes of a block what the field needs."""

    def __init__(self, obj, buf, decode):
        """buf: an EncodedBuffer message as a dict, see meta.encoded_buffer."""
        self.obj, self.start, self.decode = obj, buf["start"], decode
        self.checksums = buf["checksums"]
        ms, me = buf["map"]
        if not buf["start"] <= ms <= me <= buf["end"]:
            raise ShardError(obj.name, ms, "block map outside of its buffer")
        try:
            self.values, self.sizes = block_map(obj.read(ms, me, "block map"))
        except Bad as e:
            raise ShardError(obj.name, ms + e.at, e.reason, e.kind) from e
        if buf["count"] is not None and buf["count"] != len(self.values):
            raise ShardError(obj.name, ms, f"block map: {len(self.values)} blocks, descriptor: {buf['count']}")
        total = int(self.sizes.sum())
        if total > ms - self.start:
            raise ShardError(obj.name, ms, f"blocks of {total} bytes in {ms - self.start}")
        zero = np.zeros(1, np.int64)
        self.first = np.concatenate([zero, np.cumsum(self.values)])
        self.offsets = np.concatenate([zero, np.cumsum(self.sizes)])
        self.length = int(self.first[-1])
        self._cache = OrderedDict()

    def raw(self, k):
        """Where block k lies, and its bytes."""
        at = self.start + int(self.offsets[k])
        return at, self.obj.read(at, at + int(self.sizes[k]), "block")

    def block(self, k):
        if k in self._cache:
            self._cache.move_to_end(k)
            return self._cache[k]
        at, b = self.raw(k)
        try:
            if self.checksums:
                if len(b) < 4 or struct.unpack_from("<I", b, len(b) - 4)[0] != checksum(b[:-4]):
                    raise Bad("block: wrong checksum")
                b = b[:-4]
            v = self.decode(b, int(self.values[k]))
        except Bad as e:
            raise ShardError(self.obj.name, at, e.reason, e.kind) from e
        except (struct.error, ValueError, IndexError, OverflowError, TypeError) as e:
            raise ShardError(self.obj.name, at, f"block: {e}") from e
        self._cache[k] = v
        while len(self._cache) > 2:
            self._cache.popitem(last=False)
        return v

    def range(self, a, b):
        """(decoded block, from, to) for the blocks that hold positions a to b."""
        if not 0 <= a <= b <= self.length:
            raise ShardError(self.obj.name, self.start, f"positions {a} to {b} of a buffer of {self.length}")
        if a == b:
            return
        k = int(np.searchsorted(self.first, a, "right")) - 1
        while a < b:
            f, e = int(self.first[k]), int(self.first[k + 1])
            if e > a:
                yield self.block(k), a - f, min(b, e) - f
                a = min(b, e)
            k += 1


class SuperBlocks(BlockStream):
    """The buffer of a packed group: each block holds a block of every member."""

    def __init__(self, obj, buf):
        super().__init__(obj, buf, None)
        self.presence = buf["presence"]
        self.taken = set()
        self._at = None

    def parts(self, k):
        """Where the blocks of the members lie in super-block k, and their bytes."""
        if self._at != k:
            at, b = self.raw(k)
            try:
                self._parts = super_block(b, self.checksums)
            except (Bad, struct.error) as e:
                raise ShardError(self.obj.name, at + getattr(e, "at", 0), str(getattr(e, "reason", e))) from e
            self._at = k
        return self._parts

    def member(self, i, decode):
        """The stream of member i, -1 for the last one of each super-block."""
        if i in self.taken or i >= 0 and i >= 1 << 31:
            raise ShardError(self.obj.name, self.start, f"member {i} of a packed group, a second time or out of range")
        self.taken.add(i)
        return Member(self, i, decode)


class Member(BlockStream):
    """A member of a packed group, read as a stream of its own."""

    def __init__(self, group, index, decode):
        self.__dict__.update(obj=group.obj, start=group.start, values=group.values, sizes=group.sizes, first=group.first,
                             offsets=group.offsets, length=group.length, checksums=group.checksums)
        self.group, self.index, self.decode, self._cache = group, index, decode, OrderedDict()

    def raw(self, k):
        parts = self.group.parts(k)
        at = self.start + int(self.offsets[k])
        if not -len(parts) <= self.index < len(parts) - self.group.presence * (self.index >= 0):
            raise ShardError(self.obj.name, at, f"a super-block of {len(parts)} members has no member {self.index}")
        off, b = parts[self.index]
        return at + off, b


def super_block(b, checksums):
    """[(offset, bytes)] of the members of a super-block."""
    m = struct.unpack_from("<I", b)[0]
    at = -(-(4 + 4 * m + 4 * checksums) // 8) * 8
    if at > len(b):
        raise Bad(f"super-block: {m} members in {len(b)} bytes")
    if checksums and struct.unpack_from("<I", b, at - 4)[0] != checksum(b[:at - 4]):
        raise Bad("super-block: wrong checksum of its header", at - 4)
    out = []
    for size in struct.unpack_from(f"<{m}I", b, 4):
        if size % 8 or at + size > len(b):
            raise Bad("super-block: a member outside of it", at)
        out.append((at, b[at:at + size]))
        at += size
    if at != len(b):
        raise Bad("super-block: bytes behind its members", at)
    return out
