"""Archive with children, explored: two workers and a writer of children, crashes, lost responses, expired leases."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from support.department_archive import EMPLOYEE, SALES, Family, employee, family_of, fill, sets_in
from support.guarantees import explore_guarantee
from tablepatterns.errors import EntityNotFound, OutcomeUnknown
from tablepatterns.messages.lease import Lease
from tablepatterns.recipes.archive import archive as recipe
from tablepatterns.recipes.archive.archive import FamilyMove, Move
from tablepatterns.recipes.archive.stores import BlobArchive, Keys, Rows, Snapshot
from tablepatterns.recipes.worker import Worker
from tablepatterns.typed_json import decoded
from tablepatterns_engine.blobs.listing import ListBlobsQuery
from tablepatterns_explore import Counterexample, World

OVER = 31
"""After so many seconds a lease has run out."""
Held = dict[str, dict[str, Any]]
Write = Callable[[Family], Coroutine[Any, Any, Any]]


class Place:
    """A department with its employees in one table, and their archive in another."""

    is_counted = False

    def family(self, world: World) -> Family:
        return family_of(world.storage, "Staff", self.target(world), "moves", is_counted=self.is_counted)

    def target(self, world: World) -> tuple[Any, Any]:
        return sets_in(world.storage, "Closed", is_counted=self.is_counted)

    def prepare(self, world: World) -> None:
        world.engine.tables.create("Staff")
        world.engine.tables.create("Closed")

    def here(self, world: World) -> Held:
        return _rows(world, "Staff")

    def there(self, world: World) -> Held:
        return _rows(world, "Closed")


class Counted(Place):
    """The same, where each place counts the employees in the department's row."""

    is_counted = True


class InBlobs(Place):
    """The same, where the archive is a container."""

    def target(self, world: World) -> tuple[Any, Any]:
        archive = BlobArchive(world.storage, "closed")
        return archive, archive

    def prepare(self, world: World) -> None:
        world.engine.tables.create("Staff")
        world.run(world.storage.container("closed").create())

    def there(self, world: World) -> Held:
        found = {}
        blobs: Any = world.engine.blobs.page("closed", ListBlobsQuery()).items
        for blob in blobs:
            row = blob.name.removeprefix("Sales/").removesuffix(".json")
            found[row] = decoded(bytes(blob.content), ("Sales", row), blob.name)
        return found


def _rows(world: World, table: str) -> Held:
    return {row.row_key: dict(row.properties) for row in world.engine.tables.query(table).entities}


PARENT = "department"
CHILD = EMPLOYEE.format(employee(1))[1]
LATE = EMPLOYEE.format(employee(2))[1]


async def hires(family: Family) -> bool:
    """Insert a child, and return whether its parent was still there afterwards."""
    await family.employees.insert(employee(2))
    found = await family.departments.get(**SALES)
    # A late count makes the row again, without the department's own fields
    return found is not None and "Floor" in found


async def promotes(family: Family) -> None:
    def change(entity: Any) -> None:
        entity["Level"] = 1

    await family.employees.update(change, **employee(1))


async def refurbishes(family: Family) -> None:
    def change(entity: Any) -> None:
        entity["Floor"] = 4

    await family.departments.update(change, **SALES)


def moving(*asked: str, workers: tuple[str, ...] = ("ann", "bob"), writer: Write | None = None) -> Any:
    """Return what makes workers, and a writer, after so many moves were asked for."""

    def make(place: Place, world: World) -> dict[str, Any]:
        place.prepare(world)
        family = place.family(world)
        world.prepare(_prepare(family, asked))
        actors = {name: Worker(world.storage, [family.archive]).run_once() for name in workers}
        return actors | ({"writer": writer(family)} if writer else {})

    return make


async def _prepare(family: Family, asked: tuple[str, ...]) -> None:
    await fill(family, 1)
    for word in asked:
        await getattr(family.archive, word)(SALES)


def is_never_lost(place: Place, world: World) -> None:
    here, there = place.here(world), place.there(world)
    assert {PARENT, CHILD} <= {*here, *there}, "one of the family is in neither place"


def has_its_parent(place: Place, world: World) -> None:
    is_never_lost(place, world)
    for rows in (place.here(world), place.there(world)):
        assert CHILD not in rows or PARENT in rows, "a child is without its parent"


def finish_all(place: Place, world: World) -> None:
    """Let a worker that nothing happens to come when all leases are over."""
    world.run(world.storage.sleep(3600))
    world.run(Worker(world.storage, [place.family(world).archive]).drain())
    assert world.engine.queues.count("moves") == 0


