"""`python -m shardcat ...` runs the program shardcat with the given arguments."""

import os
import subprocess
import sys

from .errors import ShardcatError
from .program import find


def main() -> int:
    try:
        program = find(None)
    except ShardcatError as err:
        print(f"shardcat: {err}", file=sys.stderr)
        return 2
    if os.name == "nt":
        return subprocess.call([program, *sys.argv[1:]])
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
