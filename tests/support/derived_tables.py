"""Shared by tests of index entities, summaries and copies: their tables, and what a call sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from support.employees import BY_ID
from tablepatterns import EntitySet


@dataclass
class DerivedTables:
    """Unique names of tables and of a container, on one account."""

    storage: Any
    table: str
    other: str
    container: str

    def employees(self, *derived: Any, key: Any = BY_ID, **options: Any) -> Any:
        return EntitySet(self.storage, self.table, key, derived=derived, **options)

    async def ready(self) -> None:
        """Create everything before the first write, so that costs are those of the writes."""
        for table in (self.table, self.other):
            await self.storage.table(table).create()
        await self.storage.queue(f"{self.table.lower()}-intents").create()
        await self.storage.container(self.container).create()


def operations(span: Any) -> list[str]:
    return [record.operation for record in span.records]
