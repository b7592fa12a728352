"""Shared by tests of index entities, summaries and copies: names that are dropped afterwards, and rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

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


@contextmanager
def derived_tables_on(backend: Any, storage: Any, new_name: Any) -> Iterator[DerivedTables]:
    """Yield names; the queue of intents and the container are dropped afterwards."""
    places = DerivedTables(storage, new_name("staff"), new_name("other"), f"c{uuid4().hex}")
    yield places
    if backend.kind != "memory":
        backend.run(storage.queue(f"{places.table.lower()}-intents").drop())
        backend.run(storage.container(places.container).drop())


def operations(span: Any) -> list[str]:
    return [record.operation for record in span.records]
