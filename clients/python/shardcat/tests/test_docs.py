"""The blocks of docs/guides/python.md and docs/guides/sql-engines.md run as they are written, except for the address of the server."""

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT

BLOCKS = []
for name in ("python", "sql-engines"):
    with open(os.path.join(ROOT, f"docs/guides/{name}.md")) as page:
        found = re.findall(r"^```(sh|python)\n(.*?)^```", page.read(), re.M | re.S)
    BLOCKS += [pytest.param(language, text, id=f"{name}-{i}") for i, (language, text) in enumerate(found)]


def test_the_pages_have_their_blocks():
    assert len(BLOCKS) >= 10


@pytest.mark.parametrize("language, text", BLOCKS)
def test_block(language, text, served, lake, binary, tmp_path):
    if "spark" in text and not os.environ.get("SHARDCAT_FULL"):
        pytest.skip("Spark takes minutes: set SHARDCAT_FULL")
    text = text.replace("http://127.0.0.1:8099", served)
    env = {**os.environ, "SHARDCAT_BINARY": binary, "SHARDCAT_CATALOG": lake["catalog"], "SHARDCAT_WAREHOUSE": lake["warehouse"],
           "PYSPARK_PYTHON": sys.executable}
    command = ["bash", "-euo", "pipefail", "-c", text] if language == "sh" else [sys.executable, "-c", text]
    run = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert re.search("HA|carrier", run.stdout), run.stdout
