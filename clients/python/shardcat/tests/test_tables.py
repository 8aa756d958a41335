"""Both ways to a table give the same rows, refuse the same, and lose nothing."""

import concurrent.futures
import datetime
import decimal
import os
import pickle
import subprocess

import pyarrow as pa
import pytest

import shardcat

ROWS = 27004


def test_tables_and_schema(connection):
    assert "default.flights" in connection.tables()
    flights = connection.table("flights")
    d = flights.describe()
    assert (d["rows"], d["shards"], len(d["columns"])) == (ROWS, 6, 19)
    assert flights.schema.field("carrier").type == pa.large_string()
    assert flights.schema.field("time_hour").type == pa.timestamp("ns", "UTC")


def test_scan(connection):
    flights = connection.table("flights")
    all_rows = flights.to_arrow()
    assert all_rows.num_rows == ROWS
    some = flights.to_arrow(where="origin = 'JFK' AND dep_delay > 1000", columns=["carrier", "dep_delay"])
    assert some.to_pydict() == {"carrier": ["HA"], "dep_delay": [1301]}
    assert flights.to_arrow(columns=["year"], limit=7).num_rows == 7
    assert flights.to_arrow(limit=0).num_rows == 0
    latest = flights.to_arrow(where="origin = 'JFK'", columns=["carrier", "dep_delay"], order_by="dep_delay desc", limit=1)
    assert latest.to_pydict() == {"carrier": ["HA"], "dep_delay": [1301]}
    snapshot = flights.describe()["snapshot_id"]
    assert flights.to_arrow(columns=["day"], snapshot=snapshot).equals(all_rows.select(["day"]))


def test_frames(connection):
    where, columns = "carrier IN ('HA', 'OO')", ["carrier", "dep_delay"]
    flights = connection.table("flights")
    rows = flights.to_arrow(where=where, columns=columns)
    assert rows.num_rows == 32
    assert len(flights.to_pandas(where=where, columns=columns)) == 32
    assert flights.to_polars(where=where, columns=columns).height == 32
    late = flights.to_duckdb(where=where, columns=columns).aggregate("carrier, max(dep_delay)").order("carrier").fetchall()
    assert late[0] == ("HA", 1301)


def test_errors(connection):
    for name, request, code in [
        ("nobody", {}, "not_found"),
        ("flights", {"where": "nobody = 1"}, "usage"),
        ("flights", {"where": "year ="}, "usage"),
        ("flights", {"columns": ["nobody"]}, "usage"),
        ("flights", {"snapshot": 12}, "not_found"),
        ("flights", {"columns": []}, "usage"),
    ]:
        with pytest.raises(shardcat.ShardcatError) as e:
            connection.table(name).to_arrow(**request)
        assert e.value.code == code, str(e.value)


def test_tasks_give_every_row_once(connection):
    """Also read in other processes."""
    plan = connection.table("flights").plan(where="dep_delay > 0", columns=["carrier", "dep_delay"], split_size=20000)
    assert len(plan) > 6 and plan.schema.names == ["carrier", "dep_delay"]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        parts = list(pool.map(_read, [pickle.dumps(t) for t in plan]))
    want = connection.table("flights").to_arrow(where="dep_delay > 0", columns=["carrier", "dep_delay"])
    key = [("carrier", "ascending"), ("dep_delay", "ascending")]
    assert pa.concat_tables(parts).sort_by(key).equals(want.sort_by(key))


def _read(task):
    return pickle.loads(task).read().read_all()


def test_append(connection, lake, binary, request):
    name = "people_" + request.node.callspec.id
    local = shardcat.connect(binary=binary, **lake).table(name)
    rows = pa.table({
        "id": pa.array([1, 2, None]), "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-3.25")], pa.decimal128(12, 2)),
        "at": pa.array([datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)] * 3), "tags": pa.array([["a"], [], None]),
    })
    local.append(rows, create=True)
    table = connection.table(name)
    done = table.append(rows.slice(0, 2), job_id="second")
    assert done["rows"] == 2 and done["snapshot_id"] == table.describe()["snapshot_id"]
    table.append(rows.slice(0, 2), job_id="second")
    back = table.to_arrow()
    assert back.schema.types == rows.schema.types
    assert back.to_pylist() == rows.to_pylist() + rows.slice(0, 2).to_pylist()
    with pytest.raises(shardcat.ShardcatError) as e:
        table.append(pa.table({"nobody": [1]}))
    assert e.value.code == "usage" or "nobody" in str(e.value)
    with pytest.raises(ZeroDivisionError):
        table.append(pa.RecordBatchReader.from_batches(rows.schema, _failing(rows)))
    assert table.describe()["rows"] == 5