def is_archived_as_it_was_last(place: Place, world: World) -> None:
    finish_all(place, world)
    has_hired = world.returned.get("writer")
    if has_hired is True:
        assert LATE in place.there(world), "a child that came in time was left behind"
    world.run(place.family(world).archive.archive(SALES))
    finish_all(place, world)
    here, there = place.here(world), place.there(world)
    assert not here, "something was not moved"
    assert {PARENT, CHILD} <= there.keys()
    assert there[PARENT].get("Floor", 0) >= 3, "the department is lost"
    assert has_hired is None or "writer" not in world.returned or LATE in there, "a child is lost"
    if place.is_counted:
        assert there[PARENT]["EmployeeCount"] == len(there) - 1, "the count is wrong"


def keeps(row: str, name: str, value: int) -> Callable[[Place, World], None]:
    """Return the check that a change which was acknowledged is in the archive."""

    def check(place: Place, world: World) -> None:
        is_archived_as_it_was_last(place, world)
        assert "writer" not in world.returned or place.there(world)[row].get(name) == value, "a change is lost"

    return check


def is_together_in_one_place(place: Place, world: World) -> None:
    finish_all(place, world)
    here, there = place.here(world), place.there(world)
    assert not here or not there, "the family is split"
    assert {PARENT, CHILD} <= {*here, *there}


def explored(
    place: Place,
    make: Any,
    invariant: Callable[[Place, World], None],
    always: Callable[[Place, World], None] = has_its_parent,
    **options: Any,
) -> None:
    """Explore every schedule within the bound."""
    checks: dict[str, Any] = {"invariant": partial(invariant, place), "always": partial(always, place)}
    explore_guarantee(
        partial(make, place), **checks, expected=(EntityNotFound, OutcomeUnknown), **({"preemptions": 1} | options)
    )


GUARANTEE = "each entity of an archived family is always in at least one place, and children are with their parent"


