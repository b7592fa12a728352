"""Recipes that take a set also work with a set that has a model, on its entities."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest

from tablepatterns import (
    Archive,
    BlobArchive,
    BulkDelete,
    BulkLoad,
    EntitySet,
    EntityTypes,
    IndexEntity,
    InterPartitionIndex,
    Key,
    Lookup,
    OneToMany,
    ParallelReads,
    PartitionMove,
    PartitionSpread,
    Period,
    PeriodTables,
    QueryClass,
    SharedFields,
    Stored,
    Summary,
    Worker,
    explain,
    prop,
)
from tablepatterns.errors import BadDesign, BadInput, BadProperty
from tablepatterns.jobs import verify
from tablepatterns.recipes.one_to_many import Family

KEY = Key("{department}", "empid_{employee_id:06d}")
BY_MAIL = InterPartitionIndex(Key("mail", "mail_{email}"))


@dataclass
class Employee:
    department: str
    employee_id: int
    email: str
    hired: date = date(2024, 1, 1)
    salary: Decimal = Decimal(1)


async def test_entities_of_a_model_are_loaded_moved_archived_and_read(storage: Any, new_name: Any) -> None:
    employees = EntitySet(storage, new_name(), KEY, model=Employee, derived=[BY_MAIL])
    staff = [Employee("Sales", number, f"{number}") for number in range(3)]
    await BulkLoad(employees).load([employees.entity_of(each) for each in staff])
    found = (await ParallelReads(employees).ranges([{"department": "Sales"}])).all_or_raise()
    assert found == staff == [each async for each in employees.range(department="Sales")]
    found[0].hired = date(2025, 1, 1)
    await employees.replace(found[0])
    move = PartitionMove(employees)
    await move.move(employees.entity_of(found[1]), department="Marketing")
    assert await employees.get(department="Marketing", employee_id=1) == Employee("Marketing", 1, "1")
    archive = Archive(employees, BlobArchive(storage, new_name().lower()))
    await archive.archive(employees.entity_of(found[2]))
    await Worker(storage, [archive]).run_once()
    assert await employees.get(department="Sales", employee_id=2) is None
    assert (await verify(employees, BY_MAIL)).drifts == ()
    await BulkDelete(employees).delete(department="Sales")
    assert [each.employee_id async for each in employees.scan()] == [1]


@dataclass
class Department:
    department: str
    opened: date = date(2020, 1, 1)


async def test_reads_in_parallel_return_instances(storage: Any, new_name: Any) -> None:
    employees = EntitySet(storage, new_name(), KEY, model=Employee, derived=[BY_MAIL])
    jones = await employees.insert(Employee("Sales", 1, "a"))
    reads = ParallelReads(employees)
    points = await reads.points([{"department": "Sales", "employee_id": number} for number in (1, 2)])
    assert [each.entities for each in points.reads] == [(jones,), ()]
    hired = await reads.ranges(
        [{"department": "Sales"}], where=prop("hired") == date(2024, 1, 1), allow=QueryClass.PARTITION_SCAN
    )
    assert hired.entities == [jones]
    found = (await reads.ranges([{"email": "a"}], BY_MAIL)).all_or_raise()
    found[0].salary = Decimal(2)
    await employees.replace(found[0])
    with pytest.raises(BadInput, match="needs all its fields"):
        await reads.ranges([{"department": "Sales"}], select=["email"])


async def test_a_lookup_returns_instances_of_its_own_and_joins_instances(storage: Any, new_name: Any) -> None:
    departments = EntitySet(storage, new_name(), Key("{department}", "head"), model=Department)
    sales = await departments.insert(Department("Sales"))
    lookup = Lookup(departments)
    first, second = await lookup.get(department="Sales"), await lookup.get(department="Sales")
    assert (first, second) == (sales, sales)
    assert first is not second
    staff = [Employee("Sales", 1, "a"), Employee("none", 2, "b")]
    assert await lookup.join(staff) == [(staff[0], sales), (staff[1], None)]
    second.opened = date(2021, 1, 1)
    await departments.replace(second)
    lookup.forget(department="Sales")
    assert await lookup.get(department="Sales") == second


async def test_parents_and_children_are_instances(storage: Any, new_name: Any) -> None:
    departments = EntitySet(storage, new_name(), Key("{department}", "head"), model=Department)
    employees = EntitySet(storage, new_name(), KEY, model=Employee)
    sales, jones = await departments.insert(Department("Sales")), await employees.insert(Employee("Sales", 1, "a"))
    staff = OneToMany(departments, employees)
    assert await staff.parent_of(jones) == sales == await staff.parent_of({"department": "Sales"})
    assert [each async for each in staff.children_of(department="Sales")] == [jones]
    assert await staff.family(department="Sales") == Family(sales, (jones,))
    assert await staff.family(department="none") == Family(None, ())


async def test_shared_fields_take_values_of_the_model(storage: Any, new_name: Any) -> None:
    employees = EntitySet(storage, new_name(), KEY, model=Employee)
    await employees.insert(Employee("Sales", 1, "a"))
    shared = SharedFields(employees, ["hired", "salary"])
    new: dict[str, Any] = {"hired": date(2025, 1, 1), "salary": Decimal(0)}
    assert (await shared.change(new, department="Sales")).written == 1
    assert (await shared.change(new, department="Sales")).written == 0
    assert await employees.get(department="Sales", employee_id=1) == Employee("Sales", 1, "a", **new)
    with pytest.raises(BadProperty, match="hired"):
        await shared.change({"hired": 5}, department="Sales")


async def test_a_set_with_a_model_is_read_with_others_and_explained(storage: Any, new_name: Any) -> None:
    employees = EntitySet(storage, new_name(), KEY, model=Employee, derived=[BY_MAIL])
    jones = await employees.insert(Employee("Sales", 1, "a"))
    assert [entity async for entity in EntityTypes(employees).range(department="Sales")] == [jones]
    assert explain(employees).get(department="Sales", employee_id=1).query_class is QueryClass.POINT


@dataclass
class Login:
    user: str
    at: datetime
    city: str = ""


@dataclass
class Renamed:
    user: str
    at: datetime
    city: Annotated[str, Stored("City")] = ""


async def test_period_tables_hold_sets_with_a_model(storage: Any, new_name: Any) -> None:
    key = Key("{user}", "{at:ticks}")

    def tables(model: Any) -> Any:
        return PeriodTables(
            storage,
            new_name() + "x",
            Period.DAY,
            at="at",
            factory=lambda on, name: EntitySet(on, name, key, model=model),
        )

    logins, moment = tables(Login), datetime(2026, 7, 31, 12, tzinfo=timezone.utc)
    await logins.insert({"user": "jones", "at": moment, "city": "Rome"})
    assert await logins.of(moment).get(user="jones", at=moment) == Login("jones", moment, "Rome")
    with pytest.raises(BadDesign, match="Stored"):
        tables(Renamed).of(moment)


@dataclass
class Event:
    bucket: int
    day: str
    number: int
    text: str = ""


async def test_lists_and_totals_of_a_model_are_spread(storage: Any, table_name: str) -> None:
    by_mail = IndexEntity("email", key=Key("{department}", "mail_{email:escape}"), spread=2)
    totals = Summary(Key("{department}", "total"), spread=2)
    employees = EntitySet(storage, table_name, KEY, model=Employee, derived=[by_mail, totals])
    staff = [await employees.insert(Employee("Sales", number, "a")) for number in range(4)]
    assert await employees.find_all(by_mail, department="Sales", email="a") == staff
    assert await employees.totals(totals, department="Sales") == {"Count": 4}


async def test_a_partition_spread_holds_a_set_with_a_model(storage: Any, new_name: Any) -> None:
    spread = PartitionSpread(
        storage,
        new_name(),
        Key("{day}", "{number:06d}"),
        by=["number"],
        bucket="bucket",
        factory=lambda on, table, key: EntitySet(on, table, key, model=Event),
    )
    placed = await spread.insert(Event(0, "a", 1, "x"))
    assert placed == Event(spread.buckets.of({"number": 1}), "a", 1, "x")
    assert await spread.get(day="a", number=1) == placed
    placed.text = "y"
    assert await spread.replace(placed) == placed
    assert (await spread.without_model().get(day="a", number=1))["text"] == "y"
    with pytest.raises(BadInput, match="pass a Event"):
        await spread.insert({"day": "a", "number": 2, "text": "x"})
