"""The types of fields: enforced if a set has a model; without one, any entity is valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.employees import BY_ID, jones, rows_of
from tablepatterns import BulkLoad, EntitySet, Key
from tablepatterns.errors import BadInput, BadProperty


@dataclass
class Employee:
    Department: str
    EmployeeId: int
    FirstName: str
    LastName: str
    Age: int
    Email: str | None = None


@pytest.fixture
def employees(storage: Any, table_name: str) -> Any:
    return EntitySet(storage, table_name, BY_ID, model=Employee)


@pytest.mark.guide("G-013")
async def test_what_fits_is_written(employees: Any) -> None:
    employee = await employees.insert(Employee(**jones(Email=None)))
    await employees.merge(employee, {"LastName": "Smith"})
    await employees.insert_or_merge(Employee(**jones(LastName="Smith", Age=35, Email=None)))
    expected = Employee(**jones(LastName="Smith", Age=35, Email=None))
    assert await employees.get(Department="Sales", EmployeeId=223) == expected


@pytest.mark.guide("G-013")
@pytest.mark.parametrize("age", ["old", True, None, 34.5])
async def test_what_does_not_fit_is_rejected_by_every_write(
    employees: Any, storage: Any, table_name: str, age: Any
) -> None:
    employee = await employees.insert(Employee(**jones()))
    before = await rows_of(storage, table_name)
    with pytest.raises(BadProperty, match="must be int"):
        await employees.insert(Employee(**jones(EmployeeId=224, Age=age)))
    with pytest.raises(BadProperty, match="must be int"):
        await employees.insert_or_replace(Employee(**jones(Age=age)))
    with pytest.raises(BadProperty, match="must be int"):
        await employees.insert_or_merge(Employee(**jones(Age=age)))
    with pytest.raises(BadProperty, match="must be int"):
        await employees.merge(employee, {"Age": age})
    with pytest.raises(BadInput, match="Title"):
        await employees.merge(employee, {"Title": "Head"})
    employee.Age = age
    with pytest.raises(BadProperty, match="must be int"):
        await employees.replace(employee)
    assert await rows_of(storage, table_name) == before


@pytest.mark.guide("G-013")
async def test_without_a_model_nothing_is_in_the_way(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, Key("{Group}", "{Name}"))
    for name, fields in (("a", {"Age": 1}), ("b", {"Age": "old", "Title": "Head"}), ("c", {})):
        await rows.insert({"Group": "all", "Name": name} | fields)
    assert len(await rows.take(9, Group="all")) == 3


@pytest.mark.guide("G-015")
@pytest.mark.owns_account("it lists all tables of the account")
async def test_tables_partitions_and_entities_are_as_many_as_one_likes(storage: Any, engine: Any) -> None:
    for number in range(1100):
        engine.tables.create(f"Table{number:04d}")
    names = [name for mark in (None, "table0999") for name in engine.tables.names(mark)[0]]
    assert len(names) == 1100
    rows = EntitySet(storage, "Table0000", Key("{Partition:04d}", "{Row:04d}"))
    partitions = [{"Partition": number, "Row": 0} for number in range(110)]
    await BulkLoad(rows).load([*partitions, *({"Partition": 0, "Row": number + 1} for number in range(1100))])
    assert len([each async for each in rows.scan()]) == 1210
