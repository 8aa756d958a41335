"""Stored values as Python values, and Python values as JSON."""
import base64
import json
import struct
from decimal import Decimal
from uuid import UUID

import numpy as np

from .errors import Bad

TICKS = 10_000_000
MAX_DATETIME = 3_155_378_975_999_999_999  # 9999-12-31T23:59:59.9999999Z


def datetime_text(t):
    """Ticks of 100 ns since 0001-01-01 as RFC 3339; beyond the year 9999 as a number of ticks."""
    if t > MAX_DATETIME:
        return f"{t} ticks"
    s, f = divmod(t, TICKS)
    d, s = divmod(s, 86400)
    # civil from days, with years that start in March
    z = d + 306
    era, doe = divmod(z, 146097)
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    day = doy - (153 * mp + 2) // 5 + 1
    month = mp + 3 if mp < 10 else mp - 9
    year = yoe + era * 400 + (month <= 2)
    frac = f".{f:07d}".rstrip("0") if f else ""
    return f"{year:04d}-{month:02d}-{day:02d}T{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}{frac}Z"


def timespan_text(t):
    """Ticks of 100 ns as [-][d.]hh:mm:ss[.fffffff]."""
    sign, t = ("-", -t) if t < 0 else ("", t)
    s, f = divmod(t, TICKS)
    d, s = divmod(s, 86400)
    days = f"{d}." if d else ""
    frac = f".{f:07d}" if f else ""
    return f"{sign}{days}{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}{frac}"


def _declet(x):
    p, q, r, s, t, u, v, w, xx, y = ((x >> i) & 1 for i in range(9, -1, -1))
    pqr, stu, wxy = 4 * p + 2 * q + r, 4 * s + 2 * t + u, 4 * w + 2 * xx + y
    if not v:
        d = pqr, stu, wxy
    elif (w, xx) == (0, 0):
        d = pqr, stu, 8 + y
    elif (w, xx) == (0, 1):
        d = pqr, 8 + u, 4 * s + 2 * t + y
    elif (w, xx) == (1, 0):
        d = 8 + r, stu, 4 * p + 2 * q + y
    elif (s, t) == (0, 0):
        d = 8 + r, 8 + u, 4 * p + 2 * q + y
    elif (s, t) == (0, 1):
        d = 8 + r, 4 * p + 2 * q + u, 8 + y
    elif (s, t) == (1, 0):
        d = pqr, 8 + u, 8 + y
    else:
        d = 8 + r, 8 + u, 8 + y
    return 100 * d[0] + 10 * d[1] + d[2]


DECLETS = [f"{_declet(i):03d}" for i in range(1024)]


def decimal(b):
    """An IEEE 754 decimal128, densely packed, least significant byte first."""
    x = int.from_bytes(b, "little")
    sign, g = x >> 127, x >> 122 & 31
    if g == 31:
        return Decimal("NaN")
    if g == 30:
        return Decimal("-Infinity" if sign else "Infinity")
    top, msd = (g >> 1 & 3, 8 + (g & 1)) if g >= 24 else (g >> 3, g & 7)
    exponent = (top << 12 | x >> 110 & 0xFFF) - 6176
    digits = str(msd) + "".join(DECLETS[x >> s & 1023] for s in range(100, -1, -10))
    digits = digits.lstrip("0") or "0"
    return Decimal((sign, tuple(map(int, digits)), exponent))


def _text(b):
    try:
        return b.decode()
    except UnicodeDecodeError as e:
        raise Bad(f"a String that is no UTF-8: {e.reason}") from None


def of_bytes(field):
    """The function that makes a value of this field of its bytes."""
    t = field.type
    if t == "String":
        return _text
    if t == "Guid":
        return lambda b: UUID(bytes=b)
    if t == "Decimal":
        return decimal
    return lambda b: b


