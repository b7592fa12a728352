"""Schema: enforced if a set has one; without one, any entity is valid."""

from __future__ import annotations

from typing import Any

import pytest

from support.employees import BY_ID, jones, rows_of
from tablepatterns import BulkLoad, EntitySet, Key, Schema
from tablepatterns.errors import BadDesign, BadProperty

STAFF = Schema(
    {"Department": str, "EmployeeId": int, "FirstName": str, "LastName": str, "Age": int, "Email": str},
    required=["Age"],
)


@pytest.fixture
def employees(storage: Any, table_name: str) -> Any:
    return EntitySet(storage, table_name, BY_ID, schema=STAFF)


@pytest.mark.guide("G-013")
async def test_what_fits_is_written(employees: Any) -> None:
    entity = await employees.insert(jones(Email=None))
    await employees.merge(entity, {"LastName": "Smith"})
    await employees.insert_or_merge({"Department": "Sales", "EmployeeId": 223, "Age": 35})
    expected = jones(LastName="Smith", Age=35)
    del expected["Email"]
    assert await employees.get(Department="Sales", EmployeeId=223) == expected


@pytest.mark.guide("G-013")
@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"Age": "old"}, "requires int"),
        ({"Age": True}, "requires int"),
        ({"Age": None}, "requires the field"),
        ({"Title": "Head"}, "has only"),
    ],
)
async def test_what_does_not_fit_is_rejected_by_every_write(
    employees: Any, storage: Any, table_name: str, changes: dict[str, Any], rule: str
) -> None:
    entity = await employees.insert(jones())
    before = await rows_of(storage, table_name)
    with pytest.raises(BadProperty, match=rule):
        await employees.insert(jones(EmployeeId=224, **changes))
    with pytest.raises(BadProperty, match=rule):
        await employees.insert_or_replace(jones(**changes))
    entity.update(changes)
    with pytest.raises(BadProperty, match=rule):
        await employees.replace(entity)
    if changes != {"Age": None}:
        with pytest.raises(BadProperty, match=rule):
            await employees.merge(entity, changes)
        with pytest.raises(BadProperty, match=rule):
            await employees.insert_or_merge({"Department": "Sales", "EmployeeId": 223} | changes)
    assert await rows_of(storage, table_name) == before


async def test_an_open_schema_lets_other_names_through(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, Key("{Group}", "{Name}"), schema=Schema({"Age": int}, is_open=True))
    await rows.insert({"Group": "a", "Name": "b", "Age": 1, "Title": "Head"})
    with pytest.raises(BadProperty, match="Age"):
        await rows.insert({"Group": "a", "Name": "c", "Age": 1.5})


@pytest.mark.guide("G-013")
async def test_without_a_schema_nothing_is_in_the_way(storage: Any, table_name: str) -> None:
    rows = EntitySet(storage, table_name, Key("{Group}", "{Name}"))
    for name, fields in (("a", {"Age": 1}), ("b", {"Age": "old", "Title": "Head"}), ("c", {})):
        await rows.insert({"Group": "all", "Name": name} | fields)
    assert len(await rows.take(9, Group="all")) == 3


def test_a_required_field_needs_a_type() -> None:
    with pytest.raises(BadDesign, match="no type"):
        Schema({"Age": int}, required=["Email"])


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
