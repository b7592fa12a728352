"""Wide entities in every order of requests: two writers, readers, a sweep, crashes and lost responses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import Entity, Key, WideEntity
from tablepatterns.entity_set.range_query import one_pass
from tablepatterns.errors import EntityAlreadyExists, EntityChanged, EntityNotFound
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.tables.service import Tables
from tablepatterns_explore import World
from tablepatterns_explore.explore import Counterexample

JONES = {"Employee": "000223"}
TABLE = "Wide"
LARGE = {"part_bytes": 60, "transaction_bytes": 1}
"""Each property is a part of its own, and each part a transaction: what a large value does, without its bytes."""
SMALL = {"part_bytes": 60}


def value(letter: str) -> dict[str, Any]:
    return JONES | {f"P{number}": letter * 20 for number in range(2)}


def letter_of(properties: dict[str, Any]) -> str:
    """Return the letter that a value is made of, and fail for a mix."""
    letters = {properties[name][0] for name in ("P0", "P1")}
    assert len(letters) == 1, f"a mix of {letters}"
    return letters.pop()


def rows_of(world: World) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    page = world.engine.tables.query(TABLE)
    while True:
        rows |= {row.row_key: dict(row.properties) for row in page.entities}
        if page.next is None:
            return rows
        page = world.engine.tables.query(TABLE, start=page.next)


def now(world: World) -> str:
    """Return the letter of the value that the account holds, read as the head lists; nothing where there is none."""
    rows = rows_of(world)
    if "01" not in rows:
        assert all("_" in key for key in rows), "parts without a head"
        return ""
    count, _, generation = rows["01"]["WideParts"].partition(" ")
    second = f"02_{generation}" if generation else "02"
    assert count == "2"
    assert second in rows, "a part is missing"
    return letter_of(rows["01"] | rows[second])


def no_reader_sees_a_mix(world: World) -> None:
    now(world)
    for name, seen in world.returned.items():
        assert name != "reader" or not seen or letter_of(seen)


def the_last_one_reported_is_there(world: World) -> None:
    """Without a crash, the value is one whose write succeeded."""
    no_reader_sees_a_mix(world)
    if not world.crashed:
        assert now(world) in {letter_of(world.returned[name]) for name in ("b", "c") if world.returned.get(name)}


def nothing_is_left(world: World) -> None:
    """Without a crash, there are the two rows of one value."""
    assert world.crashed or len(rows_of(world)) == 2, "rows of no value"


async def replace(wide: Any, letter: str) -> dict[str, Any]:
    entity = await wide.get(**JONES)
    entity.update(value(letter))
    return dict(await wide.replace(entity))


async def insert(wide: Any, letter: str) -> dict[str, Any]:
    return dict(await wide.insert(value(letter)))


async def merge(wide: Any, letter: str) -> dict[str, Any]:
    return dict(await wide.merge(await wide.get(**JONES), {"P0": letter * 20, "P1": letter * 20}))


async def get(wide: Any) -> dict[str, Any] | None:
    found = await wide.get(**JONES)
    return dict(found) if found else None


Make = Callable[[World], dict[str, Any]]


def actors(
    writes: dict[str, Any], options: dict[str, int], *, kind: Any = WideEntity, old: bool = True, in_pages: bool = False
) -> Make:
    """Return what makes writers of one value by letter, and others by name: a reader, a sweeper.

    :param old: whether there is a value before
    :param in_pages: whether every row comes in a page of its own
    """

    def make(world: World) -> dict[str, Any]:
        if in_pages:
            world.engine.tables = Tables(world.engine.clock, page_examines=1)
        wide = kind(world.storage, TABLE, Key("{Employee}", ""), **options)
        world.prepare(wide.table.create())
        if old:
            world.prepare(wide.insert(value("a")))
        own = {"reader": lambda wide, _: get(wide), "sweeper": lambda wide, _: wide.sweep(**JONES)}
        return {name: own.get(name, write)(wide, name) for name, write in writes.items()}

    return make


def explored(make: Make, **options: Any) -> None:
    checks = {"always": no_reader_sees_a_mix, "invariant": the_last_one_reported_is_there}
    explore_guarantee(make, **(checks | {"expected": (EntityChanged, EntityAlreadyExists)} | options))


TWO_REPLACE = {"b": replace, "c": replace}
TWO_INSERT = {"b": insert, "c": insert}
WHOLE = "a reader sees one complete value, after any crash or lost race"


@pytest.mark.guarantee("WideEntity", WHOLE)
def test_two_write_a_large_value_and_one_may_crash() -> None:
    explored(actors(TWO_REPLACE, LARGE), crashes=1, preemptions=2)


@pytest.mark.guarantee("WideEntity", "a large write whose response was lost is recognized as its own")
def test_two_write_a_large_value_and_a_response_is_lost() -> None:
    explored(actors(TWO_REPLACE, LARGE), lost_responses=1, preemptions=1)


@pytest.mark.guarantee("WideEntity", WHOLE)
@pytest.mark.parametrize("write", [replace, merge])
def test_two_write_all_parts_in_one_transaction(write: Any) -> None:
    explored(actors({"b": write, "c": write}, SMALL), lost_responses=1, preemptions=2)


@pytest.mark.guarantee(
    "WideEntity", "of two concurrent inserts of a large value one is rejected, and its rows are removed"
)
def test_two_insert_a_large_value() -> None:
    explored(actors(TWO_INSERT, LARGE, old=False), crashes=1)
    explored(actors(TWO_INSERT, LARGE, old=False), invariant=nothing_is_left)


@pytest.mark.guarantee("WideEntity", "a writer that loses a race removes the rows of its value")
def test_a_writer_that_loses_a_race_removes_its_rows() -> None:
    explored(actors(TWO_REPLACE, LARGE), invariant=nothing_is_left)


@pytest.mark.guarantee("WideEntity", "a sweep never removes a row of a stored value")
def test_a_sweep_runs_while_large_values_are_written() -> None:
    explored(actors(TWO_REPLACE | {"sweeper": None}, LARGE), preemptions=1, invariant=no_reader_sees_a_mix)
    explored(actors({"b": insert, "sweeper": None}, LARGE, old=False), invariant=no_reader_sees_a_mix)


@pytest.mark.guarantee("WideEntity", "a read in several pages is a snapshot")
@pytest.mark.parametrize("options", [SMALL, LARGE])
def test_a_read_in_several_pages_while_a_value_is_written(options: dict[str, int]) -> None:
    explored(
        actors({"b": replace, "reader": None}, options, in_pages=True), preemptions=2, invariant=no_reader_sees_a_mix
    )


# -- what happens without one of the steps


class HeadFirst(WideEntity[Any]):
    """Turns the head to a generation, and writes its rows then."""

    async def _publish(self, old: Any, parts: Any, retry_for: float) -> Any:
        generation = "f" * 32
        flip, *others = old.publication(parts, generation)
        answers = await self.table.submit(flip, *(each for each in others if each.kind == "delete"))
        answers += await self.table.submit(*old.unpublished(parts, generation))
        return old.after_write(parts, generation, answers)


class Unchecked(WideEntity[Any]):
    """Publishes a generation without a look at its rows."""

    async def _submit(self, old: Any, writes: Any) -> Any:
        flip, *others = writes
        return [*await self.table.submit(flip), *(Entity(each.entity) for each in others)]


class Careless(WideEntity[Any]):
    """Sweeps rows away, whatever became of them since they were seen."""

    async def _discard(self, old: Any, strays: Any) -> int:
        for stray in strays:
            with suppress(EntityNotFound):
                await self.table.submit(Operation.delete(old.partition_key, stray.row_key, ANY))
        return 0


class Hasty(WideEntity[Any]):
    """Takes the pages of a query for one instant."""

    async def _rows_at_once(self, where: Any, select: Any) -> Any:
        rows, _ = await one_pass(self.table, where, select)
        return rows


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (actors({"b": replace, "reader": None}, LARGE, kind=HeadFirst), {}),
        (actors({"b": replace}, LARGE, kind=HeadFirst), {"crashes": 1}),
        (actors({"b": insert, "sweeper": None}, LARGE, kind=Unchecked, old=False), {}),
        (actors({"b": replace, "sweeper": None}, LARGE, kind=Careless), {}),
        (actors({"b": replace, "reader": None}, SMALL, kind=Hasty, in_pages=True), {}),
    ],
    ids=["head first", "head first, and death", "unchecked rows", "careless sweeper", "hasty reader"],
)
def test_without_one_of_the_steps_it_fails(make: Make, bound: dict[str, Any]) -> None:
    with pytest.raises(Counterexample, match=r"a mix|a part is missing|is missing or does not match"):
        explored(make, invariant=no_reader_sees_a_mix, **bound)
