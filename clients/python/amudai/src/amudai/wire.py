"""Objects, frames, and the two message formats: just as much protobuf and FlatBuffers as the reader needs."""
import mmap
import os
import re
import struct
from urllib.parse import unquote, urlsplit

import xxhash

from .errors import Bad, ShardError

MAGIC = b"amud"


def checksum(data):
    """XXH3-64 with its upper half folded onto its lower half."""
    h = xxhash.xxh3_64_intdigest(data)
    return (h >> 32) ^ (h & 0xFFFFFFFF)


class Object:
    """A file of a shard, read by ranges that are checked against its size."""

    def __init__(self, path, name):
        self.name = name
        try:
            with open(path, "rb") as f:
                self.size = os.fstat(f.fileno()).st_size
                self._map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) if self.size else b""
        except OSError as e:
            raise ShardError(name, 0, f"cannot be opened: {e.strerror}", "missing") from e
        self._view = memoryview(self._map)

    def read(self, start, end, what="range"):
        if not 0 <= start <= end <= self.size:
            raise ShardError(self.name, start, f"{what} {start} to {end} of an object of {self.size} bytes")
        return self._view[start:end]

    def frame(self, start, end, what):
        """The payload of the frame at start, whose checksum is right."""
        if end - start < 8:
            raise ShardError(self.name, start, f"{what}: too short for a frame")
        b = self.read(start, end, what)
        n = struct.unpack_from("<I", b)[0]
        if n > end - start - 8:
            raise ShardError(self.name, start, f"{what}: a frame of {n} bytes in a range of {end - start}")
        if struct.unpack_from("<I", b, 4 + n)[0] != checksum(b[4:4 + n]):
            raise ShardError(self.name, start, f"{what}: wrong checksum")
        return bytes(b[4:4 + n])


class Store:
    """Opens the objects of a shard by the URLs that its messages name."""

    def __init__(self, path):
        self.folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
        self._objects = {}
        self.root = Object(path, os.path.basename(path))
        self._objects[os.path.realpath(path)] = self.root

    def resolve(self, url, holder):
        if not url:
            return holder
        parts = None
        try:
            parts = urlsplit(url)
        except ValueError:
            pass
        if parts is None or parts.query or parts.fragment or "@" in parts.netloc or "?" in url or "#" in url:
            raise ShardError(holder.name, 0, f"refused URL {url!r}", "unsafe")
        if re.search("%(?![0-9a-fA-F]{2})", parts.path):
            raise ShardError(holder.name, 0, f"refused URL {url!r}", "unsafe")
        p = unquote(parts.path)
        if "\\" in p or "\0" in p or "%2f" in parts.path.lower() or ".." in p.split("/"):
            raise ShardError(holder.name, 0, f"refused URL {url!r}", "unsafe")
        if parts.scheme or parts.netloc:
            if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
                raise ShardError(holder.name, 0, f"refused URL {url!r}", "unsafe")
            full = os.path.realpath(p)
        elif p.startswith("/"):
            raise ShardError(holder.name, 0, f"refused URL {url!r}", "unsafe")
        else:
            full = os.path.realpath(os.path.join(self.folder, p))
        if not full.startswith(self.folder.rstrip(os.sep) + os.sep):
            raise ShardError(holder.name, 0, f"refused URL {url!r}: outside of the shard's folder", "unsafe")
        if full not in self._objects:
            self._objects[full] = Object(full, os.path.relpath(full, self.folder))
        return self._objects[full]


# ---- protobuf

def varint(b, i):
    r = s = 0
    while True:
        if i >= len(b) or s > 63:
            raise Bad("varint cut off", i)
        c = b[i]
        i += 1
        r |= (c & 127) << s
        s += 7
        if c < 128:
            return r & 0xFFFFFFFFFFFFFFFF, i


MAX_GROUPS = 100


def group(b, i, num, depth=1):
    """Where the group of a number ends whose contents begin at i."""
    if depth > MAX_GROUPS:
        raise Bad("groups within groups", i)
    while True:
        at = i
        key, i = varint(b, i)
        wt = key & 7
        if wt == 4:
            if key >> 3 != num:
                raise Bad(f"group {num} ends as {key >> 3}", at)
            return i
        if wt == 3:
            i = group(b, i, key >> 3, depth + 1)
        elif wt == 0:
            i = varint(b, i)[1]
        elif wt == 2:
            m, i = varint(b, i)
            i += m
        elif wt in (1, 5):
            i += 8 if wt == 1 else 4
        else:
            raise Bad(f"wire type {wt}", at)
        if i > len(b):
            raise Bad("field cut off", at)


