"""Explore: the result does not depend on whether schedules share common prefixes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial, wraps
from math import isqrt
from typing import Any

import pytest

from support import indexed_staff
from support.call_orders import every_order
from support.explore_actors import KEYS, counter, pages, stored, visit, visit_carefully, visits, write, write_if_new
from tablepatterns import Key, PartitionSpread
from tablepatterns_explore import Counterexample, Explored, World, explore, replay
from tablepatterns_explore.world import START

Make = Callable[[World], list[Any]]


def two_updates(world: World) -> list[Any]:
    table = counter(world)
    return [visit_carefully(table) for _ in range(2)]


def three_writers(world: World) -> list[Any]:
    table = pages(world)
    return [write_if_new(table, row) for row in "112"]


def repeated(make: Make) -> Make:
    """Return actors that do the same, and note what they do where the search cannot restore it."""
    steps: list[int] = []

    async def noting(actor: Any) -> Any:
        steps.append(len(steps))
        return await actor

    return lambda world: [noting(actor) for actor in make(world)]


def has_requests(world: World) -> bool:
    return bool(world.engine.ledger.records)


def counted(explored: Explored) -> tuple[int, ...]:
    return explored.schedules, explored.pruned, explored.states, explored.exhaustive


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (two_updates, {}),
        (two_updates, {"crashes": 1, "preemptions": 1}),
        (two_updates, {"stalls": [60], "lost_responses": 1, "preemptions": 0}),
        pytest.param(two_updates, {"stalls": [60], "lost_responses": 1}, marks=pytest.mark.nightly),
        (three_writers, {"crashes": 1}),
        (indexed_staff.two_moves, {"preemptions": 0}),
        pytest.param(indexed_staff.two_moves, {"crashes": 1, "preemptions": 0}, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.few(3)
def test_the_same_schedules_are_tried_as_without_snapshots(make: Make, bound: dict[str, Any]) -> None:
    # Actors that ended differently are merged, unless a check reads their requests
    options = {"expected": indexed_staff.REFUSED, "invariant": has_requests, **bound}
    # Without snapshots, orders of independent calls are not merged
    with every_order():
        assert counted(explore(make, **options)) == counted(explore(repeated(make), **options))


def test_the_same_counterexample_is_found() -> None:
    def make(world: World) -> list[Any]:
        table = counter(world)
        return [visit(table), visit(table)]

    texts = set()
    for actors in (make, repeated(make)):
        with pytest.raises(Counterexample) as caught:
            explore(actors, invariant=lambda world: visits(world) == 2, crashes=1)
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_a_check_sees_what_the_actors_of_its_schedule_noted() -> None:
    seen: list[Any] = []

    async def read(table: Any) -> None:
        page = await table.get_entity(*KEYS.values())
        seen.append(page["Visits"])

    def make(world: World) -> list[Any]:
        seen.clear()
        table = counter(world)
        return [visit(table), read(table), read(table)]

    def never_counts_down(world: World) -> None:
        assert seen == sorted(seen)
        assert len(seen) == 2

    assert explore(make, invariant=never_counts_down).exhaustive
    with pytest.raises(Counterexample, match="seen one visit"):
        explore(make, invariant=lambda world: fail_on(seen == [0, 1]))


def fail_on(wrong: bool) -> None:
    assert not wrong, "seen one visit"


def test_a_check_sees_what_the_actors_of_its_schedule_assigned() -> None:
    last = ""

    async def sign(table: Any, name: str) -> None:
        nonlocal last
        await write(table, name)
        last = name

    def make(world: World) -> list[Any]:
        table = pages(world)
        return [sign(table, "1"), sign(table, "2")]

    ends = set()
    explore(make, invariant=lambda world: ends.add(last))
    # The other order leads to the same account, and is not continued
    assert ends == {"2"}


def test_an_actor_may_change_the_engine_itself() -> None:
    async def publish(world: World, table: Any) -> None:
        await write(table, "1")
        world.engine.tables.create("Published")

    def make(world: World) -> list[Any]:
        table = pages(world)
        return [publish(world, table), write(table, "2"), write(table, "3")]

    def is_published(world: World) -> bool:
        return "Published" in world.engine.tables.names()[0]

    assert explore(make, invariant=is_published).exhaustive


def test_actors_may_tell_one_another_something_without_the_account() -> None:
    def make(world: World) -> list[Any]:
        table, taken = pages(world), list[str]()

        async def take(row: str) -> bool:
            is_first = not taken
            taken.append(row)
            await write(table, row)
            return is_first

        return [take("1"), take("2")]

    firsts = set()
    explore(make, invariant=lambda world: firsts.add(tuple(world.returned.values())))
    assert firsts == {(True, False)}


def test_a_preparation_runs_once_and_each_schedule_begins_with_what_it_left() -> None:
    runs: list[str] = []

    def made(world: World, prepare: Any) -> list[Any]:
        async def announce() -> None:
            runs.append("announced")
            await world.storage.sleep(60)
            await world.table_client("Pages").create_entity({**KEYS, "Visits": 0})

        prepare(world.table_client("Pages").create_table())
        world.engine.tables.create("Before")
        prepare(announce())
        world.engine.tables.create("After")
        return [visit_carefully(world.table_client("Pages")) for _ in range(2)]

    def note(world: World) -> None:
        ends.add((visits(world), repr(world.engine.tables.names()), world.now(), repr(world.returned)))

    ends = set[Any]()
    results = [explore(partial(each, made), invariant=note, crashes=1) for each in (run_each_time, prepare_once)]
    assert counted(results[0]) == counted(results[1])
    assert {(tables, now) for _, tables, now, _ in ends} == {
        ("(['After', 'Before', 'Pages'], None)", START + timedelta(seconds=60))
    }
    assert replay(partial(prepare_once, made), "B A A B B").returned == {"A": 1, "B": 2}
    runs.clear()
    explore(partial(prepare_once, made))
    assert runs == ["announced"]


def run_each_time(made: Any, world: World) -> list[Any]:
    actors: list[Any] = made(world, world.run)
    return actors


def prepare_once(made: Any, world: World) -> list[Any]:
    actors: list[Any] = made(world, world.prepare)
    return actors


def test_actors_do_not_know_what_an_object_learned_when_it_prepared_the_account() -> None:
    def make(world: World) -> list[Any]:
        # The first call reads how many buckets there are
        events = PartitionSpread(world.storage, "Events", Key("log", "{EventId:06d}"), buckets=4)
        world.prepare(events.insert({"EventId": 1}))
        return [events.take(3)]

    def as_many_as_of_a_new_object(world: World) -> bool:
        return world.engine.ledger.totals.requests == 1 + 4

    explore(make, invariant=as_many_as_of_a_new_object)


def test_a_check_that_uses_the_account_leaves_it_as_it_was() -> None:
    def never_empty(world: World) -> None:
        world.engine.tables.delete("Pages")

    ends: list[dict[str, Any]] = []

    def make(world: World) -> list[Any]:
        return [write(pages(world), "1", "2")]

    explore(make, always=never_empty, invariant=lambda world: ends.append(stored(world)))
    assert [list(end) for end in ends] == [["1", "2"]]


def test_a_check_sees_the_requests_of_its_schedule_and_no_others() -> None:
    totals = set()

    def make(world: World) -> list[Any]:
        world.engine.ledger.clear()
        table = counter(world)
        return [visit_carefully(table) for _ in range(2)]

    explore(make, invariant=lambda world: totals.add((world.engine.ledger.totals.requests, *world.returned.values())))
    # Two requests make the table and its entity; each attempt takes two
    assert totals == {(2 + 2 * (a + b), a, b) for a, b in ((1, 1), (1, 2), (2, 1))}


async def look(table: Any) -> int:
    """Read three times, and return the same in any case."""
    for _ in range(3):
        await table.get_entity(*KEYS.values())
    return 1


def test_actors_that_ended_alike_are_in_one_state_however_they_ended() -> None:
    def make(world: World) -> list[Any]:
        table = counter(world)
        return [look(table), write(table, "1", "2")]

    alike = explore(make, crashes=1)
    apart = explore(make, crashes=1, invariant=has_requests)
    assert alike.states < apart.states
    assert alike.schedules < apart.schedules


def test_a_check_sees_every_way_in_which_actors_end() -> None:
    async def count(table: Any) -> Any:
        rows = [row["RowKey"] async for row in table.list_entities()]
        if len(rows) == 2:
            raise KeyError(*rows)
        return {"rows": rows, "table": table}

    def make(world: World) -> list[Any]:
        table = pages(world)
        return [count(table), write(table, "1", "2", "3")]

    def note(world: World) -> None:
        returned = [found["rows"] for found in world.returned.values() if found]
        ends.add(repr((returned, world.raised, world.crashed)))

    ends = set[str]()
    assert explore(make, invariant=note, expected=KeyError, crashes=1).exhaustive
    rows = ["1", "2", "3"]
    counted = [repr(([rows[:number]], {}, crashed)) for number in (0, 1, 3) for crashed in (set(), {"B"})]
    failed = [repr(([], {"A": KeyError("1", "2")}, crashed)) for crashed in (set(), {"B"})]
    # B may crash before it writes all rows, but not after
    assert ends == {*counted, *failed, repr(([], {}, {"A"}))}


def test_a_check_that_reads_the_requests_of_few_schedules_sees_those_of_all() -> None:
    async def work(table: Any) -> None:
        await write(table, "lock")
        await look(table)
        await table.delete_entity("pages", "lock")

    async def report(table: Any) -> None:
        if "lock" in await rows_of(table):
            await write(table, "locked")

    async def rows_of(table: Any) -> list[str]:
        return [row["RowKey"] async for row in table.list_entities()]

    def make(world: World) -> list[Any]:
        table = counter(world)
        world.engine.ledger.clear()
        return [work(table), rows_of(table), report(table)]

    totals = set[int]()

    def note(world: World) -> None:
        if "locked" in world.returned.get("B", []):
            totals.add(world.engine.ledger.totals.requests)

    # B and C run after A has crashed: C first, which is not what is tried first
    explore(make, invariant=note, crashes=1, preemptions=0)
    assert totals == {3 + each for each in (1, 2, 3, 4)}


def test_a_check_may_use_a_function_that_wraps_one_written_in_c() -> None:
    # In a notebook, `open` is such a function
    @wraps(isqrt)
    def root(number: int) -> int:
        return isqrt(number)

    def check(_: World) -> None:
        assert root(4) == 2

    assert explore(two_updates, invariant=check).exhaustive
