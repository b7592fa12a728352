"""Lists, totals and copies of other entities, without conditions or in separate requests."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any
from unittest.mock import patch

from recipes import test_denormalize_schedules as denormalizing
from recipes import test_index_entities_schedules as listing
from recipes import test_summary_schedules as summing
from schedules.schedule import schedule
from tablepatterns import EntitySet, InTable, Key
from tablepatterns.recipes.denormalize import FilledCopies
from tablepatterns_explore import World, explore

Actors = dict[str, Coroutine[Any, Any, Any]]


@schedule("index_entities")
def a_list_whatever_has_become_of_it() -> object:
    """Two employees are hired at the same time, and the list is written without its ETag."""

    def hire(world: World) -> Actors:
        staff = listing.prepared(world, listing.Careless("Name"), "Jones")
        return {name: staff.insert(listing.employee(number, "Jones")) for number, name in ((1, "ann"), (2, "bob"))}

    def all_are_listed(world: World) -> None:
        missing = listing.wanted(world)["Jones"] - listing.listed_here(world)["Jones"]
        assert not missing, f"the list lacks {', '.join(sorted(missing))}"

    return explore(hire, invariant=all_are_listed)


@schedule("index_entities-without_library")
def a_list_after_its_entity() -> object:
    """The list in another table is written in a second request, without a message."""

    def hire(world: World) -> Actors:
        employees = EntitySet(world.storage, "Employees", listing.KEY)
        names = EntitySet(world.storage, "Names", Key("lastname_{LastName}", "ids"))
        world.run(employees.create_table())
        world.run(names.create_table())

        async def insert() -> None:
            await employees.insert({"Department": "Sales", "EmployeeId": 1, "LastName": "Jones"})
            await names.insert({"LastName": "Jones", "Ids": "Sales#empid_1"})

        return {"ann": insert()}

    def is_listed(world: World) -> None:
        stored = [len(world.engine.tables.query(table).entities) for table in ("Employees", "Names")]
        assert stored[0] == stored[1], "an employee is in no list"

    return explore(hire, invariant=is_listed, crashes=1)


@schedule("summary")
def totals_whatever_has_become_of_them() -> object:
    """Two employees are hired at the same time, and the totals are written without their ETag."""

    def hire(world: World) -> Actors:
        staff = summing.prepared(world, summing.Unconditional(summing.TOTALS, sums={"Salary": "Payroll"}), 10)
        return {name: staff.insert(summing.employee(number, 10)) for number, name in ((1, "ann"), (2, "bob"))}

    def are_counted(world: World) -> None:
        (held,) = [row for row in world.engine.tables.query("Staff").entities if row.row_key == "total"]
        count, _ = summing.entities(world)
        assert held.properties["Count"] == count, f"{held.properties['Count']} are counted, and there are {count}"

    return explore(hire, invariant=are_counted)


@schedule("summary-twice")
def totals_that_do_not_list_who_is_counted() -> object:
    """A total in another table is increased, and the writer crashes before it deletes the message."""
    via = summing.Adding(summing.TOTALS, sums={"Salary": "Payroll"}, store=InTable("Totals"))

    def hire(world: World) -> Actors:
        return {"ann": summing.prepared(world, via).insert(summing.employee(0, 10))}

    def are_counted(world: World) -> None:
        world.run(summing.drain(world, via))
        counted = world.run(summing.staff_in(world, via).totals(via, Department="Sales"))["Count"]
        count, _ = summing.entities(world)
        assert counted == count, f"{counted} are counted, and there is {count}"

    return explore(hire, invariant=are_counted, crashes=1)


@schedule("denormalize")
def copies_of_what_has_changed_since() -> object:
    """A department refers to a new manager, without a condition on the manager's ETag."""
    look_up = FilledCopies.look_up

    async def without_guard(self: FilledCopies, change: Any, table: Any) -> Any:
        found, _ = await look_up(self, change, table)
        return found, []

    def equal(world: World) -> None:
        rows = denormalizing.stored(world, "Staff")
        department = rows["department"]
        email = rows[f"empid_{department['ManagerId']}"]["Email"]
        assert department["ManagerEmail"] == email, f"the e-mail is {email}, the copy {department['ManagerEmail']}"

    def make(world: World) -> Actors:
        writers = denormalizing.a_new_email_and_a_new_manager(world, denormalizing.here())
        return dict(zip(("ann", "bob"), writers, strict=True))

    with patch.object(FilledCopies, "look_up", without_guard):
        return explore(make, invariant=equal, expected=denormalizing.REFUSED)


@schedule("denormalize-without_library")
def a_copy_after_what_it_is_of() -> object:
    """The employee and the department are written in two requests."""

    def make(world: World) -> Actors:
        employees = EntitySet(world.storage, "Staff", denormalizing.KEY)
        departments = EntitySet(world.storage, "Staff", denormalizing.DEPARTMENT)
        sales = denormalizing.SALES
        world.run(employees.insert({**sales, "EmployeeId": 0, "Email": "a"}))
        world.run(departments.insert({**sales, "ManagerId": 0, "ManagerEmail": "a"}))

        async def change() -> None:
            await employees.update(lambda each: each.update(Email="b"), **sales, EmployeeId=0)
            await departments.update(lambda each: each.update(ManagerEmail="b"), **sales)

        return {"ann": change()}

    return explore(make, invariant=partial(_equal_copies), crashes=1)


def _equal_copies(world: World) -> None:
    rows = denormalizing.stored(world, "Staff")
    email, copy = rows["empid_0"]["Email"], rows["department"]["ManagerEmail"]
    assert email == copy, f"the e-mail is {email}, the copy {copy}"
