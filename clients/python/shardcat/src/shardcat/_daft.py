"""The tasks of a plan as a data source of Daft."""

from __future__ import annotations

from typing import Any, AsyncIterator

import pyarrow as pa
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch
from daft.schema import Schema

from .tasks import Plan, Task


class Tasks(DataSource):
    """One task of Daft for each of the plan. What Daft would push down it does itself: the plan has its filter and columns."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._schema = Schema.from_pyarrow_schema(plan.schema)

    @property
    def name(self) -> str:
        return "shardcat"

    @property
    def schema(self) -> Schema:
        return self._schema

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator[DataSourceTask]:
        for task in self._plan:
            yield _Read(task, self._schema)


class _Read(DataSourceTask):
    def __init__(self, task: Task, schema: Schema):
        self._task, self._schema = task, schema

    @property
    def schema(self) -> Schema:
        return self._schema

    async def read(self) -> AsyncIterator[RecordBatch]:
        for batch in self._task.read():
            yield RecordBatch.from_arrow_table(pa.Table.from_batches([batch]))
