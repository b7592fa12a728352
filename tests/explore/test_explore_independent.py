"""Explore: orders of an actor's independent calls are merged, and only if they make no difference."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.explorations import EXPLORATIONS

from support.call_orders import assert_order_makes_no_difference
from support.explore_actors import pages, write
from tablepatterns import EntitySet, InterPartitionIndex, IntraPartitionIndex, Key, Summary
from tablepatterns_explore import Counterexample, Explored, World, explore

JONES = {"Department": "Sales", "EmployeeId": 223, "LastName": "Jones", "Email": "jo", "Salary": 1}


def at_once(*calls: list[str], **options: Any) -> Any:
    """Return a function that creates one actor, whose concurrent calls write rows."""

    async def act(world: World, table: Any) -> None:
        await world.storage.gather(*(write(table, *rows) for rows in calls), **options)

    return lambda world: [act(world, pages(world))]


def explored(make: Any, **bound: Any) -> Explored:
    result = explore(make, expected=Exception, **bound)
    assert result.exhaustive
    return result


FOUR = [[f"{call}{row}" for row in "12"] for call in "1234"]


def test_independent_calls_have_one_state_for_each_combination_of_their_progress() -> None:
    assert explored(at_once(*FOUR, independent=True)).states == 3**4


def test_calls_are_dependent_by_default() -> None:
    assert explored(at_once(*FOUR[:3])).states > 3**3


def test_the_calls_of_an_independent_call_may_be_dependent() -> None:
    async def act(world: World, table: Any) -> None:
        gather = world.storage.gather
        await gather(gather(*(write(table, row) for row in "123")), write(table, "4"), independent=True)

    # 1 + 3 + 3 * 2 + 3 * 2 * 1 orders of the inner calls, before and after the outer one
    assert explored(lambda world: [act(world, pages(world))]).states <= 2 * 16


def test_calls_that_wait_for_their_turn_begin_in_the_same_order() -> None:
    assert_order_makes_no_difference(at_once(*FOUR[:3], max_concurrency=2, independent=True), crashes=1)


def test_which_of_two_errors_is_the_first_depends_on_the_order() -> None:
    async def fail(table: Any, row: str, error: Exception) -> None:
        await write(table, row, f"{row} again")
        raise error

    async def act(world: World, table: Any) -> None:
        calls = fail(table, "1", KeyError()), fail(table, "2", IndexError()), write(table, "3")
        await world.storage.gather(*calls, max_concurrency=2, independent=True)

    assert_order_makes_no_difference(lambda world: [act(world, pages(world))])


def test_calls_that_take_a_lock_are_dependent() -> None:
    async def count(world: World, table: Any, lock: Any, row: str, taken: list[str]) -> int:
        await write(table, row, f"{row} again")
        async with lock:
            taken.append(row)
            await write(table, f"{row} as {len(taken)}")
        return len(taken)

    async def act(world: World, table: Any) -> list[int]:
        lock, taken = world.storage._new_lock(), list[str]()
        return await world.storage.gather(*(count(world, table, lock, row, taken) for row in "12"), independent=True)

    assert_order_makes_no_difference(lambda world: [act(world, pages(world))])


# ------------------------------------------------------------------ calls that are not as independent as declared


def counting(turn: int, *, requests: int, calls: int, is_sent: bool) -> Any:
    """Return actors of which one makes calls that share a counter.

    :param turn: before which of its requests each call counts itself; after the last if there are no more
    :param is_sent: whether the count is written, or only returned
    """

    async def count(table: Any, number: int, counted: list[int]) -> int | None:
        rank = None
        for request in range(requests + 1):
            if request == turn:
                counted.append(number)
                rank = len(counted)
            if request < requests:
                row = {"PartitionKey": "p", "RowKey": f"{number}", "Rank": rank if is_sent else None}
                await table.upsert_entity(row)
        return None if is_sent and turn < requests else rank

    async def act(world: World, table: Any) -> list[int | None]:
        counted: list[int] = []
        return await world.storage.gather(*(count(table, each, counted) for each in range(calls)), independent=True)

    def make(world: World) -> list[Any]:
        table = pages(world)
        return [act(world, table), write(table, "other")]

    return make


@pytest.mark.parametrize("is_sent", [True, False], ids=["sent", "returned"])
@pytest.mark.parametrize(
    ("turn", "requests", "calls"),
    [(1, 3, 2), (2, 3, 2), (3, 3, 2), *(pytest.param(turn, 2, 3, marks=pytest.mark.nightly) for turn in (1, 2))],
)
@pytest.mark.few(3)
def test_a_shared_counter_is_noticed(turn: int, requests: int, calls: int, is_sent: bool) -> None:
    make = counting(turn, requests=requests, calls=calls, is_sent=is_sent)
    assert_order_makes_no_difference(make, preemptions=0, is_independent=False)


def test_two_of_many_calls_that_share_something_are_noticed() -> None:
    async def call(table: Any, number: int, first: list[int]) -> bool:
        await write(table, f"{number}")
        if number in (0, 3):
            first.append(number)
        await write(table, f"{number} again")
        return first == [3]

    async def act(world: World, table: Any) -> bool:
        first: list[int] = []
        return any(await world.storage.gather(*(call(table, each, first) for each in range(4)), independent=True))

    with pytest.raises(Counterexample, match="one is first"):
        explore(lambda world: [act(world, pages(world))], invariant=lambda world: fail_on(world.returned["A"]))


def fail_on(wrong: bool) -> None:
    assert not wrong, "one is first"


# ------------------------------------------------------------------ derived rows


def staff(world: World, kinds: int) -> EntitySet[Any]:
    derived = [
        InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail"),
        InterPartitionIndex(Key("name_{LastName}", "{EmployeeId:06d}"), table="ByName"),
        InterPartitionIndex(Key("id_{EmployeeId:06d}", "{Department}"), table="ById"),
    ]
    in_partition = [
        IntraPartitionIndex(Key("empid_{Department}", "email_{Email}_{EmployeeId:06d}")),
        Summary(Key("empid_{Department}", "total"), count="Count"),
    ]
    key = Key("empid_{Department}", "{EmployeeId:06d}")
    return EntitySet(world.storage, "Staff", key, derived=[*in_partition, *derived[:kinds]])


def two_inserts(kinds: int) -> Any:
    def make(world: World) -> list[Any]:
        world.run(staff(world, kinds).create_table())
        world.engine.queues.create("staff-intents")
        hires = ({**JONES, "EmployeeId": number, "Email": f"{number}"} for number in (1, 2))
        return [staff(world, kinds).insert(hire) for hire in hires]

    return make


@pytest.mark.parametrize(
    ("kinds", "bound"),
    [
        (2, {"preemptions": 0}),
        pytest.param(2, {"preemptions": 0, "crashes": 1}, marks=pytest.mark.nightly),
        pytest.param(2, {"preemptions": 0, "lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(2, {"preemptions": 1}, marks=pytest.mark.nightly),
        pytest.param(3, {"preemptions": 0}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_derived_rows_end_the_same_in_every_order_of_their_writes(kinds: int, bound: dict[str, Any]) -> None:
    assert_order_makes_no_difference(two_inserts(kinds), **bound)


def test_two_inserts_with_five_kinds_of_derived_data_have_few_schedules() -> None:
    five_kinds = EXPLORATIONS["five derived kinds"]
    found = explored(five_kinds.make, invariant=five_kinds.drained, **five_kinds.bound)
    assert found.schedules + found.pruned <= 100
