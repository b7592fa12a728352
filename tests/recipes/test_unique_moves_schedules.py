"""Moves of entities that keep their key in a unique index, in every order of requests, with crashes and losses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from support.indexed_staff import LEASE, prepared, read, right_once_drained, stored
from support.table_states import insert
from tablepatterns import EntityGroupTransaction
from tablepatterns.entity_set.intents import Intents
from tablepatterns.errors import DuplicateIndexValue, EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown
from tablepatterns_explore import Counterexample, World

RECIPE = "InterPartitionIndex"
LOST_A_RACE = (EntityChanged, EntityNotFound)
Actor = Coroutine[Any, Any, object]


async def by_transaction(world: World, staff: Any, jones: Any, number: int) -> None:
    moved = {**jones, "EmployeeId": number}
    await EntityGroupTransaction(world.storage, "Staff").commit(staff.deleting(jones), staff.inserting(moved))


async def by_rename(world: World, staff: Any, jones: Any, number: int) -> None:
    await staff.rename(jones, EmployeeId=number)


async def rival(staff: Any) -> None:
    """Insert another entity with the value, which always belongs to one."""
    with suppress(DuplicateIndexValue):
        await staff.insert({"Department": "Sales", "EmployeeId": 9, "Email": "a"})
        raise AssertionError("another entity got the value")


async def work(world: World, staff: Any) -> None:
    for _ in range(2):
        await world.storage.sleep(LEASE + 1)
        await staff.process_intents(lease=LEASE)


def staff_of(world: World) -> Any:
    return prepared(world, "a", unique=True)


def a_move_and_a_rival(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    return [move(world, staff, read(world, staff), 2), rival(staff)]


def two_moves(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    return [move(world, staff, read(world, staff), 2), move(world, staff, read(world, staff), 3)]


def a_move_and_an_update(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    return [move(world, staff, read(world, staff), 2), staff.merge(read(world, staff), {"Age": 1})]


def a_move_and_another_value(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    return [move(world, staff, read(world, staff), 2), staff.merge(read(world, staff), {"Email": "b"})]


def a_move_and_a_delete(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    return [move(world, staff, read(world, staff), 2), staff.delete(read(world, staff))]


def a_move_and_a_move_on(world: World, move: Any) -> list[Actor]:
    """The entity is moved on as soon as it can be read under its new key."""
    staff = staff_of(world)

    async def move_on() -> None:
        moved = await staff.get(Department="Sales", EmployeeId=2)
        if moved is not None:
            await staff.rename(moved, EmployeeId=3)

    return [move(world, staff, read(world, staff), 2), move_on(), rival(staff)]


def a_move_and_a_worker(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    return [move(world, staff, read(world, staff), 2), work(world, staff), rival(staff)]


def a_move_to_a_taken_key(world: World, move: Any) -> list[Actor]:
    """The new key belongs to another entity, so the move fails and the entity keeps its value."""
    staff = staff_of(world)
    world.engine.tables.apply("Staff", insert("empid_Sales", "000002", Email="b"))
    world.engine.tables.apply("Staff", insert("email_Sales", "b", EmployeeId=2))

    jones = read(world, staff)

    async def attempt() -> None:
        try:
            await move(world, staff, jones, 2)
        except DuplicateIndexValue as error:
            raise AssertionError("the value is the entity's own") from error
        except EntityAlreadyExists:
            return
        raise AssertionError("it replaced another entity")

    return [attempt(), rival(staff)]


def a_swap_and_a_rival(world: World, move: Any) -> list[Actor]:
    staff = staff_of(world)
    world.engine.tables.apply("Staff", insert("empid_Sales", "000002", Email="b"))
    world.engine.tables.apply("Staff", insert("email_Sales", "b", EmployeeId=2))
    jones, smith = (world.run(staff.get(Department="Sales", EmployeeId=number)) for number in (1, 2))
    swap = EntityGroupTransaction(world.storage, "Staff").commit(
        staff.merging(jones, {"Email": "b"}), staff.merging(smith, {"Email": "a"})
    )
    return [swap, rival(staff)]


def right(world: World) -> None:
    """Check that each entity has its copy, and that no two have one value, once the queue is drained."""
    right_once_drained(world, unique=True)
    emails = [row["Email"] for (partition, _), row in stored(world).items() if partition == "empid_Sales"]
    assert len(emails) == len(set(emails))


def explored(make: Callable[[World], list[Actor]], **options: Any) -> None:
    explore_guarantee(make, invariant=right, **{"expected": LOST_A_RACE, "preemptions": 2, "at_least": 20, **options})


MOVES = pytest.mark.parametrize("move", [by_transaction, pytest.param(by_rename, marks=pytest.mark.nightly)])


@pytest.mark.guarantee(
    RECIPE, "an entity that moves to another RowKey keeps its value of a unique index; no other entity gets it"
)
@MOVES
@pytest.mark.parametrize(
    "make", [a_move_and_a_rival, a_move_to_a_taken_key, a_swap_and_a_rival], ids=lambda make: make.__name__
)
@pytest.mark.few(2)
def test_a_moved_entity_keeps_its_unique_value(make: Any, move: Any) -> None:
    explored(partial(make, move=move), crashes=1)
    explored(partial(make, move=move), lost_responses=1, expected=(*LOST_A_RACE, OutcomeUnknown), preemptions=1)


@pytest.mark.guarantee(
    RECIPE, "two writers of an entity that moves with its unique value: one succeeds, the other gets EntityChanged"
)
@MOVES
@pytest.mark.parametrize(
    "make",
    [
        *(two_moves, a_move_and_a_delete, a_move_and_a_move_on),
        *(pytest.param(make, marks=pytest.mark.nightly) for make in (a_move_and_an_update, a_move_and_another_value)),
    ],
    ids=lambda make: make.__name__,
)
@pytest.mark.few(1)
def test_two_writers_of_an_entity_that_moves(make: Any, move: Any) -> None:
    explored(partial(make, move=move), crashes=1, preemptions=1)
    explored(partial(make, move=move), lost_responses=1, expected=(*LOST_A_RACE, OutcomeUnknown), preemptions=1)


@pytest.mark.guarantee(RECIPE, "a worker completes or undoes the move of an entity with its unique value")
@MOVES
def test_a_worker_completes_or_undoes_a_move(move: Any) -> None:
    explored(partial(a_move_and_a_worker, move=move), crashes=1, preemptions=1)


# -- broken variants


def separately(claims: Any) -> Any:
    return [[claim] for claim in claims]


@pytest.mark.broken(RECIPE)
def test_entities_that_pass_a_key_are_reconciled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Intents, "_groups", lambda self, claims: separately(claims))
    with pytest.raises(Counterexample):
        explored(partial(a_move_to_a_taken_key, move=by_transaction), crashes=1)


@pytest.mark.broken(RECIPE)
def test_a_key_that_is_passed_on_is_reserved_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reserve(self: Any, *args: Any) -> None:
        return None

    monkeypatch.setattr(Intents, "reserve", reserve)
    with pytest.raises(Counterexample):
        explored(partial(a_move_and_a_rival, move=by_transaction), crashes=1)
