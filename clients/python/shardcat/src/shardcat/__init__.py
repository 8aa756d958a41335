"""Tables of Amudai shards as Arrow.

    import shardcat

    lake = shardcat.connect("http://127.0.0.1:8099", token="...")     # through `shardcat serve`
    lake = shardcat.connect(warehouse="lake/warehouse", catalog="sqlite:lake/catalog.db")   # through the program, no server
    flights = lake.table("flights")
    flights.scan(where="dep_delay > 60", columns=["carrier", "dep_delay"])   # pyarrow.RecordBatchReader
"""

from importlib import metadata as _metadata

from .errors import ShardcatError
from .table import Connection, Job, Table, connect
from .tasks import Plan, Task

__all__ = ["Connection", "Job", "Plan", "ShardcatError", "Table", "Task", "__version__", "connect"]

try:
    __version__ = _metadata.version("shardcat")
except _metadata.PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "unknown"
