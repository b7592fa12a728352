"""Period tables in every order of requests: two first writers, and a late writer while the table is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from support.guarantees import explore_guarantee, replay_guarantee
from support.logins import BY_MOMENT, DAY, login, logs_of
from tablepatterns import EntitySet, Key, Period, PeriodTables
from tablepatterns.errors import PeriodExpired, TableBeingDeleted
from tablepatterns.recipe import Account
from tablepatterns.sdk.operation import Operation
from tablepatterns_explore import Counterexample, World


def amounts_of(world: World, label: str) -> list[int]:
    """Return what the table of a period holds; one that is not there holds nothing."""
    if f"Logins{label}" not in world.engine.tables.names()[0]:
        return []
    return [entity.properties["Amount"] for entity in world.engine.tables.query(f"Logins{label}").entities]


# -- two writers make the same table


def two_first_writers(world: World) -> list[Any]:
    logs = logs_of(world.storage, "Logins")
    return [logs.insert(login(world.storage.now(), Amount=amount)) for amount in (1, 2)]


def every_entity_is_there_once(world: World) -> None:
    stored = amounts_of(world, "20140822")
    assert {entity["Amount"] for entity in world.returned.values()} <= set(stored)
    assert len(set(stored)) == len(stored)


@pytest.mark.guide("G-219")
@pytest.mark.guarantee("PeriodTables", "two first writers of a period create one table and lose no entity")
def test_two_first_writers_of_a_period_lose_nothing() -> None:
    for faults in ({"crashes": 1}, {"lost_responses": 1}):
        result = explore_guarantee(two_first_writers, always=every_entity_is_there_once, preemptions=1, **faults)
        assert result.states > 10


# -- a straggler, while the period is over and dropped by two at once

KEPT = timedelta(hours=2)
OVER = 3 * 3600
"""After so many seconds the first hour has expired."""
LATE: Any = {"expected": (PeriodExpired, TableBeingDeleted), "latency": 4 * 3600}
"""A request may take longer than that."""


class Unchecked(PeriodTables[Account, EntitySet[Account]]):
    """It writes to a period without looking at the clock."""

    def _check_write(self, start: datetime, key: Key, operations: Sequence[Operation]) -> None:
        pass


def hourly(world: World, kind: type[PeriodTables[Account, EntitySet[Account]]] = PeriodTables) -> Any:
    """Return sign-ins with a table per hour, which are kept for two; a name is not free before 40 seconds."""
    world.engine.deletion_seconds = 40
    make = partial(EntitySet[Account], key=BY_MOMENT)
    return kind(world.storage, "Logins", Period.HOUR, factory=lambda on, table: make(on, table), retention=KEPT)


def straggler_and_two_droppers(
    world: World, kind: type[PeriodTables[Account, EntitySet[Account]]] = PeriodTables
) -> dict[str, Any]:
    """The table is there. It is dropped by two: when it has just expired, and when its name is free again."""
    logins, begun = hourly(world, kind), world.storage.now()
    world.run(logins.insert(login(begun, Amount=1)))
    straggler = logins.insert(login(begun + timedelta(minutes=1), Amount=2))
    return {"straggler": straggler, "dropper": drop_in(world, OVER), "another": drop_in(world, OVER + 60)}


async def drop_in(world: World, seconds: float) -> list[str]:
    await world.storage.sleep(seconds)
    dropped: list[str] = await hourly(world).drop_expired()
    return dropped


def none_that_was_dropped_is_there(world: World) -> None:
    dropped = {name for names in (world.returned.get("dropper"), world.returned.get("another")) for name in names or ()}
    assert not dropped.intersection(world.engine.tables.names()[0]), "a table that was dropped is there again"


@pytest.mark.guide("G-220")
@pytest.mark.guarantee("PeriodTables", "a dropped table is not created again by a late writer")
def test_a_late_writer_does_not_recreate_a_dropped_table() -> None:
    result = explore_guarantee(
        straggler_and_two_droppers,
        always=none_that_was_dropped_is_there,
        crashes=1,
        preemptions=2,
        **LATE,
    )
    assert result.states > 30


def test_a_writer_that_ignores_the_clock_fails() -> None:
    with pytest.raises(Counterexample, match="a table that was dropped is there again"):
        explore_guarantee(
            partial(straggler_and_two_droppers, kind=Unchecked),
            always=none_that_was_dropped_is_there,
            **LATE,
        )


# -- what the clock cannot prevent: the making of a table is under way while another makes it, and it is dropped


def two_stragglers_and_a_dropper(world: World) -> dict[str, Any]:
    """The table is not there yet."""
    logins, begun = hourly(world), world.storage.now()
    writers = {name: logins.insert(login(begun, user=name, Amount=1)) for name in ("ann", "bob")}
    return {**writers, "dropper": drop_in(world, OVER), "waiter": world.storage.sleep(OVER + 60)}


def nothing_expired_is_read_and_one_more_call_drops_it(world: World) -> None:
    logins = hourly(world)
    now = world.storage.now()
    for user in ("ann", "bob"):
        found = world.run(all_of(logins.range(now - 2 * DAY, User=user)))
        assert all(logins.is_kept(entity["At"]) for entity in found)
    world.stamps.advance(60)
    world.run(logins.drop_expired())
    left = [logins.period_of(name) for name in world.engine.tables.names()[0]]
    assert all(logins.is_kept(start) for start in left)


async def all_of(found: Any) -> list[Any]:
    return [entity async for entity in found]


@pytest.mark.guarantee(
    "PeriodTables", "a table created again by a stalled write is never read, and the next call drops it"
)
def test_a_table_recreated_by_a_stalled_write_is_dropped_by_the_next_call() -> None:
    made_again, expected = "ann bob > bob bob dropper dropper > ann", LATE["expected"]
    with pytest.raises(Counterexample, match="is there again"):
        replay_guarantee(
            two_stragglers_and_a_dropper, made_again, always=none_that_was_dropped_is_there, expected=expected
        )
    holds = nothing_expired_is_read_and_one_more_call_drops_it
    replay_guarantee(two_stragglers_and_a_dropper, made_again, invariant=holds, expected=expected)
    dropped_on_the_way = "ann > ann dropper dropper > ann"
    world = replay_guarantee(two_stragglers_and_a_dropper, dropped_on_the_way, invariant=holds, expected=expected)
    assert isinstance(world.raised["ann"], PeriodExpired)
    result = explore_guarantee(two_stragglers_and_a_dropper, invariant=holds, preemptions=2, **LATE)
    assert result.states > 30
