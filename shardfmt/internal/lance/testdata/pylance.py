"""Lance's own library at both ends: writes files for our reader, and reads those of our writer.

  pylance.py write DIR   writes DIR/NAME.lance and, as Arrow IPC, what the library reads back of it: DIR/NAME.arrow
  pylance.py structural DIR  the same as write in versions 2.1 and 2.2, with nulls at every level and other encodings
  pylance.py fixtures DIR    writes DIR/NAME-VERSION.lance and DIR/NAME.json: the files of testdata/structural
  pylance.py read DIR    reads every DIR/NAME.lance, compares it with DIR/NAME.arrow, prints what differs
"""
import datetime
import decimal
import glob
import json
import os
import random
import sys

import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

NULLS = {"none": lambda i: False, "some": lambda i: i % 7 == 3, "all": lambda i: True, "pages": lambda i: i // 500 % 3 == 1}


def primitives(n, missing):
    rng = random.Random(n)

    def column(t, value):
        return pa.array([None if missing(i) else value(i) for i in range(n)], t)

    out = {}
    for bits in (8, 16, 32, 64):
        signed, unsigned = getattr(pa, f"int{bits}")(), getattr(pa, f"uint{bits}")()
        out[f"i{bits}"] = column(signed, lambda i: rng.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)))
        out[f"u{bits}"] = column(unsigned, lambda i: rng.randrange(2**bits))
    out["small"] = column(pa.int64(), lambda i: i % 5)
    out["runs"] = column(pa.int32(), lambda i: i // 50)
    out["b"] = column(pa.bool_(), lambda i: i % 3 == 0)
    out["f16"] = pa.array([None if missing(i) else i / 4 for i in range(n)], pa.float32()).cast(pa.float16())
    out["f32"] = column(pa.float32(), lambda i: i / 8)
    out["f64"] = column(pa.float64(), lambda i: rng.random())
    out["date32"], out["date64"] = column(pa.date32(), lambda i: i - 500), column(pa.date64(), lambda i: 86_400_000 * (i - 500))
    for unit in ("s", "ms", "us", "ns"):
        out[f"ts_{unit}"] = column(pa.timestamp(unit), lambda i: i * 1000 - 5)
        out[f"duration_{unit}"] = column(pa.duration(unit), lambda i: i - 7)
    for i, zone in enumerate(("UTC", "Europe/Paris", "+05:30")):
        out[f"zone{i}"] = column(pa.timestamp("us", zone), lambda i: 1_700_000_000_000_000 + i)
    for t in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        out[str(t)] = column(t, lambda i: i)
    out["d128"] = column(pa.decimal128(38, 4), lambda i: decimal.Decimal(i * 12345678901234567890).scaleb(-4))
    out["d256"] = column(pa.decimal256(76, 2), lambda i: decimal.Decimal(i * 10**40).scaleb(-2))
    out["fsb"] = column(pa.binary(5), lambda i: bytes([i % 256] * 5))
    out["nothing"] = pa.nulls(n)
    return pa.table(out)


def texts(n, missing):
    def column(t, value):
        return pa.array([None if missing(i) else value(i) for i in range(n)], t)

    out = {}
    for t in (pa.string(), pa.large_string()):
        out[f"{t}"] = column(t, lambda i: "wörld" * (i % 4) + str(i))
        out[f"{t}_few"] = column(t, lambda i: ["red", "green", "", "blue"][i % 4])
        out[f"{t}_empty"] = column(t, lambda i: "")
    for t in (pa.binary(), pa.large_binary()):
        out[f"{t}"] = column(t, lambda i: bytes([255, i % 256]) * (i % 5))
    return pa.table(out)


def compressed(n, missing):
    out, fields = {}, []
    for scheme in ("zstd", "lz4", "fsst", "none"):
        if scheme == "fsst" and all(missing(i) for i in range(n) if i // 500 == 1 or n < 1000):
            continue  # the library panics on a page of nulls with FSST
        for t in (pa.string(), pa.binary()):
            name = f"{scheme}_{t}"
            values = [None if missing(i) else f"https://example.org/path/{i * 7919 % 100000}/item?id={i}" for i in range(n)]
            out[name] = pa.array(values if t == pa.string() else [v and v.encode() for v in values], t)
            fields.append(pa.field(name, t, metadata={"lance-encoding:compression": scheme}))
    return pa.table(out, pa.schema(fields))


def dictionaries(n, missing):
    out = {}
    for index in (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint64()):
        values = pa.array([None if missing(i) else f"value {i % 50}" for i in range(n)])
        out[f"s_{index}"] = values.dictionary_encode().cast(pa.dictionary(index, pa.string()))
    values = pa.array([None if missing(i) else i % 40 * 1000 for i in range(n)], pa.int64())
    out["i"] = values.dictionary_encode().cast(pa.dictionary(pa.int16(), pa.int64()))
    return pa.table(out)


def lists(n, missing):
    def column(t, value):
        return pa.array([None if missing(i) else value(i) for i in range(n)], t)

    def items(i):
        return [None if k % 4 == 1 else i * 10 + k for k in range(i % 6)]

    out = {
        "ints": column(pa.list_(pa.int32()), items),
        "large": column(pa.large_list(pa.int64()), items),
        "strings": column(pa.list_(pa.string()), lambda i: [None if k % 3 == 1 else f"v{i}-{k}" for k in range(i % 5)]),
        "nested": column(pa.list_(pa.list_(pa.int16())), lambda i: [None if k % 3 == 2 else list(range(k)) for k in range(i % 4)]),
        "empty": column(pa.list_(pa.int8()), lambda i: []),
        "structs": column(pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()})), lambda i: [{"x": k, "y": None if k == 1 else str(i)} for k in range(i % 3)]),
        "bools": column(pa.list_(pa.bool_()), lambda i: [k % 2 == 0 for k in range(i % 9)]),
    }
    return pa.table(out)


