"""Shards: rows and columns of all stripes in order."""
from . import fields, values
from .errors import Bad, ShardError, TooMany
from .meta import Directory

BATCH = 4096
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
        """(fields, vectors) of at most ``size`` records."""
        want = self.select(columns)
        for st in self._dir.stripes:
            if st.deleted == st.records:
                continue
            if st.deleted:
                raise ShardError(st.obj.name, 0, "deleted records in a stripe", "unsupported")
            cols = [fields.column(st, f, st.records) for f in want]
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
                yield vecs, b - a
                a, step = b, min(size, 2 * step)

    def _lists(self, columns):
        for vecs, n in self.batches(columns):
            out = []
            for col, v in vecs:
                try:
                    out.append(v.to_py())
                except Bad as e:
                    col.fail(e.reason, e.kind)
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
