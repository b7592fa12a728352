"""Partition moves in every order of requests: crashes, lost responses and concurrent moves."""

from __future__ import annotations

from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import Entity, EntitySet, Key, PartitionMove
from tablepatterns.errors import BadInput, EntityAlreadyExists, EntityChanged, EntityNotFound, LeaseLost, OutcomeUnknown
from tablepatterns.messages.lease import Lease
from tablepatterns.recipes import partition_move
from tablepatterns.recipes.partition_move import Relocation
from tablepatterns.retry import Overtaken
from tablepatterns_explore import Counterexample, World

RECIPE = "PartitionMove"
QUEUE = "staff-moves"
LEASE = 60
JONES = {"Department": "Sales", "EmployeeId": 1}
REFUSED = (BadInput, EntityAlreadyExists, EntityChanged, EntityNotFound)


def move_in(world: World) -> Any:
    staff = EntitySet(world.storage, "Staff", Key("{Department}", "{EmployeeId:06d}"))
    return PartitionMove(staff, queue=QUEUE, lease=LEASE)


def prepared(world: World) -> Any:
    move = move_in(world)
    world.engine.queues.create(QUEUE)
    world.run(move.entity_set.insert({**JONES, "Raises": 0}))
    return move


def read(world: World, move: Any) -> Any:
    return world.run(move.entity_set.get(**JONES))


async def drain(world: World) -> None:
    """Do what a worker does, until nothing is left to do."""
    move, queue = move_in(world), world.storage.queue(QUEUE)
    while world.engine.queues.count(QUEUE):
        await world.storage.sleep(LEASE)
        for message in await queue.receive(32, lease=LEASE):
            lease = Lease(world.storage, queue, message, LEASE)
            await move.handle(lease)
            await lease.complete()


def rows(world: World) -> list[tuple[str, dict[str, Any]]]:
    return [
        (row.partition_key, {name: value for name, value in row.properties.items() if name != "WriteId"})
        for row in world.engine.tables.query("Staff").entities
    ]


def is_somewhere(world: World) -> bool:
    return bool(rows(world))


def in_one_place(world: World) -> None:
    """The entity is in one place without a mark: where a successful move put it, with each successful raise."""
    world.run(drain(world))
    ((place, row),) = rows(world)
    assert row.keys() == {"Raises"}
    moved = [result for result in world.returned.values() if isinstance(result, Entity)]
    assert all(result["Department"] == place for result in moved)
    given = "raised" in world.returned.values()
    # An actor that crashed or got no response may have given it nevertheless
    assert row["Raises"] - given in ({0} if given else {0, 1})


def two_moves(world: World) -> list[Any]:
    move = prepared(world)
    return [move.move(read(world, move), Department=place) for place in ("Finance", "Marketing")]


def a_move_and_a_raise(world: World, where: str = "Sales") -> list[Any]:
    move = prepared(world)

    async def give_a_raise() -> str:
        keys = {**JONES, "Department": where}
        await move.entity_set.update(lambda found: found.update(Raises=found["Raises"] + 1), **keys)
        return "raised"

    return [move.move(read(world, move), Department="Marketing"), give_a_raise()]


def a_move_and_a_raise_there(world: World) -> list[Any]:
    return a_move_and_a_raise(world, "Marketing")


def a_move_and_a_worker(world: World) -> list[Any]:
    move = prepared(world)

    async def work() -> None:
        await world.storage.sleep(LEASE)
        for message in await world.storage.queue(QUEUE).receive(1, lease=LEASE):
            lease = Lease(world.storage, world.storage.queue(QUEUE), message, LEASE)
            await move.handle(lease)
            await lease.complete()

    return [move.move(read(world, move), Department="Marketing"), work()]


def a_move_called_again_and_a_delete(world: World) -> list[Any]:
    move = prepared(world)

    async def call_again_and_delete() -> str:
        entity = await move.entity_set.get(**JONES)
        if entity is None or "MovingTo" not in entity:
            return "not moving"
        await move.entity_set.delete(await move.move(entity, Department="Marketing"))
        return "deleted"

    return [move.move(read(world, move), Department="Marketing"), call_again_and_delete()]


def a_move_and_one_who_moves_on(world: World) -> list[Any]:
    move = prepared(world)

    async def move_on() -> str:
        found = await move.entity_set.get(**{**JONES, "Department": "Marketing"})
        if found is None:
            return "not there"
        await move.move(found, Department="Finance")
        return "moved on"

    return [move.move(read(world, move), Department="Marketing"), move_on()]