def fixed_lists(n, missing):
    def column(t, value):
        return pa.array([None if missing(i) else value(i) for i in range(n)], t)

    return pa.table({
        "floats": column(pa.list_(pa.float32(), 4), lambda i: [i, i + 0.5, None if i % 5 == 2 else 1, -i]),
        "nested": column(pa.list_(pa.list_(pa.int16(), 2), 3), lambda i: [[i % 100, 1], [2, 3], [4, None]]),
        "bools": column(pa.list_(pa.bool_(), 3), lambda i: [True, i % 2 == 0, None]),
        "times": column(pa.list_(pa.timestamp("ms", "UTC"), 2), lambda i: [i, i + 1]),
    })


def structs(n, missing):
    inner = pa.struct({"a": pa.int64(), "l": pa.list_(pa.string())})
    value = lambda i: {"x": None if missing(i) else i, "y": None if missing(i + 1) else f"y{i}", "z": {"a": i, "l": None if missing(i) else ["p"] * (i % 3)}}
    return pa.table({
        "st": pa.array([value(i) for i in range(n)], pa.struct({"x": pa.int32(), "y": pa.string(), "z": inner})),
        "only": pa.array([{"k": i} for i in range(n)], pa.struct({"k": pa.uint16()})),
    })


def packed(n, _):
    t = pa.struct({"x": pa.int32(), "y": pa.float64(), "z": pa.uint8()})
    rows = pa.array([{"x": i, "y": i / 4, "z": i % 256} for i in range(n)], t)
    return pa.table([rows], pa.schema([pa.field("p", t, metadata={"lance-encoding:packed": "true"})]))


TABLES = {f.__name__: f for f in (primitives, texts, compressed, dictionaries, lists, fixed_lists, structs, packed)}


def save(path, table):
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)


def plain(table):
    """The table without dictionaries of its batches, which a file of Arrow IPC has one of."""
    return table.unify_dictionaries().combine_chunks()


