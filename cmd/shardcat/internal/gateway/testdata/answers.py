"""Shared by the checks of engines: summaries of rows, values of every type as an engine returns them, refusals."""
import base64
import datetime
import decimal
import json


def summary(table):
    """Numbers that tell rows apart: count, sum of ids, names that are not null, sum of four times the prices, and so on."""
    rows = table.to_pylist()
    name = "name" if "name" in table.column_names else "label"
    return " ".join(str(n) for n in (
        len(rows), sum(r["id"] for r in rows), sum(r[name] is not None for r in rows),
        int(sum((r.get("price") or 0) * 4 for r in rows)), sum(r["small"] for r in rows),
        int(sum(r["at"].timestamp() - 1_700_000_000 for r in rows))))


def wanted(column, v):
    """A value of the file of rows as an Iceberg engine sees it."""
    if v is None:
        return None
    if column in ("bin", "fsb"):
        return base64.b64decode(v)
    if column == "t":
        return datetime.datetime.fromisoformat(v.replace("Z", "+00:00"))
    if column == "m":
        return list(v.items())
    if column == "u64":
        return decimal.Decimal(v)
    if column == "un":
        return {"variant0": v if isinstance(v, int) else None, "variant1": v if isinstance(v, str) else None}
    if column == "dy":
        return json.dumps(v, separators=(",", ":"))
    if column == "ts":
        return int(v.split(".")[1])
    return v


def differences(rows_file, table, but=(), seen_as=lambda column, v: v):
    """Columns in which a table differs from the file of rows, whose values an engine sees as seen_as makes them."""
    with open(rows_file) as f:
        rows = [row for row in map(json.loads, f) if row["i32"] >= 100]
    out = []
    for name in table.column_names:
        seen = table[name].to_pylist()
        if name == "g":
            seen = [v and str(v) for v in seen]
        want = [seen_as(name, wanted(name, row[name])) for row in rows]
        if name not in but and seen != want:
            out.append(f" {name} {next((i, v, w) for i, (v, w) in enumerate(zip(seen, want)) if v != w)}")
    return f"{table.num_rows} rows, columns that differ:" + "".join(out)


def refusal(what):
    try:
        what()
    except Exception as e:
        return type(e).__name__
    return "done"
