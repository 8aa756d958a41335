"""The same questions have the same answers as DuckDB gives over the original file, before and after compaction."""

import os
import subprocess

import duckdb
import pytest

import shardcat
from conftest import ROOT

# Questions in SQL of DuckDB over `flights`, with what is pushed down to the shards for them.
QUESTIONS = {
    "needle": ("SELECT carrier, flight, dep_delay FROM flights WHERE tailnum = 'N384HA' AND dep_delay > 1000",
               {"where": "tailnum = 'N384HA' AND dep_delay > 1000"}),
    "two columns": ("SELECT carrier, distance FROM flights", {"columns": ["carrier", "distance"]}),
    "filter": ("SELECT * REPLACE (time_hour::VARCHAR AS time_hour) FROM flights WHERE origin = 'JFK' AND dep_delay BETWEEN 30 AND 40", {"where": "origin = 'JFK' AND dep_delay BETWEEN 30 AND 40"}),
    "nulls": ("SELECT flight, day FROM flights WHERE dep_time IS NULL", {"where": "dep_time IS NULL", "columns": ["flight", "day", "dep_time"]}),
    "aggregate": ("SELECT carrier, count(*), sum(distance), avg(dep_delay) FROM flights GROUP BY carrier", {"columns": ["carrier", "distance", "dep_delay"]}),
    "join": ("SELECT a.dest, count(*) FROM flights a JOIN (SELECT dest, max(distance) AS far FROM flights GROUP BY dest) b ON a.dest = b.dest "
             "AND a.distance = b.far GROUP BY a.dest", {"columns": ["dest", "distance"]}),
}


@pytest.fixture(scope="module")
def asked(binary, tmp_path_factory):
    """A table of many shards, a server over it, and the file that it was made of as Parquet."""
    place = tmp_path_factory.mktemp("questions")
    at = {"warehouse": str(place / "warehouse"), "catalog": f"sqlite:{place}/catalog.db"}
    flags = [f"--{k}={v}" for k, v in at.items()]
    source, parquet = os.path.join(ROOT, "testdata/flights/2013-01.csv.gz"), str(place / "flights.parquet")

    def run(*arguments):
        subprocess.run([binary, *flags, *arguments], check=True, stdout=subprocess.DEVNULL)

    run("convert", source, parquet)
    run("ingest", "flights", parquet, "--create", "--shard-rows", "4000")
    run("policy", "set", "flights", "pause=true")
    return at, parquet, run


def answer(question, rows):
    """Rows of a question, in an order that does not depend on the engine."""
    connection = duckdb.connect()
    connection.register("flights", rows(connection))
    return sorted(connection.sql(question).fetchall(), key=repr)


def test_same_answers(asked, binary):
    at, parquet, run = asked
    flights = shardcat.connect(binary=binary, **at).table("flights")
    server = subprocess.Popen([binary, *(f"--{k}={v}" for k, v in at.items()), "serve", "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().split()[-1].rstrip("/")
        ways = {"program": flights, "server": shardcat.connect(url).table("flights")}
        want = {name: answer(sql, lambda c: c.read_parquet(parquet)) for name, (sql, _) in QUESTIONS.items()}
        assert all(want.values())
        for state in ("as ingested", "compacted"):
            assert (flights.describe()["shards"] == 1) == (state == "compacted")
            for name, (sql, request) in QUESTIONS.items():
                for way, table in ways.items():
                    got = answer(sql, lambda c: table.to_arrow(**request))
                    assert got == want[name], f"{name} by {way}, {state}"
            run("compact", "flights")
    finally:
        server.terminate()
        server.wait()
