"""Archive in every order of requests: two workers and a writer, crashes, lost responses and expired leases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from support import archive_targets as archives_stepped
from support.archive_moves import ID
from support.archive_targets import InBlobs, InTable, Place, ages
from support.guarantees import explore_guarantee
from tablepatterns.errors import EntityNotFound, OutcomeUnknown
from tablepatterns.messages.lease import Lease
from tablepatterns.recipes.archive import archive as recipe
from tablepatterns.recipes.archive.archive import Move
from tablepatterns.recipes.archive.stores import BlobArchive, Keys, Properties, Snapshot
from tablepatterns.recipes.worker import Worker
from tablepatterns.retry import Overtaken
from tablepatterns.typed_json import encoded
from tablepatterns_explore import Counterexample, World

Make = Callable[[Place, World], dict[str, Any]]
OVER = 31
"""After so many seconds a lease has run out."""


def moving(*asked: str, workers: tuple[str, ...] = ("ann", "bob"), writer: bool = True) -> Make:
    """Return what makes two workers, and a writer, after so many moves were asked for."""

    def make(to: Place, world: World) -> dict[str, Any]:
        to.prepare(world)
        archive = to.archive(world)
        world.prepare(prepare(archive, asked))
        actors = {name: Worker(world.storage, [archive]).run_once() for name in workers}
        return actors | ({"writer": archive.entity_set.update(birthday, **ID)} if writer else {})

    return make


async def prepare(archive: Any, asked: tuple[str, ...]) -> None:
    await archive.entity_set.insert({**ID, "Age": 0})
    for word in asked:
        await getattr(archive, word)(ID)


def birthday(employee: Any) -> None:
    employee["Age"] += 1


def everywhere(to: Place, world: World) -> list[int]:
    return ages(world, "Current") + to.ages(world)


def is_somewhere(to: Place, world: World) -> None:
    assert everywhere(to, world), "the entity is in neither place"


def finish_all(to: Place, world: World) -> None:
    """Let a worker that nothing happens to come when all leases are over."""
    world.run(world.storage.sleep(3600))
    world.run(Worker(world.storage, [to.archive(world)]).drain())
    assert world.engine.queues.count("moves") == 0


def is_archived_as_it_was_last(to: Place, world: World) -> None:
    finish_all(to, world)
    assert ages(world, "Current") == [], "the entity was not moved"
    (age,) = to.ages(world)
    assert "writer" not in world.returned or age == 1, "a birthday is lost"


def is_in_one_place(to: Place, world: World) -> None:
    finish_all(to, world)
    assert everywhere(to, world) == [0], "the entity is not in exactly one place"


def explored(
    to: Place, make: Make, invariant: Callable[[Place, World], None], preemptions: int = 1, **options: Any
) -> None:
    """Explore every schedule within the bound."""
    checks: dict[str, Any] = {"invariant": partial(invariant, to), "always": partial(is_somewhere, to), **options}
    explore_guarantee(partial(make, to), expected=(EntityNotFound, OutcomeUnknown), preemptions=preemptions, **checks)


GUARANTEE = "an archived entity is always in at least one place, and at the end its last version is in the archive"


TWO_WORKERS: dict[str, Any] = {"writer": False}
WORKER_AND_WRITER: dict[str, Any] = {"workers": ("ann",)}
ALL_THREE: dict[str, Any] = {}
"""Two workers and a writer."""


@pytest.mark.guide("G-147", "G-148", "G-149", "G-151", "G-158", "G-161")
@pytest.mark.parametrize(
    ("place", "who", "faults"),
    [
        (InTable, TWO_WORKERS, {"crashes": 1}),
        pytest.param(InTable, TWO_WORKERS, {"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(InTable, WORKER_AND_WRITER, {"crashes": 1}, marks=pytest.mark.nightly),
        (InTable, WORKER_AND_WRITER, {"lost_responses": 1}),
        (InBlobs, TWO_WORKERS, {"lost_responses": 1}),
        (InBlobs, WORKER_AND_WRITER, {"crashes": 1}),
        (InTable, ALL_THREE, {"crashes": 1}),
        pytest.param(InTable, ALL_THREE, {"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(InBlobs, ALL_THREE, {"crashes": 1}, marks=pytest.mark.nightly),
        pytest.param(InBlobs, ALL_THREE, {"lost_responses": 1}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
@pytest.mark.guarantee("Archive", f"{GUARANTEE}, after any crash or lost response: in a table or blobs")
def test_the_entity_is_moved_and_no_change_to_it_is_lost(
    place: type[Place], who: dict[str, Any], faults: dict[str, Any]
) -> None:
    explored(place(), moving("archive", **who), is_archived_as_it_was_last, at_least=20, **faults)


@pytest.mark.guide("G-152", "G-158", "G-161")
@pytest.mark.parametrize("place", [InTable, pytest.param(InBlobs, marks=pytest.mark.nightly)])
@pytest.mark.guarantee("Archive", f"{GUARANTEE}, even if a lease expires at any point: in a table or blobs")
def test_after_an_expired_lease_no_late_worker_overwrites_a_change(place: type[Place]) -> None:
    explored(place(), moving("archive"), is_archived_as_it_was_last, at_least=100, stalls=[OVER])


@pytest.mark.nightly
@pytest.mark.guide("G-152", "G-158", "G-161")
def test_a_worker_that_crashes_after_its_lease_expired_does_not_leave_an_old_version() -> None:
    bound: dict[str, Any] = {"crashes": 1, "preemptions": 2, "stalls": [OVER]}
    explored(InTable(), moving("archive"), is_archived_as_it_was_last, at_least=1_000, **bound)


@pytest.mark.guide("G-150", "G-161")
@pytest.mark.parametrize("place", [InTable, pytest.param(InBlobs, marks=pytest.mark.nightly)])
@pytest.mark.guarantee("Archive", "a message that is delivered twice moves an entity once: in a table or blobs")
def test_two_messages_for_one_entity_move_it_once(place: type[Place]) -> None:
    make = moving("archive", "archive", writer=False)
    explored(place(), make, is_archived_as_it_was_last, at_least=10)


@pytest.mark.parametrize("place", [InTable, pytest.param(InBlobs, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fault", [{"crashes": 1}, {"stalls": [OVER]}], ids=str)
@pytest.mark.guarantee("Archive", "a move and a move back at once leave the entity in one place: in a table or blobs")
def test_a_move_and_a_move_back_at_once_leave_the_entity_in_one_place(
    place: type[Place], fault: dict[str, Any]
) -> None:
    explored(place(), moving("archive", "restore", writer=False), is_in_one_place, at_least=50, **fault)


def erased(to: Place, world: World) -> dict[str, Any]:
    """Return what makes two workers, and a program that deletes the entity once it is archived."""
    actors = moving("archive", writer=False)(to, world)
    return actors | {"eraser": erase(to, world)}


async def erase(to: Place, world: World) -> str:
    is_there = await to.archive(world).entity_set.get(**ID) is not None
    return "erased" if not is_there and await to.delete(world) else "not archived"


def stays_erased(to: Place, world: World) -> None:
    if world.returned.get("eraser") == "erased":
        finish_all(to, world)
        assert everywhere(to, world) == [], "the entity is back"
    else:
        is_in_one_place(to, world)


@pytest.mark.parametrize("place", [InTable, pytest.param(InBlobs, marks=pytest.mark.nightly)])
@pytest.mark.guarantee("Archive", "an archived entity that is deleted stays deleted, even if a lease expires")
def test_an_archived_entity_that_is_deleted_does_not_come_back(place: type[Place]) -> None:
    explored(place(), erased, stays_erased, always=None, stalls=[OVER], preemptions=1)


# ------------------------------------------------------------------ broken variants, which must be found


class DeletesFirst(Move):
    async def attempt(self, lease: Lease) -> None:
        held = await self.origin.get(self.keys)
        if held is not None and await self.origin.delete(self.keys, held):
            await self.destination.insert(self.keys, held.properties)


class OverwritesWhateverIsThere(Move):
    """The guide's own insert-or-replace: a worker that comes late has the last word."""

    async def attempt(self, lease: Lease) -> None:
        held = await self.origin.get(self.keys)
        if held is None:
            return
        while not await self.destination.insert(self.keys, held.properties):
            there = await self.destination.get(self.keys)
            if there is not None and await self.destination.replace(self.keys, there, held.properties):
                break
        if not await self.origin.delete(self.keys, held):
            raise Overtaken


