"""Connections and tables."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import pyarrow as pa

from .errors import ShardcatError
from .program import Program, find
from .request import Scan
from .server import Server
from .tasks import Plan, Task

Source = Union[Server, Program]


def connect(
    url: Optional[str] = None,
    *,
    token: Optional[str] = None,
    warehouse: Optional[str] = None,
    catalog: Optional[str] = None,
    vault: Optional[str] = None,
    config: Optional[str] = None,
    binary: Optional[str] = None,
    timeout: float = 60.0,
) -> Connection:
    """Connect to a server by its URL, or, with no server, to a warehouse and catalog through the program.

    warehouse, catalog, vault and config are the flags of the program; missing ones come from its environment variables
    and defaults. binary is the path of the program (default: $SHARDCAT_BINARY, else shardcat on PATH). timeout is the
    maximum number of seconds to wait for the next bytes of a server.
    """
    if url is None:
        if token is not None:
            raise ShardcatError("a token is for a server: connect(url, token=...)", "usage")
        return Connection(Program(find(binary), catalog, warehouse, vault, config))
    if any(given is not None for given in (warehouse, catalog, vault, config, binary)):
        raise ShardcatError("a server has its own catalog: pass either a URL, or warehouse and catalog", "usage")
    if not url.startswith(("http://", "https://")):
        raise ShardcatError(f"{url!r} is not an http(s) URL; for a folder use connect(warehouse=..., catalog=...)", "usage")
    return Connection(Server(url, token, timeout))


class Connection:
    """A server, or a catalog and warehouse. It has no open resources, can be pickled, and is safe for many threads."""

    def __init__(self, source: Source):
        self.source = source

    def __repr__(self) -> str:
        return f"Connection({self.source!r})"

    def tables(self, namespace: Optional[str] = None) -> list[str]:
        """Names of the tables, of one namespace or of all."""
        return self.source.tables(namespace)

    def table(self, name: str) -> Table:
        """A table by name. Its existence is checked by the first request."""
        return Table(self.source, name)


class Table:
    """A table: scan, to_arrow, to_pandas, to_polars, to_duckdb, plan, append, job."""

    def __init__(self, source: Source, name: str):
        self.source, self.name = source, name

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {self.source!r})"

    def describe(self) -> dict[str, Any]:
        """table, table_uuid, snapshot_id, rows, bytes, shards, partition, columns."""
        return self.source.describe(self.name)

    @property
    def schema(self) -> pa.Schema:
        """The schema of scan() without columns."""
        return self.source.schema(self.name, Scan())

    def scan(
        self,
        where: Optional[str] = None,
        columns: Optional[Sequence[str]] = None,
        snapshot: Optional[int] = None,
        limit: Optional[int] = None,
        *,
        as_of: Optional[str] = None,
        ref: Optional[str] = None,
        time_unit: Optional[str] = None,
        order_by: Optional[str] = None,
    ) -> pa.RecordBatchReader:
        """Stream rows in commit order, or in the order of the columns of order_by.

        where is a filter in the language of shardcat; columns are dotted paths. snapshot, as_of (RFC 3339) and ref
        exclude each other. time_unit (ns, us, ms, s) is for times outside of 1677 to 2262, which nanoseconds can't hold.
        order_by ("a, b.c desc, d nulls first") needs a limit of at most 100,000 through a server.
        Unreadable rows raise ShardcatError; a reader that ends without an error has returned all rows.
        """
        return self.source.rows(self.name, Scan(where, columns, snapshot, as_of, ref, limit, time_unit, order_by))

    def to_arrow(self, *args: Any, **kwargs: Any) -> pa.Table:
        """The rows of scan(...) as a pyarrow.Table."""
        return self.scan(*args, **kwargs).read_all()

    def to_pandas(self, *args: Any, **kwargs: Any) -> Any:
        """The rows of scan(...) as a pandas.DataFrame."""
        return self.to_arrow(*args, **kwargs).to_pandas()

    def to_polars(self, *args: Any, **kwargs: Any) -> Any:
        """The rows of scan(...) as a polars.DataFrame."""
        import polars

        return polars.from_arrow(self.to_arrow(*args, **kwargs))

    def to_duckdb(self, *args: Any, connection: Any = None, **kwargs: Any) -> Any:
        """The rows of scan(...) as a relation of DuckDB, which streams them once. connection is a DuckDB connection."""
        import duckdb

        return (connection or duckdb).from_arrow(self.scan(*args, **kwargs))

    def plan(
        self,
        where: Optional[str] = None,
        columns: Optional[Sequence[str]] = None,
        snapshot: Optional[int] = None,
        *,
        as_of: Optional[str] = None,
        ref: Optional[str] = None,
        split_size: Optional[int] = None,
        time_unit: Optional[str] = None,
    ) -> Plan:
        """Split a scan into tasks for parallel readers, of about split_size stored bytes (default: 128 MiB).

        Every row is in exactly one task, whatever happens to the table, as long as its objects are kept for readers of
        old snapshots (48 h unless the table sets another age).
        """
        scan = Scan(where, columns, snapshot, as_of, ref, None, time_unit)
        document = self.source.plan(self.name, scan, split_size)
        tasks = [Task(self.source, t, time_unit) for t in document["tasks"]]
        return Plan(self.source, document, tasks, self.source.schema(self.name, scan))

    def append(self, data: Any, *, job_id: Optional[str] = None, create: bool = False) -> dict[str, Any]:
        """Append rows in one snapshot: a pyarrow Table, RecordBatch or RecordBatchReader, or anything that exports an Arrow
        stream (a polars or pandas frame).

        job_id names the delivery: the same one appended twice is committed once. create creates a missing table,
        only without a server. Returns rows, shards, bytes and snapshot_id.
        """
        return self.source.append(self.name, _reader(data), job_id, create)

    def job(self, id: str) -> Job:
        """A delivery of many processes, committed once under this id: letters, digits, _ and -."""
        return Job(self.source, self.name, id)


class Job:
    """A delivery that many processes write and one commits, in one snapshot. It can be pickled.

        job = table.job("2024-01-31")
        runs = [pool.submit(job.write, part, str(n)) for n, part in enumerate(parts)]     # in any processes
        job.commit([r.result() for r in runs])                                            # or job.discard()

    The same job is committed once, however often it is repeated. Rows of failed processes, and of runs that are not named, never
    become visible and are deleted by the commit.
    """

    def __init__(self, source: Source, table: str, id: str):
        self.source, self.table, self.id = source, table, id

    def write(self, data: Any, part: Optional[str] = None) -> Optional[str]:
        """Write rows that are invisible until the commit. Returns the run for commit, or None if the job was committed before.

        part names the part of the job, such as a task number: one run per part can be committed.
        """
        return self.source.write(self.table, _reader(data), self.id, part)["run"] or None

    def commit(self, runs: Sequence[Optional[str]]) -> dict[str, Any]:
        """Commit what runs wrote. Returns rows, shards, bytes and snapshot_id; `before` is true if the job was committed before."""
        return self.source.commit(self.table, self.id, [r for r in runs if r])

    def discard(self) -> int:
        """Delete the uncommitted runs of the job. Returns the number of runs."""
        return self.source.discard(self.table, self.id)["discarded_runs"]


def _reader(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if isinstance(data, pa.Table):
        return data.to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise ShardcatError(f"{type(data).__name__} is not Arrow data: expected a pyarrow Table, RecordBatch, RecordBatchReader, or a frame", "usage")
