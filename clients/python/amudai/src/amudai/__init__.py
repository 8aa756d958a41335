"""A reader of Amudai shards."""
from .errors import ShardError
from .schema import Field
from .shard import Shard

__all__ = ["Field", "Shard", "ShardError", "open"]
__version__ = "0.1.0"


def open(path):
    """Open the shard whose root object is this file. Its stripes are looked for beside it."""
    return Shard(path)
