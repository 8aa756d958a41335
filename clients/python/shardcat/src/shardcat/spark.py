"""Spark 4 reads tables of shards, one partition for each task of a plan, and appends to them, one commit for all tasks.

    import shardcat.spark
    shardcat.spark.register(spark)
    spark.read.format("shardcat").option("url", "http://127.0.0.1:8099").option("table", "flights").load()

Options: `table` (or the path of load); `url` and `token`, or `warehouse`, `catalog`, `vault`, `config` and `binary` for
the program, which must then be where the executors are; `snapshot`, `asOf` or `ref`; `where`, a filter in the language of
shardcat, which is pushed down; `splitSize`, stored bytes of a partition; `pushdown`, true to let Spark push its own filters
down as well.

With pushdown, run one query per DataFrame, and load a new one for the next: Spark keeps a source with the filters that it once
pushed, so that a second question of the same DataFrame or view that has no filters would get the rows of the first (seen
with 4.3).

Spark does not report the needed columns to Python data sources. A schema selects them: spark.read.schema("carrier string, dep_delay
bigint"), or by the option `columns`, separated by commas.

    df.write.format("shardcat").option("url", "http://127.0.0.1:8099").option("token", "...").mode("append").save("flights")

Writing: mode append, to an existing table; each task writes its shards, and the driver commits all of them in one snapshot. If a task
fails for good nothing is added, and what the others wrote is deleted. With `jobId` the write is a delivery by that name, which is committed
once however often it is done. Columns are matched by name: those that the DataFrame lacks are null, those that the table lacks are refused.

Types: integers without sign become the next wider ones, uint64 decimal(20, 0); times are microseconds, the seventh digit is
cut; durations are day-time intervals; guids and dynamic values are text; unions are refused.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import uuid
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, List, Optional, Sequence

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource, DataSourceArrowWriter, DataSourceReader, DataSourceWriter, EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, InputPartition, IsNotNull, IsNull,
    LessThan, LessThanOrEqual, Not, StringContains, StringStartsWith, WriterCommitMessage,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    BooleanType, ByteType, DecimalType, IntegerType, LongType, ShortType, StringType, StructType, TimestampType,
)

from .errors import ShardcatError
from .table import Job, Table, connect

_PLACE = ("token", "warehouse", "catalog", "vault", "config", "binary")
_OPTIONS = ("url", *_PLACE, "table", "path", "snapshot", "asof", "ref", "where", "columns", "splitsize", "pushdown", "jobid")


def register(spark: SparkSession) -> None:
    """Make the format "shardcat" known to a session, and let Spark push filters down to it."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(ShardcatDataSource)


class ShardcatDataSource(DataSource):
    """The format "shardcat"."""

    def __init__(self, options: Any):
        super().__init__(options)
        unknown = sorted(k for k in options if k.lower() not in _OPTIONS)
        if unknown:
            raise ShardcatError(f"options {unknown} are not known; there is {list(_OPTIONS)}", "usage")

    @classmethod
    def name(cls) -> str:
        return "shardcat"

    def _table(self) -> Table:
        name = self.options.get("table") or self.options.get("path")
        if not name:
            raise ShardcatError("missing table name: set .option('table', NAME) or .load(NAME)", "usage")
        place = {k: self.options[k] for k in _PLACE if k in self.options}
        return connect(self.options.get("url"), **place).table(name)

    def _scan(self) -> dict[str, Any]:
        snapshot = self.options.get("snapshot")
        columns = self.options.get("columns")
        return {
            "snapshot": None if snapshot is None else int(snapshot), "as_of": self.options.get("asOf"), "ref": self.options.get("ref"),
            "columns": None if columns is None else [c.strip() for c in columns.split(",")], "time_unit": "us",
        }

    def schema(self) -> StructType:
        with self._table().scan(limit=0, **self._scan()) as reader:
            return from_arrow_schema(spark_schema(reader.schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        cls = _Reader if self.options.get("pushdown", "false").lower() != "true" else _PushingReader
        return cls(self, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise ShardcatError("mode overwrite is not for this format: use mode append, and `shardcat truncate` or `shardcat overwrite` before it", "usage")
        table = self._table()
        missing = sorted(set(schema.fieldNames()) - set(table.schema.names))
        if missing:
            raise ShardcatError(f"table {table.name} has no columns {missing}", "usage")
        return _Writer(table.job(self.options.get("jobId") or f"spark-{uuid.uuid4()}"))


class _Writer(DataSourceArrowWriter):
    """Each task is a run of one job, which the driver commits."""

    def __init__(self, job: Job):
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        first = next(iterator, None)
        if first is None:
            return _Wrote(None)
        rows = pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], iterator))
        return _Wrote(self._job.write(rows, str(TaskContext.get().partitionId())))

    def commit(self, messages: List[Optional[WriterCommitMessage]]) -> None:
        self._job.commit([m.run for m in messages if m is not None])

    def abort(self, messages: List[Optional[WriterCommitMessage]]) -> None:
        self._job.discard()


@dataclass
class _Wrote(WriterCommitMessage):
    run: Optional[str]


class _Partition(InputPartition):
    """A task."""


class _Reader(DataSourceReader):
    """Reads the columns of a schema."""

    def __init__(self, source: ShardcatDataSource, schema: StructType):
        self._source, self._types = source, schema
        self._where: List[str] = [source.options["where"]] if "where" in source.options else []

    def partitions(self) -> Sequence[InputPartition]:
        size = self._source.options.get("splitSize")
        scan = {**self._source._scan(), "columns": [_path((name,)) for name in self._types.fieldNames()]}
        plan = self._source._table().plan(
            where=" AND ".join(f"({w})" for w in self._where) or None, split_size=None if size is None else int(size), **scan
        )
        return [_Partition(task) for task in plan]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in partition.value.read():
            types = spark_schema(batch.schema)
            yield pa.RecordBatch.from_arrays([_cast(c, f.type) for c, f in zip(batch.columns, types)], schema=types)


