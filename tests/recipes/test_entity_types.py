"""Entities of several types in one table: each is recognized by its keys and its type property."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest

from support.employees import rows_of
from support.typed_staff import (
    ID,
    Contractor,
    Customer,
    Department,
    Employee,
    Numbered,
    Staff,
    Worker,
    jones,
    persons_of,
    raw_of,
)
from tablepatterns import (
    EncryptedProperties,
    Entity,
    EntityGroupTransaction,
    EntitySet,
    EntityTypes,
    IndexEntity,
    IntraPartitionIndex,
    Key,
    LocalKey,
    OneOf,
    QueryClass,
    Stored,
    between,
    prop,
)
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadKey, EntityChanged, UnrecognizedEntity
from tablepatterns_engine.account import Engine

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


async def entities(stream: Any) -> list[Any]:
    return [entity async for entity in stream]


# ------------------------------------------------------------------ the mark and the keys


@pytest.mark.guide("G-321", "G-323", "G-335")
async def test_insert_writes_the_type_under_the_types_own_key(storage: Any, table_name: str) -> None:
    staff = Staff(storage, table_name)
    await staff.departments.insert(Department("Sales", 1))
    await staff.employees.insert(jones())
    employee = {"EntityType": "Employee", "LastName": "Jones", "Age": 34, "Salary": "0", "Rank": "junior"}
    assert await rows_of(storage, table_name) == {
        ("Sales", "DEPARTMENT"): {"EntityType": "Department", "EmployeeCount": 1},
        ("Sales", "EMPLOYEE_000223"): employee,
    }


@pytest.mark.guide("G-321", "G-322", "G-324")
@pytest.mark.parametrize("prefixed", ["row", "partition"])
async def test_with_prefixes_two_types_have_the_same_natural_key(storage: Any, table_name: str, prefixed: str) -> None:
    def rows(prefix: str, model: type[Any]) -> Any:
        halves = ("{Department}", "{EmployeeId:06d}")
        key = Key(halves[0], prefix + halves[1]) if prefixed == "row" else Key(prefix + halves[0], halves[1])
        return EntitySet(storage, table_name, key, model=model)

    employees, contractors = rows("E_", Employee), rows("C_", Contractor)
    await employees.insert(jones())
    await contractors.insert(Contractor("Sales", 223, "Smith"))
    assert await employees.get(**ID) == jones()
    assert await contractors.get(**ID) == Contractor("Sales", 223, "Smith")
    assert all("EntityType" not in row for row in (await rows_of(storage, table_name)).values())


@pytest.mark.guide("G-325", "G-327")
async def test_all_entities_of_a_type_are_one_range_query(storage: Any, engine: Engine, table_name: str) -> None:
    staff = Staff(storage, table_name)
    await staff.departments.insert(Department("Sales"))
    for number in range(5):
        await staff.employees.insert(jones(EmployeeId=number))
    with engine.ledger.span() as span:
        assert await entities(staff.employees.range(Department="Sales")) == [jones(EmployeeId=n) for n in range(5)]
    (record,) = span.records
    assert (record.query_class, record.examined) == ("range query", 5)


@pytest.mark.guide("G-330", "G-011", "G-070")
async def test_a_range_gives_each_entity_as_its_own_class(storage: Any, engine: Engine, table_name: str) -> None:
    staff = Staff(storage, table_name, derived=[BY_EMAIL, IndexEntity("Rank")])
    await staff.employees.insert(jones(Email="jo@contoso.com"))
    await staff.departments.insert(Department("Sales", 1))
    await staff.departments.insert(Department("Marketing"))
    with engine.ledger.span() as span:
        assert await entities(staff.all.range(Department="Sales")) == [
            Department("Sales", 1),
            jones(Email="jo@contoso.com"),
        ]
    assert span.totals.requests == 1
    adults = staff.all.range(Department="Sales", where=prop("Age") >= 18, allow=QueryClass.PARTITION_SCAN)
    assert await entities(adults) == [jones(Email="jo@contoso.com")]
    with pytest.raises(BadFilter):
        await entities(staff.all.range(Department="Sales", where=prop("Age") >= 18))


async def test_types_that_share_row_fields_are_read_in_the_smallest_range(
    storage: Any, engine: Engine, table_name: str
) -> None:
    def rows(prefix: str, model: type[Any]) -> Any:
        return EntitySet(storage, table_name, Key("person", f"{prefix}_{{PersonId:06d}}"), model=model)

    workers, customers = rows("m", Worker), rows("c", Customer)
    raw = raw_of(storage, table_name)
    for row_key in ("a_note", "f_note", "z_note"):
        await raw.insert({"PartitionKey": "person", "RowKey": row_key})
    await workers.insert(Worker(1, "Jo"))
    await customers.insert(Customer(1, "Ann"))
    both = EntityTypes(workers, customers)
    with engine.ledger.span() as span:
        assert await entities(both.range(PersonId=1)) == [Customer(1, "Ann"), Worker(1, "Jo")]
    assert [(record.query_class, record.examined) for record in span.records] == [("range query", 3)]
    assert await entities(both.range(PersonId=between(2, 3))) == []
    everything = [getattr(entity, "key", ("", type(entity).__name__))[1] for entity in await entities(both.range())]
    assert everything == ["a_note", "Customer", "f_note", "Worker", "z_note"]


@pytest.mark.guide("G-294", "G-327")
async def test_a_point_get_gives_the_object_or_none(storage: Any, engine: Engine, table_name: str) -> None:
    staff = Staff(storage, table_name)
    assert await staff.employees.get(**ID) is None
    assert await staff.all.get("Sales", "EMPLOYEE_000223") is None
    await staff.employees.insert(jones())
    with engine.ledger.span() as span:
        assert await staff.employees.get(**ID) == await staff.all.get("Sales", "EMPLOYEE_000223") == jones()
    assert (span.totals.requests, span.totals.examined) == (2, 2)
    with pytest.raises(BadKey):
        await staff.all.get("Sales", "a/b")


@pytest.mark.guide("G-331")
async def test_keys_timestamp_and_etag_travel_beside_the_object(storage: Any, table_name: str) -> None:
    staff = Staff(storage, table_name)
    written = staff.departments.entity_of(await staff.departments.insert(Department("Sales")))
    department = await staff.all.get("Sales", "DEPARTMENT")
    entity = staff.departments.entity_of(department)
    assert (department, entity.key, entity.etag) == (Department("Sales"), ("Sales", "DEPARTMENT"), written.etag)
    assert entity.timestamp is not None


async def test_pages_follow_one_another(storage: Any, table_name: str) -> None:
    staff = Staff(storage, table_name, derived=[BY_EMAIL])
    await staff.departments.insert(Department("Sales"))
    for number in range(5):
        await staff.employees.insert(jones(EmployeeId=number, Email=f"e{number}@contoso.com"))
    first = await staff.all.page(size=4, Department="Sales")
    second = await staff.all.page(size=4, token=first.token, Department="Sales")
    types = [[type(entity) for entity in page.items] for page in (first, second)]
    assert types == [[Department, Employee, Employee, Employee], [Employee, Employee]]
    assert second.token is None


# ------------------------------------------------------------------ property bags


@pytest.mark.guide("G-328", "G-329", "G-334")
async def test_any_entity_can_be_read_and_deleted_without_its_type(storage: Any, table_name: str) -> None:
    staff = Staff(storage, table_name)
    await staff.employees.insert(jones())
    entity = await staff.all.others.get(PartitionKey="Sales", RowKey="EMPLOYEE_000223")
    assert (entity["Age"], entity.get("EmployeeCount"), entity.etag is None) == (34, None, False)
    assert (entity.key, entity.timestamp is None) == (("Sales", "EMPLOYEE_000223"), False)
    await staff.all.others.delete(entity)
    assert await staff.all.get("Sales", "EMPLOYEE_000223") is None


@pytest.mark.guide("G-336", "G-338")
async def test_a_merge_without_the_type_changes_what_it_names_and_nothing_else(storage: Any, table_name: str) -> None:
    staff = Staff(storage, table_name)
    await staff.departments.insert(Department("Sales", 1))
    bags = staff.all.others
    await bags.merge(await bags.get(PartitionKey="Sales", RowKey="DEPARTMENT"), {"Region": "North"})
    entity = await bags.get(PartitionKey="Sales", RowKey="DEPARTMENT")
    stale = entity.copy()
    assert "EmployeeCount" in entity
    await bags.merge(entity, {"EmployeeCount": entity["EmployeeCount"] + 1})
    assert await staff.all.get("Sales", "DEPARTMENT") == Department("Sales", 2)
    stored = (await rows_of(storage, table_name))["Sales", "DEPARTMENT"]
    assert stored == {"EntityType": "Department", "EmployeeCount": 2, "Region": "North"}
    with pytest.raises(EntityChanged):
        await bags.merge(stale, {"EmployeeCount": 3})


@pytest.mark.guide("G-332", "G-333", "G-338")
async def test_what_fits_no_type_comes_raw_or_is_rejected(storage: Any, table_name: str) -> None:
    persons, raw = persons_of(storage, table_name), raw_of(storage, table_name)
    await persons.insert(Worker(1, "Jo"))
    await raw.insert({"PartitionKey": "person", "RowKey": "000002", "EntityType": "Ghost", "Age": 900})
    await raw.insert({"PartitionKey": "person", "RowKey": "000003", "Name": "Kim"})
    await raw.insert({"PartitionKey": "person", "RowKey": "note", "EntityType": "Worker", "Text": "a key of no type"})
    known = await entities(EntityTypes(persons).range())
    assert known == [
        Worker(1, "Jo"),
        {"PersonId": 2, "EntityType": "Ghost", "Age": 900},
        {"PersonId": 3, "Name": "Kim"},
        {"PartitionKey": "person", "RowKey": "note", "EntityType": "Worker", "Text": "a key of no type"},
    ]
    assert [type(entity) for entity in known] == [Worker, Entity, Entity, Entity]
    ghost = known[1]
    ghost["Age"] = 901
    await persons.without_model().replace(ghost)
    assert (await rows_of(storage, table_name))["person", "000002"] == {"EntityType": "Ghost", "Age": 901}
    strict = EntityTypes(persons, unknown="raise")
    with pytest.raises(UnrecognizedEntity, match="'Ghost', which is not one of Customer, Worker"):
        await entities(strict.range())
    with pytest.raises(UnrecognizedEntity, match="has no EntityType, and the set has several classes"):
        await strict.get("person", "000003")
    with pytest.raises(UnrecognizedEntity, match="fits the key of none of the sets"):
        await strict.get("person", "note")


# ------------------------------------------------------------------ transactions and mappings


@pytest.mark.guide("G-070")
async def test_entities_of_several_types_change_in_one_transaction(
    storage: Any, engine: Engine, table_name: str
) -> None:
    staff = Staff(storage, table_name, derived=[BY_EMAIL])
    transaction = EntityGroupTransaction(storage, table_name)
    sales = await staff.departments.insert(Department("Sales", 0))
    stale = sales
    with engine.ledger.span() as span:
        _, sales = await transaction.commit(
            staff.employees.inserting(jones(Email="jo@contoso.com")),
            staff.departments.merging(sales, {"EmployeeCount": 1}),
        )
    assert span.totals.billable == 1
    assert sales == Department("Sales", 1)
    assert await entities(staff.all.range(Department="Sales")) == [sales, jones(Email="jo@contoso.com")]
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityChanged):
        await transaction.commit(
            staff.employees.inserting(jones(EmployeeId=7)), staff.departments.merging(stale, {"EmployeeCount": 2})
        )
    assert await rows_of(storage, table_name) == before
    employee = await staff.employees.get(**ID)
    await transaction.commit(staff.employees.deleting(employee), staff.departments.merging(sales, {"EmployeeCount": 0}))
    assert sorted(await rows_of(storage, table_name)) == [("Sales", "DEPARTMENT")]


async def test_encrypted_fields_are_plain_in_the_object_and_in_no_error(storage: Any, table_name: str) -> None:
    encrypted = EncryptedProperties(["Salary", "Age"], keys=LocalKey("k", bytes(32)))
    staff = Staff(storage, table_name, derived=[BY_EMAIL], mappings=[encrypted])
    await staff.departments.insert(Department("Sales"))
    await staff.employees.insert(jones(Email="jo@contoso.com"))
    stored = (await rows_of(storage, table_name))["Sales", "EMPLOYEE_000223"]
    assert (type(stored["Salary"]), stored["EntityType"]) == (bytes, "Employee")
    assert await entities(staff.all.range(Department="Sales")) == [Department("Sales"), jones(Email="jo@contoso.com")]
    with pytest.raises(BadFilter, match="stores it encoded"):
        await entities(staff.all.range(Department="Sales", where=prop("Age") > 3))
    entity = await staff.employees.without_model().get(**ID)
    entity["Salary"] = "secret"
    await staff.employees.without_model().replace(entity)
    with pytest.raises(UnrecognizedEntity, match="not shown") as unreadable:
        await EntityTypes(staff.employees, unknown="raise").get("Sales", "EMPLOYEE_000223")
    assert "secret" not in repr(unreadable.value)


async def test_fields_with_stored_names_are_read_by_their_fields(storage: Any, table_name: str) -> None:
    numbers = EntitySet(storage, table_name, Key("person", "{PersonId:06d}"), model=OneOf(Numbered, type_property="T"))
    number = await numbers.insert(Numbered(7, 1))
    assert await entities(EntityTypes(numbers).range()) == [number]
    changed = await numbers.replace(await EntityTypes(numbers).get("person", "000007"), force=True)
    assert replace(changed, Count=2) == Numbered(7, 2)


# ------------------------------------------------------------------ what cannot be asked


async def test_a_condition_on_the_key_belongs_in_the_range(storage: Any, table_name: str) -> None:
    with pytest.raises(BadFilter, match="give the field as a keyword"):
        await entities(Staff(storage, table_name).all.range(Department="Sales", where=prop("EmployeeId") == 1))


@dataclass
class Guest:
    Department: str
    Number: int
    email: Annotated[str, Stored("Email")]


async def test_a_condition_on_a_field_with_a_stored_name_finds_it_or_is_rejected(storage: Any, table_name: str) -> None:
    guests = EntitySet(storage, table_name, Key("{Department}", "guest_{Number:02d}"), model=Guest)
    rooms = EntitySet(storage, table_name, Key("{Department}", "room_{Number:02d}"))
    jo = await guests.insert(Guest("Sales", 1, "jo@contoso.com"))
    asked: dict[str, Any] = {"Department": "Sales", "allow": QueryClass.PARTITION_SCAN}
    by_field, by_property = prop("email") == "jo@contoso.com", prop("Email") == "jo@contoso.com"
    assert await entities(EntityTypes(guests).range(where=by_field, **asked)) == [jo]
    assert list((await EntityTypes(guests).page(where=by_field, **asked)).items) == [jo]
    room = await rooms.insert({"Department": "Sales", "Number": 1, "Email": "jo@contoso.com"})
    assert await entities(EntityTypes(guests, rooms).range(where=by_property, **asked)) == [jo, room]
    with pytest.raises(BadFilter, match="under other names"):
        await entities(EntityTypes(guests, rooms).range(where=by_field, **asked))


async def test_types_in_several_partitions_have_no_common_range(storage: Any, table_name: str) -> None:
    employees, contractors = (
        EntitySet(storage, table_name, Key(f"{prefix}_{{Department}}", "{EmployeeId:06d}"), model=model)
        for prefix, model in (("E", Employee), ("C", Contractor))
    )
    with pytest.raises(BadInput, match="several partitions"):
        await entities(EntityTypes(employees, contractors).range(Department="Sales"))


def test_sets_that_could_not_be_read_together_are_rejected(storage: Any, backend: Any) -> None:
    key, other_key = Key("{Department}", "EMPLOYEE_{EmployeeId:06d}"), Key("{Department}", "DEPARTMENT")
    employees = EntitySet(storage, "Staff", key, model=Employee)
    cases: list[tuple[list[Any], str]] = [
        ([], "there are none"),
        ([employees, EntitySet(storage, "Other", other_key)], "one table of one account"),
        ([employees, EntitySet(backend.connect(), "Staff", other_key)], "one table of one account"),
        ([employees, EntitySet(storage, "Staff", key, model=Contractor)], "two sets have this key"),
    ]
    for sets, rule in cases:
        with pytest.raises(BadDesign, match=rule):
            EntityTypes(*sets)
