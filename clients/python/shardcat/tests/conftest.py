import os
import shutil
import subprocess
import sys
import json

import pytest

import shardcat

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../.."))


@pytest.fixture(scope="session")
def binary():
    """The program: $SHARDCAT_BINARY, or built here."""
    path = os.environ.get("SHARDCAT_BINARY") or shutil.which("shardcat")
    if not path:
        pytest.skip("the program is not there: set SHARDCAT_BINARY")
    return path


@pytest.fixture(scope="session")
def lake(binary, tmp_path_factory):
    """A warehouse with the table flights, of 27,004 rows in six shards."""
    place = tmp_path_factory.mktemp("lake")
    at = {"warehouse": str(place / "warehouse"), "catalog": f"sqlite:{place}/catalog.db"}
    source = os.path.join(ROOT, "testdata/flights/2013-01.csv.gz")
    flags = [f"--{k}={v}" for k, v in at.items()]
    subprocess.run([binary, *flags, "ingest", "flights", source, "--create", "--shard-rows", "5000"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([binary, *flags, "table", "create", "late", "--like", source], check=True, stdout=subprocess.DEVNULL)
    # The server would merge the shards while tests count them.
    subprocess.run([binary, *flags, "policy", "set", "flights", "pause=true"], check=True, stdout=subprocess.DEVNULL)
    return at


@pytest.fixture(scope="session")
def served(binary, lake):
    """The URL of a server over the warehouse, whose token for appends is `append`."""
    flags = [f"--{k}={v}" for k, v in lake.items()]
    env = {**os.environ, "SHARDCAT_SERVE_TOKEN": "append"}
    env.pop("SHARDCAT_READ_TOKEN", None)
    run = subprocess.Popen([binary, *flags, "serve", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    try:
        yield json.loads(run.stdout.readline())["url"].rstrip("/")
    finally:
        run.terminate()
        run.wait()


@pytest.fixture(params=["server", "program"])
def connection(request, lake, served, binary):
    """The same tables, both ways."""
    if request.param == "server":
        return shardcat.connect(served, token="append")
    return shardcat.connect(binary=binary, **lake)


@pytest.fixture(scope="session")
def spark():
    """One session for all tests, for it takes longer than they."""
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    import shardcat.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[4]").appName("shardcat").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    )
    shardcat.spark.register(session)
    yield session
    session.stop()
