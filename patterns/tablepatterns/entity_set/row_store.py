"""The interface of what stores derived rows: a table, or the blobs of a container."""

from __future__ import annotations

from typing import Protocol

from ..entity import Entity
from ..filters import Filter
from ..sdk.operation import Operation
from ..sdk.table import Page


class RowReader(Protocol):
    """Reads single rows by their keys."""

    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Read one row by its keys, or None."""
        ...


class RowStore(RowReader, Protocol):
    """Reads rows, and writes them on condition of their ETags."""

    @property
    def name(self) -> str:
        """The name that reports use."""
        ...

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]:
        """Read one page of rows, in the order of their keys."""
        ...

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out writes."""
        ...
