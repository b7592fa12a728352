"""Entity types combined with transactions, indexes and mappings; and rejected designs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest

from support.employees import rows_of
from support.typed_staff import (
    ID,
    Contractor,
    Customer,
    Department,
    Employee,
    Grade,
    Person,
    Worker,
    departments_of,
    employees_of,
    jones,
    persons_of,
    staff_of,
    values,
)
from tablepatterns import EntityGroupTransaction, EntitySet, IntraPartitionIndex, Key, above, between, prefix, prop
from tablepatterns.errors import (
    BadDesign,
    BadFilter,
    BadInput,
    BadKey,
    BadProperty,
    DuplicateIndexValue,
    EntityChanged,
    UnrecognizedEntity,
)
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.entity_types.entity_type import EntityType
from tablepatterns.recipes.entity_types.entity_types import EntityTypes
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns_engine.account import Engine

by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


# ------------------------------------------------------------------ entity group transactions


@pytest.mark.guide("G-070")
async def test_entities_of_several_types_change_in_one_transaction(
    storage: Any, engine: Engine, table_name: str
) -> None:
    staff = staff_of(storage, table_name, derived=[by_email])
    transaction = EntityGroupTransaction(storage, table_name)
    sales = await staff.insert(Department("Sales", 0))
    with engine.ledger.span() as span:
        _, written = await transaction.commit(
            staff.inserting(jones(Email="jo@contoso.com")), staff.replacing(sales, Department("Sales", 1))
        )
    assert span.totals.billable == 1
    again = staff.typed_entity(Department, written)
    assert again.value == Department("Sales", 1)
    assert staff.typed_entity(Employee, written) is None
    assert await values(staff.range(Department="Sales")) == [Department("Sales", 1), jones(Email="jo@contoso.com")]
    employee = await staff.get(Employee, **ID)
    await transaction.commit(staff.deleting(employee), staff.replacing(again, Department("Sales", 0)))
    assert sorted(await rows_of(storage, table_name)) == [("Sales", "DEPARTMENT")]


@pytest.mark.guide("G-070")
async def test_of_a_transaction_that_is_rejected_nothing_is_written(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    sales = await staff.insert(Department("Sales", 0))
    await staff.update(lambda each: replace(each, EmployeeCount=7), Department, Department="Sales")
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityChanged):
        await EntityGroupTransaction(storage, table_name).commit(
            staff.inserting(jones()), staff.replacing(sales, Department("Sales", 1))
        )
    assert await rows_of(storage, table_name) == before
    assert sales.value == Department("Sales", 0)


# ------------------------------------------------------------------ indexes


async def test_an_index_is_read_as_objects_and_never_taken_for_entities(
    storage: Any, engine: Engine, table_name: str
) -> None:
    by_rank = IndexEntity("Rank")
    staff = staff_of(storage, table_name, derived=[by_email, by_rank])
    await staff.insert(Department("Sales"))
    for number, email in enumerate(("jo@contoso.com", "ann@contoso.com")):
        await staff.insert(jones(EmployeeId=number, Email=email))
    with engine.ledger.span() as span:
        held = await staff.find(Employee, by_email, Department="Sales", Email="jo@contoso.com")
    assert (held.value.EmployeeId, span.totals.requests) == (0, 1)
    in_order = await values(staff.range_of(Employee, via=by_email, Department="Sales", Email=prefix("")))
    assert [each.Email for each in in_order] == ["ann@contoso.com", "jo@contoso.com"]
    assert [type(each) for each in await values(staff.range(Department="Sales"))] == [Department, Employee, Employee]
    await staff.replace(held, replace(held.value, Email="joe@contoso.com"))
    assert await staff.find(Employee, by_email, Department="Sales", Email="jo@contoso.com") is None
    page = await staff.page(Employee, via=by_email, size=1, Department="Sales")
    assert [each.value.Email for each in page.items] == ["ann@contoso.com"]
    with pytest.raises(DuplicateIndexValue):
        await staff.insert(jones(EmployeeId=9, Email="joe@contoso.com"))


async def test_an_index_in_other_partitions_is_read_as_objects_too(storage: Any, table_name: str) -> None:
    everywhere = InterPartitionIndex(Key("email_{Email}", "email_{Department}"))
    staff = staff_of(storage, table_name, derived=[everywhere])
    await staff.insert(jones(Email="jo@contoso.com"))
    held = await staff.find(Employee, everywhere, Department="Sales", Email="jo@contoso.com")
    assert held.value == jones(Email="jo@contoso.com")
    await staff.replace(held, replace(held.value, Age=35))
    assert (await staff.get(Employee, **ID)).value.Age == 35


async def test_an_index_is_for_every_class_of_its_set(storage: Any, table_name: str) -> None:
    by_name = IntraPartitionIndex(Key("person", "name_{Name}_{PersonId:06d}"))
    rows = EntitySet(storage, table_name, Key("person", "id_{PersonId:06d}"), derived=[by_name])
    persons = EntityTypes(EntityType(Customer, rows), EntityType(Worker, rows))
    for person in (Worker(1, "Jo"), Customer(2, "Ann")):
        await persons.insert(person)
    assert [each.Name for each in await values(persons.range_of(Person, via=by_name))] == ["Ann", "Jo"]
    assert await persons.find(Worker, by_name, Name="Ann", PersonId=2) is None
    assert (await persons.find(Person, by_name, Name="Ann", PersonId=2)).value == Customer(2, "Ann")


async def test_what_an_index_cannot_answer_is_rejected(storage: Any, engine: Engine, table_name: str) -> None:
    lean = IntraPartitionIndex(Key("{Department}", "name_{LastName}"), include=["Age"])
    staff = staff_of(storage, table_name, derived=[by_email, lean])
    with engine.ledger.span() as span:
        with pytest.raises(BadInput, match="have only some properties"):
            await staff.find(Employee, lean, Department="Sales", LastName="Jones")
        with pytest.raises(BadInput, match="range_of"):
            await staff.find(Employee, by_email, Department="Sales", Email=prefix("j"))
        with pytest.raises(BadInput, match="0 of the sets"):
            await staff.find(Department, by_email, Department="Sales", Email="jo")
        with pytest.raises(BadKey, match="the field must be str"):
            await staff.find(Employee, by_email, Department="Sales", Email=7)
    assert span.records == []


# ------------------------------------------------------------------ keys of typed fields


@dataclass(frozen=True)
class Stay:
    """Its keys are made of values that no key takes as they are."""

    Rank: Grade
    Day: date
    Ended: date
    Note: str = ""


async def test_keys_are_made_of_dates_and_enumerations(storage: Any, table_name: str) -> None:
    by_end = IntraPartitionIndex(Key("{Rank}", "end_{Ended}_{Day:%Y-%m-%d}"))
    rows = EntitySet(storage, table_name, Key("{Rank}", "day_{Day:%Y-%m-%d}"), derived=[by_end])
    stays = EntityTypes(EntityType(Stay, rows))
    some = [Stay(Grade.SENIOR, date(2014, 8, day), date(2014, 9, 30 - day)) for day in (1, 2, 3)]
    for stay in some:
        await stays.insert(stay)
    found = await values(stays.range_of(Stay, Rank=Grade.SENIOR, Day=between(date(2014, 8, 2), date(2014, 8, 9))))
    assert found == some[1:]
    assert await values(stays.range_of(Stay, via=by_end, Rank=Grade.SENIOR)) == some[::-1]
    held = await stays.get(Stay, Rank=Grade.SENIOR, Day=date(2014, 8, 1))
    assert (held.value, held.key) == (some[0], ("senior", "day_2014-08-01"))
    held = await stays.replace(held, replace(held.value, Note="late"))
    await stays.update(lambda stay: replace(stay, Ended=date(2014, 9, 1)), Stay, Rank=Grade.SENIOR, Day=some[0].Day)
    late = await stays.find(Stay, by_end, Rank=Grade.SENIOR, Ended=date(2014, 9, 1), Day=some[0].Day)
    assert late.value == Stay(Grade.SENIOR, some[0].Day, date(2014, 9, 1), "late")
    with pytest.raises(BadKey, match="the field must be Grade"):
        await stays.get(Stay, Rank="senior", Day=some[0].Day)


async def test_an_open_end_of_a_range_stays_open(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    for number in range(4):
        await staff.insert(jones(EmployeeId=number))
    found = await values(staff.range_of(Employee, Department="Sales", EmployeeId=above(2)))
    assert [each.EmployeeId for each in found] == [3]


# ------------------------------------------------------------------ mappings


async def test_encrypted_fields_are_plain_in_the_object_and_in_no_error(storage: Any, table_name: str) -> None:
    sealed = EncryptedProperties(["Salary", "Age"], keys=LocalKey("k", bytes(32)))
    staff = staff_of(storage, table_name, derived=[by_email], mappings=[sealed])
    await staff.insert(Department("Sales"))
    held = await staff.insert(jones(Email="jo@contoso.com"))
    stored = (await rows_of(storage, table_name))["Sales", "EMPLOYEE_000223"]
    assert isinstance(stored["Salary"], bytes)
    assert stored["EntityType"] == "Employee"
    assert await values(staff.range(Department="Sales")) == [Department("Sales"), held.value]
    assert (await staff.find(Employee, by_email, Department="Sales", Email="jo@contoso.com")).value == held.value
    held = await staff.replace(held, replace(held.value, Age=35))
    assert (await staff.get(Employee, **ID)).value.Age == 35
    with pytest.raises(BadProperty, match="not shown") as refusal:
        await staff.replace(held, replace(held.value, Salary="secret"))
    assert "secret" not in repr(refusal.value) + repr(held)
    with pytest.raises(BadFilter, match="stores it encoded"):
        await values(staff.range(Department="Sales", where=prop("Age") > 3))
    raw = employees_of(storage, table_name, derived=[by_email], mappings=[sealed])
    entity = await raw.get(**ID)
    entity["Salary"] = "secret"
    await raw.replace(entity)
    with pytest.raises(UnrecognizedEntity, match="not shown") as unreadable:
        await staff.get(Employee, **ID)
    assert "secret" not in repr(unreadable.value)


# ------------------------------------------------------------------ designs that cannot work


@dataclass(frozen=True)
class Marked:
    """It has a field with the mark's name."""

    Department: str
    EntityType: str


