"""Shards: rows and columns of all stripes in order."""
from . import fields, values
from .errors import Bad, ShardError, TooMany
from .meta import Directory

BATCH = 4096
DELETED = "Kusto.Amudai.DeletedRecord"  # the internal field that marks deleted records
HEAVY = 64 << 20  # batches get fewer records where values are larger than this together


class Shard:
    """A shard that is open for reading. Make one with :func:`amudai.open`."""

    def __init__(self, path):
        self._dir = Directory(path)
        #: The columns: a list of :class:`amudai.schema.Field`.
        self.schema = [f for f in self._dir.schema if f.internal is None]

    @property
    def records(self):
        """Number of records, without deleted ones."""
        return self._dir.records - self._dir.deleted

    @property
    def stripes(self):
        """Number of records of each stripe, deleted ones included."""
        return [s.records for s in self._dir.stripes]

    def select(self, columns=None):
        """The fields of these names (or aliases), all if None."""
        if columns is None:
            return self.schema
        out = []
        for name in columns:
            f = next((f for f in self.schema if f.name == name), None)
            f = f or next((f for f in self.schema if name in f.aliases), None)
            if f is None:
                raise KeyError(name)
            out.append(f)
        return out

    def batches(self, columns=None, size=BATCH):
        """(fields with vectors, their number, which are deleted or None) of at most ``size`` records."""
        want = self.select(columns)
        for st in self._dir.stripes:
            cols = [fields.column(st, f, st.records) for f in want]
            gone = self._deleted(st)
            a, step = 0, size
            while a < st.records:
                b = min(a + step, st.records)
                try:
                    vecs = [(c, c.read(a, b)) for c in cols]
                    heavy = sum(v.weight() for _, v in vecs) > HEAVY
                except TooMany:
                    if b - a == 1:
                        raise
                    heavy = True
                if heavy and b - a > 1:
                    step = (b - a) // 2
                    continue
                yield vecs, b - a, None if gone is None else gone[a:b]
                a, step = b, min(size, 2 * step)

    def _deleted(self, stripe):
        """Which records of a stripe are marked as deleted: a list of bool, or None if none is. The marks decide, not the count."""
        marker = next((f for f in self._dir.schema if f.internal == DELETED and f.basic == "Boolean"), None)
        if marker is None and not stripe.deleted:
            return None
        if marker is None:
            raise ShardError(stripe.obj.name, 0, f"{stripe.deleted} deleted records, and no field that marks them")
        marks = [m is True for m in fields.column(stripe, marker, stripe.records).read(0, stripe.records).to_py()]
        return marks if any(marks) else None

    def _lists(self, columns):
        for vecs, n, gone in self.batches(columns):
            out = []
            for col, v in vecs:
                try:
                    out.append(v.to_py())
                except Bad as e:
                    col.fail(e.reason, e.kind)
            if gone is not None:
                out = [[v for v, g in zip(values_, gone) if not g] for values_ in out]
                n = gone.count(False)
            yield out, n

    def rows(self, columns=None):
        """Every record as a dict from name to value."""
        names = [f.name for f in self.select(columns)]
        for lists, n in self._lists(columns):
            if not names:
                yield from ({} for _ in range(n))
                continue
            for row in zip(*lists):
                yield dict(zip(names, row))

    def ndjson(self, columns=None):
        """Every record as a line of JSON, without its end of line."""
        want = self.select(columns)
        keys = [values.json.dumps(f.name, ensure_ascii=False) + ":" for f in want]
        texts = [values.to_json(f) for f in want]
        for lists, n in self._lists(columns):
            if not want:
                yield from ("{}" for _ in range(n))
                continue
            for row in zip(*lists):
                yield "{" + ",".join([k + t(v) for k, t, v in zip(keys, texts, row)]) + "}"

    def to_arrow(self, columns=None, time_unit="us"):
        """A pyarrow.Table, see the README for types."""
        from . import arrow
        return arrow.table(self, columns, time_unit)

    def verify(self):
        """Read every block of every field, and check what can be checked."""
        for st in self._dir.stripes:
            todo = [fields.column(st, f, st.records) for f in self._dir.schema]
            while todo:
                c = todo.pop()
                c.verify()
                todo += c.children()