def _failing(rows):
    yield rows.to_batches()[0]
    raise ZeroDivisionError


def test_server_refuses_what_it_must(served, lake):
    with pytest.raises(shardcat.ShardcatError) as e:
        shardcat.connect(served).table("flights").append(pa.table({"year": [1]}))
    assert e.value.code == "unauthorized"
    with pytest.raises(shardcat.ShardcatError) as e:
        shardcat.connect("http://127.0.0.1:9").tables()
    assert e.value.code == "failed"
    for arguments in [{"url": "lake"}, {"token": "t"}, {"url": served, "warehouse": "w"}]:
        with pytest.raises(shardcat.ShardcatError) as e:
            shardcat.connect(**arguments)
        assert e.value.code == "usage"


def test_a_broken_answer_raises(connection, lake, binary, tmp_path, request):
    """Damage behind the first shard: some rows come, then an error, never an end."""
    name = "broken_" + request.node.callspec.id
    local = shardcat.connect(binary=binary, **lake).table(name)
    rows = pa.table({"id": range(1000)})
    for i in range(2):
        local.append(rows, create=i == 0)
    uuid = local.describe()["table_uuid"]
    stripes = subprocess.run(["find", f"{lake['warehouse']}/vault/{uuid}", "-name", "*.stripe", "-printf", "%T@ %p\n"],
                             capture_output=True, text=True, check=True).stdout
    newest = sorted(stripes.splitlines(), key=lambda line: float(line.split()[0]))[-1].split(" ", 1)[1]
    with open(newest, "r+b") as f:
        f.truncate(10)
    seen = 0
    with pytest.raises(shardcat.ShardcatError):
        for batch in connection.table(name).scan():
            seen += batch.num_rows
    assert seen == 1000


def test_a_reader_that_is_left_ends_the_program(lake, binary):
    before = _children()
    reader = shardcat.connect(binary=binary, **lake).table("flights").scan()
    reader.read_next_batch()
    assert len(_children()) == len(before) + 1
    del reader
    assert _children() == before


def _children():
    """Processes that this one started and has not waited for."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[1] == str(os.getpid()):
                    found.append(pid)
        except OSError:
            pass  # it ended meanwhile
    return sorted(found)


def test_a_job_of_many_processes(connection, lake, binary, request):
    """Rows of several runs come at once, those of a failed and of a second one never."""
    name = "jobs_" + request.node.callspec.id
    rows = pa.table({"id": pa.array(range(10))})
    shardcat.connect(binary=binary, **lake).table(name).append(rows, create=True)
    table = connection.table(name)
    job = table.job("delivery-1")
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        runs = list(pool.map(_write, [(job, n) for n in range(3)]))
    job.write(pa.table({"id": [999]}), "0")
    with pytest.raises(ZeroDivisionError):
        job.write(pa.RecordBatchReader.from_batches(rows.schema, _failing(rows)), "3")
    assert table.describe()["rows"] == 10
    done = job.commit(runs)
    assert (done["rows"], done["shards"] and done.get("before")) == (30, None)
    assert job.write(rows) is None and job.commit(runs)["before"]
    assert sorted(table.to_arrow().column("id").to_pylist()) == [*range(10), *range(100, 130)]
    other = table.job("delivery-2")
    run = other.write(rows)
    assert other.discard() == 1
    with pytest.raises(shardcat.ShardcatError) as e:
        other.commit([run])
    assert e.value.code in ("conflict", "not_found")


def _write(given):
    job, n = given
    return job.write(pa.table({"id": range(100 + 10 * n, 110 + 10 * n)}), str(n))
