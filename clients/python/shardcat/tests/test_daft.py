"""Daft reads each task in a task of its own."""

import pytest

import shardcat


def test_daft(connection):
    pytest.importorskip("daft")
    flights = connection.table("flights")
    frame = flights.plan(where="carrier IN ('HA', 'OO')", columns=["carrier", "dep_delay"], split_size=60000).to_daft()
    got = frame.groupby("carrier").count("dep_delay").sort("carrier").to_pydict()
    assert got == {"carrier": ["HA", "OO"], "dep_delay": [31, 1]}
    # Daft's own filters and columns, on top.
    plan = flights.plan(split_size=60000)
    assert len(plan) > 4
    late = plan.to_daft().where("dep_delay > 1000 AND origin = 'JFK'").select("carrier", "dep_delay").to_pydict()
    assert late == {"carrier": ["HA"], "dep_delay": [1301]}
    assert plan.to_daft().count_rows() == 27004
    assert flights.plan(where="carrier = 'nobody'", columns=["carrier"]).to_daft().to_pydict() == {"carrier": []}
