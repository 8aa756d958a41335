"""The rules of docs/reference/types.md for far dates and decimals, client by client."""

import datetime
import decimal
import json
import subprocess
import urllib.parse
import urllib.request

import duckdb
import polars
import pyarrow as pa
import pytest

import shardcat

UTC = datetime.timezone.utc
NEAR, FAR = datetime.datetime(2024, 2, 29, 12, 0, 0, 123456, UTC), datetime.datetime(1492, 10, 12, 2, tzinfo=UTC)
PRICE = decimal.Decimal("-1234567.50")


@pytest.fixture(scope="module")
def values(binary, served, lake, tmp_path_factory):
    """Tables `typed`, made of Arrow, and `untyped`, made of text, of a near and a far time and a decimal each."""
    local = shardcat.connect(binary=binary, **lake)
    types = pa.schema([("id", pa.int64()), ("t", pa.timestamp("us", "UTC")), ("d", pa.decimal128(12, 2))])
    local.table("typed").append(pa.table({"id": [1, 2], "t": [NEAR, FAR], "d": [PRICE, None]}, types), create=True)
    place = tmp_path_factory.mktemp("values")
    with open(place / "schema", "w") as f:
        f.write("id: Int64, t: DateTime, d: Decimal")
    with open(place / "rows.ndjson", "w") as f:
        f.write('{"id":1,"t":"2024-02-29T12:00:00.1234567Z","d":"-1234567.50"}\n{"id":2,"t":"1492-10-12T02:00:00Z","d":"0.1234567890123456789012345678901"}\n')
    flags = [f"--{k}={v}" for k, v in lake.items()]
    subprocess.run([binary, *flags, "ingest", "untyped", str(place / "rows.ndjson"), "--schema", str(place / "schema"), "--create"], check=True, stdout=subprocess.DEVNULL)
    return shardcat.connect(served)


def test_typed(values):
    typed = values.table("typed")
    assert typed.schema.types == [pa.int64(), pa.timestamp("us", "UTC"), pa.decimal128(12, 2)]
    assert typed.to_arrow().to_pylist() == [{"id": 1, "t": NEAR, "d": PRICE}, {"id": 2, "t": FAR, "d": None}]
    assert typed.to_pandas()["t"].tolist() == [NEAR, FAR] and typed.to_pandas()["d"][0] == PRICE
    assert typed.to_polars().rows() == [(1, NEAR, PRICE), (2, FAR, None)] and typed.to_polars().schema["d"] == polars.Decimal(12, 2)
    c = duckdb.connect()
    c.execute("SET TimeZone = 'UTC'")
    c.register("typed", typed.to_arrow())
    assert c.sql("SELECT typeof(d), d, epoch_us(t) FROM typed ORDER BY id").fetchall() == [
        ("DECIMAL(12,2)", PRICE, (NEAR - FAR) // datetime.timedelta(microseconds=1) + since(FAR)), ("DECIMAL(12,2)", None, since(FAR))]


def since(t):
    return (t - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)


def test_untyped(values):
    untyped = values.table("untyped")
    assert untyped.schema.types == [pa.int64(), pa.timestamp("ns", "UTC"), pa.string()]
    near = untyped.to_arrow(where="id = 1")
    assert near.column("t").cast(pa.int64())[0].as_py() == since(NEAR) * 1000 + 700
    with pytest.raises(shardcat.ShardcatError, match="t") as e:
        untyped.to_arrow()
    assert "rows are missing" in str(e.value) or e.value.code == "unfit"
    far = untyped.to_arrow(time_unit="us", where="id = 2").to_pylist()[0]
    assert (far["t"], far["d"]) == (FAR, "0.1234567890123456789012345678901")
    assert untyped.to_arrow(time_unit="us", where="id = 1").to_pylist()[0]["t"] == NEAR  # the seventh digit is cut
    assert untyped.to_pandas(time_unit="us")["t"].tolist() == [NEAR, FAR] and untyped.to_polars(time_unit="us")["t"].to_list() == [NEAR, FAR]


def test_text(values):
    url = values.source.url + "/v1/tables/untyped/rows?format="
    rows = [json.loads(line) for line in urllib.request.urlopen(url + "ndjson")]
    assert rows == [{"id": 1, "t": "2024-02-29T12:00:00.1234567Z", "d": "-1234567.50"}, {"id": 2, "t": "1492-10-12T02:00:00Z", "d": "0.1234567890123456789012345678901"}]
    assert urllib.request.urlopen(url + "csv&" + urllib.parse.urlencode({"where": "id = 2"})).read() == b"id,t,d\n2,1492-10-12T02:00:00Z,0.1234567890123456789012345678901\n"


def test_spark(values, spark):
    def load(name):
        return spark.read.format("shardcat").option("url", values.source.url).load(name).orderBy("id").selectExpr("unix_micros(t)", "typeof(d)", "d").collect()

    assert [tuple(r) for r in load("typed")] == [(since(NEAR), "decimal(12,2)", PRICE), (since(FAR), "decimal(12,2)", None)]
    assert [tuple(r) for r in load("untyped")] == [(since(NEAR), "string", "-1234567.50"), (since(FAR), "string", "0.1234567890123456789012345678901")]
