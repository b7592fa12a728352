"""Read several partitions concurrently, within a limit, and keep the results of reads that succeed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError

from support.employees import BY_ID, by_email, employees_of, jones
from tablepatterns import EntitySet, Key, ParallelReads, aio, connect, prefix, prop
from tablepatterns.errors import BadDesign, BadFilter, BadKey
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

DEPARTMENTS = ("Sales", "Marketing", "Finance")
ALL = [{"Department": name} for name in DEPARTMENTS]


async def staff_of(storage: Any, table: str, each: int = 2) -> Any:
    employees = employees_of(storage, table)
    for department in DEPARTMENTS:
        for number in range(each):
            await employees.insert(jones(Department=department, EmployeeId=number, Email=f"{number}@{department}"))
    return employees


@pytest.mark.guide("G-354")
async def test_several_partitions_are_read_at_once_in_the_order_asked_for(storage: Any, table_name: str) -> None:
    reads = ParallelReads(await staff_of(storage, table_name))
    found = await reads.ranges([*ALL, {"Department": "Nowhere"}])
    assert [each["Email"] for each in found.entities] == [
        f"{number}@{name}" for name in DEPARTMENTS for number in (0, 1)
    ]
    assert found.failed == []
    assert found.all_or_raise() == found.entities
    assert [len(read.entities) for read in found.reads] == [2, 2, 2, 0]
    assert [read.fields["Department"] for read in found.reads] == [*DEPARTMENTS, "Nowhere"]


async def test_ranges_indexes_conditions_and_projections_are_those_of_the_set(storage: Any, table_name: str) -> None:
    reads = ParallelReads(await staff_of(storage, table_name))
    asked = [{**each, "Email": prefix("1@")} for each in ALL]
    found = await reads.ranges(asked, by_email, where=prop("Age") == 34, select=["Age"])
    assert [(each["Email"], each["Age"]) for each in found.entities] == [(f"1@{name}", 34) for name in DEPARTMENTS]
    assert all("LastName" not in each for each in found.entities)


@pytest.mark.guide("G-354")
async def test_every_page_of_every_partition_is_read(backend: Any, engine: Engine, table_name: str) -> None:
    storage = backend.connect(Engine(page_examines=3))
    reads = ParallelReads(await staff_of(storage, table_name, 5))
    assert len((await reads.ranges(ALL)).entities) == 15


@pytest.mark.guide("G-358")
async def test_a_partition_that_fails_leaves_the_results_of_the_others(
    storage: Any, engine: Engine, table_name: str
) -> None:
    reads = ParallelReads(await staff_of(storage, table_name))
    with engine.faults.refuse_connection(partition="Marketing"):
        found = await reads.ranges(ALL)
    assert [each["Department"] for each in found.entities] == ["Sales", "Sales", "Finance", "Finance"]
    (failed,) = found.failed
    assert (failed.fields, failed.entities) == ({"Department": "Marketing"}, ())
    assert isinstance(failed.error, ServiceRequestError)
    with pytest.raises(ServiceRequestError):
        found.all_or_raise()
    again = await reads.ranges(read.fields for read in found.failed)
    assert [each["Department"] for each in again.all_or_raise()] == ["Marketing", "Marketing"]


async def test_a_partition_that_fails_on_its_second_page_is_not_taken_for_whole(
    backend: Any, engine: Engine, table_name: str
) -> None:
    small = Engine(page_examines=4)
    reads = ParallelReads(await staff_of(backend.connect(small), table_name, 5))
    with small.faults.refuse_connection(partition="Sales", after=1):
        found = await reads.ranges(ALL)
    assert [len(read.entities) for read in found.reads] == [0, 5, 5]
    assert [read.fields for read in found.failed] == [{"Department": "Sales"}]


@pytest.mark.guide("G-358")
async def test_an_entity_that_cannot_be_read_leaves_the_others(storage: Any, engine: Engine, table_name: str) -> None:
    reads = ParallelReads(await staff_of(storage, table_name))
    asked = [{**each, "EmployeeId": number} for each in ALL for number in (0, 7)]
    with engine.faults.refuse_connection(partition="Finance"):
        found = await reads.points(asked)
    assert [each["Department"] for each in found.entities] == ["Sales", "Marketing"]
    assert [read.fields for read in found.failed] == asked[4:]
    assert [len(read.entities) for read in found.reads] == [1, 0, 1, 0, 0, 0]


@pytest.mark.guide("G-359")
def test_hundreds_of_keys_are_read_with_the_same_results_sync_and_async() -> None:
    engine = Engine()
    key = Key("{Shard:02d}", "{Number:04d}")
    asked = [{"Shard": number % 16, "Number": number} for number in range(0, 400, 2)]
    with connect(engine) as storage:
        numbers = EntitySet(storage, "Numbers", key)
        numbers.create_table()
        for shard in range(16):
            rows = [{"PartitionKey": f"{shard:02d}", "RowKey": f"{number:04d}"} for number in range(shard, 320, 16)]
            storage.tables.get_table_client("Numbers").submit_transaction([("create", row) for row in rows])
        with engine.ledger.span() as span:
            found = ParallelReads(numbers).points(asked)
        assert span.totals.requests == 200
        ranges = ParallelReads(numbers).ranges({"Shard": shard} for shard in range(3))

    async def awaited() -> tuple[Any, Any]:
        async with aio.connect(engine) as storage:
            reads = ParallelReads(EntitySet(storage, "Numbers", key))
            return await reads.points(asked), await reads.ranges({"Shard": shard} for shard in range(3))

    assert [each["Number"] for each in found.entities] == list(range(0, 320, 2))
    assert asyncio.run(awaited()) == (found, ranges)
    assert len(ranges.entities) == 60


# ------------------------------------------------------------------ the bound


class Gauge:
    """How many requests are under way, and the most there ever were."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._lock = threading.Lock()
        self.too_many = threading.Event()

    def enter(self, limit: int) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now > limit:
                self.too_many.set()

    def leave(self) -> None:
        with self._lock:
            self._now -= 1