class DeletesWhateverIsThere(Move):
    async def attempt(self, lease: Lease) -> None:
        held = await self.origin.get(self.keys)
        if held is None:
            return
        if not await self.destination.insert(self.keys, held.properties):
            await self._put_over(held)
        now = await self.origin.get(self.keys)
        if now is not None:
            await self.origin.delete(self.keys, now)


class PutsAnOldVersionOver(Move):
    """It compares nothing, as if the original could not change while another worker copies it."""

    async def _put_over(self, snapshot: Snapshot) -> None:
        there = await self.destination.get(self.keys)
        if there is None or not await self.destination.replace(self.keys, there, snapshot.properties):
            raise Overtaken


@pytest.mark.parametrize(
    ("broken", "options", "what"),
    [
        (DeletesFirst, {"crashes": 1}, "in neither place"),
        (OverwritesWhateverIsThere, {"stalls": [OVER]}, "a birthday is lost"),
        (DeletesWhateverIsThere, {}, "a birthday is lost"),
        (PutsAnOldVersionOver, {"crashes": 1, "preemptions": 2, "stalls": [OVER]}, "a birthday is lost"),
    ],
)
@pytest.mark.few(2)
def test_a_move_with_a_step_missing_or_in_another_order_fails(
    monkeypatch: pytest.MonkeyPatch, broken: type[Move], options: dict[str, Any], what: str
) -> None:
    monkeypatch.setattr(recipe, "Move", broken)
    with pytest.raises(Counterexample, match=what):
        explored(InTable(), moving("archive"), is_archived_as_it_was_last, **options)


class UploadsOverWhateverIsThere(BlobArchive):
    async def _upload(self, keys: Keys, properties: Properties, etag: str) -> bool:
        await self._container.upload(self._name(keys), encoded(keys, properties))
        return True


def test_a_blob_that_is_uploaded_without_a_condition_loses_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives_stepped, "BlobArchive", UploadsOverWhateverIsThere)
    with pytest.raises(Counterexample, match="a birthday is lost"):
        explored(InBlobs(), moving("archive"), is_archived_as_it_was_last, stalls=[OVER])
