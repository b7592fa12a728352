"""Retries, throttling and lost responses: each attempt is a request, and only executed requests are billed."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import AzureError
from azure.core.rest import HttpRequest

import tablepatterns
import tablepatterns.aio
from tablepatterns import EntitySet, Key, Storage, Traffic
from tablepatterns.errors import BadInput
from tablepatterns.traffic.hooks import RequestAttempt
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock

JONES = {"Department": "Sales", "EmployeeId": 223}


def staff(storage: Any) -> EntitySet[Any]:
    return EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))


async def test_a_busy_service_is_asked_again_and_bills_one_of_the_requests(storage: Any, engine: Engine) -> None:
    employees = staff(storage)
    await employees.create_table()
    with engine.faults.busy(operation="InsertEntity", times=2), Traffic(storage) as traffic:
        await employees.insert(JONES)
    assert [(each.status, each.attempt, each.transactions) for each in traffic.requests] == [
        (503, 1, 0),
        (503, 2, 0),
        (201, 3, 1),
    ]
    tally = traffic.overall
    assert (tally.requests, tally.transactions, tally.retries, tally.throttled) == (3, 1, 2, 2)
    assert traffic.requests[0].moment < traffic.requests[1].moment
    assert len({each.site for each in traffic.requests}) == 1


async def test_a_lost_response_has_no_status_and_is_not_counted_as_billed(storage: Any, engine: Engine) -> None:
    employees = staff(storage)
    await employees.insert(JONES)
    with engine.faults.lose_response(operation="QueryEntity", times=1), Traffic(storage) as traffic:
        await employees.get(**JONES)
    assert [(each.status, each.is_lost, each.attempt) for each in traffic.requests] == [(0, True, 1), (200, False, 2)]
    assert traffic.overall.lost == 1
    assert "1 without a response" in str(traffic)


async def test_what_an_error_breaks_off_stays_recorded(storage: Any, engine: Engine) -> None:
    employees = staff(storage)
    await employees.create_table()
    traffic = Traffic(storage)

    async def fail() -> None:
        with traffic:
            await employees.insert(JONES)

    with engine.faults.lose_request(), pytest.raises(AzureError):
        await fail()
    assert traffic.overall.lost == len(traffic.requests) > 0


def test_a_late_answer_takes_its_seconds_by_the_accounts_clock() -> None:
    engine = Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc)))
    storage = tablepatterns.connect(engine)
    employees = staff(storage)
    employees.insert(JONES)
    with engine.faults.delay(2.5, operation="QueryEntity"), Traffic(storage) as traffic:
        employees.get(**JONES)
    (request,) = traffic.requests
    assert request.moment == datetime(2014, 8, 22, tzinfo=timezone.utc)
    assert request.seconds == 2.5


def test_tasks_do_not_mix() -> None:
    async def count(storage: Any, number: int) -> list[str | None]:
        employees = staff(storage)
        with Traffic(storage) as traffic:
            for row in range(number):
                await employees.insert({"Department": f"d{number}", "EmployeeId": row})
                await asyncio.sleep(0)
        return [each.partition for each in traffic.requests]

    async def both() -> list[list[str | None]]:
        async with tablepatterns.aio.connect() as storage:
            await staff(storage).create_table()
            return list(await asyncio.gather(count(storage, 3), count(storage, 5)))

    assert asyncio.run(both()) == [["d3"] * 3, ["d5"] * 5]


def test_tasks_that_a_block_starts_belong_to_it_and_without_a_line_count_for_its_first() -> None:
    async def gather() -> Traffic:
        async with tablepatterns.aio.connect() as storage:
            employees = staff(storage)
            await employees.insert(JONES)
            with Traffic(storage) as traffic:
                await asyncio.gather(employees.get(**JONES), employees.get(**JONES))
            return traffic

    traffic = asyncio.run(gather())
    assert {each.site.code for each in traffic.requests if each.site} == {"with Traffic(storage) as traffic:"}
    assert len(traffic.requests) == 2


def test_a_thread_of_its_own_is_seen_with_its_context_or_everywhere(storage_in_memory: Storage) -> None:
    employees = staff(storage_in_memory)
    employees.insert(JONES)

    def ask() -> None:
        employees.get(**JONES)

    with Traffic(storage_in_memory) as mine, Traffic(storage_in_memory, everywhere=True) as every:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(copy_context().run, ask).result()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    ask()
    assert (len(mine.requests), len(every.requests)) == (1, 2)


@pytest.fixture
def storage_in_memory() -> Storage:
    return tablepatterns.connect()


def test_only_so_many_requests_are_kept(storage_in_memory: Storage) -> None:
    employees = staff(storage_in_memory)
    employees.create_table()
    with Traffic(storage_in_memory, max_requests=2) as traffic:
        for row in range(5):
            employees.insert({"Department": f"d{row}", "EmployeeId": 1})
    assert [each.partition for each in traffic.requests] == ["d3", "d4"]
    assert traffic.dropped == 3
    with pytest.raises(BadInput, match="max_requests = 0"):
        Traffic(storage_in_memory, max_requests=0)


def test_an_account_that_cannot_be_watched_is_rejected() -> None:
    with pytest.raises(BadInput, match=r"storage = .*: its requests cannot be recorded"):
        Traffic(Engine())  # type: ignore[arg-type]


def test_one_block_after_the_other_may_be_recorded_but_not_one_in_itself(storage_in_memory: Storage) -> None:
    employees = staff(storage_in_memory)
    employees.insert(JONES)
    traffic = Traffic(storage_in_memory)
    for _ in range(2):
        with traffic:
            employees.get(**JONES)
    assert len(traffic.requests) == 2
    with traffic, pytest.raises(BadInput, match="records a block already"):
        traffic.__enter__()
    employees.get(**JONES)
    assert len(traffic.requests) == 2


def test_signatures_are_let_go_of_at_once() -> None:
    signed = "https://contoso.blob.core.windows.net/files/a?sv=2021&sig=c2VjcmV0%3D&se=2030"
    sent = HttpRequest("PUT", signed, headers={"x-ms-copy-source": signed})
    seen = RequestAttempt("blob", "", sent, None, 0.0, 1)
    kept = str(vars(seen))
    assert "se=2030" in kept
    assert "c2VjcmV0" not in kept
    assert seen.request(None).operation == "CopyBlob"


def test_nothing_is_recorded_outside_a_block(storage_in_memory: Storage) -> None:
    employees = staff(storage_in_memory)
    traffic = Traffic(storage_in_memory)
    with traffic:
        employees.insert(JONES)
    before = len(traffic.requests)
    employees.get(**JONES)
    assert len(traffic.requests) == before > 0
