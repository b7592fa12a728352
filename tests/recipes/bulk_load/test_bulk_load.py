"""Bulk load: every entity once, in as few transactions as possible, and errors with reason and position."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from datetime import datetime, timezone
from typing import Any

import pytest

from support.employees import BY_ID, employees_of, rows_of
from support.staff_rows import rows_for, staff
from tablepatterns import BulkLoad, EntitySet, LargeProperties
from tablepatterns.errors import BadInput, BadKey, BadProperty, LimitExceeded, LoadInterrupted
from tablepatterns.recipes.bulk_load.bulk_load import Progress
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

# ------------------------------------------------------------------ what is written, and in how many transactions


@pytest.mark.guide("G-073", "G-063")
async def test_every_entity_and_its_copy_are_in_the_table(employees: Any, storage: Any, table_name: str) -> None:
    loaded = await BulkLoad(employees, max_concurrency=3, window=100).load(iter(staff(130, departments=4)))
    assert await rows_of(storage, table_name) == rows_for(staff(130, departments=4))
    assert (loaded.entities, loaded.already_stored, loaded.atomicity) == (130, 0, "chunk")
    assert (loaded.transactions, loaded.partitions) == (8, 8)


@pytest.mark.guide("G-065", "G-073")
@pytest.mark.parametrize(("count", "transactions"), [(0, 0), (1, 1), (50, 1), (51, 2), (100, 2), (101, 3)])
async def test_a_transaction_is_filled_to_its_hundred_operations(
    employees: Any, engine: Engine, count: int, transactions: int
) -> None:
    await employees.table.create()
    with engine.ledger.span() as span:
        loaded = await BulkLoad(employees).load(staff(count))
    assert loaded.transactions == transactions
    assert dict(span.totals.by_operation) == ({"Transaction": transactions} if transactions else {})


@pytest.mark.guide("G-066", "G-073")
async def test_large_entities_are_split_by_their_bytes(storage: Any, engine: Engine, table_name: str) -> None:
    large = {f"Text{number}": "naïve" * 6000 for number in range(8)}
    entities = staff(15) + staff(15, start=15, **large)
    with engine.ledger.span() as span:
        loaded = await BulkLoad(employees_of(storage, table_name)).load(entities)
    assert max(record.bytes_in for record in span.records) < 4_000_000
    assert 3 < loaded.transactions < 15
    assert await rows_of(storage, table_name) == rows_for(entities)


@pytest.mark.nightly
async def test_large_entities_close_a_window_early(plain: Any) -> None:
    large = {f"Text{number}": "\u00ef" * 32_000 for number in range(16)}
    entities = iter(staff(200, **large))

    def stop(report: Progress) -> None:
        raise RuntimeError("before the first request")

    with pytest.raises(LoadInterrupted, match="before the first request"):
        await BulkLoad(plain).load(entities, progress=stop)
    # In a request each may take up to 3 MB
    assert 200 - len(list(entities)) == pytest.approx(32 * 4 / 3, abs=3)


async def test_values_that_go_to_blobs_close_a_window_early(storage: Any, table_name: str) -> None:
    photos = LargeProperties(["Photo"], container="photos")
    mapped = EntitySet(storage, table_name, BY_ID, mappings=[photos])
    entities = iter(staff(60, Photo=bytes(8 * 1024 * 1024)))

    def stop(report: Progress) -> None:
        raise RuntimeError("before the first request")

    with pytest.raises(LoadInterrupted, match="before the first request"):
        await BulkLoad(mapped).load(entities, progress=stop)
    assert 60 - len(list(entities)) == pytest.approx(32 * 4 / 8, abs=1)


# ------------------------------------------------------------------ what is wrong in the input


BAD_ENTITIES = [
    (BadKey, {"Email": "a/b"}),
    (BadKey, {"EmployeeId": None}),
    (BadKey, {"RowKey": "empid_000033"}),
    (BadProperty, {"Age": object()}),
    (LimitExceeded, {"Note": "x" * 32_769}),
    (LimitExceeded, {f"Text{number}": "x" * 32_000 for number in range(17)}),
    (LimitExceeded, {f"Text{number}": "\u00ef" * 32_000 for number in range(15)}),
    (BadKey, {"EmployeeId": 31}),
]


@pytest.mark.parametrize(
    ("kind", "bad"), BAD_ENTITIES, ids=lambda value: "-".join(value) if isinstance(value, dict) else ""
)
async def test_a_bad_entity_is_found_before_its_window_is_sent(
    employees: Any, storage: Any, engine: Engine, table_name: str, kind: type[BadInput], bad: dict[str, Any]
) -> None:
    entities = staff(50, departments=2)
    entities[33] |= bad
    with pytest.raises(LoadInterrupted, match=r"^entity 33 of the input: .*; 30 entities are stored") as stop:
        await BulkLoad(employees, window=15).load(entities)
    assert isinstance(stop.value.__cause__, kind)
    assert stop.value.position == 33
    assert await rows_of(storage, table_name) == rows_for(entities[:30])
    # What follows may be mended, or left out
    mended = staff(33, departments=2) + staff(10, departments=2, start=35)
    loaded = await BulkLoad(employees).load(mended, resume=stop.value.token)
    assert (loaded.entities, loaded.already_stored) == (43, 0)
    assert await rows_of(storage, table_name) == rows_for(mended)


@pytest.mark.parametrize(
    ("again", "of"),
    [({"EmployeeId": 2}, "the entity's key"), ({"Email": "2@contoso.com"}, r"the key in email_\{Email\}")],
)
async def test_what_comes_twice_names_both_places(
    employees: Any, engine: Engine, again: dict[str, Any], of: str
) -> None:
    entities = [*staff(5), staff(6)[5] | again]
    with pytest.raises(
        LoadInterrupted, match=rf"^entity 5 of the input: {of} = .*: entity 2 of the input has the same"
    ):
        await BulkLoad(employees).load(entities)
    assert engine.ledger.totals.requests == 0


@pytest.mark.guide("G-068")
async def test_what_the_input_raises_stops_the_load_and_can_be_resumed(
    employees: Any, storage: Any, table_name: str
) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from staff(25)
        raise OSError("the disk is gone")

    with pytest.raises(LoadInterrupted, match=r"the disk is gone.*20 entities are stored") as stop:
        await BulkLoad(employees, window=10).load(broken())
    assert isinstance(stop.value.__cause__, OSError)
    await BulkLoad(employees).load(staff(40), resume=stop.value.token)
    assert await rows_of(storage, table_name) == rows_for(staff(40))


@pytest.mark.parametrize(
    "options", [{"max_concurrency": 0}, {"window": 0}, {"max_per_second": 0}, {"max_per_second": -1.0}]
)
async def test_numbers_and_modes_that_cannot_be_are_rejected(
    employees: Any, engine: Engine, options: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match=next(iter(options))):
        BulkLoad(employees, **options)
    with pytest.raises(BadInput, match="it must be 'insert' or 'insert_or_replace'"):
        await BulkLoad(employees).load(staff(1), mode="upsert")
    assert engine.ledger.totals.requests == 0


# ------------------------------------------------------------------ what the caller is told


async def test_progress_begins_before_the_first_request_and_ends_with_the_result(
    employees: Any, engine: Engine
) -> None:
    reports: list[Any] = []
    requests: list[int] = []

    def tell(report: Any) -> None:
        reports.append(report)
        requests.append(engine.ledger.totals.requests)

    loaded = await BulkLoad(employees, max_concurrency=1, window=120).load(staff(200, departments=2), progress=tell)
    assert requests[0] == 0
    assert [report.entities for report in reports] == [0, 50, 60, 110, 120, 120, 160, 200]
    assert [report.transactions for report in reports] == [0, 1, 2, 3, 4, 4, 5, 6]
    assert vars(loaded) == vars(reports[-1]) | {"atomicity": "chunk"}
    with pytest.raises(FrozenInstanceError):
        loaded.entities = 0


async def test_the_bytes_are_those_of_the_rows_in_the_table(plain: Any) -> None:
    loaded = await BulkLoad(plain).load([{"Department": "Sales", "EmployeeId": 223, "Age": 34, "Manager": None}])
    assert loaded.bytes == 4 + 2 * (len("Sales") + len("empid_000223")) + (8 + 2 * len("Age") + 4)


async def test_what_progress_raises_stops_the_load_and_can_be_resumed(
    employees: Any, storage: Any, table_name: str
) -> None:
    def tell(report: Any) -> None:
        if report.entities == 100:
            raise RuntimeError("enough for today")

    with pytest.raises(LoadInterrupted, match=r"enough for today.*100 entities are stored") as stop:
        await BulkLoad(employees).load(staff(180), progress=tell)
    assert await rows_of(storage, table_name) == rows_for(staff(100))
    loaded = await BulkLoad(employees).load(staff(180), resume=stop.value.token)
    assert (loaded.entities, loaded.transactions, loaded.already_stored) == (180, 2, 0)


async def test_only_one_window_of_the_input_is_in_memory(employees: Any) -> None:
    written = 0
    most = 0

    def tell(report: Any) -> None:
        nonlocal written
        written = report.entities

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal most
        for number, each in enumerate(staff(200, departments=3)):
            most = max(most, number + 1 - written)
            yield each

    await BulkLoad(employees, window=20).load(endless(), progress=tell)
    assert most == 20


# ------------------------------------------------------------------ partitions in parallel, and a limit of the rate


PARTITIONS = 3


class Watch:
    """Sees which partitions' transactions are under way together."""

    def __init__(self) -> None:
        self.together: list[tuple[str, ...]] = []
        self.gate = threading.Barrier(PARTITIONS, timeout=30)
        self._under_way: list[str] = []
        self._lock = threading.Lock()

    @contextmanager
    def over(self, request: Any) -> Generator[None, None, None]:
        partition = re.findall(r'"PartitionKey": ?"(\w+)"', str(request.body))[0]
        with self._lock:
            self._under_way.append(partition)
            self.together.append(tuple(sorted(self._under_way)))
        yield
        with self._lock:
            self._under_way.remove(partition)


