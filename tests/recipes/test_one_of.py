"""Sets of several classes: the type property names the class and the version of each entity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest

import tablepatterns
from support.employees import rows_of
from support.typed_staff import ID, Contractor, Customer, Employee, Grade, Numbered, Worker, jones, persons_of, raw_of
from tablepatterns import (
    Archive,
    Entity,
    EntityGroupTransaction,
    EntitySet,
    Int64,
    IntraPartitionIndex,
    Key,
    OneOf,
    Rekey,
    Ticks,
    between,
    prop,
)
from tablepatterns.errors import BadDesign, BadFilter, BadInput, BadProperty, EntityAlreadyExists, UnrecognizedEntity
from tablepatterns.jobs import migrate
from tablepatterns_engine.account import Engine

KEYS = ("Sales", "EMPLOYEE_000223")
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


async def entities(stream: Any) -> list[Any]:
    return [entity async for entity in stream]


# ------------------------------------------------------------------ inheritance


@pytest.mark.guide("G-279", "G-280")
async def test_classes_that_share_their_keys_come_back_as_what_they_are(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    some = [Worker(1, "Jo", ["typing"]), Customer(2, "Ann", 0.5), Worker(3, "Kim")]
    for person in some:
        await persons.insert(person)
    assert await entities(persons.range()) == some
    assert await entities(persons.range(PersonId=between(2, 3))) == some[1:]
    assert (await persons.get(PersonId=2)).greeting() == "Dear Ann"
    assert await persons.get_many([{"PersonId": 3}, {"PersonId": 9}]) == [some[2], None]
    with pytest.raises(EntityAlreadyExists):
        await persons.insert(Customer(1, "Jo"))


@pytest.mark.guide("G-280")
async def test_an_undeclared_class_is_rejected_before_any_request(
    storage: Any, engine: Engine, table_name: str
) -> None:
    persons = persons_of(storage, table_name)
    with engine.ledger.span() as span:
        for call in (persons.insert, persons.insert_or_replace, persons.replace, persons.delete):
            with pytest.raises(BadInput, match="the set has the classes Customer, Worker"):
                await call(jones())
        with pytest.raises(BadInput, match="the set has the classes Customer, Worker"):
            persons.inserting(jones())
    assert span.records == []


async def test_an_entity_keeps_its_class(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    await persons.insert(Worker(1, "Jo"))
    before = await rows_of(storage, table_name)
    for write in (
        persons.replace(Customer(1, "Jo"), force=True),
        persons.insert_or_replace(Customer(1, "Jo")),
        persons.insert_or_merge(Customer(1, "Jo", 0.5)),
        persons.update(lambda person: Customer(person.PersonId, person.Name), PersonId=1),
    ):
        with pytest.raises(BadInput, match=r"keeps it|changed one"):
            await write
    with pytest.raises(BadInput, match="EntityType"):
        await persons.merge(await persons.get(PersonId=1), {"EntityType": "Customer"})
    worker = await persons.get(PersonId=1)
    for write in (
        lambda: persons.merge(worker, {"Discount": 0.5}),
        lambda: persons.merge(worker, {"Discount": 0.5}, force=True),
        lambda: persons.update(worker, Discount=0.5),
        lambda: EntityGroupTransaction(storage, table_name).commit(persons.merging(worker, {"Discount": 0.5})),
    ):
        with pytest.raises(BadInput, match="'Discount': Worker has the fields"):
            await write()
    assert await rows_of(storage, table_name) == before


async def test_every_write_takes_each_class(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    worker = await persons.insert(Worker(1, "Jo", ["typing"]))
    worker.Skills.append("filing")
    worker = await persons.replace(worker)
    assert await persons.get(PersonId=1) == Worker(1, "Jo", ["typing", "filing"])
    customer = await persons.insert_or_replace(Customer(2, "Ann"))
    customer = await persons.merge(customer, {"Discount": 0.5})
    assert await persons.update(customer, Discount=0.75) == Customer(2, "Ann", 0.75)
    with pytest.raises(BadProperty, match="Customer"):
        await persons.update(customer, Discount="much")
    worker = await persons.update(lambda person: replace(person, Name="Joe"), PersonId=1)
    await persons.delete(worker)
    assert await entities(persons.range()) == [Customer(2, "Ann", 0.75)]


async def test_an_archive_takes_an_instance_of_each_class(storage: Any, new_name: Any) -> None:
    persons, archived = persons_of(storage, new_name()), persons_of(storage, new_name())
    archive = Archive(persons, archived)
    for person in (Worker(1, "Jo", ["typing"]), Customer(2, "Ann", 0.5)):
        await archive.archive(await persons.insert(person))
        await tablepatterns.Worker(storage, [archive]).run_once()
        assert await archive.get(PersonId=person.PersonId) == person
    assert await entities(persons.range()) == []


def test_a_move_to_new_keys_needs_all_classes(storage: Any) -> None:
    persons, key = persons_of(storage, "Persons"), Key("{Name}", "{PersonId:06d}")
    with pytest.raises(BadDesign, match="different models"):
        Rekey(persons, EntitySet(storage, "ByName", key, model=OneOf(Customer)))
    Rekey(persons, EntitySet(storage, "ByName", key, model=OneOf(Worker, Customer)))


async def test_a_filter_names_a_field_of_any_class(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    for person in (Worker(1, "Jo"), Customer(2, "Ann", 0.5)):
        await persons.insert(person)
    assert await entities(persons.scan(prop("Discount") > 0.1)) == [Customer(2, "Ann", 0.5)]
    assert await entities(persons.scan(prop("Name") == "Jo")) == [Worker(1, "Jo")]
    with pytest.raises(BadFilter, match="Customer or Worker has no such field; did you mean 'Discount'"):
        await entities(persons.scan(prop("Discuont") > 0.1))


async def test_an_index_is_for_every_class_of_its_set(storage: Any, table_name: str) -> None:
    by_name = IntraPartitionIndex(Key("person", "name_{Name}_{PersonId:06d}"))
    key = Key("person", "id_{PersonId:06d}")
    persons = EntitySet(storage, table_name, key, derived=[by_name], model=OneOf(Customer, Worker))
    for person in (Worker(1, "Jo"), Customer(2, "Ann")):
        await persons.insert(person)
    assert [person.Name for person in await entities(persons.range(by_name))] == ["Ann", "Jo"]
    assert await persons.find(by_name, Name="Ann", PersonId=2) == Customer(2, "Ann")


@pytest.mark.guide("G-332", "G-333")
async def test_what_is_of_no_class_is_rejected_or_skipped(storage: Any, table_name: str) -> None:
    persons, raw = persons_of(storage, table_name), raw_of(storage, table_name)
    await persons.insert(Worker(1, "Jo"))
    for row_key, fields in (
        ("000002", {"EntityType": "Ghost"}),
        ("000003", {"Name": "Kim"}),
        ("000004", {"EntityType": 7}),
    ):
        await raw.insert({"PartitionKey": "person", "RowKey": row_key} | fields)
        with pytest.raises(UnrecognizedEntity, match="EntityType"):
            await persons.get(PersonId=int(row_key))
    skipping = persons_of(storage, table_name, on_unrecognized="skip")
    assert await entities(skipping.range()) == [Worker(1, "Jo")]


# ------------------------------------------------------------------ entities without the property


@pytest.mark.guide("G-333")
async def test_without_the_property_an_entity_is_of_the_only_class(storage: Any, table_name: str) -> None:
    raw = raw_of(storage, table_name)
    await raw.insert({"PartitionKey": "Sales", "RowKey": "EMPLOYEE_000223", "LastName": "Jones", "Age": 34})
    key = Key("{Department}", "EMPLOYEE_{EmployeeId:06d}")
    employees = EntitySet(storage, table_name, key, model=OneOf(Employee, type_property="Kind"))
    employee = await employees.get(**ID)
    assert employee == jones()
    await employees.replace(employee)
    assert (await rows_of(storage, table_name))[KEYS]["Kind"] == "Employee"


@pytest.mark.guide("G-331", "G-333")
async def test_a_resolver_is_given_all_that_is_known_of_an_unmarked_entity(storage: Any, table_name: str) -> None:
    raw = raw_of(storage, table_name)
    for row_key, fields in (("000001", {"Skills": "[]"}), ("000002", {"Discount": 0.5}), ("000003", {})):
        await raw.insert({"PartitionKey": "person", "RowKey": row_key, "Name": "Jo"} | fields)
    resolved = []

    def resolver(entity: Entity) -> type | None:
        resolved.append((*entity.key, entity.timestamp is not None, entity.etag is not None))
        return Worker if "Skills" in entity else Customer if "Discount" in entity else None

    persons = persons_of(storage, table_name, resolver=resolver, on_unrecognized="skip")
    await persons.insert(Customer(4, "Ann"))
    assert await entities(persons.range()) == [Worker(1, "Jo"), Customer(2, "Jo", 0.5), Customer(4, "Ann")]
    assert sorted(set(resolved)) == [("person", f"00000{number}", True, True) for number in (1, 2, 3)]


# ------------------------------------------------------------------ versions


@dataclass(frozen=True)
class Staff:
    """Version 1 had `Name`, version 2 `FirstName` and `LastName`; version 3 has an e-mail made of them."""

    Department: str
    EmployeeId: int
    FirstName: str
    LastName: str
    Email: str


def split_name(fields: dict[str, Any]) -> dict[str, Any]:
    first, _, last = fields.pop("Name").partition(" ")
    return fields | {"FirstName": first, "LastName": last}


def make_email(fields: dict[str, Any]) -> dict[str, Any]:
    return {"Email": f"{fields['FirstName']}.{fields['LastName']}@contoso.com"} | fields


JO = Staff("Sales", 223, "Jo", "Jones", "Jo.Jones@contoso.com")
FIRST = {"EntityType": "Staff", "Name": "Jo Jones", "Badge": Int64(7)}
SECOND = {"EntityType": "Staff.2", "FirstName": "Jo", "LastName": "Jones", "Badge": Int64(7)}
THIRD = SECOND | {"EntityType": "Staff.3", "Email": "Jo.Jones@contoso.com"}


def staff_of(storage: Any, table: str) -> Any:
    key, versions = Key("{Department}", "EMPLOYEE_{EmployeeId:06d}"), [(1, split_name), (2, make_email)]
    return EntitySet(storage, table, key, derived=[BY_EMAIL], model=OneOf(Staff), versions=versions)


@pytest.mark.guide("G-326", "G-338")
@pytest.mark.parametrize("stored", [FIRST, SECOND, THIRD])
async def test_an_entity_of_any_version_is_read_and_written_back_in_the_newest(
    storage: Any, table_name: str, stored: dict[str, Any]
) -> None:
    staff = staff_of(storage, table_name)
    await staff.without_model().insert(ID | stored)
    jo = await staff.get(**ID)
    assert jo == JO
    await staff.update(lambda employee: replace(employee, LastName="Smith"), **ID)
    rows = await rows_of(storage, table_name)
    assert rows[KEYS] == THIRD | {"LastName": "Smith"}
    assert rows["Sales", "email_Jo.Jones@contoso.com"]["LastName"] == "Smith"
    assert len(rows) == 2


@pytest.mark.guide("G-326", "G-335")
async def test_a_new_entity_is_of_the_newest_version(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(JO)
    assert (await rows_of(storage, table_name))[KEYS]["EntityType"] == "Staff.3"
    assert await entities(staff.range(Department="Sales")) == [JO]


@pytest.mark.guide("G-326")
async def test_migrate_rewrites_the_earlier_versions(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.without_model().insert(ID | FIRST)
    await staff.without_model().insert(ID | THIRD | {"EmployeeId": 7, "Email": "7@contoso.com"})
    result = await migrate(staff)
    assert (result.seen, result.rewritten) == (2, 1)
    assert (await rows_of(storage, table_name))[KEYS] == THIRD


@pytest.mark.parametrize("mark", ["Staff.4", "Staff.40"])
async def test_a_newer_version_is_rejected_and_kept(storage: Any, table_name: str, mark: str) -> None:
    staff = staff_of(storage, table_name)
    stored = THIRD | {"EntityType": mark, "Shoes": 44}
    await staff.without_model().insert(ID | stored)
    for read in (
        staff.get(**ID),
        staff.update(lambda employee: employee, **ID),
        entities(staff.range(Department="Sales")),
    ):
        with pytest.raises(UnrecognizedEntity, match="versions up to 3"):
            await read
    assert (await rows_of(storage, table_name))[KEYS] == stored


async def test_an_upgrade_leaves_the_key_alone(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.without_model().insert(ID | FIRST)
    for upgrade in (lambda fields: fields | {"EmployeeId": 7}, lambda fields: {"Name": fields["Name"]}):
        changed = EntitySet(storage, table_name, staff.key, model=OneOf(Staff), versions=[(1, upgrade)])
        with pytest.raises(BadDesign, match="a field of the key"):
            await changed.get(**ID)


@pytest.mark.guide("G-338")
async def test_properties_of_unknown_meaning_survive_every_write(storage: Any, table_name: str) -> None:
    key = Key("{Department}", "EMPLOYEE_{EmployeeId:06d}")
    employees = EntitySet(storage, table_name, key, model=OneOf(Employee))
    await employees.insert(jones())
    extra = {"Badge": Int64(7), "Photo": b"x", "At": Ticks.parse("2014-08-22T00:50:32.1234567Z")}
    plain = employees.without_model()
    await plain.merge(await plain.get(**ID), extra)
    employee = await employees.replace(await employees.get(**ID))
    employee = await employees.update(lambda known: replace(known, LastName="Smith"), **ID)
    employee = await employees.merge(employee, {"Age": 35})
    assert employee == jones(Age=35, LastName="Smith")
    stored = (await rows_of(storage, table_name))[KEYS]
    assert {name: stored.get(name) for name in extra} == extra
    assert type(stored["Badge"]) is Int64


# ------------------------------------------------------------------ keys of typed fields, and rejected designs


@dataclass(frozen=True)
class Stay:
    """Its keys are made of values that no key takes as they are."""

    Rank: Grade
    Day: date
    Ended: date
    Note: str = ""


async def test_keys_are_made_of_dates_and_enumerations(storage: Any, table_name: str) -> None:
    by_end = IntraPartitionIndex(Key("{Rank}", "end_{Ended}_{Day:%Y-%m-%d}"))
    stays = EntitySet(storage, table_name, Key("{Rank}", "day_{Day:%Y-%m-%d}"), derived=[by_end], model=OneOf(Stay))
    some = [Stay(Grade.SENIOR, date(2014, 8, day), date(2014, 9, 30 - day)) for day in (1, 2, 3)]
    for stay in some:
        await stays.insert(stay)
    later = stays.range(Rank=Grade.SENIOR, Day=between(date(2014, 8, 2), date(2014, 8, 9)))
    assert await entities(later) == some[1:]
    assert await entities(stays.range(by_end, Rank=Grade.SENIOR)) == some[::-1]
    await stays.update(lambda stay: replace(stay, Ended=date(2014, 9, 1)), Rank=Grade.SENIOR, Day=some[0].Day)
    late = await stays.find(by_end, Rank=Grade.SENIOR, Ended=date(2014, 9, 1), Day=some[0].Day)
    assert late == replace(some[0], Ended=date(2014, 9, 1))


@dataclass(frozen=True)
class Marked:
    """It has a field with the name of the type property."""

    Department: str
    EntityType: str


@dataclass(frozen=True)
class Counted:
    """It has a field that another class has with another type."""

    PersonId: int
    Count: str = ""


@pytest.mark.parametrize(
    ("classes", "options", "rule"),
    [
        ([], {}, "names each class"),
        ([Customer, Customer], {}, "names each class"),
        ([Numbered, Counted], {}, "a filter compares one type"),
        ([Contractor], {}, "it lacks PersonId, a field of the key"),
        ([Customer], {"type_property": "Name"}, "pass another type_property"),
    ],
)
def test_classes_that_could_not_be_distinguished_are_rejected(
    storage: Any, classes: Any, options: Any, rule: str
) -> None:
    with pytest.raises(BadDesign, match=rule):
        EntitySet(storage, "Persons", Key("person", "{PersonId:06d}"), model=OneOf(*classes, **options))


def test_a_class_with_a_field_of_the_name_is_rejected(storage: Any) -> None:
    with pytest.raises(BadDesign, match="pass another type_property"):
        EntitySet(storage, "Staff", Key("{Department}", "ROW"), model=OneOf(Marked))
    with pytest.raises(BadProperty, match="rename the property"):
        OneOf(Customer, type_property="Entity Type")
