"""Writes the table of an Arrow file as a Lance file of version 2.0, reads that and ours, and prints the best of some turns."""
import os
import sys
import tempfile
import time

import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

source, ours, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = pa.ipc.open_file(source).read_all()
theirs = os.path.join(tempfile.mkdtemp(dir=os.path.dirname(source)), "table.lance")


def best(do):
    out = []
    for _ in range(turns):
        start = time.perf_counter()
        do()
        out.append(time.perf_counter() - start)
    return min(out)


def write():
    if os.path.exists(theirs):
        os.remove(theirs)
    with LanceFileWriter(theirs, table.schema, version="2.0") as out:
        for batch in table.to_batches():
            out.write_batch(batch)


def read(path):
    got = LanceFileReader(path).read_all(batch_size=8192).to_table()
    assert got.equals(table), path


def load(path):
    assert LanceFileReader(path).read_all(batch_size=8192).to_table().num_rows == table.num_rows


written = best(write)
read(theirs)
read(ours)
print(f"| Lance 2.0, pylance | {os.path.getsize(theirs)} | {written:.3f} | {best(lambda: load(theirs)):.3f} |")
print(f"| ours, read by pylance | {os.path.getsize(ours)} | – | {best(lambda: load(ours)):.3f} |")
