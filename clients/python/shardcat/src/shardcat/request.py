"""What to read, as both ways to a table understand it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional, Sequence

from .errors import ShardcatError


@dataclass(frozen=True)
class Scan:
    """A scan: rows, columns, and the state of the table."""

    where: Optional[str] = None
    columns: Optional[Sequence[str]] = None
    snapshot: Optional[int] = None
    as_of: Optional[str] = None
    ref: Optional[str] = None
    limit: Optional[int] = None
    time_unit: Optional[str] = None
    order_by: Optional[str] = None

    def parameters(self) -> dict[str, str]:
        """The parameters that are given, by the names of HTTP and of the command line's flags."""
        values = {
            "where": self.where,
            "select": None if self.columns is None else selection(self.columns),
            "snapshot": self.snapshot,
            "as-of": self.as_of,
            "ref": self.ref,
            "order-by": self.order_by,
            "limit": self.limit,
            "time-unit": self.time_unit,
        }
        return {name: str(value) for name, value in values.items() if value is not None}

    def plan_parameters(self, split_size: Optional[int]) -> dict[str, str]:
        """The parameters of a plan, which has no types of its own."""
        q = replace(self, time_unit=None).parameters()
        if split_size is not None:
            q["split-size"] = str(split_size)
        return q

    def without_rows(self) -> Scan:
        """The scan that gives its schema alone."""
        return replace(self, limit=0)


def selection(columns: Sequence[str]) -> str:
    """Dotted paths as one text. A name that holds a comma is quoted, and all of it is one name then."""
    if isinstance(columns, str) or not columns:
        raise ShardcatError("columns are a list of one name or more", "usage")
    return ",".join(f'"{c}"' if "," in c else c for c in columns)
