"""Retries of calls that lost a race: within a time budget, and many writers of one entity all succeed."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tablepatterns
from tablepatterns import DataSeries, Entity, EntitySet, Key, Storage, Summary, WideEntity, aio, connect
from tablepatterns.errors import BadInput, EntityChanged, TooMuchContention
from tablepatterns.recipe import as_async, finish
from tablepatterns.retry import RETRY_FOR, Overtaken, contended
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport

BY_ID = Key("{Department}", "empid_{EmployeeId:06d}")
ID: dict[str, Any] = {"Department": "Sales", "EmployeeId": 223}
CALLS = 10


def increment(entity: Entity) -> None:
    entity["Count"] += 1


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads take turns so often that they meet between a read and its write."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, call: Callable[[int], object]) -> None:
    """Make each of so many threads do the call ten times; every one of them must succeed."""
    ready = threading.Barrier(count)

    def work(number: int) -> None:
        ready.wait()
        for _ in range(CALLS):
            call(number)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()


@pytest.mark.parametrize(
    ("count", "connections"), [(8, "one"), (8, "each"), pytest.param(16, "one", marks=pytest.mark.nightly)]
)
def test_threads_that_update_one_entity_all_succeed(hasty: None, count: int, connections: str) -> None:
    engine = Engine()
    sets = [EntitySet(connect(engine), "Staff", BY_ID) for _ in range(count)]
    sets[0].insert(ID | {"Count": 0})
    in_threads(count, lambda number: sets[number if connections == "each" else 0].update(increment, **ID))
    found = sets[0].get(**ID)
    assert found is not None
    assert found["Count"] == count * CALLS


def test_threads_that_add_to_one_point_all_succeed(hasty: None) -> None:
    series = DataSeries(connect(), "Messages", Key("{Employee}", "{Day}"), 24, prefix="Hour", value_type=int)
    in_threads(8, lambda _: series.add(9, 1, Employee="jones", Day="monday"))
    assert series.read([9], Employee="jones", Day="monday") == [80]


@pytest.mark.parametrize("count", [8, pytest.param(64, marks=pytest.mark.nightly)])
def test_tasks_that_update_one_entity_all_succeed(count: int) -> None:
    async def main() -> int:
        engine = Engine()

        async def turn() -> None:
            await asyncio.sleep(0)

        options: dict[str, Any] = {"transport": AioEngineTransport(engine, turn)}
        async with aio.connect(engine, **options) as storage:
            staff = EntitySet(storage, "Staff", BY_ID)
            await staff.insert(ID | {"Count": 0})

            async def work() -> None:
                for _ in range(CALLS):
                    await staff.update(increment, **ID)

            await asyncio.gather(*(work() for _ in range(count)))
            found = await staff.get(**ID)
            return 0 if found is None else found["Count"]

    assert asyncio.run(main()) == count * CALLS


# -- the budget


def contested(staff: EntitySet[Storage]) -> Callable[[Entity], None]:
    """Return a change during which another writer changes the entity."""
    staff.insert(ID | {"Count": 0})

    def change(entity: Entity) -> None:
        staff.merge(ID, {"Seen": True}, force=True)
        entity["Count"] += 1

    return change


@pytest.mark.parametrize("budget", [0.5, 3, 30, 300])
def test_retries_end_with_the_budget(budget: float) -> None:
    storage = connect()
    staff = EntitySet(storage, "Staff", BY_ID)
    change, before = contested(staff), storage.now()
    with pytest.raises(TooMuchContention) as refusal:
        staff.update(change, retry_for=budget, **ID)
    passed = (storage.now() - before).total_seconds()
    error = refusal.value
    assert isinstance(error, EntityChanged)
    assert error.attempts > 2
    assert budget - 5 <= error.seconds <= budget
    # Real time runs besides what the waits moved the clock by
    assert error.seconds - 0.1 <= passed <= error.seconds + 10
    assert f"each of {error.attempts} attempts in {error.seconds:.1f} seconds" in str(error)


def test_no_budget_is_a_single_attempt() -> None:
    staff = EntitySet(connect(), "Staff", BY_ID)
    change = contested(staff)
    with pytest.raises(TooMuchContention, match="the only attempt") as refusal:
        staff.update(change, retry_for=0, **ID)
    assert (refusal.value.attempts, refusal.value.seconds < 1) == (1, True)


def test_time_that_attempts_take_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of tenacity, which measures with the clock that never goes back
    now = [0.0]
    monkeypatch.setattr("tenacity.time.monotonic", lambda: now[0])

    async def attempt() -> None:
        now[0] += 12
        raise Overtaken

    with pytest.raises(TooMuchContention) as refusal:
        finish(contended(as_async(connect()), attempt, 30))
    assert refusal.value.attempts == 3


@pytest.mark.parametrize("budget", [-1, float("nan"), "30", None, True])
def test_what_is_no_number_of_seconds_is_rejected_before_any_request(budget: Any) -> None:
    storage = connect()
    staff = EntitySet(storage, "Staff", BY_ID, derived=[Summary(Key("{Department}", "department"))])
    wide = WideEntity(storage, "Wide", BY_ID)
    series = DataSeries(storage, "Series", BY_ID, 3, prefix="Day", value_type=int)
    plain = EntitySet(storage, "Plain", BY_ID)
    calls: list[Callable[[], object]] = [
        lambda: staff.insert(ID, retry_for=budget),
        lambda: staff.update(increment, retry_for=budget, **ID),
        lambda: staff.insert_or_replace(ID, retry_for=budget),
        lambda: staff.delete(ID, force=True, retry_for=budget),
        lambda: plain.insert_or_merge(ID, retry_for=budget),
        lambda: plain.replace(ID, force=True, retry_for=budget),
        lambda: plain.delete(ID, force=True, retry_for=budget),
        lambda: wide.get(retry_for=budget, **ID),
        lambda: series.add(1, 1, retry_for=budget, **ID),
    ]
    for call in calls:
        with pytest.raises(BadInput, match="retry_for"):
            call()
    assert not storage.engine or storage.engine.ledger.totals.requests == 0


def test_every_call_that_retries_says_for_how_long_in_the_same_way() -> None:
    """Whoever documents `TooMuchContention`, or passes a budget on, has the parameter under one name."""
    found = 0
    for name in tablepatterns.__all__:
        thing = getattr(tablepatterns, name)
        if not inspect.isclass(thing):
            continue
        for method_name, method in inspect.getmembers(thing):
            if method_name.startswith("_") or not callable(method):
                continue
            doc = inspect.getdoc(method) or ""
            try:
                parameters = inspect.signature(method).parameters
            except (TypeError, ValueError):
                continue
            where = f"{name}.{method_name}"
            assert "attempts" not in parameters, where
            if ":raises TooMuchContention" in doc and method_name != "handle":
                assert "retry_for" in parameters, where
            if "retry_for" in parameters:
                found += 1
                assert parameters["retry_for"].default == RETRY_FOR, where
                assert parameters["retry_for"].kind is inspect.Parameter.KEYWORD_ONLY or method_name == "handle", where
                assert ":param retry_for:" in doc or "The errors are those of" in doc, where
    assert found > 25
