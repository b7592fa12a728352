"""Related entities that are changed one after the other, or without checking the other side."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any
from unittest.mock import patch

from recipes import test_one_to_one as linking
from recipes import test_partition_move_schedules as moving
from schedules.schedule import schedule
from tablepatterns import EntitySet, Key, Lookup
from tablepatterns.errors import EntityChanged
from tablepatterns.recipes import partition_move as recipe
from tablepatterns.recipes.partition_move import Relocation
from tablepatterns_explore import World, explore

Actors = dict[str, Coroutine[Any, Any, Any]]
SALES = {"Department": "Sales"}
HEAD = Key("{Department}", "department")


@schedule("one_to_many")
def a_count_after_the_employee() -> object:
    """The department's count of employees is written in a separate request."""

    def make(world: World) -> Actors:
        employees = EntitySet(world.storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
        departments = EntitySet(world.storage, "Staff", HEAD)
        world.run(departments.insert({**SALES, "Employees": 0}))

        async def hire() -> None:
            await employees.insert({**SALES, "EmployeeId": 223})
            await departments.update(lambda each: each.update(Employees=each["Employees"] + 1), **SALES)

        return {"ann": hire()}

    def is_counted(world: World) -> None:
        rows = world.engine.tables.query("Staff").entities
        counted, there = rows[0].properties["Employees"], len(rows) - 1
        assert counted == there, f"{counted} are counted, and there is {there}"

    return explore(make, invariant=is_counted, crashes=1)


@schedule("one_to_many-denormalised")
def whole_employees_without_their_etags() -> object:
    """A new floor is written to an employee without the ETag."""

    def make(world: World) -> Actors:
        employees = EntitySet(world.storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        jones = {**SALES, "EmployeeId": 223}
        world.run(employees.insert({**jones, "Floor": 3, "Salary": 100}))

        async def change() -> None:
            async for employee in employees.range(**SALES):
                employee["Floor"] = 4
                await employees.replace(employee, force=True)

        async def give_a_raise() -> None:
            await employees.update(lambda each: each.update(Salary=110), **jones)

        return {"ann": change(), "bob": give_a_raise()}

    def is_not_lost(world: World) -> None:
        (row,) = world.engine.tables.query("Employees").entities
        assert row.properties["Salary"] == 110, "a raise is lost"

    return explore(make, invariant=is_not_lost, expected=EntityChanged)


@schedule("one_to_one")
def a_link_that_is_believed_from_one_side() -> object:
    """A link is trusted although only one side refers to the other."""

    def make(world: World) -> Actors:
        return dict(zip(("ann", "bob"), linking.two_who_want_one_car(world), strict=True))

    def has_one_driver(world: World) -> None:
        rows = world.engine.tables.query("Staff").entities
        drivers = [row.row_key for row in rows if linking.LINKS[0] in row.properties]
        assert len(drivers) <= 1, f"{' and '.join(drivers)} drive one car"

    return explore(make, invariant=has_one_driver, expected=EntityChanged)


@schedule("lookup")
def what_is_at_hand_is_written_back() -> object:
    """A department that was read a while ago is replaced without its ETag."""

    def make(world: World) -> Actors:
        departments = EntitySet(world.storage, "Departments", HEAD)
        lookup = Lookup(departments)
        world.run(departments.insert({**SALES, "Manager": "Mary"}))

        async def give_a_floor() -> None:
            sales = await lookup.get(**SALES)
            sales["Floor"] = 3
            await departments.replace(sales, force=True)

        return {"ann": give_a_floor(), "bob": departments.merge(SALES, {"Manager": "Jo"}, force=True)}

    def has_the_new_manager(world: World) -> None:
        (row,) = world.engine.tables.query("Departments").entities
        manager = row.properties["Manager"]
        assert manager == "Jo", f"the manager is {manager} again"

    return explore(make, invariant=has_the_new_manager)


def _moved(relocation: type[Relocation], make: Any, names: tuple[str, ...], **options: Any) -> object:
    def named(world: World) -> Actors:
        return dict(zip(names, make(world), strict=False))

    with patch.object(recipe, "Relocation", relocation):
        return explore(named, expected=moving.REFUSED, **options)


@schedule("partition_move")
def deleted_before_it_is_inserted() -> object:
    """The entity is deleted under its old key before it is inserted under the new one."""

    def is_somewhere(world: World) -> None:
        assert moving.rows(world), "the employee is nowhere"

    def one(world: World) -> Any:
        first, second = moving.two_moves(world)
        second.close()
        return [first]

    return _moved(moving.Hasty, one, ("ann",), invariant=is_somewhere, crashes=1)


@schedule("partition_move-raise")
def deleted_whatever_has_become_of_it() -> object:
    """The entity is deleted under its old key without the ETag that it was copied with."""

    def is_not_lost(world: World) -> None:
        (_, row), *_ = moving.rows(world)
        assert "raised" not in world.returned.values() or row["Raises"] == 1, "a raise is lost"

    return _moved(moving.Careless, moving.a_move_and_a_raise, ("ann", "bob"), invariant=is_not_lost)
