"""Mistakes that must not be silent: results of callbacks, properties that the service sets, unusable handlers."""

from __future__ import annotations

from typing import Any

import pytest

import tablepatterns.aio
from tablepatterns import (
    Archive,
    BlobArchive,
    EntitySet,
    EventualTransaction,
    Key,
    LogTail,
    WideEntity,
    Worker,
    connect,
)
from tablepatterns.errors import BadDesign, BadInput, BadProperty

pytestmark = pytest.mark.both_sdks

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
JONES = {"Department": "Sales", "EmployeeId": 223}


@pytest.mark.parametrize("kind", [EntitySet, WideEntity])
async def test_update_takes_what_its_callback_returns(storage: Any, new_name: Any, kind: Any) -> None:
    staff = kind(storage, new_name(), STAFF)
    await staff.insert(JONES | {"Age": 34, "Floor": 1})
    await staff.update(lambda each: {**each, "Age": 35}, JONES)
    assert (await staff.get(JONES))["Age"] == 35
    await staff.update(lambda each: {name: each[name] for name in (*JONES, "Age")}, JONES)
    assert "Floor" not in await staff.get(JONES)
    for wrong in (lambda each: each["Age"] + 1, lambda each: [each], lambda each: False):
        with pytest.raises(BadInput, match="returns all fields"):
            await staff.update(wrong, JONES)
    with pytest.raises(BadInput):
        await staff.update(None, JONES)
    assert (await staff.get(JONES))["Age"] == 35


async def test_the_timestamp_is_not_written(storage: Any, engine: Any, new_name: Any) -> None:
    staff = EntitySet(storage, new_name(), STAFF)
    jones = await staff.insert(JONES)
    wide, log = WideEntity(storage, new_name(), STAFF), LogTail(storage, new_name(), "{Department}")
    with engine.ledger.span() as span:
        calls: tuple[Any, ...] = (
            lambda: staff.insert(JONES | {"Timestamp": 1}),
            lambda: staff.replace(jones | {"Timestamp": 1}),
            lambda: staff.merge(jones, {"Timestamp": 1}),
            lambda: staff.insert_or_replace(JONES | {"Timestamp": 1}),
            lambda: staff.insert_or_merge(JONES | {"Timestamp": 1}),
            lambda: wide.insert(JONES | {"Timestamp": 1}),
            lambda: log.append({"Department": "Sales", "Timestamp": 1}),
        )
        for call in calls:
            with pytest.raises(BadProperty, match="Timestamp"):
                await call()
    assert span.totals.requests == 0


def test_a_worker_rejects_handlers_that_would_receive_nothing() -> None:
    with connect() as here, connect() as elsewhere:
        archive = Archive(EntitySet(elsewhere, "Staff", STAFF), BlobArchive(elsewhere, "archive"))
        with pytest.raises(BadDesign, match="another account"):
            Worker(here, [archive])
        Worker(elsewhere, [archive])


async def test_a_worker_rejects_handlers_that_cannot_be_awaited() -> None:
    class Sync:
        kind, queue = "welcome", "welcome"

        def handle(self, lease: Any) -> None: ...

    with connect() as sync_storage:
        archive = Archive(EntitySet(sync_storage, "Staff", STAFF), BlobArchive(sync_storage, "archive"))
        async with tablepatterns.aio.connect() as storage:
            handler: Any = Sync()
            with pytest.raises(BadDesign, match="async def"):
                Worker(storage, [handler])
            with pytest.raises(BadDesign, match="sync account"):
                Worker(storage, [archive])


async def test_a_handler_that_turns_out_not_to_be_awaitable_is_reported_and_loses_no_message(
    storage: Any, engine: Any, new_name: Any
) -> None:
    queue = new_name().lower()
    steps = EventualTransaction(storage, queue, "welcome", [lambda body: None])
    await steps.start({"Name": "Jones"})

    class Handle:
        def __call__(self, lease: Any) -> str:
            return "done"

    class Sync:
        kind = "welcome"
        handle = Handle()

    for _ in range(2):
        with pytest.raises(BadDesign, match="cannot be awaited"):
            await Worker(storage, {queue: [Sync()]}).run_once()
    assert (await Worker(storage, [steps]).run_once()).handled == 1
