"""From the root object to the descriptors of every field of every stripe."""
import struct

from . import schema
from .errors import Bad, ShardError
from .wire import MAGIC, Msg, Store

KINDS = {0: "DATA", 1: "PRESENCE", 2: "OFFSETS", 3: "VALUE_DICTIONARY", 4: "OPAQUE_DICTIONARY", 5: "RANGE_INDEX"}


def data_ref(m):
    """(url, start, end) of a DataRef message, or None if it is absent or empty."""
    if m is None:
        return None
    draft = 3 in m.f  # the draft wire has url = 2, range = 3
    r = m.msg(2 + draft)
    start, end = (r.u64(1), r.u64(2)) if r else (0, 0)
    if start > end:
        raise Bad(f"a range from {start} to {end}")
    return None if start == end else (m.text(1 + draft), start, end)


class Directory:
    """The directory of a shard: schema, counts and the list of stripes."""

    def __init__(self, path):
        self.store = Store(path)
        root = self.store.root
        if root.size < 36:
            raise ShardError(root.name, 0, f"{root.size} bytes are no shard")
        end = root.size
        head, tail = root.read(0, 8), bytes(root.read(end - 8, end))
        for at, b in ((0, head), (end - 8, tail)):
            if b[:4] != MAGIC:
                raise ShardError(root.name, at, "no Amudai shard: the magic is missing")
            if b[7] > 0:
                raise ShardError(root.name, at, f"major version {b[7]}", "unsupported")
        n = struct.unpack("<I", root.read(end - 12, end - 8))[0]
        at = end - 20 - n
        if at < 8:
            raise ShardError(root.name, end - 12, f"a directory of {n} bytes in an object of {end}")
        if struct.unpack("<I", root.read(at, at + 4))[0] != n:
            raise ShardError(root.name, at, "the two lengths of the directory disagree")
        d = self.message(root, at, end - 12, "directory")
        with Located(root, at):
            self.records = d.u64(7)
            self.deleted = d.u64(8)
            stripes = d.u64(9)
            refs = {k: data_ref(d.msg(k)) for k in (1, 3, 4, 5)}
            draft = any(3 in d.msg(k).f for k in (1, 3, 4, 5) if d.msg(k))
            if None in refs.values():
                raise Bad("the directory lacks schema, field list, stripe list or URL list")
        if self.records >= 1 << 63 or self.deleted > self.records:
            raise ShardError(root.name, at, f"{self.deleted} of {self.records} records deleted")
        url, s, e = refs[1]
        obj = self.store.resolve(url, root)
        b = obj.frame(s, e, "schema")
        with Located(obj, s):
            self.schema = schema.decode(b, draft)
        url, s, e = refs[4]
        obj = self.store.resolve(url, root)
        m = self.message(obj, s, e, "stripe list")
        self.stripes = []
        with Located(obj, s):
            for b in m.all(1):
                self.stripes.append(Stripe(self, obj, Msg(b)))
            pos = 0
            for st in self.stripes:
                if st.position != pos:
                    raise Bad(f"a stripe starts at record {st.position}, not {pos}")
                pos += st.records
            if (len(self.stripes), pos, sum(st.deleted for st in self.stripes)) != (stripes, self.records, self.deleted):
                raise Bad("the stripes do not add up to the directory")

    @staticmethod
    def message(obj, start, end, what):
        b = obj.frame(start, end, what)
        with Located(obj, start):
            return Msg(b)


class Located:
    """Turns what goes wrong inside into a ShardError at this place."""

    def __init__(self, obj, at):
        self.obj, self.at = obj, at

    def __enter__(self):
        return self

    def __exit__(self, t, e, tb):
        if t is Bad:
            raise ShardError(self.obj.name, self.at, e.reason, e.kind) from e
        if t in (struct.error, ValueError, IndexError, OverflowError, UnicodeDecodeError):
            raise ShardError(self.obj.name, self.at, str(e)) from e