def fields(b):
    """(number, wire type, value) of every field of a message, in order; groups are left out."""
    i, n = 0, len(b)
    while i < n:
        at = i
        key, i = varint(b, i)
        num, wt = key >> 3, key & 7
        if num == 0:
            raise Bad("field number 0", at)
        if wt == 0:
            v, i = varint(b, i)
        elif wt == 1 or wt == 5:
            w = 8 if wt == 1 else 4
            if i + w > n:
                raise Bad("field cut off", at)
            v = int.from_bytes(b[i:i + w], "little")
            i += w
        elif wt == 2:
            m, i = varint(b, i)
            if m > n - i:
                raise Bad("field cut off", at)
            v = b[i:i + m]
            i += m
        elif wt == 3:
            i = group(b, i, num)
            continue
        else:
            raise Bad(f"wire type {wt}", at)
        yield num, wt, v


class Msg:
    """The fields of a message by number. Of a scalar the last one counts. One of another wire type than requested is an unknown field."""

    def __init__(self, b):
        self.f = {}
        for num, wt, v in fields(b):
            self.f.setdefault(num, []).append((wt, v))

    def u64(self, num, default=0):
        x = [v for wt, v in self.f.get(num, ()) if wt != 2]
        return x[-1] if x else default

    def bytes(self, num):
        x = self.all(num)
        return x[-1] if x else None

    def all(self, num):
        return [v for wt, v in self.f.get(num, ()) if wt == 2]

    def msg(self, num):
        b = self.bytes(num)
        return None if b is None else Msg(b)

    def text(self, num):
        b = self.bytes(num)
        try:
            return "" if b is None else b.decode()
        except UnicodeDecodeError:
            raise Bad(f"field {num} is no UTF-8") from None

    def fixed64s(self, num):
        """A repeated fixed64, packed or not."""
        out = bytearray()
        for wt, v in self.f.get(num, ()):
            if wt == 1:
                out += v.to_bytes(8, "little")
            elif wt == 2 and len(v) % 8 == 0:
                out += v
            else:
                raise Bad(f"field {num} is no list of fixed64")
        return out


# ---- FlatBuffers

class Table:
    """A FlatBuffers table; every access is checked against the buffer."""

    __slots__ = ("b", "pos", "slots", "size")

    def __init__(self, b, pos):
        self.b, self.pos = b, pos
        vt = pos - self._at("<i", pos)
        n = self._at("<H", vt)
        self.size = self._at("<H", vt + 2)
        if n < 4 or n % 2 or vt + n > len(b) or self.size < 4 or pos + self.size > len(b):
            raise Bad("table or vtable outside of the buffer", pos)
        self.slots = struct.unpack_from(f"<{(n - 4) // 2}H", b, vt + 4)

    def _at(self, fmt, at):
        if at < 0 or at + struct.calcsize(fmt) > len(self.b):
            raise Bad("schema: offset outside of the buffer", at)
        return struct.unpack_from(fmt, self.b, at)[0]

    @classmethod
    def root(cls, b):
        if len(b) < 4:
            raise Bad("schema: empty")
        return cls(b, struct.unpack_from("<I", b)[0])

    def _slot(self, i, width):
        if i >= len(self.slots) or not self.slots[i]:
            return None
        if self.slots[i] + width > self.size:
            raise Bad("schema: field outside of its table", self.pos)
        return self.pos + self.slots[i]

    def scalar(self, i, fmt):
        at = self._slot(i, struct.calcsize(fmt))
        return 0 if at is None else self._at(fmt, at)

    def _vector(self, i, width):
        at = self._slot(i, 4)
        if at is None:
            return None, 0
        at += self._at("<I", at)
        n = self._at("<I", at)
        if n * width > len(self.b) - at - 4:
            raise Bad("schema: vector outside of the buffer", at)
        return at + 4, n

    def text(self, i):
        at, n = self._vector(i, 1)
        if at is None:
            return ""
        try:
            return bytes(self.b[at:at + n]).decode()
        except UnicodeDecodeError:
            raise Bad("schema: a name is no UTF-8", at) from None

    def texts(self, i):
        at, n = self._vector(i, 4)
        out = []
        for k in range(n):
            p = at + 4 * k
            p += self._at("<I", p)
            m = self._at("<I", p)
            if p + 4 + m > len(self.b):
                raise Bad("schema: text outside of the buffer", p)
            out.append(bytes(self.b[p + 4:p + 4 + m]).decode("utf-8", "strict"))
        return out

    def table(self, i):
        at = self._slot(i, 4)
        return None if at is None else Table(self.b, at + self._at("<I", at))

    def tables(self, i):
        at, n = self._vector(i, 4)
        for k in range(n):
            p = at + 4 * k
            yield Table(self.b, p + self._at("<I", p))
