"""python -m amudai cat SHARD"""
import argparse
import itertools
import sys

from . import ShardError, open as open_shard


def main(argv=None):
    p = argparse.ArgumentParser(prog="python -m amudai", description="Read Amudai shards.")
    sub = p.add_subparsers(dest="command", required=True)
    cat = sub.add_parser("cat", help="print the records as NDJSON")
    cat.add_argument("shard", metavar="SHARD")
    cat.add_argument("--select", metavar="NAMES", help="columns, separated by commas")
    cat.add_argument("--limit", metavar="N", type=int, help="at most N records")
    schema = sub.add_parser("schema", help="print name and type of each column")
    schema.add_argument("shard", metavar="SHARD")
    verify = sub.add_parser("verify", help="read everything, and print nothing")
    verify.add_argument("shard", metavar="SHARD")
    a = p.parse_args(argv)
    try:
        s = open_shard(a.shard)
        if a.command == "schema":
            for f in s.schema:
                print(f)
        elif a.command == "verify":
            s.verify()
        else:
            names = a.select.split(",") if a.select else None
            out = open(1, "w", encoding="utf-8", newline="\n", closefd=False)
            for line in itertools.islice(s.ndjson(names), a.limit):
                out.write(line + "\n")
            out.flush()
    except ShardError as e:
        print(f"amudai: {e}", file=sys.stderr)
        return 6 if e.kind == "unsafe" else 3
    except KeyError as e:
        print(f"amudai: no column {e.args[0]!r}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