def in_the_last_place(world: World) -> None:
    """The entity is in one place without a mark: that of the last successful move."""
    world.run(drain(world))
    ((place, row),) = rows(world)
    assert row == {"Raises": 0}
    assert place == "Finance" or "moved on" not in world.returned.values()


def deleted_for_good(world: World) -> None:
    """The entity is in one place without a mark, or, once deleted, in none."""
    if "deleted" in world.returned.values():
        world.run(drain(world))
        assert rows(world) == []
    else:
        in_one_place(world)


def explored(make: Any, **options: Any) -> None:
    given = {"invariant": in_one_place, "always": is_somewhere, "expected": REFUSED, "preemptions": 1}
    result = explore_guarantee(make, **{**given, **options})
    assert result.states > 10


@pytest.mark.guide("G-274")
@pytest.mark.guarantee(
    RECIPE, "of two moves of one entity, one is completed, and the entity is in one place, after any crash"
)
@pytest.mark.parametrize("bound", [{"crashes": 1, "preemptions": 0}, {"preemptions": 2}], ids=str)
def test_of_two_moves_one_is_completed_after_any_crash(bound: dict[str, int]) -> None:
    explored(two_moves, **bound)


@pytest.mark.guide("G-274")
@pytest.mark.guarantee(
    RECIPE, "an entity is always in at least one place, and no change during a move is lost, after any crash"
)
@pytest.mark.parametrize("make", [a_move_and_a_raise, a_move_and_a_raise_there, a_move_and_a_worker])
def test_a_change_during_a_move_is_not_lost_after_any_crash(make: Any) -> None:
    explored(make, crashes=1, expected=(*REFUSED, LeaseLost))


@pytest.mark.guarantee(RECIPE, "a second move of an entity in transit is rejected, or both moves are completed")
@pytest.mark.parametrize("bound", [{"crashes": 1}, {"lost_responses": 1, "preemptions": 0}], ids=str)
def test_a_second_move_in_transit_leaves_the_entity_in_one_place(bound: dict[str, int]) -> None:
    explored(a_move_and_one_who_moves_on, invariant=in_the_last_place, **bound)


@pytest.mark.guarantee(RECIPE, "an entity that is deleted after a second call of its move does not come back")
@pytest.mark.parametrize("bound", [{"preemptions": 2}, {"lost_responses": 1, "preemptions": 0}], ids=str)
def test_an_entity_that_is_deleted_after_a_second_call_stays_deleted(bound: dict[str, int]) -> None:
    explored(a_move_called_again_and_a_delete, invariant=deleted_for_good, always=None, **bound)


@pytest.mark.guarantee(RECIPE, "an entity is in one place, after a lost response")
@pytest.mark.parametrize("make", [two_moves, a_move_and_a_raise])
def test_the_entity_is_in_one_place_after_a_lost_response(make: Any) -> None:
    # Another writer may have deleted the row whose response was lost
    explored(make, lost_responses=1, preemptions=0, expected=(*REFUSED, OutcomeUnknown))


# -- what must not work, or the explorer would see nothing


class Hasty(Relocation):
    """Deletes the entity before its copy is there."""

    async def copy(self, source: Entity) -> tuple[Entity, bool]:
        await Relocation.leave(self, source)
        return await super().copy(source)

    async def leave(self, source: Entity) -> None:
        """It is gone already."""


class Careless(Relocation):
    """Deletes the entity whatever became of it since it was copied."""

    async def leave(self, source: Entity) -> None:
        try:
            await self.entities.delete(source, force=True)
        except EntityNotFound as error:
            raise Overtaken from error


@pytest.mark.parametrize(
    ("broken", "make", "options"),
    [(Hasty, two_moves, {"crashes": 1}), (Careless, a_move_and_a_raise, {})],
    ids=["deletes first", "deletes what changed"],
)
def test_a_move_in_another_order_fails(
    monkeypatch: pytest.MonkeyPatch, broken: type[Relocation], make: Any, options: dict[str, int]
) -> None:
    monkeypatch.setattr(partition_move, "Relocation", broken)
    with pytest.raises(Counterexample):
        explored(make, **options)


def test_a_move_that_keeps_a_late_copy_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def keep(self: Any, copied: Entity) -> None:
        """Leave the copy, although the move was completed before it was inserted."""

    monkeypatch.setattr(Relocation, "_take_back", keep)
    with pytest.raises(Counterexample):
        explored(a_move_called_again_and_a_delete, invariant=deleted_for_good, always=None)


def test_a_move_without_a_claim_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_claim(self: Any, held: Any, route: Any, lease: Any) -> None:
        held["MovingTo"] = route.claim

    monkeypatch.setattr(PartitionMove, "_claim", no_claim)
    with pytest.raises(Counterexample):
        explored(two_moves)
