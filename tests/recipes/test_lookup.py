"""Look up referenced entities from a cache that expires."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError

from tablepatterns import EntitySet, Key, Lookup, aio, connect
from tablepatterns.errors import BadDesign, BadInput, BadKey, EntityChanged
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport

NAMES = ("Sales", "Marketing", "Finance")


async def departments_of(storage: Any, table: str) -> Any:
    departments = EntitySet(storage, table, Key("{Department}", "head"))
    for number, name in enumerate(NAMES):
        await departments.insert({"Department": name, "Floor": number})
    return departments


def employee(name: str, department: str | None, field: str = "Department") -> dict[str, Any]:
    return {"Name": name, field: department}


@pytest.mark.guide("G-277")
async def test_each_row_comes_with_what_it_refers_to(storage: Any, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name))
    staff = [employee("Jones", "Sales"), employee("Smith", "Nowhere"), employee("May", None), {"Name": "Li"}]
    staff += [employee("Kim", "Finance"), employee("Ray", "Sales")]
    joined = await lookup.join(staff)
    assert [row for row, _ in joined] == staff
    assert [found and found["Floor"] for _, found in joined] == [0, None, None, None, 2, 0]


async def test_rows_may_have_another_name_for_the_field(storage: Any, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name))
    ((_, found),) = await lookup.join([employee("Jones", "Finance", "WorksFor")], on={"Department": "WorksFor"})
    assert found
    assert found["Floor"] == 2
    with pytest.raises(BadInput, match="WorksFor"):
        await lookup.join([], on={"WorksFor": "Department"})


@pytest.mark.guide("G-277")
async def test_a_key_is_asked_for_once_however_often_it_occurs(storage: Any, engine: Engine, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name))
    with engine.ledger.span() as span:
        await lookup.join([employee(str(number), NAMES[number % 2]) for number in range(50)])
        await lookup.get_many([{"Department": "Sales"}] * 3)
        assert (await lookup.get(Department="Marketing"))["Floor"] == 1
    assert span.totals.requests == 2


async def test_that_there_is_none_is_remembered(storage: Any, engine: Engine, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name))
    with engine.ledger.span() as span:
        assert [await lookup.get(Department="Nowhere") for _ in range(3)] == [None] * 3
    assert span.totals.requests == 1


@pytest.mark.guide("G-277")
async def test_a_small_table_is_read_once_and_never_again(storage: Any, engine: Engine, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name), whole_table=True)
    with engine.ledger.span() as reading:
        assert (await lookup.get(Department="Sales"))["Floor"] == 0
    with engine.ledger.span() as span:
        assert await lookup.get(Department="Nowhere") is None
        found = await lookup.get_many({"Department": name} for name in NAMES)
    assert [each["Floor"] for each in found] == [0, 1, 2]
    assert {record.operation for record in reading.records} == {"QueryEntities"}
    assert span.totals.requests == 0


@pytest.mark.guide("G-278")
@pytest.mark.parametrize("whole", [False, True])
async def test_what_was_read_expires(storage: Any, engine: Engine, table_name: str, whole: bool) -> None:
    departments = await departments_of(storage, table_name)
    lookup = Lookup(departments, whole_table=whole, expires=timedelta(minutes=1))
    assert (await lookup.get(Department="Sales"))["Floor"] == 0
    await departments.merge(await departments.get(Department="Sales"), {"Floor": 9})
    engine.clock.advance(59)
    assert (await lookup.get(Department="Sales"))["Floor"] == 0
    engine.clock.advance(1)
    assert (await lookup.get(Department="Sales"))["Floor"] == 9


@pytest.mark.parametrize("expires", [None, timedelta.max], ids=str)
async def test_what_never_expires_stays(
    storage: Any, engine: Engine, table_name: str, expires: timedelta | None
) -> None:
    lookup = Lookup(await departments_of(storage, table_name), expires=expires)
    await lookup.get(Department="Sales")
    engine.clock.advance(10_000_000)
    with engine.ledger.span() as span:
        await lookup.get(Department="Sales")
    assert span.totals.requests == 0


@pytest.mark.guide("G-278")
@pytest.mark.parametrize("whole", [False, True])
async def test_refresh_and_forget_empty_the_cache(storage: Any, table_name: str, whole: bool) -> None:
    departments = await departments_of(storage, table_name)
    lookup = Lookup(departments, whole_table=whole)

    async def floor() -> int:
        found = await lookup.get(Department="Sales")
        return int(found["Floor"])

    assert await floor() == 0
    for now, renew in enumerate((lookup.refresh, lookup.forget, lambda: lookup.forget(Department="Sales")), 1):
        await departments.merge({"Department": "Sales"}, {"Floor": now}, force=True)
        assert await floor() == now - 1
        if (waiting := renew()) is not None:
            await waiting
        assert await floor() == now


async def test_to_forget_one_key_keeps_the_others(storage: Any, engine: Engine, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name))
    await lookup.get_many({"Department": name} for name in NAMES)
    lookup.forget(Department="Sales")
    with engine.ledger.span() as span:
        await lookup.get_many({"Department": name} for name in NAMES)
    assert span.totals.requests == 1


async def test_the_oldest_entities_are_dropped_at_capacity(storage: Any, engine: Engine, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name), capacity=2)
    assert [each["Floor"] for each in await lookup.get_many({"Department": name} for name in NAMES)] == [0, 1, 2]
    with engine.ledger.span() as span:
        await lookup.get_many({"Department": name} for name in NAMES[1:])
        assert span.totals.requests == 0
        await lookup.get(Department="Sales")
    assert span.totals.requests == 1


async def test_changing_a_returned_copy_does_not_change_the_cache(storage: Any, table_name: str) -> None:
    departments = await departments_of(storage, table_name)
    lookup = Lookup(departments)
    one = await lookup.get(Department="Sales")
    one["Floor"] = 7
    assert (await lookup.get(Department="Sales"))["Floor"] == 0
    await departments.replace(one)
    with pytest.raises(EntityChanged):
        await departments.replace(await lookup.get(Department="Sales"))
    assert (await departments.get(Department="Sales"))["Floor"] == 7


async def test_after_a_failed_request_no_expired_entity_is_returned(
    storage: Any, engine: Engine, table_name: str
) -> None:
    lookup = Lookup(await departments_of(storage, table_name), expires=timedelta(minutes=1))
    await lookup.get(Department="Sales")
    engine.clock.advance(60)
    with engine.faults.refuse_connection(), pytest.raises(ServiceRequestError):
        await lookup.get(Department="Sales")
    assert (await lookup.get(Department="Sales"))["Floor"] == 0


def test_threads_ask_once_between_them() -> None:
    storage = connect()
    departments = EntitySet(storage, "Departments", Key("{Department}", "head"))
    departments.insert({"Department": "Sales"})
    lookup = Lookup(departments)
    with storage.engine.ledger.span() as span:
        threads = [Thread(target=lookup.get, kwargs={"Department": "Sales"}) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert span.totals.requests == 1


async def test_tasks_ask_once_between_them() -> None:
    async with aio.connect() as storage:
        departments = EntitySet(storage, "Departments", Key("{Department}", "head"))
        await departments.insert({"Department": "Sales"})
        lookup = Lookup(departments)
        with storage.engine.ledger.span() as span:
            found = await asyncio.gather(*(lookup.get(Department="Sales") for _ in range(8)))
        assert [each["Department"] for each in found if each] == ["Sales"] * 8
        assert span.totals.requests == 1


@pytest.mark.parametrize("whole", [False, True])
async def test_forget_takes_precedence_over_concurrent_reads(whole: bool) -> None:
    engine, gate = Engine(), asyncio.Event()

    class Slow(AioEngineTransport):
        """Holds back what it has read."""

        async def send(self, request: Any, **options: Any) -> Any:
            answer = await super().send(request, **options)
            await gate.wait()
            return answer

    async with aio.connect(engine) as fast, aio.connect(engine, transport=Slow(engine)) as slow:
        departments = await departments_of(fast, "Departments")
        lookup = Lookup(EntitySet(slow, "Departments", departments.key), whole_table=whole)
        reading = asyncio.ensure_future(lookup.get(Department="Sales"))
        for _ in range(50):
            await asyncio.sleep(0)
        await departments.merge({"Department": "Sales"}, {"Floor": 9}, force=True)
        lookup.forget(Department="Sales")
        gate.set()
        assert [found and found["Floor"] for found in (await reading, await lookup.get(Department="Sales"))] == [0, 9]


async def test_invalid_keys_are_rejected(storage: Any, table_name: str) -> None:
    lookup = Lookup(await departments_of(storage, table_name))
    with pytest.raises(BadKey):
        await lookup.get(Department="a/b")
    with pytest.raises(BadKey):
        await lookup.get(Name="Sales")
    for options in ({"expires": timedelta(0)}, {"capacity": 0}):
        with pytest.raises(BadDesign):
            Lookup(lookup.entity_set, **options)
