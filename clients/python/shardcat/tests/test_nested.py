"""Rows of nested types below, at and above the sizes of vectors, whole, filtered and cut by a limit, by every client, as Python made them."""

import datetime
import decimal
import os
import subprocess

import pyarrow as pa
import pytest

import shardcat

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1969, 12, 30, tzinfo=UTC)
SIZES = [1, 2047, 2048, 2049, 5000]
PAIR = pa.struct([("a", pa.int64()), ("b", pa.string())])
TIME = pa.timestamp("us", "UTC")


def unless(i, n, value):
    """A value, or null in every n-th row."""
    return None if i % n == 0 else value


def some(i, *values):
    """The first of n values, up to i % (n + 1)."""
    return list(values[: i % (len(values) + 1)])


def text(i):
    return f"a text that is longer than a view: {i}"


def pair(i):
    return {"a": unless(i, 5, i), "b": unless(i, 7, text(i))}


def moment(i):
    return EPOCH + datetime.timedelta(microseconds=1234567 * i)


# The columns: type, and value by row number.
COLUMNS = {
    "id": (pa.int64(), lambda i: i),
    "odd": (pa.int32(), lambda i: i % 2),
    "struct": (PAIR, lambda i: unless(i, 3, pair(i))),
    "structs": (pa.struct([("s", PAIR), ("x", pa.uint8())]), lambda i: unless(i, 11, {"s": unless(i, 4, pair(i)), "x": i % 256})),
    "list": (pa.list_(pa.int64()), lambda i: unless(i, 6, some(i, i, None, i + 1))),
    "large": (pa.large_list(pa.large_string()), lambda i: unless(i, 6, some(i, text(i), None, ""))),
    "lists": (pa.list_(pa.list_(pa.int64())), lambda i: unless(i, 8, some(i, some(i, i, None), None, []))),
    "list_of_structs": (pa.list_(pa.struct([("a", pa.int64()), ("l", pa.list_(pa.int64()))])),
                        lambda i: unless(i, 7, some(i, {"a": i, "l": unless(i, 2, some(i, i, None, -i))}, None, {"a": None, "l": None}))),
    "struct_of_lists": (pa.struct([("l", pa.list_(pa.int64())), ("s", pa.list_(PAIR))]),
                        lambda i: unless(i, 9, {"l": unless(i, 2, some(i, i, None)), "s": unless(i, 5, some(i, pair(i), None))})),
    "map": (pa.map_(pa.string(), pa.int64()), lambda i: unless(i, 5, some(i, (f"k{i}", i), ("same", None)))),
    "map_of_structs": (pa.map_(pa.int64(), PAIR), lambda i: some(i, (i, unless(i, 2, pair(i))))),
    "fixed": (pa.list_(pa.int64(), 3), lambda i: unless(i, 4, [i, unless(i, 3, -i), i + 1])),
    "struct_of_fixed": (pa.struct([("f", pa.list_(pa.float64(), 2))]), lambda i: unless(i, 5, {"f": unless(i, 3, [i / 2, None])})),
    "decimal": (pa.decimal128(12, 2), lambda i: unless(i, 5, decimal.Decimal(f"{i - 7000}.{i % 100:02}"))),
    "date": (pa.date32(), lambda i: unless(i, 5, (EPOCH + datetime.timedelta(days=i)).date())),
    "moment": (TIME, lambda i: unless(i, 5, moment(i))),
    "times": (pa.list_(TIME), lambda i: some(i, moment(i), None)),
    "binary": (pa.binary(), lambda i: unless(i, 5, text(i).encode())),
    "binaries": (pa.list_(pa.binary(4)), lambda i: some(i, bytes([i % 256, i // 256, 0, 255]), None)),
    "text_view": (pa.string_view(), lambda i: unless(i, 5, text(i)[i % 30:])),
    "binary_views": (pa.list_(pa.binary_view()), lambda i: some(i, text(i).encode(), None)),
    "flag": (pa.list_(pa.bool_()), lambda i: some(i, i % 3 == 0, None, i % 2 == 0)),
}
# pyarrow can't turn lists of these into a DataFrame.
IN_PANDAS = [name for name in COLUMNS if name not in ("binaries", "binary_views")]
MAPS = {"map", "map_of_structs"}
SCHEMA = pa.schema([(name, t) for name, (t, _) in COLUMNS.items()])
# Questions: filter, limit, and what the rows are of those below n.
QUESTIONS = {
    "whole": (None, None, lambda n: range(n)),
    "filtered": ("id >= 2045 AND odd = 1", None, lambda n: [i for i in range(n) if i >= 2045 and i % 2]),
    "cut": ("id < 3 OR id >= 2040 AND id < 2060", 10, lambda n: [i for i in range(n) if i < 3 or 2040 <= i < 2047]),
    "limited": (None, 2049, lambda n: range(min(n, 2049))),
}


def rows_of(numbers):
    return [{name: value(i) for name, (_, value) in COLUMNS.items()} for i in numbers]


@pytest.fixture(scope="module")
def nested(binary, lake):
    """A table of each size, with shards that end between its rows."""
    local = shardcat.connect(binary=binary, **lake)
    for n in SIZES:
        made = pa.Table.from_pylist(rows_of(range(n)), SCHEMA)
        local.table(f"nested_{n}").append(made.slice(0, 1000), create=True)
        for start in range(1000, n, 3000):
            local.table(f"nested_{n}").append(made.slice(start, 3000))
    return lake


@pytest.fixture(scope="module")
def flight(binary, nested):
    """The address of a server of Flight SQL."""
    if "SHARDCAT_FLIGHT" not in os.environ:
        pytest.skip("SHARDCAT_FLIGHT names no shardcat-flight")
    flags = [f"--{k}={v}" for k, v in nested.items()]
    run = subprocess.Popen([os.environ["SHARDCAT_FLIGHT"], *flags, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env={**os.environ, "SHARDCAT_READ_TOKEN": "secret"})
    yield run.stdout.readline().split()[-1]
    run.terminate()
    run.wait()


def plain(value, is_map=False):
    """A value without the types of a client: maps are lists of pairs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or value != value:
        return None
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if is_map and isinstance(value, dict):
        return [(k, plain(v)) for k, v in value.items()]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        if is_map:
            return [tuple(map(plain, e.values() if isinstance(e, dict) else e)) for e in value]
        return [plain(v) for v in value]
    if isinstance(value, datetime.datetime):  # pandas drops the zone of those in lists
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return value


def check(rows, numbers, names=tuple(COLUMNS)):
    """Rows as tuples or mappings, against those that are made of their numbers."""
    want = rows_of(numbers)
    assert len(rows) == len(want)
    for got, w in zip(rows, want):
        values = got.values() if isinstance(got, dict) else got
        for name, value in zip(names, values):
            assert plain(value, name in MAPS) == plain(w[name], name in MAPS), (w["id"], name)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("n", SIZES)
def test_nested(nested, connection, question, n):
    where, limit, numbers = QUESTIONS[question]
    table = connection.table(f"nested_{n}")
    got = table.to_arrow(where=where, limit=limit)
    assert got.schema.types == SCHEMA.types
    got.validate(full=True)
    check(got.to_pylist(), numbers(n))
    frame = table.to_polars(where=where, limit=limit)
    check(frame.to_dicts(), numbers(n))
    check(list(table.to_pandas(where=where, limit=limit, columns=IN_PANDAS).itertuples(index=False, name=None)), numbers(n), IN_PANDAS)


@pytest.mark.parametrize("n", SIZES)
def test_nested_in_duckdb(nested, connection, n):
    import duckdb

    for where, limit, numbers in QUESTIONS.values():
        c = duckdb.connect()
        c.execute("SET TimeZone = 'UTC'")
        check(connection.table(f"nested_{n}").to_duckdb(connection=c, where=where, limit=limit).to_arrow_table().to_pylist(), numbers(n))
    c = duckdb.connect()
    c.register("t", connection.table(f"nested_{n}").to_arrow())
    assert c.sql("SELECT sum(struct.a), sum(structs.s.a), count(list_of_structs[1].a) FROM t").fetchall()[0] == (
        sum(i for i in range(n) if i % 3 and i % 5) or None, sum(i for i in range(n) if i % 11 and i % 4 and i % 5) or None, sum(1 for i in range(n) if i % 7 and i % 4))


def simple(question, n):
    """The question as Flight SQL understands it."""
    where, limit, _ = QUESTIONS[question]
    return f"SELECT * FROM nested_{n}" + (f" WHERE {where}" if where else "") + (f" LIMIT {limit}" if limit else "")


@pytest.mark.parametrize("n", SIZES)
def test_nested_by_adbc_python(flight, n):
    import adbc_driver_flightsql.dbapi as adbc

    with adbc.connect("grpc://" + flight, {"adbc.flight.sql.authorization_header": "Bearer secret"}, autocommit=True) as c, c.cursor() as cursor:
        for question, (_, _, numbers) in QUESTIONS.items():
            cursor.execute(simple(question, n))
            got = cursor.fetch_arrow_table()
            got.validate(full=True)
            check(sorted(got.to_pylist(), key=lambda row: row["id"]), numbers(n))


@pytest.mark.skipif("SHARDCAT_ADBC_GO" not in os.environ, reason="SHARDCAT_ADBC_GO names no program that uses ADBC's driver for Go")
@pytest.mark.parametrize("n", SIZES)
def test_nested_by_adbc_go(flight, n):
    for question, (_, _, numbers) in QUESTIONS.items():
        run = subprocess.run([os.environ["SHARDCAT_ADBC_GO"], "grpc://" + flight, "secret", simple(question, n)], check=True, stdout=subprocess.PIPE)
        got = pa.ipc.open_stream(run.stdout).read_all()
        got.validate(full=True)
        check(sorted(got.to_pylist(), key=lambda row: row["id"]), numbers(n))
