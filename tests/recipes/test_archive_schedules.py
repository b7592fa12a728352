"""Archive, explored: two workers and a writer of the entity, deaths, lost answers, and leases that ran out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from archives import ID, KEY
from tablepatterns import EntitySet
from tablepatterns.archiving.move import Move
from tablepatterns.contention import Overtaken
from tablepatterns.errors import EntityNotFound
from tablepatterns.recipes import archive as recipe
from tablepatterns.recipes.archive import Archive
from tablepatterns.recipes.worker import Worker
from tablepatterns.testing import Counterexample, World, explore
from tablepatterns.working.lease import Lease

Make = Callable[[World], dict[str, Any]]
OVER = 31
"""After so many seconds a lease has run out."""


def archive_of(world: World) -> Any:
    current, former = (EntitySet(world.storage, name, KEY) for name in ("Current", "Former"))
    return Archive(current, former, queue="moves")


def ages(world: World, table: str) -> list[int]:
    return [row.properties["Age"] for row in world.engine.tables.query(table).entities]


def moving(*asked: str, workers: tuple[str, ...] = ("ann", "bob"), writer: bool = True) -> Make:
    """Return what makes two workers, and a writer, after so many moves were asked for."""

    def make(world: World) -> dict[str, Any]:
        archive = archive_of(world)
        world.run(prepare(world, archive, asked))
        actors = {name: Worker(world.storage, [archive]).run_once() for name in workers}
        return actors | ({"writer": archive.source.update(birthday, **ID)} if writer else {})

    return make


async def prepare(world: World, archive: Any, asked: tuple[str, ...]) -> None:
    await world.storage.table("Former").create()
    await archive.source.insert({**ID, "Age": 0})
    for word in asked:
        await getattr(archive, word)(ID)


def birthday(employee: Any) -> None:
    employee["Age"] += 1


def is_somewhere(world: World) -> None:
    assert ages(world, "Current") + ages(world, "Former"), "the entity is in neither place"


def finish_all(world: World) -> None:
    """Let a worker that nothing happens to come when all leases are over."""
    world.run(world.storage.sleep(3600))
    world.run(Worker(world.storage, [archive_of(world)]).drain())
    assert world.engine.queues.count("moves") == 0


def is_archived_as_it_was_last(world: World) -> None:
    finish_all(world)
    assert ages(world, "Current") == [], "the entity was not moved"
    (age,) = ages(world, "Former")
    assert "writer" not in world.returned or age == 1, "a birthday is lost"


def is_in_one_place(world: World) -> None:
    finish_all(world)
    assert ages(world, "Current") + ages(world, "Former") == [0], "the entity is not in exactly one place"


def explored(make: Make, invariant: Callable[[World], None], **options: Any) -> int:
    """Explore every schedule within the bound, and return how many there were."""
    result = explore(make, invariant=invariant, always=is_somewhere, expected=EntityNotFound, preemptions=1, **options)
    assert result.exhaustive
    return result.schedules


GUARANTEE = "an archived entity is never in neither place, and in the end in the archive as it was last"


@pytest.mark.guide("G-147", "G-148", "G-149", "G-151", "G-158", "G-161")
@pytest.mark.parametrize("faults", [{"kills": 1}, {"lost": 1}], ids=str)
@pytest.mark.parametrize(
    "who", [{"writer": False}, {"workers": ("ann",)}], ids=["two workers", "a worker and a writer"]
)
@pytest.mark.guarantee("Archive", f"{GUARANTEE}, whoever dies, and whichever answer is lost")
def test_the_entity_is_moved_and_no_change_to_it_is_lost(who: dict[str, Any], faults: dict[str, Any]) -> None:
    assert explored(moving("archive", **who), is_archived_as_it_was_last, **faults) > 20


@pytest.mark.guide("G-152", "G-158", "G-161")
@pytest.mark.guarantee("Archive", f"{GUARANTEE}, also when a lease runs out at any point")
def test_whichever_lease_runs_out_no_late_worker_overwrites_a_change() -> None:
    assert explored(moving("archive"), is_archived_as_it_was_last, stalls=[OVER]) > 100


@pytest.mark.guide("G-150", "G-161")
@pytest.mark.guarantee("Archive", "a message that was delivered twice moves an entity once")
def test_two_messages_for_one_entity_move_it_once() -> None:
    assert explored(moving("archive", "archive", writer=False), is_archived_as_it_was_last) > 5


@pytest.mark.guarantee("Archive", "a move and a move back at the same time leave the entity in exactly one place")
def test_a_move_and_a_move_back_at_once_leave_the_entity_in_one_place() -> None:
    assert explored(moving("archive", "restore", writer=False), is_in_one_place, kills=1) > 50


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


@pytest.mark.parametrize(
    ("broken", "options", "what"),
    [
        (DeletesFirst, {"kills": 1}, "in neither place"),
        (OverwritesWhateverIsThere, {"stalls": [OVER]}, "a birthday is lost"),
        (DeletesWhateverIsThere, {}, "a birthday is lost"),
    ],
)
def test_a_broken_move_is_found(
    monkeypatch: pytest.MonkeyPatch, broken: type[Move], options: dict[str, Any], what: str
) -> None:
    monkeypatch.setattr(recipe, "Move", broken)
    with pytest.raises(Counterexample, match=what):
        explored(moving("archive"), is_archived_as_it_was_last, **options)
