"""Blob logs after lost responses and outages, and beside programs that change their blobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from azure.core.exceptions import AzureError

from support.blob_logs import blobs_of, entries_in, fill, log_of, messages, messages_in, minute
from tablepatterns.errors import BlobChanged
from tablepatterns_engine.account import Engine


@pytest.mark.parametrize("operation", ["PutBlob", "SetBlobMetadata", "AppendBlock"])
@pytest.mark.parametrize("way", ["lose_response", "time_out", "lose_request", "busy"])
async def test_an_entry_is_written_once_whatever_the_network_does(
    storage: Any, engine: Engine, container: str, operation: Any, way: str
) -> None:
    log = log_of(storage, container, write_through=True)
    await log.container.create()
    options = {"executed": True} if way == "time_out" else {}
    rule = getattr(engine.faults, way)(operation=operation, times=1, **options)
    await fill(log, 1, 2)
    assert rule.hits == 1
    assert [await messages_in(log, name) for name in await blobs_of(log)] == [["1", "2"]]


async def test_after_an_outage_the_buffer_is_written_and_read_once(
    storage: Any, engine: Engine, container: str
) -> None:
    log = log_of(storage, container, flush_count=2)
    await fill(log, 1, 61)
    with engine.faults.lose_response(operation="AppendBlock"):
        for call in (log.flush, lambda: log.append("INFO", "62", at=minute(62)), log.close):
            with pytest.raises((AzureError, BlobChanged)):
                await call()
    await fill(log, 63)
    assert await log.flush() == 1
    assert await messages(log, 0, 120) == ["1", "61", "63"]


async def test_what_was_written_before_the_outage_leaves_the_buffer(
    storage: Any, engine: Engine, container: str
) -> None:
    log = log_of(storage, container)
    await fill(log, 1, 61, 121)
    with engine.faults.refuse_connection(operation="AppendBlock", after=1), pytest.raises(AzureError):
        await log.flush()
    assert await messages(log, 0, 180) == ["1"]
    assert await log.flush() == 2
    assert await messages(log, 0, 180) == ["1", "61", "121"]


async def test_an_entry_that_is_given_again_with_its_id_is_read_once(storage: Any, container: str) -> None:
    log, other = (log_of(storage, container, write_through=True) for _ in range(2))
    entry = await log.append("INFO", "1", at=minute(1))
    for again in (log, other):
        await again.append("INFO", "1", at=entry.at, entry_id=entry.id)
    assert [found async for found in log.between(minute(0), minute(2))] == [entry]


async def test_a_blob_that_another_wrote_to_is_left_alone(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    await fill(log, 1)
    line = (await entries_in(log, "1500/000001.log"))[0].line().replace("INFO", "MINE")
    await log.container.append("queue/2014/07/31/1500/000001.log", f"{line}\n".encode())
    await fill(log, 2)
    assert await messages_in(log, "1500/000001.log") == ["1", "1"]
    assert await messages_in(log, "1500/000002.log") == ["2"]


async def test_a_blob_that_was_dropped_is_neither_missed_nor_closed(storage: Any, container: str) -> None:
    log = log_of(storage, container, ahead=timedelta(minutes=5))
    await fill(log, 1)
    await log.flush()
    await log.drop_before(minute(120))
    assert await log.close() == 0
    assert await blobs_of(log) == {}
    await fill(log, 2)
    await log.close()
    assert await messages(log) == ["2"]


async def test_a_writer_reports_that_every_blob_was_changed(storage: Any, container: str) -> None:
    log = log_of(storage, container, write_through=True)
    inner, log.container = log.container, _Meddled(log.container)
    with pytest.raises(BlobChanged, match="2014/07/31/1500 changed while written"):
        await fill(log, 1)
    assert len([each async for each in inner.blobs()]) == 5


class _Meddled:
    """A container in which every new blob is deleted at once."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append(self, name: str, content: bytes, *, position: int) -> int:
        await self._inner.append(name, b"x", position=position)
        return int(await self._inner.append(name, content, position=position))
