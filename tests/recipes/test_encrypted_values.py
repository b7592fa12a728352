"""Encrypted values: each type comes back, and what was removed from a row is noticed."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.backends import awaited
from support.employees import BY_ID
from support.encrypted_staff import KEY, OLD, SECRET, encrypted, staff_of
from support.examples import examples
from tablepatterns import EncryptedProperties, WideEntity, connect
from tablepatterns.edm import Int64, Ticks
from tablepatterns.entity import same_value
from tablepatterns.errors import BadProperty, DecryptionFailed

INSTANTS = st.datetimes(min_value=datetime(1601, 1, 1), timezones=st.just(timezone(timedelta(hours=2)))).filter(
    lambda moment: moment >= datetime(1601, 1, 2, tzinfo=timezone.utc)
)
VALUES = st.one_of(
    st.text(),
    st.binary(),
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(),
    st.uuids(),
    INSTANTS,
    st.integers(504911232000000000, Ticks.MAX).map(Ticks),
)


@examples(60)
@given(value=VALUES)
async def test_a_value_comes_back_with_its_type(storage: Any, new_name: Any, value: Any) -> None:
    staff = staff_of(storage, new_name(), encrypted("Value"))
    await staff.insert({**KEY, "Value": value})
    found = (await staff.get(**KEY))["Value"]
    assert same_value({"Value": found}, {"Value": value})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", str),
        ("naïve 🛫 \ud800", str),
        (b"", bytes),
        (True, bool),
        (7, int),
        (5_000_000_000, Int64),
        (Int64(7), Int64),
        (math.inf, float),
        (UUID(int=7), UUID),
        (Ticks.parse("2014-08-22T00:50:32.8639974Z"), Ticks),
        (datetime(2014, 8, 22, 0, 50, 32, 863997, tzinfo=timezone.utc), datetime),
    ],
)
async def test_each_type_is_its_own(storage: Any, table_name: str, value: Any, kind: type) -> None:
    staff = staff_of(storage, table_name, encrypted("Value"))
    await staff.insert({**KEY, "Value": value})
    found = (await staff.get(**KEY))["Value"]
    assert type(found) is kind
    assert found == value


async def test_a_value_of_no_property_type_is_rejected_without_being_shown(storage: Any, table_name: str) -> None:
    with pytest.raises(BadProperty, match="list is not a property type") as refused:
        await staff_of(storage, table_name).insert({**KEY, "Ssn": [SECRET]})
    assert SECRET not in str(refused.value) + repr(refused.value.__cause__)


# ------------------------------------------------------------------ removed values and headers


KEYS = ("Sales", "empid_000223")


async def without(storage: Any, table: str, *names: str, keys: tuple[str, str] = KEYS) -> None:
    """Remove properties of a row with the plain SDK."""
    client = awaited(storage.tables.get_table_client(table))
    row = {name: value for name, value in (await client.get_entity(*keys)).items() if name not in names}
    await client.update_entity(row, mode="replace")


@pytest.mark.parametrize("require", [False, True])
@pytest.mark.parametrize("removed", [["Ssn"], ["Salary"], ["Salary", "Ssn"]])
async def test_a_property_that_was_removed_is_detected(
    storage: Any, table_name: str, removed: list[str], require: bool
) -> None:
    staff = staff_of(storage, table_name, encrypted(require=require))
    await staff.insert({**KEY, "Salary": 90_000, "Ssn": SECRET, "Name": "Jones"})
    await without(storage, table_name, *removed)
    for options in ({}, {"select": removed}):
        with pytest.raises(DecryptionFailed, match="is missing; another program removed it"):
            [each async for each in staff.range(Department="Sales", **options)]
    with pytest.raises(DecryptionFailed, match="is missing; another program removed it"):
        await staff.get(**KEY)
    assert [each["Name"] async for each in staff.range(Department="Sales", select=["Name"])] == ["Jones"]


async def test_what_was_never_there_is_not_missed(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**KEY, "Ssn": SECRET})
    assert (await staff.get(**KEY))["Ssn"] == SECRET
    await staff.update(lambda found: found.update(Ssn=None, Salary=1), **KEY)
    assert (await staff.get(**KEY)).get("Ssn") is None


@pytest.mark.parametrize("names", [(), ("Salary",), ("Salary", "Ssn")])
async def test_a_value_whose_header_was_removed_is_not_read_as_a_value(
    storage: Any, table_name: str, names: tuple[str, ...]
) -> None:
    await staff_of(storage, table_name).insert({**KEY, "Ssn": SECRET})
    await without(storage, table_name, "EncryptedWith")
    reader = staff_of(storage, table_name, EncryptedProperties(names, keys=OLD))
    with pytest.raises(DecryptionFailed, match="its header is missing"):
        await reader.get(**KEY)


async def test_a_part_of_a_wide_entity_that_lost_a_property_is_detected(storage: Any, table_name: str) -> None:
    staff: Any = WideEntity(storage, table_name, BY_ID, mappings=[encrypted()])
    await staff.insert({**KEY, "Salary": 90_000, "Ssn": SECRET})
    assert (await staff.get(**KEY))["Ssn"] == SECRET
    client = awaited(storage.tables.get_table_client(table_name))
    (row_key,) = [row["RowKey"] async for row in client.list_entities() if "Ssn" in row]
    await without(storage, table_name, "Ssn", keys=("Sales", row_key))
    with pytest.raises(DecryptionFailed, match=r"Ssn of the entity .* is missing"):
        await staff.get(**KEY)


async def test_a_plain_value_that_looks_encrypted_is_rejected_before_any_request(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    with pytest.raises(BadProperty, match="would be read as one"):
        await staff.insert({**KEY, "Badge": b"\x00tpe" + bytes(40)})
    await staff.insert({**KEY, "Badge": b"\x00tpe"})
    assert (await staff.get(**KEY))["Badge"] == b"\x00tpe"


def test_a_copy_in_another_account_is_read_and_one_under_another_key_is_not() -> None:
    one, other = connect(), connect()
    staff_of(one, "Staff").insert({**KEY, "Ssn": SECRET})
    row = one.tables.get_table_client("Staff").get_entity(*KEYS)
    other.tables.create_table("Staff")
    other.tables.get_table_client("Staff").create_entity(row)
    assert staff_of(other, "Staff").get(**KEY)["Ssn"] == SECRET
