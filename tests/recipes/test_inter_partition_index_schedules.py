"""Inter-partition indexes in every order of requests: crashes, lost responses and repeated messages."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from support.indexed_staff import (
    JONES,
    LEASE,
    REFUSED,
    a_move_and_a_delete,
    a_move_and_a_move_back,
    explored,
    prepared,
    read,
    right_once_drained,
    three_moves,
    two_inserts,
    two_moves,
)
from tablepatterns.errors import DuplicateIndexValue, LeaseLost, OutcomeUnknown
from tablepatterns_explore import World

RECIPE = "InterPartitionIndex"


@pytest.mark.guide("G-134", "G-135", "G-136")
@pytest.mark.guarantee(
    RECIPE, "copies match their primaries once the queue is drained, also if one of two writers crashes"
)
def test_copies_follow_two_moves_after_any_crash() -> None:
    explored(two_moves, crashes=1)


@pytest.mark.guide("G-134", "G-136")
@pytest.mark.guarantee(
    RECIPE, "copies match their primaries once the queue is drained, also if two of three writers crash"
)
@pytest.mark.parametrize("preemptions", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_copies_follow_three_moves_after_any_crash(preemptions: int) -> None:
    explored(three_moves, crashes=1, preemptions=preemptions)


@pytest.mark.guide("G-136")
@pytest.mark.guarantee(RECIPE, "a value that an entity had, lost and got again has its copy, after any crash")
def test_copies_follow_a_move_back_after_any_crash() -> None:
    explored(a_move_and_a_move_back, crashes=1, preemptions=0)
    explored(a_move_and_a_move_back, preemptions=2)


@pytest.mark.guide("G-137")
@pytest.mark.guarantee(RECIPE, "no copy of a deleted entity is left, after any crash")
def test_no_orphaned_copy_is_left_after_any_crash() -> None:
    explored(a_move_and_a_delete, crashes=1)


@pytest.mark.guarantee(RECIPE, "an inserted entity has its copy, after any crash")
def test_an_inserted_entity_has_its_copy_after_any_crash() -> None:
    explored(two_inserts, crashes=1)


@pytest.mark.guide("G-135")
@pytest.mark.guarantee(RECIPE, "copies match their primaries after a lost response and repeated messages")
@pytest.mark.parametrize(
    ("make", "preemptions"),
    [
        (a_move_and_a_delete, 0),
        pytest.param(two_moves, 0, marks=pytest.mark.nightly),
        pytest.param(a_move_and_a_delete, 1, marks=pytest.mark.nightly),
    ],
)
def test_copies_follow_after_a_lost_response(make: Any, preemptions: int) -> None:
    explored(make, lost_responses=1, expected=(*REFUSED, OutcomeUnknown), preemptions=preemptions)


# -- a worker that gets messages while their writers are at work


def a_slow_move_and_a_worker(world: World) -> list[Any]:
    staff = prepared(world, "a")

    async def work() -> None:
        for _ in range(3):
            await world.storage.sleep(LEASE / 2 - 5)
            await staff.process_intents(lease=LEASE)

    return [staff.merge(read(world, staff), {"Email": "b"}), work()]


@pytest.mark.guide("G-135")
@pytest.mark.guarantee(RECIPE, "a writer and a worker may process the same change at the same time")
def test_a_worker_may_process_the_change_of_a_slow_writer() -> None:
    explored(a_slow_move_and_a_worker, preemptions=4)


def a_move_a_worker_and_a_move(world: World) -> list[Any]:
    staff = prepared(world, "a")

    async def work() -> None:
        await world.storage.sleep(LEASE + 1)
        await staff.process_intents()

    async def move() -> None:
        await world.storage.sleep(LEASE + 1)
        await staff.merge(await staff.get(**JONES), {"Email": "c"})

    return [staff.merge(read(world, staff), {"Email": "b"}), work(), move()]


@pytest.mark.guide("G-134")
@pytest.mark.guarantee(RECIPE, "a worker completes the change of a crashed writer while another writer writes")
def test_a_worker_completes_the_change_of_a_crashed_writer() -> None:
    explored(a_move_a_worker_and_a_move, crashes=1)


# -- several of them at once, of which not every order can be tried


def a_crowd(world: World, *, unique: bool) -> list[Any]:
    staff = prepared(world, "a", unique=unique)

    async def leave_and_come_back() -> None:
        await staff.delete(await staff.get(**JONES))
        await staff.insert({**JONES, "Email": "b"})

    async def work() -> None:
        for _ in range(3):
            await world.storage.sleep(LEASE / 2 - 5)
            await staff.process_intents()

    other = {"Department": "Sales", "EmployeeId": 2, "Email": "b" if unique else "c"}
    return [staff.merge(read(world, staff), {"Email": "b"}), leave_and_come_back(), work(), staff.insert(other)]


@pytest.mark.guarantee(
    RECIPE, "copies match their primaries in random orders of four actors, with two crashes and two lost responses"
)
@pytest.mark.parametrize(
    ("unique", "samples"),
    [(False, 15), *(pytest.param(unique, 60, marks=pytest.mark.nightly) for unique in (False, True))],
)
def test_copies_follow_four_actors_in_random_orders(unique: bool, samples: int) -> None:
    result = explore_guarantee(
        partial(a_crowd, unique=unique),
        invariant=partial(right_once_drained, unique=unique),
        expected=(*REFUSED, DuplicateIndexValue, LeaseLost, OutcomeUnknown),
        crashes=2,
        lost_responses=2,
        schedules=5,
        samples=samples,
        seed=5,
    )
    assert result.samples == samples