def nulls_everywhere(n, missing):
    """Random nesting, with nulls and empty lists at every level."""
    rng = random.Random(n + 7)

    def value(t, depth=0):
        if rng.random() < 0.15:
            return None
        if pa.types.is_struct(t):
            return {f.name: value(f.type, depth + 1) for f in t}
        if pa.types.is_list(t) or pa.types.is_large_list(t):
            # Now and then a list that takes several chunks.
            most = 3000 if n > 100 and depth == 0 and rng.random() < 0.01 else 5
            return [value(t.value_type, depth + 1) for _ in range(rng.randrange(most))]
        if pa.types.is_fixed_size_list(t):
            return [value(t.value_type, 9) for _ in range(t.list_size)]
        if pa.types.is_integer(t):
            return rng.randrange(100)
        if pa.types.is_boolean(t):
            return rng.random() < 0.5
        if pa.types.is_floating(t):
            return rng.randrange(1000) / 8
        text = rng.choice("abc") * rng.randrange(9)
        return text.encode() if pa.types.is_binary(t) else text

    item = pa.struct({"x": pa.int32(), "y": pa.string()})
    types = {
        "s": item,
        "ss": pa.struct({"a": item, "b": pa.struct({"c": pa.struct({"d": pa.bool_()})})}),
        "l": pa.list_(pa.int64()),
        "ll": pa.list_(pa.list_(pa.string())),
        "lll": pa.list_(pa.large_list(pa.list_(pa.int8()))),
        "ls": pa.list_(item),
        "sl": pa.struct({"l": pa.list_(pa.int32()), "t": pa.list_(pa.string())}),
        "lsl": pa.list_(pa.struct({"l": pa.list_(pa.float64()), "s": pa.struct({"l": pa.list_(pa.binary())})})),
        "lfsl": pa.list_(pa.list_(pa.int16(), 3)),
        "fsl": pa.list_(pa.float32(), 5),
        "sfsl": pa.struct({"v": pa.list_(pa.int32(), 2)}),
    }
    return pa.table({name: pa.array([None if missing(i) else value(t) for i in range(n)], t) for name, t in types.items()})