class Stripe:
    def __init__(self, directory, obj, m):
        self.store, self.obj = directory.store, obj
        self.fields_ref = data_ref(m.msg(2))
        if self.fields_ref is None:
            raise Bad("a stripe without a field list")
        self.records, self.deleted, self.position = m.u64(4), m.u64(5), m.u64(7)
        if self.deleted > self.records:
            raise Bad(f"{self.deleted} of {self.records} records of a stripe deleted")
        self._list = None

    def _fields(self):
        if self._list is None:
            url, s, e = self.fields_ref
            obj = self.store.resolve(url, self.obj)
            m = Directory.message(obj, s, e, "field list")
            with Located(obj, s):
                urls, starts, ends = m.all(2), m.fixed64s(3), m.fixed64s(4)
                if len(starts) != len(ends) or len(urls) != len(starts) // 8:
                    raise Bad("field list: urls, starts and ends differ in number")
            self._list = obj, urls, starts, ends
        return self._list

    def field(self, i):
        """The descriptor of schema node i in this stripe, or None."""
        obj, urls, starts, ends = self._fields()
        if i >= len(urls):
            return None
        s, e = struct.unpack_from("<Q", starts, 8 * i)[0], struct.unpack_from("<Q", ends, 8 * i)[0]
        if s == e:
            return None
        with Located(obj, s):
            at = self.store.resolve(urls[i].decode(), obj)
        m = Directory.message(at, s, e, f"descriptor of field {i}")
        with Located(at, s):
            return FieldDescriptor(self, at, s, m)


class FieldDescriptor:
    def __init__(self, stripe, obj, at, m):
        self.obj, self.at = obj, at
        d = m.msg(1)
        if d is None:
            raise Bad("a descriptor without its field")
        self.positions = d.u64(1)
        self.nulls = d.u64(2, None)
        self.constant = d.msg(3)
        self.buffers = {}
        self.dictionaries = []  # the VALUE_DICTIONARY buffers
        self.packed = False  # DATA holds super-blocks
        if self.positions >= 1 << 63:
            raise Bad(f"{self.positions} positions")
        encodings = [Msg(e) for e in m.all(2)]
        native = next((e for e in encodings if 1 in e.f), None)
        if native is None:
            if encodings:
                raise Bad("no native encoding of this field", 0, "unsupported")
            return
        self.packed = bool(native.msg(1).u64(10))
        ids = set()
        for b in native.msg(1).all(1):
            b = Msg(b)
            kind = KINDS.get(b.u64(1))
            if kind is None:
                raise Bad(f"a buffer of kind {b.u64(1)}", 0, "unsupported")
            known = b.u64(20, None)
            if known is not None and kind != "RANGE_INDEX" and known in ids:
                raise Bad(f"two buffers of the id {known}")
            ids.add(known if kind != "RANGE_INDEX" else None)
            ref = data_ref(b.msg(2))
            if ref is None and kind == "DATA" and b.u64(21, None) is not None and len(native.msg(1).all(1)) == 1:
                self.buffers[kind] = {"member": b.u64(21)}
                return
            if ref is None:
                raise Bad(f"{kind} buffer without bytes")
            if kind in self.buffers and kind != "VALUE_DICTIONARY":
                raise Bad(f"two {kind} buffers", 0, "unsupported")
            url, start, end = ref
            bm = data_ref(b.msg(3))
            o = stripe.store.resolve(url, obj)
            o.read(start, end, f"{kind} buffer")
            made = {"id": b.u64(20), "object": o, "start": start, "end": end, "map": bm and bm[1:], "count": b.u64(4, None),
                    "checksums": bool(b.u64(5)), "presence": bool(b.u64(6)), "offsets": bool(b.u64(7))}
            if kind == "VALUE_DICTIONARY":
                self.dictionaries.append(made)
            self.buffers[kind] = made
            if bm is None and kind in ("DATA", "PRESENCE", "OFFSETS"):
                raise Bad(f"{kind} buffer without a block map")
