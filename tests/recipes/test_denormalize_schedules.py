"""Copied fields in every order of requests: a manager changes while the reference changes."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from support.guarantees import explore_guarantee
from tablepatterns import CopiedFields, EntitySet, InTable, IntraPartitionIndex, Key
from tablepatterns.errors import EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown
from tablepatterns.recipes import denormalize
from tablepatterns.recipes.denormalize import FilledCopies
from tablepatterns_explore import Counterexample, World

RECIPE = "CopiedFields"
KEY = Key("{Department}", "empid_{EmployeeId:01d}")
DEPARTMENT = Key("{Department}", "department")
COPIES: dict[str, Any] = {"refers": {"EmployeeId": "ManagerId"}, "copies": {"Email": "ManagerEmail"}}
LEASE = 60
QUEUE = "staff-intents"
REFUSED = (EntityAlreadyExists, EntityChanged, EntityNotFound)
SALES = {"Department": "Sales"}


def here() -> CopiedFields:
    return CopiedFields(DEPARTMENT, **COPIES)


def in_another_table() -> CopiedFields:
    return CopiedFields(DEPARTMENT, store=InTable("Departments"), **COPIES)


def sets_in(world: World, manager: CopiedFields) -> tuple[Any, Any]:
    employees = EntitySet(world.storage, "Staff", KEY, derived=[manager], lease=LEASE)
    table = manager.table("Staff")
    return employees, EntitySet(world.storage, table, DEPARTMENT, derived=[manager.filled_from(employees)])


def staffed(world: World, manager: CopiedFields) -> tuple[Any, Any]:
    """Return both sets, with two employees, the first of whom manages Sales."""
    for table in ("Staff", "Departments"):
        world.engine.tables.create(table)
    if manager.is_eventual:
        world.engine.queues.create(QUEUE)
    employees, departments = sets_in(world, manager)
    for number, email in enumerate("ab"):
        world.prepare(employees.insert({**SALES, "EmployeeId": number, "Email": email}))
    world.prepare(departments.insert({**SALES, "ManagerId": 0}))
    return employees, departments


# -- what must hold


def stored(world: World, table: str) -> dict[str, dict[str, Any]]:
    return {row.row_key: dict(row.properties) for row in world.engine.tables.query(table).entities}


def copies_are_exact(world: World, table: str = "Staff") -> None:
    department = stored(world, table)["department"]
    manager = stored(world, "Staff").get(f"empid_{department['ManagerId']}", {})
    assert department.get("ManagerEmail") == manager.get("Email")


async def drain(world: World, manager: CopiedFields) -> None:
    """Do what a worker does, until nothing is left to do."""
    employees, _ = sets_in(world, manager)
    while world.engine.queues.count(QUEUE):
        await world.storage.sleep(LEASE)
        await employees.process_intents()


def right_once_drained(world: World) -> None:
    world.run(drain(world, in_another_table()))
    copies_are_exact(world, "Departments")


def explored(make: Any, **options: Any) -> None:
    result = explore_guarantee(make, **{"expected": REFUSED, **options})
    assert result.states > 10


# -- one writes the employee, and one the department


def a_new_email_and_a_new_manager(world: World, manager: CopiedFields) -> list[Any]:
    employees, departments = staffed(world, manager)
    chosen = world.run(employees.get(**SALES, EmployeeId=1))
    department = world.run(departments.get(**SALES))
    return [employees.merge(chosen, {"Email": "c"}), departments.merge(department, {"ManagerId": 1})]


def a_farewell_and_a_new_manager(world: World, manager: CopiedFields) -> list[Any]:
    employees, departments = staffed(world, manager)
    chosen = world.run(employees.get(**SALES, EmployeeId=1))
    department = world.run(departments.get(**SALES))
    return [employees.delete(chosen), departments.merge(department, {"ManagerId": 1})]


def two_emails_of_the_manager(world: World, manager: CopiedFields) -> list[Any]:
    employees, _ = staffed(world, manager)

    def write(email: str) -> Any:
        return employees.update(lambda each: each.update(Email=email), **SALES, EmployeeId=0)

    return [write("c"), write("d")]


def an_insert_of_the_manager_who_leaves(world: World, manager: CopiedFields) -> list[Any]:
    """The insert may read a department that the deletion has yet to change."""
    employees, _ = staffed(world, manager)
    leaving = world.run(employees.get(**SALES, EmployeeId=0))
    return [employees.delete(leaving), employees.insert({**SALES, "EmployeeId": 0, "Email": "a"})]


CASES = [
    a_new_email_and_a_new_manager,
    a_farewell_and_a_new_manager,
    two_emails_of_the_manager,
    an_insert_of_the_manager_who_leaves,
]
by_case = pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in CASES])


@pytest.mark.guide("G-189", "G-190", "G-191")
@pytest.mark.guarantee(RECIPE, "in the partition, copies are always exact, also if one of two writers crashes")
@by_case
def test_copies_in_the_partition_are_always_exact_after_any_crash(case: Any) -> None:
    explored(partial(case, manager=here()), always=copies_are_exact, crashes=1, preemptions=2)


@pytest.mark.guarantee(RECIPE, "in the partition, copies are always exact, also after a lost response")
@pytest.mark.parametrize("case", CASES[:2], ids=[case.__name__ for case in CASES[:2]])
def test_copies_in_the_partition_are_always_exact_after_a_lost_response(case: Any) -> None:
    expected = (*REFUSED, OutcomeUnknown)
    explored(partial(case, manager=here()), always=copies_are_exact, lost_responses=1, preemptions=1, expected=expected)


@pytest.mark.guarantee(RECIPE, "in another table, copies match their source once the queue is drained, after any crash")
@pytest.mark.parametrize("case", CASES[:2], ids=[case.__name__ for case in CASES[:2]])
def test_copies_in_another_table_are_eventually_consistent_after_any_crash(case: Any) -> None:
    make = partial(case, manager=in_another_table())
    explored(make, invariant=right_once_drained, crashes=1, preemptions=0)


@pytest.mark.guarantee(RECIPE, "in another table, copies match their source, in every order of the writers")
def test_copies_in_another_table_are_eventually_consistent_in_every_order() -> None:
    make = partial(a_new_email_and_a_new_manager, manager=in_another_table())
    explored(make, invariant=right_once_drained, preemptions=2)


# -- with a step left out the search finds what goes wrong


def test_without_a_guard_on_the_source_the_copy_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = FilledCopies.look_up

    async def without_guard(self: FilledCopies, change: Any, table: Any) -> Any:
        found, _ = await look_up(self, change, table)
        return found, []

    monkeypatch.setattr(denormalize.FilledCopies, "look_up", without_guard)
    with pytest.raises(Counterexample, match="assert"):
        explored(partial(a_new_email_and_a_new_manager, manager=here()), always=copies_are_exact)


def test_without_an_intent_for_the_copies_the_copy_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denormalize.FilledCopies, "intents_for", lambda self, change: [])
    with pytest.raises(Counterexample, match="assert"):
        explored(partial(a_new_email_and_a_new_manager, manager=in_another_table()), invariant=right_once_drained)


# -- an employee that was read from an index


def a_new_email_by_index_and_a_new_manager(world: World, manager: CopiedFields) -> list[Any]:
    _, departments = staffed(world, manager)
    by_badge = IntraPartitionIndex(Key("{Department}", "badge_{Badge}"))
    employees = EntitySet(world.storage, "Staff", KEY, derived=[manager, by_badge])
    world.run(employees.insert({**SALES, "EmployeeId": 2, "Email": "e", "Badge": "x"}))
    department = world.run(departments.get(**SALES))
    found = world.run(employees.find(by_badge, **SALES, Badge="x"))
    return [employees.merge(found, {"Email": "f"}), departments.merge(department, {"ManagerId": 2})]


@pytest.mark.guarantee(RECIPE, "in the partition, copies are exact also if the entity was read from an index")
def test_copies_are_exact_for_an_employee_read_from_an_index() -> None:
    make = partial(a_new_email_by_index_and_a_new_manager, manager=here())
    explored(make, always=copies_are_exact, crashes=1)