def encodings(n, missing):
    """Columns that ask for one encoding each."""
    out, fields = {}, []

    def add(name, t, values, **metadata):
        out[name] = pa.array([None if missing(i) else v for i, v in enumerate(values)], t)
        fields.append(pa.field(name, t, metadata={f"lance-encoding:{k.replace('_', '-')}": v for k, v in metadata.items()}))

    rng = random.Random(n)
    big = [rng.randbytes(rng.randrange(300, 900)) for _ in range(n)]
    for layout in ("miniblock", "fullzip"):
        for scheme in ("none", "lz4", "zstd"):
            add(f"{layout}_{scheme}_int", pa.int32(), [i // 3 for i in range(n)], structural_encoding=layout, compression=scheme)
            add(f"{layout}_{scheme}_text", pa.string(), [f"text {i % 991} of {i}" for i in range(n)], structural_encoding=layout, compression=scheme)
            add(f"{layout}_{scheme}_fsl", pa.list_(pa.float32(), 6), [[i, 1, None if i % 5 == 0 else 2, 3, 4, i / 2] for i in range(n)], structural_encoding=layout, compression=scheme)
            add(f"{layout}_{scheme}_list", pa.list_(pa.binary()), [[b"ab" * k for k in range(i % 4)] for i in range(n)], structural_encoding=layout, compression=scheme)
    add("rle", pa.int64(), [i // 700 for i in range(n)], rle_threshold="1.0")
    add("rle_lz4", pa.int32(), [i // 40 for i in range(n)], rle_threshold="1.0", compression="lz4")
    add("bss", pa.float64(), [i / 7 for i in range(n)], bss="on", compression="zstd")
    add("bss32", pa.float32(), [i / 8 for i in range(n)], bss="on", compression="lz4")
    add("constant", pa.int16(), [-3] * n)
    add("constant_text", pa.string(), ["the same"] * n)
    add("constant_bool", pa.bool_(), [True] * n)
    add("constant_list", pa.list_(pa.string()), [["x"] * (i % 3) for i in range(n)])
    add("two", pa.string(), ["a" if i % 2 else "b" for i in range(n)], dict_divisor="1")
    add("few128", pa.decimal128(30, 2), [decimal.Decimal(i % 9) for i in range(n)], dict_divisor="1")
    add("big", pa.binary(), big)
    add("big_list", pa.list_(pa.large_binary()), [big[i : i + i % 3] for i in range(n)])
    add("vectors", pa.list_(pa.float64(), 80), [[i + k for k in range(80)] for i in range(n)])
    add("fsb", pa.binary(16), [rng.randbytes(16) for _ in range(n)])
    add("wide", pa.binary(300), [rng.randbytes(300) for _ in range(n)])
    return pa.table(out, pa.schema(fields))


def packed_texts(n, _):
    t = pa.struct({"x": pa.int32(), "y": pa.string(), "z": pa.float64(), "w": pa.binary()})
    rows = pa.array([{"x": i, "y": "t" * (i % 7), "z": i / 4, "w": bytes([i % 256]) * (i % 3)} for i in range(n)], t)
    return pa.table([rows], pa.schema([pa.field("p", t, metadata={"lance-encoding:packed": "true"})]))


def blobs(n, missing):
    values = [None if missing(i) else bytes([i % 256]) * (i % 40) for i in range(n)]
    return pa.table([pa.array(values, pa.large_binary())], pa.schema([pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})]))


def maps(n, missing):
    item = pa.struct({"a": pa.int32(), "b": pa.string()})
    return pa.table({
        "m": pa.array([None if missing(i) else [(f"k{k}", None if k == 1 else k) for k in range(i % 4)] for i in range(n)], pa.map_(pa.string(), pa.int32())),
        "ms": pa.array([None if missing(i) else [(k, {"a": k, "b": None}) for k in range(i % 3)] for i in range(n)], pa.map_(pa.int64(), item)),
        "lm": pa.array([None if missing(i) else [None if k == 1 else [("x", k)] for k in range(i % 4)] for i in range(n)], pa.list_(pa.map_(pa.string(), pa.int32()))),
    })


STRUCTURAL = {f.__name__: f for f in (nulls_everywhere, encodings, packed_texts, blobs, maps)}


SINCE_22 = ("packed_texts", "maps")


def structural(folder):
    os.makedirs(folder, exist_ok=True)
    for version in ("2.1", "2.2"):
        for name, make in {**TABLES, **STRUCTURAL}.items():
            if name in SINCE_22 and version == "2.1":
                continue
            for nulls, missing in NULLS.items():
                for n, batch, page in ((1, 10, None), (37, 10, None), (1300, 500, 4096)):
                    if nulls == "pages" and n < 500:
                        continue
                    path = os.path.join(folder, f"{version}-{name}-{nulls}-{n}-{batch}")
                    table = make(n, missing)
                    save_lance(path + ".lance", table, version, batch, page)
                    save(path + ".arrow", plain(table))


def fixtures(folder):
    """Small files of versions 2.1 and 2.2, and what the library reads of them."""
    os.makedirs(folder, exist_ok=True)
    some, none = NULLS["some"], NULLS["none"]

    def only(table, *names):
        return table.select(list(names))

    flat = only(primitives(40, some), "i8", "u16", "i32", "i64", "small", "b", "date32", "fsb", "nothing")
    every = encodings(40, some)
    chunks = pa.table({
        "number": pa.array([i * 3 % 1000 - 200 for i in range(1040)], pa.int32()),
        "text": pa.array([None if i % 9 == 4 else "text " * (i % 40 == 0) for i in range(1040)]),
    })
    cases = {
        "flat": flat,
        "texts": only(texts(12, some), "string", "string_few", "large_string", "binary", "large_binary"),
        "chunks": chunks,
        "nested": only(nulls_everywhere(24, some), "s", "ss", "l", "ll", "lll", "ls", "sl", "lsl"),
        "long_lists": pa.table({"l": pa.array([[], list(range(3000)), None, [7], [None] * 1500, [8]], pa.list_(pa.int16()))}),
        "fixed_lists": only(nulls_everywhere(12, some), "lfsl", "fsl", "sfsl"),
        "dictionaries": dictionaries(12, some),
        "full_zip": only(every, *[f"fullzip_none_{kind}" for kind in ("int", "text", "fsl", "list")]).slice(0, 12),
        "codecs": only(every, "rle", "bss", "bss32", "two", "constant", "constant_text", "constant_bool", "constant_list"),
        "compressed": only(encodings(260, none), "miniblock_lz4_text", "miniblock_zstd_text"),
        "compressed_numbers": only(encodings(1030, none), "miniblock_zstd_int"),
        "constant": only(encodings(90, none), "constant", "constant_text", "constant_bool", "constant_list"),
        "constant_nulls": only(encodings(90, some), "constant", "constant_text", "constant_list"),
        "all_null": only(nulls_everywhere(9, NULLS["all"]), "s", "l", "ls", "sl", "fsl"),
        "packed": packed(12, none),
        "packed_texts": packed_texts(12, none),
        "blobs": blobs(12, some),
        "maps": maps(12, some),
        "empty_name": pa.table({"": [1, None, 3], "a": ["x", "", None], "s": [{"": 1, "b": True}, {"": None, "b": False}, {"": 3, "b": None}]}),
        "no_rows": pa.table({"n": pa.array([], pa.int64()), "l": pa.array([], pa.list_(pa.string()))}),
    }
    for version in ("2.1", "2.2"):
        for name, table in cases.items():
            if name in SINCE_22 and version == "2.1":
                continue
            path = os.path.join(folder, f"{name}-{version}")
            save_lance(path + ".lance", table, version, 10_000, None)
            got = LanceFileReader(path + ".lance").read_all(batch_size=1024).to_table()
            if got.to_pylist() != table.to_pylist():
                sys.exit(f"{path}: the library reads other values than it wrote")
            schema = [{"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in table.schema]
            rows = ",\n".join(json.dumps(plain_value(row), separators=(",", ":")) for row in got.to_pylist())
            with open(os.path.join(folder, name + ".json"), "w") as out:
                out.write(f'{{"schema":{json.dumps(schema)},\n"rows":[\n{rows}]}}\n')


def plain_value(v):
    """A value in the manner of the published vectors."""
    if isinstance(v, dict):
        return {k: plain_value(x) for k, x in v.items()}
    if isinstance(v, list):
        return [plain_value(x) for x in v]
    if isinstance(v, tuple):  # an entry of a map
        return {"key": plain_value(v[0]), "value": plain_value(v[1])}
    if isinstance(v, bytes):
        return {"hex": v.hex()}
    if isinstance(v, datetime.date):
        return (v - datetime.date(1970, 1, 1)).days * 86_400_000
    if isinstance(v, float) and v == int(v):
        return int(v)
    return v


def save_lance(path, table, version, batch, page):
    with LanceFileWriter(path, table.schema, version=version, max_page_bytes=page, data_cache_bytes=page) as out:
        for part in table.to_batches(max_chunksize=batch):
            out.write_batch(part.take(pa.array(range(part.num_rows), pa.int32())))


def write(folder):
    os.makedirs(folder, exist_ok=True)
    for name, make in TABLES.items():
        for nulls, missing in NULLS.items():
            for n, batch, page in ((0, 10, None), (1, 10, None), (37, 10, None), (3000, 900, 4096), (3000, 3000, None)):
                table = make(n, missing)
                path = os.path.join(folder, f"{name}-{nulls}-{n}-{batch}")
                try:
                    with LanceFileWriter(path + ".lance", table.schema, version="2.0", max_page_bytes=page, data_cache_bytes=page) as out:
                        for part in table.to_batches(max_chunksize=batch):
                            # The library panics on structs that are slices of larger ones: take copies them.
                            out.write_batch(part.take(pa.array(range(part.num_rows), pa.int32())))
                except BaseException as e:
                    sys.exit(f"{path} is not written: {e}")
                save(path + ".arrow", plain(table))


def same(got, want):
    """Where two tables differ, or None. Types are compared by their text: names of list items may differ."""
    if got.column_names != want.column_names:
        return f"columns {got.column_names}, want {want.column_names}"
    for name in got.column_names:
        a, b = got[name], want[name]
        if a.type != b.type:
            return f"column {name}: {a.type}, want {b.type}"
        if pa.types.is_dictionary(a.type):
            a, b = a.cast(a.type.value_type), b.cast(b.type.value_type)
        a, b = a.combine_chunks(), b.combine_chunks()
        if not a.equals(b):
            i = next((i for i in range(min(len(a), len(b))) if not a[i].equals(b[i])), None)
            return f"column {name}: {len(a)} rows, want {len(b)}" if i is None else f"column {name}, row {i}: {a[i]}, want {b[i]}"
    return None


def read(folder):
    bad = 0
    for path in sorted(glob.glob(os.path.join(folder, "*.lance"))):
        want = pa.ipc.open_file(path[: -len("lance")] + "arrow").read_all()
        try:
            reader = LanceFileReader(path)
            got = reader.read_all(batch_size=1024).to_table()
            what = same(got, want)
            if what is None and want.num_rows > 20:
                part = reader.read_range(7, want.num_rows - 11).to_table()
                what = same(part, want.slice(7, want.num_rows - 11))
        except BaseException as e:  # the library panics on what it does not know
            what = f"{type(e).__name__}: {e}"
        if what:
            bad += 1
            print(f"{os.path.basename(path)}: {what}")
    sys.exit(1 if bad else 0)


def alike(folder):
    """The files of a folder hold the same table."""
    paths = sorted(glob.glob(os.path.join(folder, "*.lance")))
    first, *others = [LanceFileReader(path).read_all(batch_size=1024).to_table() for path in paths]
    differences = [what for what in (same(other, first) for other in others) if what]
    print(len(paths), "files of", first.num_rows, "rows", *differences)
    sys.exit(1 if differences or not others or not first.num_rows else 0)


if __name__ == "__main__":
    {"write": write, "structural": structural, "fixtures": fixtures, "read": read, "alike": alike}[sys.argv[1]](sys.argv[2])
