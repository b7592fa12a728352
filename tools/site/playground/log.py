"""Log entries are read newest first, and a lost response must not store an entry twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from azure.core.exceptions import AzureError

from tablepatterns import LogTail
from tablepatterns.key import inverted_ticks
from tablepatterns_engine import Engine

from .design import Action, Design, Race, create_tables, rows_of

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)


class Plain:
    """The RowKey is the inverted time and the number of the attempt, which makes it unique."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.table = storage.tables.get_table_client("Log")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Log")

    async def append(self, Service: str, Minute: int, Text: str) -> None:
        key = inverted_ticks(NOON + timedelta(minutes=Minute))
        for attempt in range(1, 4):
            try:
                row = {"PartitionKey": Service, "RowKey": f"{key}_{attempt}", "Text": Text}
                await self.table.create_entity(row)
                return
            except AzureError:
                continue

    async def latest(self, Service: str) -> Any:
        rows = self.table.query_entities(f"PartitionKey eq '{Service}'")
        return [row["Text"] async for row in rows]


class Patterned:
    """The log knows its own entry when it finds it after a lost response."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.log = LogTail(storage, "Log", "{Service}", at="At")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Log")

    async def append(self, Service: str, Minute: int, Text: str) -> None:
        await self.log.append({"Service": Service, "At": NOON + timedelta(minutes=Minute), "Text": Text})

    async def latest(self, Service: str) -> Any:
        return [entry["Text"] for entry in await self.log.latest(10, Service=Service)]


def problems(engine: Engine) -> Iterator[str]:
    """Yield which entries are stored more than once."""
    stored = Counter(str(row["Text"]) for row in rows_of(engine, "Log").values())
    for text, count in stored.items():
        if count > 1:
            yield f"The entry {text!r} was appended once, and is stored {count} times."


DESIGN = Design(
    title="Log",
    text="Entries are read newest first. After a lost response the writer does not know whether its entry is stored.",
    pattern="Log tail",
    page="patterns/log_tail",
    plain=Plain,
    patterned=Patterned,
    writes=(Action("append", "Append", {"Service": "web", "Minute": 1, "Text": "GET /orders 500"}),),
    reads=(Action("latest", "Read the latest", {"Service": "web"}),),
    sample=("append", {"Service": "web", "Minute": 0, "Text": "started"}),
    problems=problems,
    race=Race(
        "One process appends an entry, and the response to a request is lost.",
        {"ann": ("append", {"Service": "web", "Minute": 1, "Text": "GET /orders 500"})},
        lost_responses=1,
    ),
    has_worker=False,
)