class Watched(EngineTransport):
    """Each request waits until there is one of every partition."""

    def __init__(self, engine: Engine, watch: Watch) -> None:
        super().__init__(engine)
        self._watch = watch

    def send(self, request: Any, **options: Any) -> Any:
        with self._watch.over(request):
            self._watch.gate.wait()
            return super().send(request, **options)


class AioWatched(AioEngineTransport):
    """Each request lets all other tasks go on until they wait."""

    def __init__(self, engine: Engine, watch: Watch) -> None:
        super().__init__(engine)
        self._watch = watch

    async def send(self, request: Any, **options: Any) -> Any:
        with self._watch.over(request):
            for _ in range(100):
                await asyncio.sleep(0)
            return await super().send(request, **options)


@pytest.mark.guide("G-074")
async def test_partitions_are_written_at_once_but_never_two_transactions_of_one(
    backend: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    await employees_of(storage, table_name).table.create()
    watch = Watch()
    watched = backend.connect(engine, transport=(AioWatched if backend.aio else Watched)(engine, watch))
    load = BulkLoad(employees_of(watched, table_name), max_concurrency=PARTITIONS, window=360)
    await load.load(staff(540, departments=PARTITIONS))
    assert len(watch.together) == PARTITIONS * (3 + 2)
    assert [seen for seen in watch.together if len(set(seen)) < len(seen)] == []
    assert ("D0", "D1", "D2") in watch.together


@pytest.mark.guide("G-108")
@pytest.mark.parametrize(
    ("max_concurrency", "mode", "count", "requests"),
    [(1, "insert", 550, 12), (3, "insert", 550, 12), (1, "insert_or_replace", 10, 6)],
    ids=["writes", "concurrent writes", "reads"],
)
async def test_requests_are_paced(
    backend: Any, table_name: str, max_concurrency: int, mode: str, count: int, requests: int
) -> None:
    start = datetime(2014, 8, 22, tzinfo=timezone.utc)
    engine = Engine(clock=Clock(start))
    employees = employees_of(backend.connect(engine), table_name)
    await employees.table.create()
    load = BulkLoad(employees, max_concurrency=max_concurrency, max_per_second=4)
    with engine.ledger.span() as span:
        await load.load(staff(count, departments=3), mode=mode)
    seconds = [(record.moment.datetime() - start).total_seconds() for record in span.records]
    assert len(seconds) == requests
    assert seconds[-1] >= (requests - 1) / 4
    if max_concurrency == 1:
        assert seconds == [number / 4 for number in range(requests)]
