"""The type tree of a shard."""
from .errors import Bad
from .wire import Table

BASIC = ["Unit", "Boolean", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64", "Binary", "FixedSizeBinary",
         "String", "Guid", "DateTime", "List", "FixedSizeList", "Struct", "Map", "Union"]
CHILDREN = {"List": 1, "FixedSizeList": 1, "Map": 2, "Struct": None, "Union": None}
INTS = {"Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8}
NO_PARENT = 0xFFFFFFFF


class Field:
    """A node of the schema: a column, or what a column is made of."""

    def __init__(self):
        self.name = ""
        self.id = 0
        self.basic = "Unit"
        self.signed = False
        self.fixed_size = 0
        self.extension = ""
        self.aliases = []
        self.children = []
        self.internal = None

    @property
    def type(self):
        """The type as text, such as ``Int64``, ``UInt8``, ``TimeSpan``, ``List<Struct<a: String>>``."""
        b = self.basic
        if self.extension == "KustoTimeSpan" and b == "Int64":
            return "TimeSpan"
        if self.extension == "KustoDecimal" and b == "FixedSizeBinary" and self.fixed_size == 16:
            return "Decimal"
        if self.extension == "KustoDynamic" and b == "Binary":
            return "Dynamic"
        if b in INTS:
            return b if self.signed else "U" + b
        if b == "FixedSizeBinary":
            return f"FixedSizeBinary({self.fixed_size})"
        inner = ", ".join((f"{c.name}: " if b in ("Struct", "Union") else "") + c.type for c in self.children)
        if b == "FixedSizeList":
            return f"FixedSizeList({self.fixed_size})<{inner}>"
        return f"{b}<{inner}>" if b in CHILDREN else b

    def __repr__(self):
        return f"{self.name}: {self.type}"


# slots of a node: number, name, aliases, children, signed, fixed size, extension; the draft wire has no parent before the name
CURRENT, DRAFT = (1, 3, 4, 5, 6, 7, 8), (1, 2, 3, 4, 5, 6, 7)


def _node(t, parent, seen, depth, slots):
    number, name, aliases, children, signed, size, extension = slots
    if depth > 100:
        raise Bad("schema: more than 100 levels", t.pos)
    f = Field()
    code = t.scalar(0, "<B")
    if code >= len(BASIC):
        raise Bad(f"schema: basic type {code}", t.pos, "unsupported")
    f.basic = BASIC[code]
    f.id = t.scalar(number, "<I")
    if f.id in seen or len(seen) >= len(t.b) // 4:
        raise Bad(f"schema: number {f.id} twice", t.pos)
    seen.add(f.id)
    if slots is CURRENT and t.scalar(2, "<I") != parent:
        raise Bad(f"schema: wrong parent of node {f.id}", t.pos)
    f.name = t.text(name)
    f.aliases = t.texts(aliases)
    f.signed = bool(t.scalar(signed, "<B"))
    f.fixed_size = t.scalar(size, "<Q")
    ext = t.table(extension)
    if ext is not None:
        f.extension = ext.text(0)
    f.children = [_node(c, f.id, seen, depth + 1, slots) for c in t.tables(children)]
    want = CHILDREN.get(f.basic, 0)
    if want is not None and len(f.children) != want:
        raise Bad(f"schema: {f.basic} with {len(f.children)} children", t.pos)
    if f.basic in ("FixedSizeBinary", "FixedSizeList", "Guid") and f.fixed_size >= 1 << 31:
        raise Bad(f"schema: a fixed size of {f.fixed_size}", t.pos, "unsupported")
    if f.basic == "Guid":
        f.fixed_size = 16
    return f


def decode(b, draft=False):
    root = Table.root(b)
    seen, out = set(), []
    for t in root.tables(0):
        dt = t.table(0)
        if dt is None:
            raise Bad("schema: a field without a type", t.pos)
        f = _node(dt, NO_PARENT, seen, 0, DRAFT if draft else CURRENT)
        note = t.table(1)
        if note is not None:
            f.internal = note.text(0)
        out.append(f)
    count = len(seen) if draft else root.scalar(1, "<I")
    if seen and max(seen) >= count:
        raise Bad(f"schema: node {max(seen)} of {count}")
    return out
