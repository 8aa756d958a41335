"""The tasks of a plan as a data source of Ray."""

from __future__ import annotations

from typing import Any, Iterable, List, Optional

import pyarrow as pa
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from .tasks import Plan, Task


def read(task: Task) -> Iterable[pa.Table]:
    """The batches of a task as Ray's blocks; an empty one if there are none, which has the schema all the same."""
    reader = task.read()
    empty = True
    for batch in reader:
        empty = False
        yield pa.Table.from_batches([batch])
    if empty:
        yield reader.schema.empty_table()


class Tasks(Datasource):
    """One ReadTask for each task of the plan; parallelism is the plan's."""

    def __init__(self, plan: Plan):
        super().__init__()
        self._plan = plan

    def estimate_inmemory_data_size(self) -> Optional[int]:
        return sum(t.expected_bytes for t in self._plan)

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> List[ReadTask]:
        return [
            ReadTask(
                lambda task=task: read(task),
                BlockMetadata(num_rows=None, size_bytes=task.expected_bytes, input_files=[task.document["shard"]], exec_stats=None),
                schema=self._plan.schema,
            )
            for task in self._plan
        ]
