"""Large values in every order of requests: writers, a reader and collections, crashes, lost responses and stalls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from support.employees import BY_ID
from support.guarantees import explore_guarantee
from support.large_staff import HOUR, JONES
from tablepatterns import EntitySet, LargeProperties, LargePropertyStore
from tablepatterns.errors import EntityAlreadyExists, EntityChanged, EntityNotFound
from tablepatterns.recipes.large_properties import large_properties
from tablepatterns.recipes.large_properties.large_values import Batch, CollectionReport
from tablepatterns_engine.blobs.listing import ListBlobsQuery
from tablepatterns_explore import Counterexample, World

TABLE, CONTAINER = "Staff", "photos"
RECIPE = "LargeProperties"
Make = Callable[[World], dict[str, Coroutine[Any, Any, Any]]]


def staff_of(world: World, kind: type[LargeProperties] = LargeProperties) -> Any:
    return EntitySet(world.storage, TABLE, BY_ID, mappings=[kind(["Photo"], container=CONTAINER, above=0)])


# -- what must hold


def blobs(world: World) -> set[str]:
    if not world.engine.blobs.containers.page()[0]:
        return set()
    return {blob.name for blob in world.engine.blobs.page(CONTAINER, ListBlobsQuery()).items}


def needed(world: World) -> set[str]:
    """Return the names of the blobs whose addresses the table holds."""
    rows = world.engine.tables.query(TABLE).entities
    return {row.properties["Photo"].split(f"/{CONTAINER}/")[1] for row in rows if "Photo" in row.properties}


def no_address_is_without_its_blob(world: World) -> None:
    assert needed(world) <= blobs(world), "an address without its blob"


def readers_saw_a_value_that_was_written(world: World) -> None:
    no_address_is_without_its_blob(world)
    seen = world.returned.get("reader")
    assert seen in (None, b"a", b"b", b"c"), f"the reader saw {seen!r}"


def the_last_one_told_is_there(world: World) -> None:
    readers_saw_a_value_that_was_written(world)
    returned = {world.returned[name] for name in ("b", "c") if name in world.returned}
    found = world.run(get(staff_of(world)))
    if returned and not world.crashed and not world.raised:
        assert found in returned, f"returned {returned}, and there is {found!r}"


def in_the_end_there_is_one_blob_for_each_address(world: World) -> None:
    the_last_one_told_is_there(world)
    for _ in range(3):
        world.engine.clock.advance(3600)
        world.run(LargePropertyStore(staff_of(world)).collect_orphans(grace=HOUR))
    assert blobs(world) == needed(world), "orphaned blobs"


# -- who acts


def of(value: bytes) -> dict[str, Any]:
    """Return a photo, and beside it in the entity what it must be."""
    return {"Photo": value, "Name": value.decode()}


async def get(staff: Any) -> bytes | None:
    found = await staff.get(**JONES)
    assert found is None or of(found["Photo"])["Name"] == found["Name"], "a photo that the entity does not reference"
    return None if found is None else found["Photo"]


async def replace(staff: Any, value: bytes) -> bytes:
    entity = await staff.get(**JONES)
    entity.update(of(value))
    await staff.replace(entity)
    return value


async def merge(staff: Any, value: bytes) -> bytes:
    await staff.merge(JONES, of(value), force=True)
    return value


async def insert(staff: Any, value: bytes) -> bytes:
    await staff.insert(JONES | of(value))
    return value


async def delete(staff: Any, _: bytes) -> None:
    await staff.delete(JONES, force=True)


async def collect(values: LargePropertyStore[Any], times: int = 2, grace: timedelta = HOUR) -> None:
    for _ in range(times):
        await values.collect_orphans(grace=grace)


async def collect_later(values: LargePropertyStore[Any], pause: float = 1) -> None:
    """Collect twice, with a pause in which every actor may stall."""
    await values.collect_orphans(grace=HOUR)
    await values.account.sleep(pause)
    await values.collect_orphans(grace=HOUR)


def actors(
    writers: dict[str, Any],
    *,
    reads: bool = False,
    collects: Callable[[LargePropertyStore[Any]], Any] | None = None,
    old: bool = True,
    stray: bool = False,
    kind: type[LargeProperties] = LargeProperties,
    keeper: type[LargePropertyStore[Any]] = LargePropertyStore,
) -> Make:
    """Return a function that makes writers of their own names, a reader and a collector.

    :param old: whether there is a photo `a`, older than the grace
    :param stray: whether an orphan of an earlier writer exists
    """

    def make(world: World) -> dict[str, Coroutine[Any, Any, Any]]:
        staff = staff_of(world, kind)
        world.prepare(staff.create_table())
        if old:
            plain = staff_of(world)
            world.prepare(insert(plain, b"z" if stray else b"a"))
            if stray:
                world.prepare(merge(plain, b"a"))
            world.engine.clock.advance(36_000)
        made = {name: write(staff, name.encode()) for name, write in writers.items()}
        if reads:
            made["reader"] = get(staff)
        if collects:
            made["collector"] = collects(keeper(staff))
        return made

    return make


def explored(make: Make, **options: Any) -> None:
    checks = {"always": no_address_is_without_its_blob, "invariant": in_the_end_there_is_one_blob_for_each_address}
    expected = (EntityChanged, EntityAlreadyExists, EntityNotFound)
    explore_guarantee(make, **(checks | {"expected": expected} | options))


# -- what holds


@pytest.mark.guide("G-247", "G-248", "G-249")
@pytest.mark.guarantee(RECIPE, "every address has its blob, after a crash and a lost response; orphans are collected")
@pytest.mark.parametrize("write", [replace, merge, delete], ids=lambda write: write.__name__)
def test_a_writer_may_crash_or_lose_a_response(write: Any) -> None:
    explored(actors({"b": write}, stray=True), crashes=1, lost_responses=1)


@pytest.mark.guide("G-248")
@pytest.mark.guarantee(RECIPE, "of two concurrent inserts one is rejected, and its blob is collected")
def test_two_insert() -> None:
    explored(actors({"b": insert, "c": insert}, old=False), crashes=1, preemptions=2)


@pytest.mark.guarantee(RECIPE, "the last acknowledged value is stored")
def test_two_write() -> None:
    explored(actors({"b": replace, "c": merge}), crashes=1, preemptions=2)


@pytest.mark.guide("G-248", "G-249")
@pytest.mark.guarantee(
    "LargePropertyStore", "a reader finds the blob of every address that it read, during writes and collections"
)
def test_a_reader_runs_during_writes_and_collections() -> None:
    make = actors({"b": merge}, reads=True, collects=collect)
    explored(make, invariant=in_the_end_there_is_one_blob_for_each_address, preemptions=2)


@pytest.mark.guarantee("LargePropertyStore", "the same holds if all stall at any point for less than the grace period")
def test_a_reader_a_writer_and_collections_stall() -> None:
    make = actors({"b": merge}, reads=True, collects=collect_later)
    explored(make, stalls=[3500], preemptions=1, invariant=the_last_one_told_is_there)


@pytest.mark.guarantee(
    "LargePropertyStore", "two concurrent collections delete no needed blob, even if one crashes at any point"
)
def test_two_collections_run_at_once_and_one_may_crash() -> None:
    def make(world: World) -> dict[str, Any]:
        actors({}, stray=True)(world)
        world.run(collect(LargePropertyStore(staff_of(world)), 1))
        world.engine.clock.advance(3600)
        return {name: collect(LargePropertyStore(staff_of(world)), 1) for name in ("one", "two")}

    explored(make, crashes=1, preemptions=2)


# -- what goes wrong without one of the steps, or past the limits


class RowFirst(LargeProperties):
    """Writes the address first, and the blob when the set is asked again."""

    async def encode(self, fields: Any, place: Any) -> Any:
        encoded = await super().encode(fields, place)
        return large_properties.Encoded(encoded.fields)


class NoMark(LargePropertyStore[Any]):
    """Deletes unused blobs as soon as they are old."""

    async def _collect(self, batch: Batch, since: Any, pool: Any) -> CollectionReport:
        needed = await self._referenced_blobs(batch)
        for each in batch.blobs:
            if each.since <= since and str(each.name) not in needed:
                await self._delete(each)
        return CollectionReport()


class NoLook(LargePropertyStore[Any]):
    """Deletes blobs that were marked long ago without checking their use again."""

    async def _referenced_blobs(self, batch: Batch) -> frozenset[str]:
        return frozenset()


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (actors({"b": merge}, kind=RowFirst), {}),
        (actors({"b": merge}, reads=True, collects=collect, keeper=NoMark), {}),
        (actors({"b": merge}, reads=True, collects=lambda values: collect(values, 2, timedelta(0))), {}),
        (actors({"b": merge}, collects=lambda values: collect(values, 2, timedelta(0))), {}),
        (actors({}, collects=lambda values: collect_later(values, 3600), keeper=NoLook), {}),
        (actors({"b": merge}, reads=True, collects=collect_later), {"stalls": [3600], "preemptions": 1}),
    ],
    ids=[
        "the row first",
        "no mark",
        "no grace for a reader",
        "no grace for a writer",
        "no look at the rows",
        "a stall as long as the grace",
    ],
)
@pytest.mark.few(3)
def test_without_one_of_the_steps_it_fails(make: Make, bound: dict[str, Any]) -> None:
    with pytest.raises(Counterexample, match=r"an address without its blob|LargeValueMissing"):
        explored(make, **bound)


def test_overwriting_a_blob_returns_a_value_that_was_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    class Same:
        hex = "0" * 32

    monkeypatch.setattr(large_properties, "uuid4", Same)

    with pytest.raises(Counterexample, match="a photo that the entity does not reference"):
        explored(actors({"b": merge}, reads=True))
