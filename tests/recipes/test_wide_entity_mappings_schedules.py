"""Wide entities with large values in every order of requests: writers, a reader and collections, with crashes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import Key, LargeProperties, LargePropertyStore, WideEntity
from tablepatterns.entity_set.mapping import Encoded
from tablepatterns.errors import EntityAlreadyExists, EntityChanged
from tablepatterns.recipes.wide_entity import wide_entity
from tablepatterns_engine.blobs.listing import ListBlobsQuery
from tablepatterns_engine.tables.service import Tables
from tablepatterns_explore import Counterexample, World

JONES = {"Employee": "000223"}
TABLE, CONTAINER = "Wide", "photos"
HOUR = timedelta(hours=1)
LARGE = {"part_bytes": 60, "transaction_bytes": 1}
"""Each property is a part of its own, and each part a transaction: what a large value does, without its bytes."""
SMALL = {"part_bytes": 60}
LAST_GENERATION = UUID(int=2**128 - 1)
Make = Callable[[World], dict[str, Coroutine[Any, Any, Any]]]


def value(letter: str) -> dict[str, Any]:
    return {"Name": letter * 20, "Notes": letter * 20, "Photo": letter.encode() * 20}


def wide_of(world: World, options: dict[str, int], kind: type[LargeProperties] = LargeProperties) -> Any:
    mappings = [kind(["Photo"], container=CONTAINER, above=0)]
    return WideEntity(world.storage, TABLE, Key("{Employee}", ""), mappings=mappings, **options)


# -- what must hold


def blobs(world: World) -> set[str]:
    if not world.engine.blobs.containers.page()[0]:
        return set()
    return {blob.name for blob in world.engine.blobs.page(CONTAINER, ListBlobsQuery()).items}


def needed(world: World) -> set[str]:
    """Return the names of the blobs whose addresses some row holds."""
    found, start = set[str](), None
    while True:
        page = world.engine.tables.query(TABLE, start=start) if start else world.engine.tables.query(TABLE)
        found |= {
            row.properties["Photo"].split(f"/{CONTAINER}/")[1] for row in page.entities if "Photo" in row.properties
        }
        if page.next is None:
            return found
        start = page.next


def no_address_is_without_its_blob(world: World) -> None:
    assert needed(world) <= blobs(world), "an address without its blob"


def letter_of(seen: dict[str, Any]) -> str:
    letters = {seen["Name"][0], seen["Notes"][0], seen["Photo"].decode()[0]}
    assert len(letters) == 1, f"a mix of {letters}"
    return letters.pop()


def readers_saw_a_whole_value(world: World) -> None:
    no_address_is_without_its_blob(world)
    if "reader" in world.returned:
        letter_of(world.returned["reader"])


def the_last_one_told_is_there(world: World) -> None:
    readers_saw_a_whole_value(world)
    returned = {letter_of(world.returned[name]) for name in ("b", "c") if name in world.returned}
    found = letter_of(world.run(get(wide_of(world, SMALL))))
    assert world.crashed or not returned or found in returned, f"returned {returned}, and there is {found!r}"


def in_the_end_there_is_one_blob_for_each_address(world: World) -> None:
    the_last_one_told_is_there(world)
    wide = wide_of(world, SMALL)
    world.run(wide.sweep(**JONES))
    for _ in range(3):
        world.engine.clock.advance(3600)
        world.run(LargePropertyStore(wide).collect_orphans(grace=HOUR))
    assert blobs(world) == needed(world), "orphaned blobs"
    assert len(blobs(world)) == 1


# -- who acts


async def get(wide: Any) -> dict[str, Any]:
    return dict(await wide.get(**JONES))


async def replace(wide: Any, letter: str) -> dict[str, Any]:
    entity = await wide.get(**JONES)
    entity.update(value(letter))
    return dict(await wide.replace(entity))


async def merge(wide: Any, letter: str) -> dict[str, Any]:
    return dict(await wide.merge(await wide.get(**JONES), value(letter)))


async def rename(wide: Any, _: str) -> None:
    """Write all rows under a new generation, the address of the photo as it is."""
    await wide.merge(await wide.get(**JONES), {"Name": "a" * 21, "Notes": "a" * 21})


def collect_by(kind: type[LargePropertyStore[Any]]) -> Callable[[Any], Any]:
    return lambda wide: kind(wide).collect_orphans(grace=HOUR)


def actors(
    writers: dict[str, Any],
    options: dict[str, int],
    *,
    others: dict[str, Callable[[Any], Any]] | None = None,
    kind: type[LargeProperties] = LargeProperties,
    is_marked: bool = False,
) -> Make:
    """Return what makes writers, who write their own letters, and others by name.

    :param is_marked: whether the photo was taken for an orphan long ago, and every row comes in a page of its own
    """

    def make(world: World) -> dict[str, Coroutine[Any, Any, Any]]:
        if is_marked:
            world.engine.tables = Tables(world.engine.clock, page_examines=1)
        plain = wide_of(world, options)
        # Every later generation sorts before this one, so that an address moves to where a query has been
        with patch.object(wide_entity, "uuid4", lambda: LAST_GENERATION):
            world.prepare(plain.insert(JONES | value("a")))
        if is_marked:
            (photo,) = blobs(world)
            world.prepare(world.storage.container(CONTAINER).upload(f"{photo}.orphan", b""))
        world.engine.clock.advance(36_000)
        wide = wide_of(world, options, kind)
        made = {name: write(wide, name) for name, write in writers.items()}
        return made | {name: act(wide) for name, act in (others or {}).items()}

    return make


def explored(make: Make, **options: Any) -> None:
    checks = {"always": no_address_is_without_its_blob, "invariant": in_the_end_there_is_one_blob_for_each_address}
    explore_guarantee(make, **(checks | {"expected": (EntityChanged, EntityAlreadyExists)} | options))


# -- what holds


ADDRESS = "every address in any row has its blob, after a crash or a lost response; orphans are collected"


@pytest.mark.guide("G-247", "G-248", "G-249")
@pytest.mark.guarantee("WideEntity", ADDRESS)
@pytest.mark.parametrize(("write", "options"), [(replace, LARGE), (merge, SMALL)], ids=["replace", "merge"])
def test_a_writer_of_a_large_value_may_crash_or_lose_a_response(write: Any, options: dict[str, int]) -> None:
    explored(actors({"b": write}, options), crashes=1, lost_responses=1)


@pytest.mark.guarantee("WideEntity", ADDRESS)
def test_two_write_large_values_and_one_may_crash() -> None:
    make = actors({"b": replace, "c": merge}, SMALL)
    explored(make, invariant=the_last_one_told_is_there, crashes=1, preemptions=1)


@pytest.mark.guarantee("WideEntity", "a reader finds the large values of the rows that it read")
def test_a_reader_of_a_large_value_runs_during_a_write_and_a_collection() -> None:
    others = {"reader": get, "collector": collect_by(LargePropertyStore)}
    explored(actors({"b": replace}, LARGE, others=others), invariant=the_last_one_told_is_there, preemptions=1)


@pytest.mark.guarantee("LargePropertyStore", "an address that moves to another row of a wide entity is found")
def test_an_address_that_moves_while_the_rows_are_read() -> None:
    make = actors({"b": rename}, LARGE, others={"collector": collect_by(LargePropertyStore)}, is_marked=True)
    explored(make, invariant=no_address_is_without_its_blob, preemptions=2)


# -- what goes wrong without one of the steps


class RowFirst(LargeProperties):
    """Writes the address first, and never comes to the blob."""

    async def encode(self, fields: Any, place: Any) -> Any:
        return Encoded((await super().encode(fields, place)).fields)


class OneLook(LargePropertyStore[Any]):
    """Takes the rows of a query for those of one instant."""

    async def _blobs_moved(self, unseen: Any) -> set[str]:
        return set()


@pytest.mark.parametrize(
    "make",
    [
        actors({"b": replace}, LARGE, kind=RowFirst),
        actors({"b": rename}, LARGE, others={"collector": collect_by(OneLook)}, is_marked=True),
    ],
    ids=["the rows first", "one look"],
)
def test_without_one_of_the_steps_a_large_value_is_lost(make: Make) -> None:
    with pytest.raises(Counterexample, match="an address without its blob"):
        explored(make, invariant=no_address_is_without_its_blob, preemptions=2)
