"""Entities of unknown or any type: property bags, resolvers, and rejections."""

from __future__ import annotations

from typing import Any

import pytest

from support.employees import rows_of
from support.typed_staff import (
    ID,
    Customer,
    Department,
    Employee,
    Numbered,
    Person,
    Worker,
    jones,
    persons_of,
    raw_of,
    staff_of,
    values,
)
from tablepatterns import Entity, EntitySet, Key
from tablepatterns.errors import BadInput, BadProperty, EntityChanged, UnrecognizedEntity
from tablepatterns.recipes.entity_types.entity_type import EntityType
from tablepatterns.recipes.entity_types.entity_types import EntityTypes
from tablepatterns_engine.account import Engine

# ------------------------------------------------------------------ property bags


@pytest.mark.guide("G-328", "G-329", "G-334")
async def test_any_entity_can_be_read_and_deleted_without_its_type(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(jones())
    held = await staff.get_any("Sales", "EMPLOYEE_000223")
    assert held.value == jones()
    assert held.key == ("Sales", "EMPLOYEE_000223")
    assert (held.entity["Age"], held.entity.get("EmployeeCount"), held.etag is None) == (34, None, False)
    await staff.delete(held)
    assert await staff.get_any("Sales", "EMPLOYEE_000223") is None


@pytest.mark.guide("G-336", "G-338")
async def test_a_merge_without_the_type_changes_what_it_names_and_nothing_else(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(Department("Sales", 1))
    raw = raw_of(storage, table_name)
    await raw.merge(await raw.get(PartitionKey="Sales", RowKey="DEPARTMENT"), {"Region": "North"})
    held = await staff.get_any("Sales", "DEPARTMENT")
    assert "EmployeeCount" in held.entity
    merged = await staff.merge(held, {"EmployeeCount": held.entity["EmployeeCount"] + 1})
    assert merged.value == Department("Sales", 2)
    stored = (await rows_of(storage, table_name))["Sales", "DEPARTMENT"]
    assert stored == {"EntityType": "Department", "EmployeeCount": 2, "Region": "North"}
    with pytest.raises(EntityChanged):
        await staff.merge(held, {"EmployeeCount": 3})


async def test_a_merge_is_checked_by_the_class(storage: Any, engine: Engine, table_name: str) -> None:
    rows = EntitySet(storage, table_name, Key("person", "{PersonId:06d}"))
    numbers = EntityTypes(EntityType(Numbered, rows))
    held = await numbers.insert(Numbered(7, 1))
    with engine.ledger.span() as span:
        with pytest.raises(BadProperty, match="Count = 'old'"):
            await numbers.merge(held, {"Count": "old"})
        with pytest.raises(UnrecognizedEntity, match="its class rejects the fields"):
            await numbers.merge(held, {"Count": -1})
    assert span.records == []
    assert (await numbers.merge(held, {"Count": 2})).value == Numbered(7, 2)


@pytest.mark.guide("G-332", "G-333")
async def test_what_has_no_known_type_comes_raw_or_is_rejected(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    raw = raw_of(storage, table_name)
    await persons.insert(Worker(1, "Jo"))
    await raw.insert({"PartitionKey": "person", "RowKey": "000002", "EntityType": "Ghost", "Age": 900})
    await raw.insert({"PartitionKey": "person", "RowKey": "000003", "Name": "Nobody"})
    await raw.insert({"PartitionKey": "person", "RowKey": "note", "EntityType": "Worker", "Text": "a key of no type"})
    found = await values(persons.range())
    assert found == [
        Worker(1, "Jo"),
        {"PersonId": 2, "EntityType": "Ghost", "Age": 900},
        {"PersonId": 3, "Name": "Nobody"},
        {"PartitionKey": "person", "RowKey": "note", "EntityType": "Worker", "Text": "a key of no type"},
    ]
    assert [type(each) for each in found] == [Worker, Entity, Entity, Entity]
    assert await values(persons.range_of(Person)) == [Worker(1, "Jo")]
    assert await persons.get(Person, PersonId=2) is None
    strict = persons_of(storage, table_name, unknown="raise")
    with pytest.raises(UnrecognizedEntity, match=r"unrecognized entity .*'000002'.*'Ghost', which was not declared"):
        await values(strict.range())
    with pytest.raises(UnrecognizedEntity, match="it has no type property"):
        await strict.get(Person, PersonId=3)


@pytest.mark.guide("G-338")
async def test_what_has_no_known_type_is_changed_and_deleted_as_it_is(storage: Any, table_name: str) -> None:
    persons = persons_of(storage, table_name)
    raw = raw_of(storage, table_name)
    for row_key in ("000002", "note"):
        await raw.insert({"PartitionKey": "person", "RowKey": row_key, "EntityType": "Ghost", "Age": 900})
    for row_key in ("000002", "note"):
        held = await persons.get_any("person", row_key)
        held.value["EntityType"] = "Worker"
        with pytest.raises(BadProperty, match="keeps its type"):
            await persons.replace(held, held.value)
        held = await persons.get_any("person", row_key)
        held.value["Age"] = 901
        held = await persons.replace(held, held.value)
        assert (await rows_of(storage, table_name))["person", row_key] == {"EntityType": "Ghost", "Age": 901}
        held = await persons.merge(held, {"Size": 1})
        assert (held.value["Age"], held.value["Size"]) == (901, 1)
        with pytest.raises(BadInput, match="of type Entity"):
            await persons.replace(held, Worker(2, "Jo"))
        await persons.delete(held)
    assert await rows_of(storage, table_name) == {}


# ------------------------------------------------------------------ entities without a mark


@pytest.mark.guide("G-333")
async def test_without_a_type_property_an_entity_is_of_its_sets_only_type(storage: Any, table_name: str) -> None:
    raw = raw_of(storage, table_name)
    await raw.insert({"PartitionKey": "Sales", "RowKey": "EMPLOYEE_000223", "LastName": "Jones", "Age": 34})
    staff = staff_of(storage, table_name)
    held = await staff.get(Employee, **ID)
    assert held.value == jones()
    await staff.replace(held, jones(Age=35))
    assert (await rows_of(storage, table_name))["Sales", "EMPLOYEE_000223"]["EntityType"] == "Employee"


@pytest.mark.guide("G-331", "G-333")
async def test_a_resolver_is_given_all_that_is_known_of_an_unmarked_entity(storage: Any, table_name: str) -> None:
    raw = raw_of(storage, table_name)
    for row_key, fields in (("000001", {"Skills": "[]"}), ("000002", {"Discount": 0.5}), ("000003", {})):
        await raw.insert({"PartitionKey": "person", "RowKey": row_key, "Name": "Jo"} | fields)
    seen = []

    def resolver(entity: Entity) -> type | None:
        seen.append((*entity.key, entity.timestamp is not None, entity.etag is not None))
        return Worker if "Skills" in entity else Customer if "Discount" in entity else None

    persons = persons_of(storage, table_name, resolver=resolver)
    await persons.insert(Customer(4, "Ann"))
    found = await values(persons.range())
    assert found[:2] == [Worker(1, "Jo"), Customer(2, "Jo", 0.5)]
    assert (type(found[2]), found[3]) == (Entity, Customer(4, "Ann"))
    assert seen == [("person", f"00000{number}", True, True) for number in (1, 2, 3)]