class _PushingReader(_Reader):
    """Also pushes filters down."""

    def pushFilters(self, filters: List[Filter]) -> Iterable[Filter]:
        for f in filters:
            text, exact = condition(f, self._types)
            if text is not None:
                self._where.append(text)
            if not exact:
                yield f


def condition(f: Filter, types: StructType) -> tuple[Optional[str], bool]:
    """A filter in the language of shardcat, None if it has no word for it, and whether Spark need not look again.

    A filter that is not exact lets through all rows that Spark would keep, and others.
    """
    if isinstance(f, Not):
        text, exact = condition(f.child, types)
        return (f"NOT ({text})", True) if text is not None and exact else (None, False)
    if len(f.attribute) != 1 or f.attribute[0] not in types.fieldNames():
        return None, False
    column, kind = _name(f.attribute[0]), types[f.attribute[0]].dataType
    if isinstance(f, IsNull):
        return f"{column} IS NULL", True
    if isinstance(f, IsNotNull):
        return f"{column} IS NOT NULL", True
    if isinstance(kind, TimestampType):
        return _of_times(f, column), False
    # Floats are left to Spark, for which NaN is equal to itself and greater than all others.
    if not isinstance(kind, (BooleanType, ByteType, ShortType, IntegerType, LongType, DecimalType, StringType)):
        return None, False
    if isinstance(f, In):
        values = [_literal(v) for v in f.value]
        return (None, False) if None in values or not values else (f"{column} IN ({', '.join(values)})", True)
    if isinstance(f, StringStartsWith) and not set(f.value) & set("%_\\"):
        return f"{column} LIKE {_literal(f.value + '%')}", True
    if isinstance(f, StringContains) and f.value:
        return f"{column} CONTAINS_CS {_literal(f.value)}", True
    operator, value = _OPERATORS.get(type(f)), getattr(f, "value", None)
    if operator is None or _literal(value) is None:
        return None, False
    return f"{column} {operator} {_literal(value)}", True


_OPERATORS = {EqualTo: "=", GreaterThan: ">", GreaterThanOrEqual: ">=", LessThan: "<", LessThanOrEqual: "<="}


def _of_times(f: Filter, column: str) -> Optional[str]:
    """A comparison of times, wider by the microsecond within which Spark sees no difference."""
    value, step = getattr(f, "value", None), datetime.timedelta(microseconds=1)
    if type(f) not in _OPERATORS or not isinstance(value, datetime.datetime) or value.tzinfo is None:
        return None
    try:
        low, high = (f"'{(value + d).astimezone(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.%fZ').rjust(27, '0')}'" for d in (-step, step))
    except OverflowError:
        return None
    if isinstance(f, EqualTo):
        return f"{column} BETWEEN {low} AND {high}"
    return f"{column} >= {low}" if isinstance(f, (GreaterThan, GreaterThanOrEqual)) else f"{column} <= {high}"


def _literal(value: Any) -> Optional[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, decimal.Decimal)):
        return format(value, "f") if isinstance(value, decimal.Decimal) and value.is_finite() else str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return None


def _name(column: str) -> str:
    """A column in a filter."""
    return '"' + column.replace('"', '""') + '"'


def _path(names: Sequence[str]) -> str:
    """A column in a selection."""
    return ".".join(n.replace("\\", "\\\\").replace(".", "\\.") for n in names)


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow types in which Spark takes the columns of a schema."""
    return pa.schema([pa.field(f.name, _spark_type(f.type, f.name), f.nullable) for f in schema])


def _spark_type(t: pa.DataType, name: str) -> pa.DataType:
    if isinstance(t, pa.BaseExtensionType):
        return pa.string() if t.extension_name in ("arrow.uuid", "arrow.json") else _spark_type(t.storage_type, name)
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
             pa.float16(): pa.float32(), pa.large_string(): pa.string(), pa.large_binary(): pa.binary(), pa.date64(): pa.date32()}
    if t in wider:
        return wider[t]
    if pa.types.is_timestamp(t):
        return pa.timestamp("us", "UTC")
    if pa.types.is_duration(t) or pa.types.is_time(t):
        return pa.duration("us")
    if pa.types.is_fixed_size_binary(t):
        return pa.binary()
    if pa.types.is_map(t):
        return pa.map_(_spark_type(t.key_type, name), _spark_type(t.item_type, name))
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return pa.list_(_spark_type(t.value_type, name))
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, _spark_type(f.type, name + "." + f.name), f.nullable) for f in t])
    if pa.types.is_union(t) or pa.types.is_null(t):
        raise ShardcatError(f"column {name}: Spark has no type for {t}; leave it out by a schema or the option columns", "unfit")
    return t


def _cast(column: pa.Array, t: pa.DataType) -> pa.Array:
    if column.type == t:
        return column
    if isinstance(column.type, pa.BaseExtensionType):
        if column.type.extension_name == "arrow.uuid":
            return pa.array([None if v is None else str(v) for v in column.to_pylist()], t)
        return _cast(column.storage, t)
    if pa.types.is_timestamp(t) or pa.types.is_duration(t):
        if pa.types.is_time(column.type):
            column = column.cast(pa.time64("ns")).cast(pa.int64()).cast(pa.duration("ns"))
        return column.cast(t, safe=False)
    return column.cast(t)