@pytest.mark.guide("G-355")
def test_no_more_threads_than_the_limit_send_requests() -> None:
    engine, gauge = Engine(), Gauge()

    class Measured(EngineTransport):
        def send(self, request: Any, **options: Any) -> Any:
            gauge.enter(3)
            # Time enough for another, if one were let in
            gauge.too_many.wait(0.05)
            try:
                return super().send(request, **options)
            finally:
                gauge.leave()

    with connect(engine, transport=Measured(engine)) as storage:
        reads = ParallelReads(EntitySet(storage, "Staff", BY_ID), max_concurrency=3)
        assert len(reads.ranges({"Department": f"{number}"} for number in range(12)).reads) == 12
    assert gauge.most == 3


@pytest.mark.guide("G-355")
async def test_no_more_tasks_than_the_limit_send_requests() -> None:
    engine, gauge = Engine(), Gauge()

    class Measured(AioEngineTransport):
        async def send(self, request: Any, **options: Any) -> Any:
            gauge.enter(3)
            for _ in range(20):
                await asyncio.sleep(0)
            try:
                return await super().send(request, **options)
            finally:
                gauge.leave()

    async with aio.connect(engine, transport=Measured(engine)) as storage:
        reads = ParallelReads(EntitySet(storage, "Staff", BY_ID), max_concurrency=3)
        await reads.ranges({"Department": f"{number}"} for number in range(12))
    assert gauge.most == 3


# ------------------------------------------------------------------ what is refused


async def test_fields_that_do_not_make_a_range_are_rejected_before_any_read(
    storage: Any, engine: Engine, table_name: str
) -> None:
    reads = ParallelReads(employees_of(storage, table_name))
    for call in (reads.ranges([*ALL, {"EmployeeId": 1}]), reads.points([{"Department": "Sales"}])):
        with pytest.raises(BadKey):
            await call
    # No failure of a read, which the others could do without
    with pytest.raises(BadFilter, match="must be an int"):
        await reads.ranges(ALL, where=prop("EmployeeId") == "1")
    assert not list(engine.ledger.records)
    with pytest.raises(BadDesign):
        ParallelReads(reads.entity_set, max_concurrency=0)
