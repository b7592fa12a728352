"""Versions of entity types: old entities are upgraded as they are read, and nothing unknown is ever lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from support.employees import rows_of
from support.typed_staff import ID, jones, staff_of
from tablepatterns import EntitySet, Int64, IntraPartitionIndex, Key
from tablepatterns.edm import Ticks
from tablepatterns.errors import BadDesign, BadInput, UnrecognizedEntity
from tablepatterns.recipes.entity_types.entity_type import EntityType
from tablepatterns.recipes.entity_types.entity_types import EntityTypes
from tablepatterns_engine.account import Engine

KEYS = ("Sales", "EMPLOYEE_000223")
by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))


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


def rows(storage: Any, table: str) -> Any:
    return EntitySet(storage, table, Key("{Department}", "EMPLOYEE_{EmployeeId:06d}"), derived=[by_email])


def types_of(storage: Any, table: str, **options: Any) -> Any:
    upgrades = options.pop("upgrades", [split_name, make_email])
    return EntityTypes(EntityType(Staff, rows(storage, table), upgrades=upgrades), **options)


@pytest.mark.guide("G-326", "G-338")
@pytest.mark.parametrize("stored", [FIRST, SECOND, THIRD])
async def test_an_entity_of_any_version_is_read_and_written_back_in_the_newest(
    storage: Any, table_name: str, stored: dict[str, Any]
) -> None:
    await rows(storage, table_name).insert(ID | stored)
    staff = types_of(storage, table_name)
    held = await staff.get(Staff, **ID)
    assert held.value == JO
    assert held.entity == ID | stored
    await staff.replace(held, replace(JO, LastName="Smith"))
    found = await rows_of(storage, table_name)
    assert found[KEYS] == THIRD | {"LastName": "Smith"}
    assert found["Sales", "email_Jo.Jones@contoso.com"]["LastName"] == "Smith"
    assert len(found) == 2


@pytest.mark.guide("G-326")
async def test_update_upgrades_too(storage: Any, table_name: str) -> None:
    await rows(storage, table_name).insert(ID | FIRST)
    await types_of(storage, table_name).update(lambda each: each, Staff, **ID)
    assert (await rows_of(storage, table_name))[KEYS] == THIRD


@pytest.mark.guide("G-326", "G-335")
async def test_a_new_entity_is_of_the_newest_version(storage: Any, table_name: str) -> None:
    staff = types_of(storage, table_name)
    held = await staff.insert(JO)
    assert held.entity["EntityType"] == "Staff.3"
    assert [each.value async for each in staff.range_of(Staff, Department="Sales")] == [JO]


@pytest.mark.parametrize("mark", ["Staff.4", "Staff.40"])
async def test_a_newer_version_is_rejected_as_its_class_and_kept_raw_otherwise(
    storage: Any, table_name: str, mark: str
) -> None:
    await rows(storage, table_name).insert(ID | THIRD | {"EntityType": mark, "Shoes": 44})
    staff = types_of(storage, table_name)
    for read in (staff.get(Staff, **ID), staff.update(lambda each: each, Staff, **ID)):
        with pytest.raises(UnrecognizedEntity, match="newer than version 3"):
            await read
    with pytest.raises(UnrecognizedEntity):
        _ = [each async for each in staff.range_of(Staff, Department="Sales")]
    (held,) = [each async for each in staff.range(Department="Sales")]
    held.value["Email"] = "jo@contoso.com"
    await staff.replace(held, held.value)
    found = await rows_of(storage, table_name)
    assert found[KEYS] == THIRD | {"EntityType": mark, "Shoes": 44, "Email": "jo@contoso.com"}
    assert sorted(row_key for _, row_key in found) == ["EMPLOYEE_000223", "email_jo@contoso.com"]
    with pytest.raises(UnrecognizedEntity):
        _ = [each async for each in types_of(storage, table_name, unknown="raise").range(Department="Sales")]


async def test_an_earlier_version_is_not_changed_in_part(storage: Any, engine: Engine, table_name: str) -> None:
    await rows(storage, table_name).insert(ID | FIRST)
    staff = types_of(storage, table_name)
    held = await staff.get(Staff, **ID)
    with engine.ledger.span() as span, pytest.raises(BadInput, match="replace it, which upgrades it"):
        await staff.merge(held, {"LastName": "Smith"})
    assert span.records == []


async def test_an_upgrade_leaves_the_key_alone(storage: Any, table_name: str) -> None:
    await rows(storage, table_name).insert(ID | FIRST)
    for upgrade in (lambda fields: fields | {"EmployeeId": 7}, lambda fields: {"Name": fields["Name"]}):
        with pytest.raises(BadDesign, match="a field of the key"):
            await types_of(storage, table_name, upgrades=[upgrade]).get(Staff, **ID)


async def test_an_entity_that_lacks_a_field_is_reported_with_the_field(storage: Any, table_name: str) -> None:
    await rows(storage, table_name).insert(ID | {"EntityType": "Staff", "FirstName": "Jo"})
    with pytest.raises(
        UnrecognizedEntity, match=r"EMPLOYEE_000223.* is not a valid Staff: LastName = None: nothing is stored"
    ):
        await types_of(storage, table_name, upgrades=[]).get(Staff, **ID)


# ------------------------------------------------------------------ what the class does not know


@pytest.mark.guide("G-338")
async def test_properties_of_unknown_meaning_survive_every_write(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    held = await staff.insert(jones())
    extra = {"Badge": Int64(7), "Photo": b"x", "At": Ticks.parse("2014-08-22T00:50:32.1234567Z")}
    held = await staff.merge(held, extra)
    held = await staff.replace(held, jones(Age=None))
    held = await staff.update(lambda each: replace(each, LastName="Smith"), type(held.value), **ID)
    held = await staff.merge(held, {"Age": 35})
    assert held.value == jones(Age=35, LastName="Smith")
    stored = (await rows_of(storage, table_name))[KEYS]
    assert {name: stored.get(name) for name in extra} == extra
    assert type(stored["Badge"]) is Int64


@dataclass(frozen=True)
class Visit:
    """Another program stored its fields with more than Python's own types hold."""

    Department: str
    EmployeeId: int
    Count: int
    At: datetime
    Skills: list[str]


async def test_what_a_change_leaves_alone_keeps_the_form_it_is_stored_in(storage: Any, table_name: str) -> None:
    plain = EntitySet(storage, table_name, Key("{Department}", "{EmployeeId:06d}"))
    exact = Ticks.parse("2014-08-22T00:50:32.1234567Z")
    await plain.insert(ID | {"Count": Int64(1), "At": exact, "Skills": '[ "typing" ]'})
    visits = EntityTypes(EntityType(Visit, plain), type_property=None)
    held = await visits.get(Visit, **ID)
    at = datetime(2014, 8, 22, 0, 50, 32, 123456, timezone.utc)
    assert held.value == Visit("Sales", 223, 1, at, ["typing"])
    held = await visits.replace(held, replace(held.value, Count=held.value.Count + 1))
    stored = (await rows_of(storage, table_name))["Sales", "000223"]
    assert stored == {"Count": 2, "At": exact, "Skills": '[ "typing" ]'}
    assert type(stored["Count"]) is Int64
    await visits.replace(held, replace(held.value, At=at + timedelta(hours=1), Skills=["filing"]))
    stored = (await rows_of(storage, table_name))["Sales", "000223"]
    assert (stored["At"], stored["Skills"]) == (at + timedelta(hours=1), '["filing"]')