@dataclass(frozen=True)
class Timed:
    """It has a field with a name of the service's own."""

    Department: str
    Timestamp: str


class Plain:
    """No dataclass."""


BY_ROW = Key("{Department}", "ROW")


def rows(storage: Any, table: str = "Staff", key: Key = BY_ROW, **options: Any) -> Any:
    return EntitySet(storage, table, key, **options)


@pytest.mark.guide("G-280")
@pytest.mark.parametrize(
    ("of", "rule"),
    [
        (Plain, "not a dataclass"),
        (Person, "it is abstract"),
        (Timed, "the service has a property with this name"),
        (Customer, "it lacks Department, a field of the key"),
    ],
)
def test_a_class_that_cannot_be_stored_is_rejected_at_once(storage: Any, of: type, rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        EntityType(of, rows(storage))


def test_an_index_takes_a_date_in_the_form_that_is_stored(storage: Any) -> None:
    dated, plain = Key("{Rank}", "x_{Day:%Y-%m-%d}"), Key("{Rank}", "y_{Day}")
    for key, other in ((dated, plain), (Key("{Rank}", "ROW"), dated)):
        with pytest.raises(BadDesign, match="another form"):
            EntityType(Stay, rows(storage, f"Stays{len(key.row_fields)}", key, derived=[IntraPartitionIndex(other)]))


@pytest.mark.parametrize("name", ["", "Employee.2"])
def test_a_name_that_could_be_no_type_property_is_rejected(storage: Any, name: str) -> None:
    with pytest.raises(BadDesign, match="a dot separates it from the version"):
        EntityType(Department, rows(storage), name=name)


def test_types_that_could_not_be_distinguished_are_rejected(storage: Any, backend: Any) -> None:
    departments, employees = departments_of(storage, "Staff"), employees_of(storage, "Staff")
    a_department, an_employee = EntityType(Department, departments), EntityType(Employee, employees)
    elsewhere = EntityType(Employee, employees_of(storage, "Other"))
    another = EntityType(Employee, employees_of(backend.connect(), "Staff"))
    upgraded = EntityType(Department, departments, upgrades=[dict])
    cases: list[tuple[list[Any], dict[str, Any], str]] = [
        ([], {}, "there are none"),
        ([a_department, elsewhere], {}, "one table of one account"),
        ([a_department, another], {}, "one table of one account"),
        ([a_department, EntityType(Employee, employees, name="Department")], {}, "this name or class"),
        ([a_department, EntityType(Department, rows(storage))], {}, "this name or class"),
        ([EntityType(Contractor, employees_of(storage, "Staff")), an_employee], {}, "two sets have this key"),
        ([EntityType(Contractor, employees), an_employee], {"type_property": None}, "shares its keys"),
        ([upgraded], {"type_property": None}, "no property for the version"),
        ([EntityType(Marked, rows(storage))], {}, "a field with this name"),
        ([a_department], {"type_property": "Department"}, "a field with this name"),
    ]
    for types, options, rule in cases:
        with pytest.raises(BadDesign, match=rule):
            EntityTypes(*types, **options)
    with pytest.raises(BadProperty, match="rename the property"):
        EntityTypes(a_department, type_property="Entity Type")


def test_the_type_property_must_not_be_mapped(storage: Any) -> None:
    sealed = EncryptedProperties(["Kind"], keys=LocalKey("k", bytes(32)))
    with pytest.raises(BadDesign, match="its set maps or keys by it"):
        EntityTypes(EntityType(Department, departments_of(storage, "Staff", mappings=[sealed])), type_property="Kind")


async def test_the_type_property_distinguishes_types_without_key_prefixes(storage: Any, table_name: str) -> None:
    staff = EntityTypes(
        EntityType(Department, rows(storage, table_name, Key("{Department}", "Department"))),
        EntityType(Employee, rows(storage, table_name, Key("{Department}", "{EmployeeId:06d}"))),
        type_property="Kind",
    )
    await staff.insert(Department("Sales"))
    await staff.insert(jones())
    assert await values(staff.range(Department="Sales")) == [jones(), Department("Sales")]
    assert {row["Kind"] for row in (await rows_of(storage, table_name)).values()} == {"Department", "Employee"}


async def test_persons_of_two_accounts_are_two_tables(storage: Any, new_name: Any) -> None:
    one, other = persons_of(storage, new_name()), persons_of(storage, new_name())
    await one.insert(Worker(1, "Jo"))
    assert await other.get(Person, PersonId=1) is None
