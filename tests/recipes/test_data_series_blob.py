"""Store a packed series in a blob and its address in an entity, with an eventual transaction."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from tablepatterns import EntitySet, EventualTransaction, Key, Worker
from tablepatterns_engine.account import Engine

POINTS = list(range(1000))
OF_JULY = {"Employee": "000223", "Month": "2014-07"}


class Readings:
    """A long series per employee and month: its points in a blob, its sum and the blob's name in an entity."""

    def __init__(self, account: Any, table: str) -> None:
        self.entities = EntitySet(account, table, Key("{Employee}", "{Month}"))
        self.blobs = account.container(f"c{table[-40:]}")
        self.fails = False
        steps = [self.write_blob, self.write_entity]
        self.writing = EventualTransaction(account, f"q{table[-40:]}", "series", steps)

    def name(self, body: dict[str, Any]) -> str:
        return f"{body['Employee']}/{body['Month']}"

    async def write_blob(self, body: dict[str, Any]) -> None:
        await self.blobs.upload(self.name(body), array("i", body["Points"]).tobytes())

    async def write_entity(self, body: dict[str, Any]) -> None:
        if self.fails:
            raise ConnectionError("the process crashed between its two writes")
        total = sum(body["Points"])
        key = {"Employee": body["Employee"], "Month": body["Month"]}
        await self.entities.insert_or_replace({**key, "Total": total, "Blob": self.name(body)})

    async def read(self, **key: Any) -> tuple[int, list[int]]:
        entity = await self.entities.get(**key)
        return entity["Total"], array("i", await self.blobs.download(entity["Blob"])).tolist()


@pytest.mark.guide("G-231")
async def test_a_series_in_a_blob_and_its_entity_are_brought_together(
    storage: Any, engine: Engine, table_name: str
) -> None:
    readings = Readings(storage, table_name)
    worker = Worker(storage, [readings.writing], retry_after=10)
    await readings.writing.start({**OF_JULY, "Points": POINTS})
    readings.fails = True
    assert (await worker.run_once()).failed == 1
    assert await readings.entities.get(**OF_JULY) is None

    readings.fails = False
    engine.clock.advance(10)
    assert (await worker.run_once()).handled == 1
    assert await readings.read(**OF_JULY) == (sum(POINTS), POINTS)
