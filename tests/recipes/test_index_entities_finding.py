"""Find entities by lists: wherever they are, stale, repaired, or with other derived data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.derived_tables import DerivedTables, derived_tables_on
from support.employees import by_email, jones
from support.name_lists import EVENTUAL, EVERYWHERE, OUTSIDE, SALES, Make, numbers
from tablepatterns import BulkLoad
from tablepatterns.entity_set.placement import InTable
from tablepatterns.entity_set.reconcile import Finding
from tablepatterns.jobs import backfill, repair, verify
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.sdk.operation import ANY, Operation


@pytest.fixture
def places(backend: Any, storage: Any, new_name: Any) -> Iterator[DerivedTables]:
    with derived_tables_on(backend, storage, new_name) as found:
        yield found


# -- what is found


@EVERYWHERE
@pytest.mark.guide("G-176", "G-177", "G-184")
async def test_lists_follow_inserts_renames_and_deletes(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    assert await numbers(employees, via) == []
    for number in (223, 152, 7, 42):
        await employees.insert(jones(EmployeeId=number))
    assert await numbers(employees, via) == [7, 42, 152, 223]
    renamed = await employees.get(Department="Sales", EmployeeId=42)
    renamed["LastName"] = "Smith"
    await employees.replace(renamed)
    await employees.insert_or_merge({"Department": "Sales", "EmployeeId": 152, "Age": 50})
    await employees.delete({"Department": "Sales", "EmployeeId": 7}, force=True)
    await employees.insert(jones(EmployeeId=1, LastName=None))
    assert await numbers(employees, via) == [152, 223]
    assert await numbers(employees, via, "Smith") == [42]
    assert (await verify(employees, via)).is_clean


@pytest.mark.guide("G-181")
@OUTSIDE
async def test_lists_in_another_table_find_a_name_in_all_departments(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    for department in ("Sales", "Marketing"):
        await employees.insert(jones(Department=department))
    found = await employees.find_all(via, LastName="Jones")
    assert [each["Department"] for each in found] == ["Marketing", "Sales"]


@pytest.mark.guide("G-181")
async def test_lists_in_the_partition_find_a_name_in_a_department(places: DerivedTables) -> None:
    via = IndexEntity("LastName")
    employees = places.employees(via)
    for department in ("Sales", "Marketing"):
        await employees.insert(jones(Department=department))
    assert [each["Department"] for each in await employees.find_all(via, **SALES)] == ["Sales"]


async def test_entities_that_have_left_a_list_which_is_late_are_left_out(places: DerivedTables) -> None:
    via = IndexEntity("LastName", store=InTable(places.other))
    employees = places.employees(via)
    await employees.insert(jones(EmployeeId=1))
    past = places.employees()
    await past.insert(jones(EmployeeId=2, LastName="Smith"))
    stale = {"PartitionKey": "lastname_Jones", "RowKey": "ids"}
    listed = "Sales#empid_000001/Sales#empid_000002/Sales#empid_000003"
    await places.storage.table(places.other).submit(Operation.replace({**stale, "Ids": listed}, ANY))
    assert [each["EmployeeId"] for each in await employees.find_all(via, LastName="Jones")] == [1]
    assert len(await employees.keys_of(via, LastName="Jones")) == 3


async def test_a_list_may_be_of_several_fields(places: DerivedTables) -> None:
    via = IndexEntity("LastName", "FirstName")
    employees = places.employees(via)
    for number, first in enumerate(("Jo", "Ann", "Jo")):
        await employees.insert(jones(EmployeeId=number, FirstName=first))
    found = await employees.find_all(via, Department="Sales", LastName="Jones", FirstName="Jo")
    assert [each["EmployeeId"] for each in found] == [0, 2]


# -- what is older, and what went wrong


@EVERYWHERE
async def test_lists_can_be_filled_for_entities_that_are_older(places: DerivedTables, make: Make) -> None:
    past = places.employees()
    for number in range(5):
        await past.insert(jones(EmployeeId=number))
    via = make(places)
    employees = places.employees(via)
    assert (
        len((await verify(employees, via)).of(Finding.MISSING)) + len((await verify(employees, via)).of(Finding.STALE))
        == 5
    )
    await backfill(employees, via)
    assert await numbers(employees, via) == [0, 1, 2, 3, 4]
    assert (await verify(employees, via)).is_clean


@EVERYWHERE
async def test_stale_lists_of_crashed_writers_are_found_and_repaired(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees, past = places.employees(via), places.employees()
    for number in range(3):
        await employees.insert(jones(EmployeeId=number))
    await past.delete({"Department": "Sales", "EmployeeId": 1}, force=True)
    await past.insert(jones(EmployeeId=7))
    await past.update(lambda employee: employee.update(LastName="Smith"), Department="Sales", EmployeeId=2)
    report = await verify(employees, via)
    assert len(report.of(Finding.ORPHANED)) == 2
    assert len(report.of(Finding.MISSING)) + len(report.of(Finding.STALE)) == 2
    assert await repair(employees, via, report) == len({drift.row for drift in report.drifts})
    assert await numbers(employees, via) == [0, 7]
    assert await numbers(employees, via, "Smith") == [2]
    assert (await verify(employees, via)).is_clean


# -- beside others


@pytest.mark.guide("G-181")
async def test_one_set_may_keep_lists_of_one_field_in_several_places(places: DerivedTables) -> None:
    kinds = [IndexEntity("LastName"), *(make(places) for make in (EVENTUAL["another table"], EVENTUAL["blobs"]))]
    named = [kinds[0], IndexEntity("LastName", store=kinds[1].placement, name="everywhere"), kinds[2]]
    employees = places.employees(*named, by_email)
    for number in (2, 1):
        await employees.insert(jones(EmployeeId=number, Email=f"{number}@contoso.com"))
    for via in named:
        assert await numbers(employees, via) == [1, 2]
        assert (await verify(employees, via)).is_clean
    assert (await employees.find(by_email, Department="Sales", Email="1@contoso.com"))["EmployeeId"] == 1


@EVERYWHERE
async def test_entities_that_are_loaded_in_bulk_are_listed(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    names = ("Jones", "Smith", "Jones", "Brown", "Jones")
    await BulkLoad(employees).load(jones(EmployeeId=number, LastName=name) for number, name in enumerate(names))
    assert await numbers(employees, via) == [0, 2, 4]
    assert (await verify(employees, via)).is_clean
