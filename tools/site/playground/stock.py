"""Two clerks change one count: without an ETag, one of them overwrites what the other has written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from tablepatterns import EntitySet, Key
from tablepatterns_engine import Engine

from .design import Action, Design, Race, create_tables, rows_of


class Plain:
    """The entity is read and written back, whatever has happened to it in between."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.table = storage.tables.get_table_client("Stock")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Stock")

    async def insert(self, Part: str, Count: int) -> None:
        await self.table.create_entity({"PartitionKey": "parts", "RowKey": Part, "Count": Count, "Bookings": 0})

    async def book(self, Part: str, Count: int) -> None:
        part = await self.table.get_entity("parts", Part)
        part["Count"] += Count
        part["Bookings"] += 1
        await self.table.update_entity(part, mode="replace")

    async def get(self, Part: str) -> Any:
        try:
            return dict(await self.table.get_entity("parts", Part))
        except ResourceNotFoundError:
            return None


class Patterned:
    """The set sends the ETag that it read. If the entity has changed, it reads it and calls the function again."""

    def __init__(self, storage: Any) -> None:
        self.parts = EntitySet(storage, "Stock", Key("parts", "{Part}"))

    async def prepare(self) -> None:
        await self.parts.create_table()

    async def insert(self, Part: str, Count: int) -> None:
        await self.parts.insert({"Part": Part, "Count": Count, "Bookings": 0})

    async def book(self, Part: str, Count: int) -> None:
        def add(part: Any) -> None:
            part["Count"] += Count
            part["Bookings"] += 1

        await self.parts.update(add, Part=Part)

    async def get(self, Part: str) -> Any:
        return await self.parts.get(Part=Part)


def problems(engine: Engine) -> Iterator[str]:
    """Yield whether the service has accepted more bookings than the entity contains."""
    accepted = sum(record.written for record in engine.ledger.records if record.operation.startswith("Update"))
    stored = sum(int(part["Bookings"]) for part in rows_of(engine, "Stock").values())
    if stored < accepted:
        yield f"{accepted} bookings were accepted, and the stock contains {stored}: an update is lost."


DESIGN = Design(
    title="Stock",
    text="Two clerks change the same count. Each reads the entity and writes it back.",
    pattern="Tables in pictures",
    page="tables-in-pictures",
    plain=Plain,
    patterned=Patterned,
    writes=(Action("book", "Book", {"Part": "bolt", "Count": 5}),),
    reads=(Action("get", "Get", {"Part": "bolt"}),),
    sample=("insert", {"Part": "bolt", "Count": 10}),
    problems=problems,
    race=Race(
        "Two clerks book the same part at the same time.",
        {"ann": ("book", {"Part": "bolt", "Count": 5}), "bob": ("book", {"Part": "bolt", "Count": -3})},
    ),
    has_worker=False,
)
