"""Tables of Amudai shards as Arrow.

    import shardcat

    lake = shardcat.connect("http://127.0.0.1:8099", token="...")     # through `shardcat serve`
    lake = shardcat.connect(warehouse="lake/warehouse", catalog="sqlite:lake/catalog.db")   # through the program, no server
    flights = lake.table("flights")
    flights.scan(where="dep_delay > 60", columns=["carrier", "dep_delay"])   # pyarrow.RecordBatchReader
"""

from .errors import ShardcatError
from .table import Connection, Job, Table, connect
from .tasks import Plan, Task

__all__ = ["Connection", "Job", "Plan", "ShardcatError", "Table", "Task", "connect"]
