"""Explore: concurrent requests of one actor are stepped in every order, too."""

from __future__ import annotations

from typing import Any

import pytest

from support.explore_actors import pages, stored, write, write_if_new
from tablepatterns_explore import Counterexample, World, explore, replay


def at_once(*rows: str, limit: int = 8) -> Any:
    async def act(world: World, table: Any) -> list[bool]:
        return await world.storage.gather(*(write_if_new(table, row) for row in rows), max_concurrency=limit)

    return lambda world: [act(world, pages(world))]


def orders_of(make: Any, **options: Any) -> set[tuple[str, ...]]:
    """Return in which orders the rows were written."""
    orders = set()

    def note(world: World) -> None:
        entities = world.engine.tables.query("Pages").entities
        orders.add(tuple(each.row_key for each in sorted(entities, key=lambda entity: entity.timestamp)))

    explore(make, always=note, **options)
    return orders


def test_calls_together_go_on_in_every_order() -> None:
    assert {"1", "2"} <= {order[0] for order in orders_of(at_once("1", "2")) if len(order) == 1}


def test_no_more_calls_begin_than_the_limit() -> None:
    assert {order for order in orders_of(at_once("1", "2", limit=1)) if len(order) == 1} == {("1",)}


def test_results_come_in_the_order_of_the_calls() -> None:
    assert replay(at_once("1", "2"), "A.2 A.1").returned == {"A": [True, True]}
    assert replay(at_once("1", "1"), "A.2 A.1").returned == {"A": [False, True]}


def test_calls_within_calls_have_a_place_of_their_own() -> None:
    async def nested(world: World, table: Any) -> None:
        together = world.storage.gather
        await together(write(table, "1"), together(write(table, "2"), write(table, "3", "4")))

    def make(world: World) -> list[Any]:
        return [nested(world, pages(world))]

    assert sorted(stored(replay(make, "A.2.2 A.1 A.2.2 A.2.1"))) == ["1", "2", "3", "4"]


def test_when_one_fails_the_others_end_and_the_rest_never_begins() -> None:
    async def act(world: World, table: Any) -> None:
        await write(table, "1")
        await world.storage.gather(write(table, "1"), write(table, "2", "3"), write(table, "4"), max_concurrency=2)

    def make(world: World) -> list[Any]:
        return [act(world, pages(world))]

    seen = set()
    explore(make, invariant=lambda world: seen.add(tuple(sorted(stored(world)))), expected=Exception)
    assert seen == {("1", "2", "3"), ("1", "2", "3", "4")}
    assert sorted(stored(replay(make, "A A.1", expected=Exception))) == ["1", "2", "3"]


def test_the_first_error_is_raised() -> None:
    async def fail(table: Any, row: str, error: Exception) -> None:
        await write(table, row)
        raise error

    async def act(world: World, table: Any) -> None:
        await world.storage.gather(fail(table, "1", KeyError()), fail(table, "2", LookupError()))

    def make(world: World) -> list[Any]:
        return [act(world, pages(world))]

    assert type(replay(make, "A.1", expected=LookupError).raised["A"]) is KeyError
    assert type(replay(make, "A.2", expected=LookupError).raised["A"]) is LookupError


def test_death_ends_all_calls_at_once() -> None:
    ends = set()

    def note(world: World) -> None:
        ends.add((bool(world.crashed), tuple(stored(world))))

    explore(at_once("1", "2"), invariant=note, crashes=1)
    some = {(True, ()), (True, ("1",)), (True, ("2",)), (True, ("1", "2"))}
    assert ends == some | {(False, ("1", "2"))}
    with pytest.raises(Counterexample, match="2 requests  not sent: A crashes"):
        replay(at_once("1", "2"), "A!", invariant=lambda world: not world.crashed)


def test_nothing_together_is_done_at_once() -> None:
    assert replay(at_once(), "").returned == {"A": []}
