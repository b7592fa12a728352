"""Partition spread in every order of requests: two programs with different numbers of buckets."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import Entity, Key, PartitionSpread
from tablepatterns.errors import BadDesign
from tablepatterns.recipe import Account
from tablepatterns.recipes.partition_spread.partition_spread import Buckets, SpreadTable
from tablepatterns.sdk.operation import Operation
from tablepatterns.sdk.table import Table
from tablepatterns_explore import Counterexample, World

KEY = Key("log", "{EventId:06d}")


def two_with_other_buckets(world: World, late: bool = False) -> dict[str, Any]:
    """Each writes an event; the table is not there yet."""
    actors: dict[str, Any] = {}
    for name, buckets, number in (("four", 4, 1), ("nine", 9, 2)):
        spread: PartitionSpread[Account] = PartitionSpread(world.storage, "Events", KEY, buckets=buckets)
        if late:
            spread.entity_set.table = WritesFirst(spread.entity_set.table)
        actors[name] = spread.insert({"EventId": number})
    return actors


class WritesFirst(Table):
    """It writes the entities before it writes down how they are spread."""

    def __init__(self, spread: Any) -> None:
        super().__init__(spread._client, spread._hook, spread._requests)
        self._spread: SpreadTable = spread

    async def submit(self, *operations: Operation) -> list[Entity]:
        written = await super().submit(*operations)
        await self._spread.declare()
        return written


def all_are_spread_as_it_is_written_down(world: World) -> None:
    if "Events" not in world.engine.tables.names()[0]:
        return
    rows = world.engine.tables.query("Events").entities
    layouts = [row.properties for row in rows if row.partition_key == "_spread"]
    events = {int(row.row_key): int(row.partition_key[:2]) for row in rows if row.partition_key != "_spread"}
    assert {entity["EventId"] for entity in world.returned.values()} <= set(events)
    if events:
        (layout,) = layouts
        buckets = Buckets(KEY, layout["Buckets"], ["EventId"])
        assert events == {number: buckets.of({"EventId": number}) for number in events}, "an event in the wrong bucket"


@pytest.mark.guarantee("PartitionSpread", "every entity is in the bucket in which all readers look for it")
def test_of_two_different_bucket_counts_one_is_rejected() -> None:
    for faults in ({"crashes": 1}, {"lost_responses": 1}):
        result = explore_guarantee(
            two_with_other_buckets,
            always=all_are_spread_as_it_is_written_down,
            expected=BadDesign,
            preemptions=1,
            **faults,
        )
        assert result.states > 15


def test_writing_before_the_bucket_count_is_stored_fails() -> None:
    with pytest.raises(Counterexample):
        explore_guarantee(
            partial(two_with_other_buckets, late=True), always=all_are_spread_as_it_is_written_down, expected=BadDesign
        )


@pytest.mark.guarantee("PartitionSpread", "buckets that are read in parallel read the number of buckets once")
def test_buckets_read_in_parallel_read_the_bucket_count_once() -> None:
    def a_reader(world: World) -> list[Any]:
        writer, reader = (PartitionSpread(world.storage, "Events", KEY, buckets=4) for _ in range(2))
        world.run(writer.insert({"EventId": 1}))
        world.engine.ledger.clear()
        return [reader.take(3)]

    def one_request_more_than_buckets(world: World) -> bool:
        return world.engine.ledger.totals.requests == 1 + 4

    explore_guarantee(a_reader, invariant=one_request_more_than_buckets)
