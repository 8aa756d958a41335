"""Every line of docs/guides/reads.md that reads a table is run as it stands there, but for the address of the server."""

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT

with open(os.path.join(ROOT, "docs/guides/reads.md")) as page:
    BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```", page.read(), re.M | re.S)


def test_the_page_has_its_lines():
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("language, text", BLOCKS, ids=[f"{language}{i}" for i, (language, _) in enumerate(BLOCKS)])
def test_line(language, text, served, lake, binary, tmp_path):
    if "spark" in text and not os.environ.get("SHARDCAT_FULL"):
        pytest.skip("Spark takes minutes: set SHARDCAT_FULL")
    text = text.replace("http://127.0.0.1:8099", served)
    env = {**os.environ, "SHARDCAT_BINARY": binary, "SHARDCAT_CATALOG": lake["catalog"], "SHARDCAT_WAREHOUSE": lake["warehouse"],
           "PYSPARK_PYTHON": sys.executable}
    command = ["bash", "-euo", "pipefail", "-c", text] if language == "sh" else [sys.executable, "-c", text]
    run = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert re.search("HA|carrier", run.stdout), run.stdout
