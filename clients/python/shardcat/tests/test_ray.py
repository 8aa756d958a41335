"""Ray reads each task in a task of its own."""

import pytest

import shardcat


def test_ray(served):
    ray = pytest.importorskip("ray")
    plan = shardcat.connect(served).table("flights").plan(where="carrier = 'HA'", columns=["carrier", "dep_delay"], split_size=60000)
    ray.init(num_cpus=1, include_dashboard=False, ignore_reinit_error=True, configure_logging=False)
    try:
        assert plan.to_ray().count() == 31
    finally:
        ray.shutdown()
