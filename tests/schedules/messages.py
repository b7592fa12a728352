"""Messages: steps that are not idempotent, and messages that are deleted too early or sent too late."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any
from unittest.mock import patch

from recipes import test_worker_schedules as working
from schedules.schedule import schedule
from support import indexed_staff as staff
from tablepatterns import EntitySet, EventualTransaction, Key, Worker
from tablepatterns.entity_set.intents import Intents
from tablepatterns.messages.delivery import Delivery
from tablepatterns.recipes import worker as recipe
from tablepatterns_explore import World, explore

Actors = dict[str, Coroutine[Any, Any, Any]]


@schedule("eventual_transaction")
def a_step_that_adds() -> object:
    """A step adds one to a number, and the worker crashes before the response arrives."""

    def hire(world: World) -> Actors:
        departments = EntitySet(world.storage, "Departments", Key("{Department}", "department"))
        world.run(departments.insert({"Department": "Sales", "Employees": 0}))

        async def count(body: Mapping[str, Any]) -> None:
            await departments.update(_one_more, Department=body["Department"])

        hiring = EventualTransaction(world.storage, "hiring", "hire", [count])
        world.run(hiring.start({"Department": "Sales"}))
        worker = Worker(world.storage, [hiring])
        return {"ann": worker.run_once(), "bob": _after_a_lease(world, worker)}

    def is_counted_once(world: World) -> None:
        (row,) = world.engine.tables.query("Departments").entities
        count = row.properties["Employees"]
        assert count <= 1, f"one is hired, and {count} are counted"

    return explore(hire, invariant=is_counted_once, crashes=1)


def _one_more(department: Any) -> None:
    department["Employees"] += 1


async def _after_a_lease(world: World, worker: Any) -> None:
    await world.storage.sleep(working.OVER)
    await worker.run_once()


def _broken(delivery: type[Delivery], text: str | None = None, **checks: Any) -> object:
    with patch.object(recipe, "Delivery", delivery):
        return explore(_one_worker(text), crashes=1, **checks)


def _one_worker(text: str | None) -> Any:
    def make(world: World) -> Actors:
        workers = working.two_workers(text=text)(world)
        workers.pop("bob").close()
        return workers

    return make


@schedule("worker")
def deleted_before_its_work_is_done() -> object:
    """The message is deleted as soon as it is received."""
    return _broken(working.DeletesFirst, invariant=working.are_all_done)


@schedule("worker-poison")
def deleted_before_it_is_poison() -> object:
    """An invalid message is deleted, and then copied to the poison queue."""
    return _broken(working.DeletesBeforePoison, working.UNREADABLE, always=working.is_kept)


@schedule("inter_partition_index")
def announced_after_the_change() -> object:
    """The entity is written before the message for its copy is sent."""

    def hire(world: World) -> Actors:
        employees = EntitySet(world.storage, "Employees", Key("empid_{Department}", "{EmployeeId:06d}"))
        copies = EntitySet(world.storage, "Employees", Key("email_{Department}", "{Email}"))
        copying = EventualTransaction(world.storage, "copies", "copy", [copies.insert_or_replace])
        jones = {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"}
        world.run(employees.create_table())
        world.run(world.storage.queue("copies").create())

        async def insert() -> None:
            await employees.insert(jones)
            await copying.start(jones)

        return {"ann": insert()}

    def is_copied_or_asked_for(world: World) -> None:
        rows = world.engine.tables.query("Employees").entities
        assert not rows or world.engine.queues.count("copies"), "an employee has no copy, and no message asks for it"

    return explore(hire, invariant=is_copied_or_asked_for, crashes=1)


@schedule("inter_partition_index-late_copy")
def without_a_last_look() -> object:
    """A writer does not read the entity again after it has written the copy."""

    async def repair_once(self: Intents, lease: Any, intent: Any, known: Any, retry_for: float) -> None:
        for claim in intent.claims:
            now, rows = known.get(claim.row, (None, {}))
            await self._repair(lease, claim, intent.id, now or await self.rows.primary(claim.row), rows, set())

    def make(world: World) -> Actors:
        return dict(zip(("ann", "bob"), staff.a_move_and_a_delete(world), strict=True))

    def has_no_copy_without_an_entity(world: World) -> None:
        world.run(staff.drain(world))
        left = [keys for keys in staff.stored(world) if keys[0] == "email_Sales"]
        assert ("empid_Sales", "000001") in staff.stored(world) or not left, f"a copy without an entity: {left[0]}"

    with patch.object(Intents, "reconcile_all", repair_once):
        return explore(make, invariant=has_no_copy_without_an_entity, expected=staff.REFUSED)
