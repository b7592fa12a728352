"""Meters send readings, and each has a total that is read with one request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from tablepatterns import EntitySet, InTable, Key, Summary, Worker
from tablepatterns_engine import Engine

from .design import Action, Design, Race, create_tables, rows_of


class Plain:
    """A reading is inserted; then the total is read, added to and written."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.readings = storage.tables.get_table_client("Readings")
        self.meters = storage.tables.get_table_client("Meters")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Readings", "Meters")

    async def record(self, Meter: str, Second: int, Watts: int) -> None:
        await self.readings.create_entity({"PartitionKey": Meter, "RowKey": f"{Second:06d}", "Watts": Watts})
        total = {"PartitionKey": Meter, "RowKey": "total", "Readings": 0, "Watts": 0}
        with suppress(ResourceNotFoundError):
            total = await self.meters.get_entity(Meter, "total")
        total["Readings"] += 1
        total["Watts"] += Watts
        await self.meters.upsert_entity(total)

    async def total(self, Meter: str) -> Any:
        return dict(await self.meters.get_entity(Meter, "total"))


class Patterned:
    """The set keeps the totals. They list which readings they include, so that none is counted twice."""

    def __init__(self, storage: Any) -> None:
        self.totals = Summary(
            Key("{Meter}", "total"), count="Readings", sums={"Watts": "Watts"}, store=InTable("Meters")
        )
        self.readings = EntitySet(storage, "Readings", Key("{Meter}", "{Second:06d}"), derived=[self.totals])
        self.worker = Worker(storage, [self.readings.reconciler()])

    async def prepare(self) -> None:
        await self.readings.create_table()

    async def record(self, Meter: str, Second: int, Watts: int) -> None:
        await self.readings.insert({"Meter": Meter, "Second": Second, "Watts": Watts})

    async def total(self, Meter: str) -> Any:
        return await self.readings.totals(self.totals, Meter=Meter)


def problems(engine: Engine) -> Iterator[str]:
    """Yield where a total does not match its readings."""
    readings, totals = rows_of(engine, "Readings"), rows_of(engine, "Meters")
    for meter in sorted({meter for meter, _ in readings}):
        watts = [int(row["Watts"]) for (each, _), row in readings.items() if each == meter]
        total = totals.get((meter, "total"), {"Readings": 0, "Watts": 0})
        count, added = int(total["Readings"]), int(total["Watts"])
        if (count, added) != (len(watts), sum(watts)):
            yield f"{meter} has {len(watts)} readings of {sum(watts)} W, but its total says {count} of {added} W."


DESIGN = Design(
    title="IoT",
    text="Meters send readings. The total of each meter is read with one request, from another table.",
    pattern="Summary",
    page="patterns/summary",
    plain=Plain,
    patterned=Patterned,
    writes=(Action("record", "Record", {"Meter": "meter7", "Second": 60, "Watts": 5}),),
    reads=(Action("total", "Read the total", {"Meter": "meter7"}),),
    sample=("record", {"Meter": "meter7", "Second": 0, "Watts": 3}),
    problems=problems,
    race=Race(
        "Two processes record a reading of the same meter at the same time.",
        {
            "ann": ("record", {"Meter": "meter7", "Second": 60, "Watts": 5}),
            "bob": ("record", {"Meter": "meter7", "Second": 120, "Watts": 2}),
        },
    ),
)
