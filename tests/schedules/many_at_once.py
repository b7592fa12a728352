"""Several or very many entities, in several requests."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from schedules.schedule import schedule
from tablepatterns import EntitySet, Key, ParallelReads, PartitionMove
from tablepatterns_explore import World, explore

Actors = dict[str, Coroutine[Any, Any, Any]]
SALES = {"Department": "Sales"}
BY_ID = Key("{Department}", "empid_{EmployeeId:06d}")


@schedule("entity_group_transaction")
def two_requests_in_place_of_one() -> object:
    """A budget is moved from one project to another in two requests."""

    def make(world: World) -> Actors:
        projects = EntitySet(world.storage, "Staff", Key("{Department}", "project_{Project}"))
        for name, budget in (("east", 100), ("west", 0)):
            world.run(projects.insert({**SALES, "Project": name, "Budget": budget}))

        async def shift() -> None:
            for name, by in (("east", -40), ("west", 40)):
                change = _more(by)
                await projects.update(change, **SALES, Project=name)

        return {"ann": shift()}

    def is_all_there(world: World) -> None:
        total = sum(int(str(row.properties["Budget"])) for row in world.engine.tables.query("Staff").entities)
        assert total == 100, f"of a budget of 100 there is {total}"

    return explore(make, invariant=is_all_there, crashes=1)


def _more(by: int) -> Any:
    def change(project: Any) -> None:
        project["Budget"] += by

    return change


@schedule("bulk_load")
def all_of_it_once_more() -> object:
    """An interrupted load is started again, and overwrites changes since then."""

    def make(world: World) -> Actors:
        employees = EntitySet(world.storage, "Employees", BY_ID)
        jones = {**SALES, "EmployeeId": 223}
        world.run(employees.create_table())

        async def load() -> None:
            for salary, number in ((100, 223), (90, 152)):
                await employees.insert_or_replace({**SALES, "EmployeeId": number, "Salary": salary})

        async def again() -> None:
            await world.storage.sleep(60)
            await load()

        async def give_a_raise() -> None:
            await world.storage.sleep(30)
            await employees.merge(jones, {"Salary": 110}, force=True)

        return {"load": load(), "writer": give_a_raise(), "again": again()}

    def is_not_lost(world: World) -> None:
        found = world.engine.tables.get("Employees", "Sales", "empid_000223").properties["Salary"]
        assert "load" not in world.crashed or "writer" not in world.returned or found == 110, "a raise is lost"

    return explore(make, invariant=is_not_lost, crashes=1, preemptions=0, latency=0)


@schedule("parallel_reads")
def concurrent_move() -> object:
    """An employee moves from one department to another while both are read."""

    def make(world: World) -> Actors:
        employees = EntitySet(world.storage, "Employees", BY_ID)
        moving = PartitionMove(employees)
        jones = world.run(employees.insert({**SALES, "EmployeeId": 223}))
        world.engine.queues.create(moving.queue)
        reads = ParallelReads(employees)

        async def read() -> int:
            found = await reads.ranges([{"Department": name} for name in ("Marketing", "Sales")])
            return len(found.entities)

        return {"mover": moving.move(jones, Department="Marketing"), "reader": read()}

    def is_found(world: World) -> None:
        assert world.returned["reader"], "the reader found no employee"

    return explore(make, invariant=is_found)
