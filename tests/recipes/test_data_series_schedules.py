"""Data series in every order of requests: writers that add and set, crashes and lost responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import DataSeries, Key
from tablepatterns.errors import OutcomeUnknown
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_explore import World
from tablepatterns_explore.explore import Counterexample

JONES = {"Employee": "000223"}
Make = Callable[[World], dict[str, Any]]


class Unconditional(DataSeries[Any, int]):
    """Adds without a condition on the ETag."""

    async def _add(self, slot: int) -> int:
        value = ((await self.read([slot], **JONES))[0] or 0) + 1
        await self.table.submit(Operation.merge({"PartitionKey": "000223", "RowKey": "", "Hour3": value}, ANY))
        return value


def adding(*others: str, first: bool = False) -> Make:
    """Return what makes two who add 1 to a point, and one who sets another.

    :param first: whether they are the first, so that there is no entity yet
    """

    def make(world: World) -> dict[str, Any]:
        series = DataSeries(world.storage, "Counts", Key("{Employee}", ""), 4, prefix="Hour", value_type=int)
        world.run(series.table.create() if first else series.set(3, 0, **JONES))
        actors = {name: series.add(3, 1, **JONES) for name in ("ann", "bob")}
        return actors | {name: series.set(0, 7, **JONES) for name in others}

    return make


def points(world: World) -> dict[str, Any]:
    rows = world.engine.tables.query("Counts").entities
    return dict(rows[0].properties) if rows else {}


def every_count_that_was_reported_is_there_once(world: World) -> None:
    count = points(world).get("Hour3", 0)
    reported = sum(name in world.returned for name in ("ann", "bob"))
    in_doubt = sum(name in world.crashed or name in world.raised for name in ("ann", "bob"))
    assert count >= reported, "a count was lost"
    assert count <= reported + in_doubt, "a count was made twice"
    assert points(world).get("Hour0") == 7 or "set" not in world.returned


def explored(make: Make, **options: Any) -> None:
    explore_guarantee(make, invariant=every_count_that_was_reported_is_there_once, **options)


@pytest.mark.guide("G-229")
@pytest.mark.guarantee("DataSeries", "no increment is lost or counted twice, after any crash")
@pytest.mark.parametrize("first", [False, True])
def test_two_writers_add_and_one_may_crash(first: bool) -> None:
    explored(adding(first=first), crashes=1)


@pytest.mark.guide("G-229")
@pytest.mark.guarantee("DataSeries", "an increment whose response was lost is counted once")
def test_two_writers_add_and_a_response_is_lost() -> None:
    explored(adding(), lost_responses=1, preemptions=2)


@pytest.mark.guarantee("DataSeries", "setting a point loses no increment, and an unknown outcome is raised")
def test_two_writers_add_and_set_and_a_response_is_lost() -> None:
    explored(adding("set"), lost_responses=1, preemptions=1, expected=OutcomeUnknown)


def test_without_the_condition_an_increment_is_lost() -> None:
    def make(world: World) -> dict[str, Any]:
        series = Unconditional(world.storage, "Counts", Key("{Employee}", ""), 4, prefix="Hour", value_type=int)
        world.run(series.set(3, 0, **JONES))
        return {name: series._add(3) for name in ("ann", "bob")}

    with pytest.raises(Counterexample, match="a count was lost"):
        explored(make)
