"""A review of sets with copies of another set's fields: generated references are valid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tablepatterns import CopiedFields, EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.errors import BadDesign
from tablepatterns.filters import QueryClass
from tablepatterns_review import DeclaredSet, Design, Field, Query, Shape, Write, declare_set, review

INTO = Key("{Department}", "department")
MANAGER = CopiedFields(INTO, refers={"EmployeeId": "ManagerId"}, copies={"Email": "ManagerEmail"})


def sets() -> tuple[DeclaredSet, DeclaredSet]:
    storage = connect()
    staff = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[MANAGER])
    departments = EntitySet(storage, "Staff", INTO, derived=[MANAGER.filled_from(staff)])
    department = Field(distinct=10, size=10)
    employees = declare_set(
        staff,
        name="Employees",
        shape=Shape("Employee", 300, {"Department": department, "EmployeeId": Field("int32"), "Email": Field(size=24)}),
        writes=[Write("marry", "update", ("Email",), rate=0.0001)],
    )
    held = {
        "Department": Field(size=10),
        "ManagerId": Field("int32", distinct=10),
        "ManagerEmail": Field(size=24),
        "Floor": Field("int32", distinct=9),
    }
    return employees, declare_set(
        departments,
        name="Departments",
        shape=Shape("Department", 10, held),
        queries=[Query("department", {"Department": "="}, rate=5)],
        writes=[Write("move", "update", rate=0.0001), Write("found", "insert", rate=0.0001)],
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_of_the_sets_makes_no_difference(reverse: bool) -> None:
    declared = sets()
    found = review(Design("Staff", declared[::-1] if reverse else declared))
    by_name = {each.access.name: each for each in found.measured}
    assert (by_name["department"].query_class, by_name["department"].examined) == (QueryClass.POINT, 1)
    assert set(by_name) == {"marry", "department", "move", "found"}


def test_an_entity_without_a_possible_reference_has_none() -> None:
    employees, departments = sets()
    few = replace(employees, shape=replace(employees.shape, count=3))
    assert review(Design("Staff", (few, departments))).measured


def test_a_date_in_the_key_of_an_index_must_be_in_that_of_the_entities() -> None:
    index = IntraPartitionIndex(Key("{Department}", "day_{Day:%Y-%m-%d}_{EmployeeId:06d}"))
    staff = EntitySet(connect(), "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[index])
    fields = {"Department": Field(distinct=9), "EmployeeId": Field("int32"), "Day": Field("datetime", distinct=90)}
    declared = declare_set(staff, shape=Shape("Employee", 90, fields))
    with pytest.raises(BadDesign, match="hold Day as a property, and a date is none"):
        review(Design("Staff", (declared,)))
