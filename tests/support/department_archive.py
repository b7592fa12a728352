"""Shared by tests of archived families: a department with its employees, and their possible targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import uuid4

from tablepatterns import Archive, BlobArchive, EntitySet, Key, OneToMany, Summary

DEPARTMENT = Key("{Department}", "department")
EMPLOYEE = Key("{Department}", "empid_{EmployeeId:06d}")
SALES = {"Department": "Sales"}


class Family(NamedTuple):
    """The sets of departments and employees, and the archive of both."""

    departments: Any
    employees: Any
    archive: Any


def counted() -> Summary:
    """Return a summary that counts the employees in the row of their department."""
    return Summary(DEPARTMENT, count="EmployeeCount")


def sets_in(storage: Any, table: str, *, is_counted: bool = False, **options: Any) -> tuple[Any, Any]:
    """Return the departments and the employees of a table."""
    derived = [counted()] if is_counted else []
    return (
        EntitySet(storage, table, DEPARTMENT, **options),
        EntitySet(storage, table, EMPLOYEE, derived=derived, **options),
    )


def family_of(storage: Any, table: str, to: tuple[Any, Any], queue: str, **options: Any) -> Family:
    """Return the archive of a table's departments with their employees, with two targets."""
    departments, employees = sets_in(storage, table, **options)
    parents, children = to
    archive: Any = Archive(departments, parents, children={OneToMany(departments, employees): children}, queue=queue)
    return Family(departments, employees, archive)


def employee(number: int, **more: Any) -> dict[str, Any]:
    return {**SALES, "EmployeeId": number, **more}


async def fill(family: Family, *numbers: int, **more: Any) -> Mapping[str, Any]:
    """Insert a department with these employees, and return it."""
    found: Mapping[str, Any] = await family.departments.insert({**SALES, "Floor": 3})
    for number in numbers:
        await family.employees.insert(employee(number, **more))
    return found


@contextmanager
def places(kind: str, backend: Any, storage: Any, table: str) -> Iterator[tuple[Any, Any]]:
    """Yield two targets of this kind, for departments and for employees, and clean up afterwards."""
    if kind == "table":
        yield sets_in(storage, table)
    else:
        name = f"c{uuid4().hex}"
        yield BlobArchive(storage, name, prefix="departments/"), BlobArchive(storage, name, prefix="employees/")
        if backend.kind != "memory":
            backend.run(storage.container(name).drop())
