"""A server that is killed loses its running answers and nothing else: no part of an answer passes for the whole, and another server reads the
same tasks and tickets."""

import json
import os
import random
import signal
import subprocess
import threading
import urllib.request

import pyarrow as pa
import pyarrow.flight
import pytest

import shardcat

ROWS = 24 << 10  # of a kibibyte each: more than what lies on the way to a client that does not read


@pytest.fixture(scope="module")
def wide(binary, tmp_path_factory):
    """A warehouse with a table of values that do not compress, in four shards."""
    place = tmp_path_factory.mktemp("wide")
    at = {"warehouse": str(place / "warehouse"), "catalog": f"sqlite:{place}/catalog.db"}
    table = shardcat.connect(binary=binary, **at).table("wide")
    for i in range(4):
        value = [random.Random(n).randbytes(768).hex()[:1024] for n in range(ROWS // 4 * i, ROWS // 4 * (i + 1))]
        table.append(pa.table({"id": pa.array(range(ROWS // 4 * i, ROWS // 4 * (i + 1))), "s": value}), create=i == 0)
    return at


def start(program, at, *flags):
    """A server, and its first line."""
    env = {k: v for k, v in os.environ.items() if k != "SHARDCAT_READ_TOKEN"}
    run = subprocess.Popen([program, *(f"--{k}={v}" for k, v in at.items()), *flags, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    return run, run.stdout.readline()


@pytest.fixture
def two(binary, wide):
    """Two servers over the same tables."""
    runs = [start(binary, wide, "serve", "--json") for _ in range(2)]
    yield [(run, json.loads(said)["url"].rstrip("/")) for run, said in runs]
    for run, _ in runs:
        run.kill()
        run.wait()


def kill(run):
    os.kill(run.pid, signal.SIGKILL)
    run.wait()


def test_http(two):
    (first, url), (_, other) = two
    plan = shardcat.connect(url).table("wide").plan(columns=["id", "s"], split_size=1 << 20)
    assert len(plan) >= 4
    whole = shardcat.connect(url).table("wide").scan()
    seen = whole.read_next_batch().num_rows
    text = urllib.request.urlopen(url + "/v1/tables/wide/rows?format=ndjson")
    text.readline()
    curl = subprocess.Popen(["curl", "-s", "--limit-rate", "1M", url + "/v1/tables/wide/rows"], stdout=subprocess.PIPE)
    curl.stdout.readline()
    kill(first)
    with pytest.raises(shardcat.ShardcatError, match="rows are missing"):
        for batch in whole:
            seen += batch.num_rows
    assert seen < ROWS
    with pytest.raises(Exception):
        text.read()
    curl.stdout.read()
    assert curl.wait() != 0
    # The tasks that the dead one planned, at the other.
    survivor = shardcat.connect(other).source
    ids = [i for task in plan.tasks for i in survivor.task(task.document, None).read_all().column("id").to_pylist()]
    assert sorted(ids) == list(range(ROWS))


@pytest.mark.skipif("SHARDCAT_FLIGHT" not in os.environ, reason="SHARDCAT_FLIGHT names no shardcat-flight")
def test_flight(wide):
    import adbc_driver_flightsql.dbapi as adbc

    runs = [start(os.environ["SHARDCAT_FLIGHT"], wide, "--split-size", "1000000") for _ in range(2)]
    try:
        addresses = ["grpc://" + said.decode().split()[-1] for _, said in runs]
        with adbc.connect(addresses[0], autocommit=True) as c, c.cursor() as cursor:
            partitions, schema = cursor.adbc_execute_partitions("SELECT id, s FROM wide")
        assert len(partitions) >= 4
        client = pyarrow.flight.connect(addresses[0])
        info = client.get_flight_info(pyarrow.flight.FlightDescriptor.for_command(command("SELECT id, s FROM wide LIMIT 1000000")))
        stream = client.do_get(info.endpoints[0].ticket)
        seen = stream.read_chunk().data.num_rows
        kill(runs[0][0])
        with pytest.raises(pa.ArrowException):
            while True:
                seen += stream.read_chunk().data.num_rows
        assert seen < ROWS
        ids = []
        with adbc.connect(addresses[1], autocommit=True) as c, c.cursor() as cursor:
            for partition in partitions:
                cursor.adbc_read_partition(partition)
                ids += cursor.fetch_arrow_table()["id"].to_pylist()
        assert sorted(ids) == list(range(ROWS))
    finally:
        for run, _ in runs:
            run.kill()
            run.wait()


def command(query):
    """A CommandStatementQuery of Flight SQL, in an Any of protobuf."""
    text = query.encode()
    statement = b"\x0a" + bytes([len(text)]) + text
    kind = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
    return b"\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(statement)]) + statement


@pytest.mark.skipif("SHARDCAT_FLIGHT" not in os.environ, reason="SHARDCAT_FLIGHT names no shardcat-flight")
def test_flight_many_clients(wide):
    """A hundred clients read 0.8 GiB together; the server's memory, threads and files stay within bounds."""
    limit = 64 << 20
    run, said = start(os.environ["SHARDCAT_FLIGHT"], wide, "--answers", "4", "--max-memory", str(limit))
    try:
        address = "grpc://" + said.decode().split()[-1]
        resting, failed = facts(run.pid), []

        def read():
            with pyarrow.flight.connect(address) as client:
                while True:
                    try:
                        info = client.get_flight_info(pyarrow.flight.FlightDescriptor.for_command(command("SELECT id, s FROM wide WHERE id < 8192")))
                        rows = sum(client.do_get(e.ticket).read_all().num_rows for e in info.endpoints)
                        return failed.append(rows) if rows != 8192 else None
                    except pa.ArrowException as e:
                        if "RESOURCE_EXHAUSTED" not in str(e) and "retry later" not in str(e):
                            return failed.append(e)

        clients = [threading.Thread(target=read) for _ in range(100)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        assert not failed, failed[:3]
        after = facts(run.pid)
        print("resting", resting, "after", after)
        # The values of four streams, what gRPC has under way, and as much again for the collector.
        assert after["VmHWM"] - resting["VmHWM"] < 4 * limit
        assert after["Threads"] < resting["Threads"] + 40
    finally:
        run.kill()
        run.wait()


def facts(pid):
    """Peak memory in bytes, and threads, of a process."""
    with open(f"/proc/{pid}/status") as f:
        told = dict(line.split(":", 1) for line in f)
    return {"VmHWM": int(told["VmHWM"].split()[0]) << 10, "Threads": int(told["Threads"])}