@pytest.mark.parametrize(
    ("place", "faults"),
    [
        (Place, {"crashes": 1}),
        pytest.param(InBlobs, {"crashes": 1}, marks=pytest.mark.nightly),
        pytest.param(Counted, {"crashes": 1}, marks=pytest.mark.nightly),
        pytest.param(Place, {"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(InBlobs, {"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(Counted, {"lost_responses": 1}, marks=pytest.mark.nightly),
        pytest.param(Place, {"stalls": [OVER]}, marks=pytest.mark.nightly),
        (InBlobs, {"stalls": [OVER]}),
        pytest.param(Counted, {"stalls": [OVER]}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
@pytest.mark.guarantee(
    "Archive", f"{GUARANTEE}, after any crash of a worker: in a table or blobs, with or without a count"
)
@pytest.mark.few(2)
def test_a_family_is_moved_whole(place: type[Place], faults: dict[str, Any]) -> None:
    explored(place(), moving("archive"), is_archived_as_it_was_last, at_least=20, **faults)


@pytest.mark.parametrize(
    ("place", "faults"),
    [
        pytest.param(InBlobs, {}, marks=pytest.mark.nightly),
        (Counted, {}),
        (Place, {"crashes": 1}),
        pytest.param(InBlobs, {"crashes": 1}, marks=pytest.mark.nightly),
        pytest.param(Counted, {"crashes": 1}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
@pytest.mark.guarantee("Archive", "a child inserted while its parent is there is archived with it; a later one stays")
def test_a_child_that_arrives_while_the_move_runs_is_not_lost(place: type[Place], faults: dict[str, Any]) -> None:
    make = moving("archive", workers=("ann",), writer=hires)
    explored(place(), make, is_archived_as_it_was_last, at_least=10, **faults)


@pytest.mark.parametrize(
    ("writer", "check", "faults"),
    [
        pytest.param(promotes, keeps(CHILD, "Level", 1), {"crashes": 1}, id="child, crash", marks=pytest.mark.nightly),
        pytest.param(
            promotes, keeps(CHILD, "Level", 1), {"lost_responses": 1}, id="child, lost", marks=pytest.mark.nightly
        ),
        pytest.param(
            refurbishes, keeps(PARENT, "Floor", 4), {"crashes": 1}, id="parent, crash", marks=pytest.mark.nightly
        ),
        pytest.param(refurbishes, keeps(PARENT, "Floor", 4), {"lost_responses": 1}, id="parent, lost"),
    ],
)
@pytest.mark.guarantee("Archive", "no acknowledged change to a family that is being archived is lost")
def test_no_change_to_one_of_the_family_is_lost(writer: Write, check: Any, faults: dict[str, Any]) -> None:
    explored(Place(), moving("archive", workers=("ann",), writer=writer), check, at_least=20, **faults)


@pytest.mark.parametrize("place", [Place, pytest.param(Counted, marks=pytest.mark.nightly)])
@pytest.mark.guarantee("Archive", "a family whose message is delivered twice is moved once")
def test_two_messages_for_one_family_move_it_once(place: type[Place]) -> None:
    explored(place(), moving("archive", "archive"), is_archived_as_it_was_last, at_least=10)


@pytest.mark.parametrize(
    ("place", "faults"),
    [
        (Place, {"crashes": 1, "preemptions": 0}),
        pytest.param(Place, {"stalls": [OVER], "preemptions": 0}, marks=pytest.mark.nightly),
        pytest.param(Place, {"preemptions": 2}, marks=pytest.mark.nightly),
        (InBlobs, {}),
    ],
    ids=str,
)
@pytest.mark.guarantee("Archive", "a move and a move back of a family at once leave all of it in one place")
def test_a_move_and_a_move_back_at_once_do_not_split_a_family(place: type[Place], faults: dict[str, Any]) -> None:
    make = moving("archive", "restore")
    explored(place(), make, is_together_in_one_place, is_never_lost, at_least=20, **faults)


# ------------------------------------------------------------------ broken variants, which must be found


class DeletesTheParentFirst(FamilyMove):
    async def attempt(self, lease: Lease) -> None:
        held = await self.parent.copy(lease)
        if held is not None:
            await self.parent.delete(held)
        await self._move(await self._moves(), lease)


class ListsOnce(FamilyMove):
    async def attempt(self, lease: Lease) -> None:
        first = await self._moves()
        held = await self.parent.copy(lease)
        await self._move(first, lease)
        if held is not None:
            await self.parent.delete(held)


class StopsWhenTheParentIsGone(FamilyMove):
    async def attempt(self, lease: Lease) -> None:
        if await self.parent.origin.get(self.parent.keys) is not None:
            await super().attempt(lease)


class DoesNotLookForTheParentAgain(FamilyMove):
    async def attempt(self, lease: Lease) -> None:
        held = await self.parent.copy(lease)
        if held is not None:
            await self._move(await self._moves(), lease)
            await self.parent.delete(held)
        while late := await self._moves():
            await self._move(late, lease)


class DeletesChildrenBeforeTheyAreCopied(Move):
    async def attempt(self, lease: Lease) -> None:
        held = await self.origin.get(self.keys)
        if held is not None:
            assert await self.origin.delete(self.keys, held)
            await self.destination.insert(self.keys, held.properties)


class CopiesWhatTheTotalsLeft(Rows):
    """It takes the row that the totals of a late child made again for the department itself."""

    async def get(self, keys: Keys) -> Snapshot | None:
        held = await super().get(keys)
        return held and Snapshot(held.properties, held.version, held.row)


class CopiesTheTotals(Rows):
    def __init__(self, entities: Any, key: Any, totals: Any = None) -> None:
        super().__init__(entities, key)


BROKEN = [
    (recipe, "FamilyMove", DeletesTheParentFirst, Place, moving("archive", workers=("ann",)), {}, "without its parent"),
    (recipe, "FamilyMove", ListsOnce, Place, moving("archive", workers=("ann",), writer=hires), {}, "left behind"),
    (
        recipe,
        "FamilyMove",
        StopsWhenTheParentIsGone,
        Place,
        moving("archive", workers=("ann",), writer=hires),
        {"crashes": 1},
        "left behind|not moved",
    ),
    (recipe, "Move", DeletesChildrenBeforeTheyAreCopied, Place, moving("archive", workers=("ann",)), {}, "neither"),
    (recipe, "Rows", CopiesTheTotals, Counted, moving("archive", workers=("ann",)), {}, "the count is wrong"),
    (
        recipe,
        "Rows",
        CopiesWhatTheTotalsLeft,
        Counted,
        moving("archive", workers=("ann",), writer=hires),
        {},
        "the department is lost",
    ),
]


@pytest.mark.parametrize(("module", "name", "broken", "place", "make", "options", "what"), BROKEN)
@pytest.mark.few(3)
def test_a_broken_move_of_a_family_is_found(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    broken: type[Any],
    place: type[Place],
    make: Any,
    options: dict[str, Any],
    what: str,
) -> None:
    monkeypatch.setattr(module, name, broken)
    with pytest.raises(Counterexample, match=what):
        explored(place(), make, is_archived_as_it_was_last, **options)


def test_a_move_that_does_not_look_for_the_parent_again_splits_a_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "FamilyMove", DoesNotLookForTheParentAgain)
    with pytest.raises(Counterexample, match="the family is split"):
        explored(
            Place(), moving("archive", "restore"), is_together_in_one_place, is_never_lost, stalls=[OVER], preemptions=2
        )
