"""Explore: what actors may do, and what is rejected."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncGenerator, Iterator
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from support.explore_actors import pages, stored, two, visit, visit_carefully, visits, write, write_if_new
from tablepatterns.errors import BadInput
from tablepatterns_explore import Counterexample, World, explore, replay


def all_visits_count(world: World) -> bool:
    return bool(visits(world) == 2)


class TestWhatActorsMayDo:
    def test_ids_and_random_numbers_are_the_same_each_time(self) -> None:
        async def draw(table: Any) -> tuple[str, float]:
            await write(table, str(uuid4()))
            return str(uuid4()), random.random()

        def make(world: World) -> list[Any]:
            table = pages(world)
            return [draw(table), draw(table)]

        seen = []
        explored = explore(make, invariant=lambda world: seen.append((sorted(stored(world)), world.returned)))
        assert (explored.schedules, explored.pruned) == (1, 1)
        world = replay(make, "B A")
        assert seen == [(sorted(stored(world)), world.returned)]
        assert len({*stored(world), *(each for each, _ in world.returned.values())}) == 4

    def test_the_sources_of_chance_are_given_back(self) -> None:
        random.seed(1)
        expected = random.random(), random.random()
        random.seed(1)
        first = random.random()
        source = os.urandom
        explore(two(visit))
        assert os.urandom is source
        assert (first, random.random()) == expected

    def test_an_actor_that_does_something_else_each_time_is_rejected(self) -> None:
        numbers: Iterator[int] = iter(range(1000))

        def make(world: World) -> list[Any]:
            table = pages(world)
            return [write(table, str(next(numbers)), str(next(numbers))) for _ in range(2)]

        with pytest.raises(BadInput, match=r"did something else when the schedule '.*' was repeated"):
            explore(make)

    def test_requests_in_a_task_are_rejected(self) -> None:
        async def at_once(table: Any) -> None:
            await asyncio.gather(write(table, "1"), write(table, "2"))

        with pytest.raises(Counterexample, match="use `gather` of the account"):
            explore(lambda world: [at_once(pages(world))])

    def test_what_waits_for_something_else_is_rejected(self) -> None:
        class Odd:
            def __await__(self) -> Iterator[str]:
                yield "odd"

        async def wait() -> None:
            await Odd()

        with pytest.raises(Counterexample, match="an actor may await only requests"):
            explore(lambda world: [wait()])

    def test_a_mere_pause_of_asyncio_is_no_step(self) -> None:
        async def pause(table: Any) -> None:
            await asyncio.sleep(0)
            await write(table, "1")

        assert explore(lambda world: [pause(pages(world))]).choices == 1

    def test_a_transaction_is_one_step(self) -> None:
        async def transact(table: Any) -> None:
            await table.submit_transaction(
                [("create", {"PartitionKey": "pages", "RowKey": row}) for row in ("home", "about")]
            )

        def make(world: World) -> list[Any]:
            table = pages(world)
            return [transact(table), write_if_new(table, "home")]

        with pytest.raises(Counterexample) as caught:
            explore(make, expected=Exception, invariant=lambda world: "about" in stored(world))
        assert caught.value.schedule == "B A"
        story = "transaction of 2: insert Pages('pages', 'home'), insert Pages('pages', 'about')"
        assert story in str(caught.value)

    def test_it_works_where_an_event_loop_runs_already(self) -> None:
        async def in_a_notebook() -> bool:
            return explore(two(visit_carefully), invariant=all_visits_count).exhaustive

        assert asyncio.run(in_a_notebook())

    def test_the_loop_that_runs_does_not_have_to_close_generators_of_actors(self) -> None:
        async def write_each(table: Any) -> AsyncGenerator[None, None]:
            for row in "12":
                yield await write(table, row)

        async def write_all(table: Any) -> None:
            async for _ in write_each(table):
                pass

        async def in_a_notebook() -> list[Any]:
            begun: list[Any] = []
            hooks = sys.get_asyncgen_hooks()
            sys.set_asyncgen_hooks(begun.append, hooks.finalizer)
            explore(lambda world: [write_all(pages(world))], crashes=1)
            assert sys.get_asyncgen_hooks().firstiter == begun.append
            return begun

        assert asyncio.run(in_a_notebook()) == []

    def test_actors_may_use_service_clients_and_plain_clients_of_the_sdk(self) -> None:
        async def through_service(world: World) -> int:
            service = world.storage.tables
            table = service.get_table_client("Pages")
            await write(table, "1")
            return len([entity async for entity in table.list_entities()])

        assert explore(lambda world: [through_service(world) for _ in [pages(world)]]).exhaustive


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (list, "it returned no actors"),
        (lambda: {"a b": ended()}, "schedules are written with the names of the actors"),
        (lambda: [nothing], "an actor is a coroutine"),
    ],
)
def test_what_is_no_actor_is_rejected(made: Any, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        explore(lambda world: made())


async def nothing() -> None: ...


def ended() -> Any:
    code = nothing()
    code.close()
    return code


def test_there_may_be_more_actors_than_letters() -> None:
    world = replay(lambda world: [nothing() for _ in range(28)], "")
    assert list(world.returned)[25:] == ["Z", "A1", "B1"]


@pytest.mark.parametrize(
    "bound", [{"crashes": -1}, {"lost_responses": -1}, {"preemptions": -1}, {"latency": -1}, {"steps": -1}]
)
def test_a_bound_below_zero_is_rejected(bound: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="must not be negative"):
        explore(two(visit), **bound)  # type: ignore[arg-type]


def test_a_stall_of_no_time_is_rejected() -> None:
    with pytest.raises(BadInput, match="must be above 0 seconds"):
        explore(two(visit), stalls=[0])


# Python prints the error of the thread, too
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_rejected_request_of_a_thread_ends_the_actor_that_started_it() -> None:
    def make(world: World) -> list[Any]:
        table = world.sync_table_client("Pages")
        world.run(world.table_client("Pages").create_table())

        def visit() -> None:
            thread = Thread(target=table.create_entity, args=({"PartitionKey": "docs", "RowKey": "home"},))
            thread.start()
            thread.join()

        return [visit]

    with pytest.raises(Counterexample, match="in a thread of its own"):
        explore(make)