def numbers(field, v):
    t = field.type
    if t == "DateTime":
        return [datetime_text(x) for x in v]
    if t == "TimeSpan":
        return [timespan_text(x) for x in v]
    return v


def constant(field, m):
    """The value of an AnyValue message for this field."""
    kinds = [k for k in m.f if 1 <= k <= 13]
    if len(kinds) != 1:
        raise Bad("a constant of no kind, or of several")
    k = kinds[0]
    if k == 1:
        return None
    b = field.basic
    if k == 2 and b == "Boolean":
        return bool(m.u64(2))
    if k in (3, 4) and (b.startswith("Int") or b == "DateTime"):
        v = m.u64(k)
        if k == 4 and v >= 1 << 63:
            v -= 1 << 64
        width = 64 if b == "DateTime" else int(b[3:])
        lo, hi = (-(1 << width - 1), 1 << width - 1) if field.signed and b != "DateTime" else (0, 1 << width)
        if not lo <= v < hi:
            raise Bad(f"a constant of {v} for {field.type}")
        if b == "DateTime":
            return datetime_text(v)
        return numbers(field, [v])[0]
    if k == 5 and b in ("Float32", "Float64"):
        return struct.unpack("<d", m.u64(5).to_bytes(8, "little"))[0]
    if k == 8 and b == "String":
        return m.text(8)
    if k in (8, 9, 10) and b in ("Binary", "FixedSizeBinary", "Guid"):
        v = bytes(m.bytes(k))
        if k == 10 and len(v) != 16:
            raise Bad("a decimal constant that is not of 16 bytes")
        if b != "Binary" and len(v) != field.fixed_size:
            raise Bad(f"a constant of {len(v)} bytes for {field.type}")
        return of_bytes(field)(v)
    raise Bad(f"a constant of kind {k} for {field.type}", 0, "unsupported" if k in (6, 7, 11, 12, 13) else "corrupt")


# ---- JSON

def _float(v, single):
    if v != v:
        return '"NaN"'
    if v in (float("inf"), float("-inf")):
        return '"Infinity"' if v > 0 else '"-Infinity"'
    return str(np.float32(v)) if single else repr(v)


def _dynamic(v):
    """JSON text as it stands, if it is that, on one line."""
    try:
        text = v.decode()
        json.loads(text)
        return text if "\n" not in text and "\r" not in text else json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return '"' + base64.b64encode(v).decode() + '"'


def to_json(field):
    """A function from a value of this field to its JSON text."""
    inner = _json(field)
    return lambda v: "null" if v is None else inner(v)


def _json(field):
    t, b = field.type, field.basic
    if b == "Boolean":
        return lambda v: "true" if v else "false"
    if b == "Float32":
        return lambda v: _float(v, True)
    if b == "Float64":
        return lambda v: _float(v, False)
    if t == "TimeSpan" or b == "DateTime" or t in ("Guid", "Decimal"):
        return lambda v: f'"{v}"'
    if b.startswith("Int"):
        return str
    if b == "String":
        return lambda v: json.dumps(v, ensure_ascii=False)
    if t == "Dynamic":
        return _dynamic
    if b in ("Binary", "FixedSizeBinary"):
        return lambda v: '"' + base64.b64encode(v).decode() + '"'
    kids = [to_json(c) for c in field.children]
    if b in ("List", "FixedSizeList"):
        return lambda v: "[" + ",".join(map(kids[0], v)) + "]"
    if b == "Map":
        return lambda v: "[" + ",".join(f'{{"key":{kids[0](e["key"])},"value":{kids[1](e["value"])}}}' for e in v) + "]"
    if b == "Struct":
        names = [(c.name, json.dumps(c.name, ensure_ascii=False) + ":", k) for c, k in zip(field.children, kids)]
        return lambda v: "{" + ",".join(s + k(v[n]) for n, s, k in names) + "}"
    if b == "Union":
        return lambda v: kids[v.variant](v.value)
    return lambda v: "null"
