"""A department with copies of its manager's fields, which follow the manager and the reference."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.derived_tables import DerivedTables, operations
from support.employees import BY_ID, by_email, jones, rows_of
from tablepatterns import EntityGroupTransaction, EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.entity_set.reconcile import Finding
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    ReferenceNotFound,
)
from tablepatterns.jobs import backfill, repair, verify
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.summary import Summary
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

DEPARTMENT = Key("{Department}", "department")
ROW = ("Sales", "department")
SALES = {"Department": "Sales"}
COPIES: dict[str, Any] = {
    "refers": {"EmployeeId": "ManagerId"},
    "copies": {"Email": "ManagerEmail", "FirstName": "ManagerName"},
}


def here() -> CopiedFields:
    return CopiedFields(DEPARTMENT, **COPIES)


Make = Callable[[DerivedTables], CopiedFields]
EVENTUAL: dict[str, Make] = {
    "another table": lambda places: CopiedFields(DEPARTMENT, store=InTable(places.other), **COPIES),
    "another partition": lambda places: CopiedFields(Key("d_{Department}", "d"), store=InTable(), **COPIES),
}
EVERYWHERE = pytest.mark.parametrize(
    "make", [lambda places: here(), *EVENTUAL.values()], ids=["the partition", *EVENTUAL]
)


def both(places: DerivedTables, manager: CopiedFields) -> tuple[Any, Any]:
    """Return the set of the employees, and that of the departments."""
    employees = places.employees(manager)
    table = manager.table(places.table)
    return employees, EntitySet(places.storage, table, manager.key, derived=[manager.filled_from(employees)])


async def staffed(places: DerivedTables, manager: CopiedFields) -> tuple[Any, Any]:
    """Return both sets, with Jo Jones as the manager of Sales and Ann Jones beside her."""
    employees, departments = both(places, manager)
    await employees.insert(jones(EmployeeId=1, FirstName="Jo", Email="jo@contoso.com"))
    await employees.insert(jones(EmployeeId=2, FirstName="Ann", Email="ann@contoso.com"))
    await departments.insert({**SALES, "ManagerId": 1, "Rooms": 3})
    return employees, departments


async def managed(departments: Any) -> tuple[Any, Any]:
    department = await departments.get(**SALES)
    return department.get("ManagerEmail"), department.get("ManagerName")


# -- copies follow


@EVERYWHERE
@pytest.mark.guide("G-187", "G-188", "G-189", "G-190")
async def test_a_department_has_its_managers_details_from_the_beginning(places: DerivedTables, make: Make) -> None:
    _, departments = await staffed(places, make(places))
    assert await departments.get(**SALES) == {
        **SALES,
        "ManagerId": 1,
        "Rooms": 3,
        "ManagerEmail": "jo@contoso.com",
        "ManagerName": "Jo",
    }


@EVERYWHERE
@pytest.mark.guide("G-189")
async def test_copies_follow_what_they_are_copied_from(places: DerivedTables, make: Make) -> None:
    employees, departments = await staffed(places, make(places))
    manager = await employees.get(Department="Sales", EmployeeId=1)
    await employees.merge(manager, {"Email": "jones@contoso.com"})
    assert await managed(departments) == ("jones@contoso.com", "Jo")
    del manager["Email"]
    await employees.replace(manager)
    assert await managed(departments) == (None, "Jo")
    await employees.delete(manager)
    assert await managed(departments) == (None, None)
    await employees.insert(jones(EmployeeId=1, FirstName="Joe", Email="joe@contoso.com"))
    assert await managed(departments) == ("joe@contoso.com", "Joe")
    other = await employees.get(Department="Sales", EmployeeId=2)
    await employees.merge(other, {"Email": "annie@contoso.com"})
    assert await managed(departments) == ("joe@contoso.com", "Joe")


@EVERYWHERE
@pytest.mark.guide("G-190")
async def test_copies_follow_the_choice_of_what_is_copied(places: DerivedTables, make: Make) -> None:
    employees, departments = await staffed(places, make(places))
    department = await departments.get(**SALES)
    await departments.merge(department, {"ManagerId": 2})
    assert await managed(departments) == ("ann@contoso.com", "Ann")
    assert department == await departments.get(**SALES)
    ann = await employees.get(Department="Sales", EmployeeId=2)
    await employees.merge(ann, {"FirstName": "Anna"})
    assert await managed(departments) == ("ann@contoso.com", "Anna")
    department = await departments.get(**SALES)
    del department["ManagerId"]
    await departments.replace(department)
    assert await departments.get(**SALES) == {**SALES, "Rooms": 3}


async def test_a_new_manager_gets_a_new_etag(places: DerivedTables) -> None:
    employees, departments = await staffed(places, here())
    stale = await employees.get(Department="Sales", EmployeeId=2)
    await departments.update(lambda department: department.update(ManagerId=2), **SALES)
    with pytest.raises(EntityChanged):
        await employees.merge(stale, {"FirstName": "Anna"})


@EVERYWHERE
async def test_copies_are_what_they_are_copied_from_whatever_a_caller_gives(places: DerivedTables, make: Make) -> None:
    _, departments = await staffed(places, make(places))
    department = await departments.get(**SALES)
    await departments.merge(department, {"ManagerEmail": "nobody@contoso.com", "Rooms": 4})
    assert (await managed(departments), department["Rooms"]) == (("jo@contoso.com", "Jo"), 4)
    await departments.insert_or_replace({**SALES, "ManagerId": 1, "ManagerName": "Nobody"})
    assert await managed(departments) == ("jo@contoso.com", "Jo")
    await departments.insert_or_merge({**SALES, "ManagerId": 2, "ManagerName": "Nobody"})
    assert await managed(departments) == ("ann@contoso.com", "Ann")


async def test_a_copy_that_the_next_manager_lacks_is_gone_after_a_merge_too(places: DerivedTables) -> None:
    employees, departments = await staffed(places, here())
    await employees.insert(jones(EmployeeId=3, FirstName="Kim", Email=None))
    department = await departments.get(**SALES)
    await departments.merge(department, {"ManagerId": 3})
    assert await departments.get(**SALES) == {**SALES, "ManagerId": 3, "Rooms": 3, "ManagerName": "Kim"}


@EVERYWHERE
async def test_a_reference_to_a_missing_entity_is_rejected(places: DerivedTables, make: Make) -> None:
    _, departments = await staffed(places, make(places))
    before = await departments.get(**SALES)
    department = await departments.get(**SALES)
    with pytest.raises(ReferenceNotFound, match="Nothing was written; insert it first"):
        await departments.merge(department, {"ManagerId": 9})
    with pytest.raises(ReferenceNotFound):
        await departments.update(lambda each: each.update(ManagerId=9), **SALES)
    with pytest.raises(ReferenceNotFound):
        await departments.insert_or_merge({**SALES, "ManagerId": 9})
    assert await departments.get(**SALES) == before


# -- what it costs


# -- several changes at a time


@pytest.mark.guide("G-190", "G-191")
@pytest.mark.parametrize("first", ["the department", "the employee"])
async def test_a_new_manager_is_hired_and_chosen_in_one_transaction(places: DerivedTables, first: str) -> None:
    employees, departments = await staffed(places, here())
    department = await departments.get(**SALES)
    hired = employees.inserting(jones(EmployeeId=3, FirstName="Kim", Email="kim@contoso.com"))
    chosen = departments.merging(department, {"ManagerId": 3})
    transaction = EntityGroupTransaction(places.storage, places.table)
    await transaction.commit(*([chosen, hired] if first == "the department" else [hired, chosen]))
    assert await managed(departments) == ("kim@contoso.com", "Kim")
    assert department == await departments.get(**SALES)


async def test_a_manager_may_change_in_the_transaction_that_chooses_her(places: DerivedTables) -> None:
    employees, departments = await staffed(places, here())
    department = await departments.get(**SALES)
    ann = await employees.get(Department="Sales", EmployeeId=2)
    await EntityGroupTransaction(places.storage, places.table).commit(
        departments.merging(department, {"ManagerId": 2}), employees.merging(ann, {"FirstName": "Anna"})
    )
    assert await managed(departments) == ("ann@contoso.com", "Anna")
    assert department == await departments.get(**SALES)


async def test_counts_and_copies_share_a_department(places: DerivedTables) -> None:
    manager, count = here(), Summary(DEPARTMENT, count="EmployeeCount", sums={"Age": "Ages"})
    employees = places.employees(manager, count)
    filled = [manager.filled_from(employees)]
    departments = EntitySet(places.storage, places.table, DEPARTMENT, derived=filled)
    await employees.insert(jones(EmployeeId=1, FirstName="Jo", Email="jo@contoso.com"))
    await departments.insert_or_merge({**SALES, "ManagerId": 1})
    jo = await employees.get(Department="Sales", EmployeeId=1)
    await employees.merge(jo, {"Age": 40, "FirstName": "Joe"})
    assert (await rows_of(places.storage, places.table))[ROW] == {
        "ManagerId": 1,
        "ManagerEmail": "jo@contoso.com",
        "ManagerName": "Joe",
        "EmployeeCount": 1,
        "Ages": 40,
    }
    await employees.delete(jo)
    assert (await rows_of(places.storage, places.table))[ROW] == {"ManagerId": 1, "EmployeeCount": 0, "Ages": 0}


@pytest.mark.guide("G-191")
async def test_a_refusal_changes_neither(places: DerivedTables) -> None:
    employees, departments = await staffed(places, here())
    stale = await employees.get(Department="Sales", EmployeeId=1)
    await employees.merge(await employees.get(Department="Sales", EmployeeId=1), {"Email": "j@contoso.com"})
    before = await rows_of(places.storage, places.table)
    with pytest.raises(EntityChanged):
        await employees.merge(stale, {"Email": "other@contoso.com"})
    with pytest.raises(EntityAlreadyExists):
        await employees.insert(jones(EmployeeId=1, Email="other@contoso.com"))
    with pytest.raises(EntityAlreadyExists):
        await departments.insert({**SALES, "ManagerId": 2})
    assert await rows_of(places.storage, places.table) == before


# -- what is older, and what went wrong


@EVERYWHERE
async def test_copies_can_be_backfilled_verified_and_repaired(places: DerivedTables, make: Make) -> None:
    manager = make(places)
    past = places.employees()
    for number in (1, 2):
        await past.insert(jones(EmployeeId=number, Email=f"{number}@contoso.com"))
    table = places.storage.table(manager.table(places.table))
    keys = dict(zip(("PartitionKey", "RowKey"), manager.key.format(SALES), strict=True))
    await table.submit(Operation.insert({**keys, "ManagerId": 1}))
    employees, departments = both(places, manager)
    assert len((await verify(employees, manager)).of(Finding.STALE)) == 1
    await backfill(employees, manager)
    assert await managed(departments) == ("1@contoso.com", "Jo")
    await table.submit(Operation.merge({**keys, "ManagerEmail": "wrong"}, ANY))
    assert await repair(employees, manager) == 1
    assert await managed(departments) == ("1@contoso.com", "Jo")
    await past.delete({"Department": "Sales", "EmployeeId": 1}, force=True)
    assert len((await verify(employees, manager)).of(Finding.ORPHANED)) == 1
    await repair(employees, manager)
    assert await managed(departments) == (None, None)
    assert (await verify(employees, manager)).is_clean


# -- what is refused


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"copies": {}}, "at least one field to copy"),
        ({"copies": {"Email": "ManagerId"}}, "another field has this name"),
        ({"copies": {"Email": "Department"}}, "another field has this name"),
        ({"copies": {"Email": "Manager", "FirstName": "Manager"}}, "another field has this name"),
        ({"store": InBlobs("departments")}, "cannot be stored in blobs"),
    ],
)
def test_invalid_copies_are_rejected(options: Any, rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        CopiedFields(DEPARTMENT, **(COPIES | options))


def test_copies_that_do_not_fit_the_sets_are_rejected() -> None:
    storage, manager = connect(), here()
    employees = EntitySet(storage, "Staff", BY_ID, derived=[manager])
    with pytest.raises(BadDesign, match="share the primary's partition"):
        EntitySet(storage, "Staff", Key("all", "{EmployeeId:06d}"), derived=[manager])
    with pytest.raises(BadDesign, match="does not have this field"):
        EntitySet(storage, "Staff", Key("{Department}", "{Number:06d}"), derived=[manager])
    with pytest.raises(BadDesign, match="use that key"):
        EntitySet(storage, "Staff", Key("{Department}", "d"), derived=[manager.filled_from(employees)])
    with pytest.raises(BadDesign, match="use that table"):
        EntitySet(storage, "Departments", DEPARTMENT, derived=[manager.filled_from(employees)])
    with pytest.raises(BadDesign, match="declare the copies"):
        here().filled_from(employees)


def test_copying_an_entity_into_itself_is_rejected() -> None:
    manager = CopiedFields(Key("{Department}", "empid_{Boss}"), **COPIES)
    employees = EntitySet(connect(), "Staff", BY_ID, derived=[manager])
    with pytest.raises(BadKey, match="a copied entity could have these keys"):
        employees.insert(jones(Boss="000001"))


def test_an_index_of_the_copies_is_rejected() -> None:
    storage, manager = connect(), here()
    employees = EntitySet(storage, "Staff", BY_ID, derived=[manager])
    filled = manager.filled_from(employees)
    for include in (None, ["ManagerEmail"]):
        index = IntraPartitionIndex(Key("{Department}", "room_{Room}"), include=include)
        with pytest.raises(BadDesign, match="would become stale"):
            EntitySet(storage, "Staff", DEPARTMENT, derived=[filled, index])
    index = IntraPartitionIndex(Key("{Department}", "room_{Room}"), include=["Rooms"])
    assert EntitySet(storage, "Staff", DEPARTMENT, derived=[filled, index]).derived


async def test_an_employee_that_was_read_from_an_index_costs_a_read_more(places: DerivedTables, engine: Engine) -> None:
    employees = places.employees(here(), by_email)
    await employees.insert(jones())
    found = await employees.find(by_email, **SALES, Email="jonesj@contoso.com")
    with pytest.raises(BadInput, match="whose ETag is not the entity"):
        employees.merging(found, {"Age": 5})
    with engine.ledger.span() as span:
        await employees.merge(found, {"Age": 5})
    assert operations(span) == ["QueryEntity", "Transaction"]
    stale = await employees.find(by_email, **SALES, Email="jonesj@contoso.com")
    await employees.merge(found, {"Age": 6})
    with pytest.raises(EntityChanged):
        await employees.merge(stale, {"Age": 7})


# -- rows that the copied entity does not name


@st.composite
def changes_of_teams(draw: st.DrawFn) -> list[tuple[str, int, Any]]:
    """Return writes: the e-mail or the team of an employee, a deletion, and the head of a team."""
    employee, team = st.integers(1, 2), st.sampled_from(["a", "b"])
    steps = st.one_of(
        st.tuples(st.just("email"), employee, st.sampled_from(["x", "y", None])),
        st.tuples(st.just("team"), employee, st.sampled_from(["a", "b", None])),
        st.tuples(st.just("delete"), employee, st.none()),
        st.tuples(st.just("head"), employee, team),
    )
    return draw(st.lists(steps, max_size=8))


@pytest.mark.parametrize("key", [Key("{Department}", "team_{Team}"), Key("team_{Team}", "{Department}")])
def test_copies_are_in_the_row_that_the_entity_names(key: Key) -> None:
    """An entity is copied only where its later changes are copied too, or nothing is."""

    @given(changes_of_teams())
    def check(steps: list[tuple[str, int, Any]]) -> None:
        storage = connect()
        is_elsewhere = key.partition_fields == ("Team",)
        head = CopiedFields(
            key,
            refers={"EmployeeId": "HeadId"},
            copies={"Email": "HeadEmail"},
            store=InTable("Teams") if is_elsewhere else None,
        )
        employees: Any = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[head])
        teams: Any = EntitySet(
            storage, "Teams" if is_elsewhere else "Staff", key, derived=[head.filled_from(employees)]
        )
        for kind, number, value in steps:
            fields = {**SALES, "EmployeeId": number}
            with suppress(EntityNotFound):
                if kind == "head":
                    teams.insert_or_replace({**SALES, "Team": value, "HeadId": number})
                elif kind == "delete":
                    employees.delete(fields, force=True)
                else:
                    stored = employees.get(fields) or fields
                    employees.insert_or_replace({**stored, kind.title(): value})
        for team in teams.scan():
            employee = employees.get({**SALES, "EmployeeId": team["HeadId"]}) or {}
            is_named = employee.get("Team") == team["Team"]
            assert team.get("HeadEmail") == (employee.get("Email") if is_named else None)
        assert verify(employees, head).is_clean

    check()
