"""Scans in parts, for engines that read in many processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Optional

import pyarrow as pa

if TYPE_CHECKING:
    from .table import Source


@dataclass(frozen=True)
class Task:
    """A part of a plan. It can be pickled and read in any process that reaches the server, or the program and the data."""

    source: Source
    document: dict[str, Any]
    """The task as `shardcat plan-scan` prints it; docs/design/scan-tasks.md has its keys."""
    time_unit: Optional[str] = None

    @property
    def expected_rows(self) -> int:
        """Estimated number of rows before the filter."""
        return self.document["expected_rows"]

    @property
    def expected_bytes(self) -> int:
        """Estimated stored bytes of all columns."""
        return self.document["expected_bytes"]

    def read(self) -> pa.RecordBatchReader:
        """The rows of the task."""
        return self.source.task(self.document, self.time_unit)


@dataclass(frozen=True)
class Plan:
    """A scan in tasks: every row is in exactly one of them."""

    source: Source
    document: dict[str, Any]
    tasks: list[Task]
    schema: pa.Schema
    """The schema of the rows of every task."""

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def to_ray(self) -> Any:
        """The rows as a ray.data.Dataset, one block per task."""
        import ray.data

        from ._ray import Tasks

        return ray.data.read_datasource(Tasks(self), override_num_blocks=max(1, len(self.tasks)))

    def to_daft(self) -> Any:
        """The rows as a daft.DataFrame, read by a task of Daft for each task of the plan."""
        from ._daft import Tasks

        return Tasks(self).read()
