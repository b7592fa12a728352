"""Explore: time is virtual; sleepers wake in order, requests take time, and every actor may stall past a lease."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError

from support.explore_actors import KEYS, pages, stored, write
from tablepatterns_explore import Counterexample, World, explore, replay

LEASE = 60


async def sleep_and_write(world: World, table: Any, seconds: float, row: str) -> float:
    """Return after how many seconds it is done."""
    begun = world.storage.now()
    await world.storage.sleep(seconds)
    await write(table, row)
    return (world.storage.now() - begun).total_seconds()


def sleepers(*seconds: float) -> Callable[[World], list[Any]]:
    def make(world: World) -> list[Any]:
        table = pages(world)
        return [sleep_and_write(world, table, each, str(index)) for index, each in enumerate(seconds)]

    return make


def test_when_all_sleep_the_clock_moves_to_when_the_first_wakes() -> None:
    assert replay(sleepers(5), "").returned == {"A": 5}
    assert replay(sleepers(5, 3), "B").returned == {"A": 5, "B": 3}


def test_a_sleeper_may_wake_while_a_request_takes_long() -> None:
    ends = set()
    explore(sleepers(5, 3), invariant=lambda world: ends.add(tuple(world.returned.values())))
    assert ends == {(5, 3), (5, 5)}


def test_a_request_takes_no_longer_than_its_latency() -> None:
    def in_time(world: World) -> bool:
        return world.returned["B"] == 3

    assert explore(sleepers(5, 3), invariant=in_time, latency=1.9).exhaustive
    with pytest.raises(Counterexample) as caught:
        explore(sleepers(5, 3), invariant=in_time, latency=2)
    assert caught.value.schedule == "> A B"
    assert "2 s pass, until A can continue" in str(caught.value)


def test_a_sleeper_that_wakes_early_takes_the_turn_from_who_could_go_on() -> None:
    def in_time(world: World) -> bool:
        return world.returned["B"] == 3

    assert explore(sleepers(5, 3), invariant=in_time, preemptions=0).exhaustive
    with pytest.raises(Counterexample) as caught:
        explore(sleepers(5, 3), invariant=in_time, preemptions=1)
    assert caught.value.preemptions == 1


def test_those_who_wake_at_once_go_on_in_every_order() -> None:
    explored = explore(sleepers(3, 3))
    assert (explored.schedules, explored.pruned) == (1, 1)


def test_the_sdks_back_off_passes_in_the_worlds_time() -> None:
    def make(world: World) -> list[Any]:
        table = pages(world)
        world.engine.faults.busy(table="Pages", times=2)
        return [write(table, "1")]

    begun = replay(sleepers(0), "").storage.now()
    assert (replay(make, "").storage.now() - begun).total_seconds() == 1.6


def test_what_is_run_beforehand_passes_its_time_at_once() -> None:
    def make(world: World) -> list[Any]:
        world.run(world.storage.sleep(100))
        return sleepers(1)(world)

    assert replay(make, "").returned == {"A": 1}


async def work_alone(world: World, table: Any, name: str) -> None:
    """Acquire the lease if it is free, work, and release it."""
    lease = await table.get_entity(*KEYS.values())
    if lease["Until"] > world.storage.now():
        return
    unchanged = {"etag": lease.metadata["etag"], "match_condition": MatchConditions.IfNotModified}
    lease["Until"] = world.storage.now() + timedelta(seconds=LEASE)
    try:
        await table.update_entity(lease, mode="replace", **unchanged)
    except ResourceModifiedError:
        return
    await write(table, f"{name} begins")
    await table.delete_entity("pages", f"{name} begins")


def leaseholders(world: World) -> list[Any]:
    table = pages(world, {**KEYS, "Until": world.storage.now() - timedelta(seconds=1)})
    return [work_alone(world, table, "A"), work_alone(world, table, "B")]


def alone(world: World) -> bool:
    return sum(row.endswith("begins") for row in stored(world)) <= 1


def test_a_lease_keeps_others_out_while_it_lasts() -> None:
    assert explore(leaseholders, always=alone, crashes=1, stalls=[LEASE - 1]).exhaustive


def test_a_stall_past_the_lease_lets_two_in() -> None:
    with pytest.raises(Counterexample) as caught:
        explore(leaseholders, always=alone, stalls=[LEASE])
    assert f">{LEASE}" in caught.value.schedule.split()
    assert "every actor stalls for 60 s" in str(caught.value)
    with pytest.raises(Counterexample):
        replay(leaseholders, caught.value.schedule, always=alone)


def test_each_stall_comes_once_at_the_most() -> None:
    moments = set()

    def note(world: World) -> None:
        moments.add((world.storage.now() - begun).total_seconds())

    begun = replay(sleepers(0), "").storage.now()
    explore(sleepers(0), invariant=note, stalls=[1.5, 10])
    assert moments == {0, 1.5, 10, 11.5}


def test_messages_that_were_hidden_are_seen_again_after_a_stall() -> None:
    async def work(world: World) -> list[str]:
        queue = world.storage.queues.get_queue_client("work")
        return [message.content async for message in queue.receive_messages(visibility_timeout=30)]

    async def fill(world: World) -> None:
        queue = await world.storage.queues.create_queue("work")
        await queue.send_message("stock")

    def make(world: World) -> list[Any]:
        world.run(fill(world))
        return [work(world), work(world)]

    def once(world: World) -> bool:
        return sum(len(messages) for messages in world.returned.values()) <= 1

    assert explore(make, invariant=once, crashes=1).exhaustive
    with pytest.raises(Counterexample):
        explore(make, invariant=once, stalls=[31])
