"""Types under encryption: a value of every type comes back as it was."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import awaited
from employees import BY_ID, jones
from sealed import KEY, NEW, OLD, SECRET, sealed, staff_of
from tablepatterns import BulkLoad, Entity, EntityGroupTransaction, EntitySet, prop
from tablepatterns.edm import Int64, Ticks
from tablepatterns.errors import BadDesign, BadInput, BadProperty
from tablepatterns.recipes.encrypted_properties import ENCRYPTED, EncryptedProperties
from tablepatterns.writing.alike import alike

EMPLOYEE = jones(Salary=90_000, Ssn=SECRET)


async def stored(storage: Any, table: str) -> list[dict[str, Any]]:
    client = awaited(storage.tables.get_table_client(table))
    return [dict(row) async for row in client.list_entities()]


@pytest.mark.guide("G-281", "G-283", "G-286")
async def test_what_is_inserted_is_stored_as_binary_and_comes_back_as_it_was(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    assert await staff.insert(EMPLOYEE) == EMPLOYEE
    (row,) = await stored(storage, table_name)
    assert isinstance(row["Salary"], bytes)
    assert isinstance(row["Ssn"], bytes)
    assert SECRET.encode() not in row["Ssn"]
    assert (row["LastName"], row["Age"]) == ("Jones", 34)
    assert await staff.get(**KEY) == EMPLOYEE


@pytest.mark.guide("G-282")
async def test_what_is_replaced_is_encrypted_too_by_every_word_that_writes_whole(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert(EMPLOYEE)
    entity["Salary"] = 1
    await staff.replace(entity)
    await staff.insert_or_replace(EMPLOYEE | {"Salary": 2})
    await staff.replace(EMPLOYEE | {"Salary": 3}, unconditionally=True)

    def raised(employee: Entity) -> None:
        employee["Salary"] += 1

    await staff.update(raised, **KEY)
    (row,) = await stored(storage, table_name)
    assert isinstance(row["Salary"], bytes)
    assert (await staff.get(**KEY))["Salary"] == 4


async def test_a_transaction_and_a_bulk_load_encrypt(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await EntityGroupTransaction(storage, table_name).commit(staff.inserting(EMPLOYEE))
    await BulkLoad(staff).load([EMPLOYEE | {"EmployeeId": 224}])
    assert [type(row["Ssn"]) for row in await stored(storage, table_name)] == [bytes, bytes]
    assert [found["Ssn"] async for found in staff.range(Department="Sales")] == [SECRET, SECRET]


async def test_a_bulk_load_that_is_resumed_knows_its_own_entities(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    tokens: list[str] = []
    await BulkLoad(staff).load([EMPLOYEE], progress=lambda progress: tokens.append(progress.token))
    loaded = await BulkLoad(staff).load([EMPLOYEE], resume=tokens[0])
    assert (loaded.entities, loaded.recognised) == (1, 1)


@pytest.mark.guide("G-288")
async def test_every_merge_is_refused_before_it_is_sent(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert(EMPLOYEE)
    before = await stored(storage, table_name)
    for merging in (
        staff.merge(entity, {"Age": 35}),
        staff.merge(KEY, {"Salary": 1}, unconditionally=True),
        staff.insert_or_merge({**KEY, "Age": 35}),
    ):
        with pytest.raises(BadInput, match="encrypted properties writes an entity whole"):
            await merging
    assert await stored(storage, table_name) == before


@pytest.mark.guide("G-285")
async def test_what_is_encrypted_can_depend_on_the_entity_and_the_property(storage: Any, table_name: str) -> None:
    def chosen(partition_key: str, row_key: str, name: str) -> bool:
        return name == "Salary" or partition_key == "Sales"

    staff = staff_of(storage, table_name, sealed(when=chosen))
    await staff.insert(EMPLOYEE)
    await staff.insert(EMPLOYEE | {"Department": "IT"})
    in_it, in_sales = await stored(storage, table_name)
    assert (type(in_it["Salary"]), type(in_it["Ssn"])) == (bytes, str)
    assert (type(in_sales["Salary"]), type(in_sales["Ssn"])) == (bytes, bytes)
    assert (await staff.get(Department="IT", EmployeeId=223))["Ssn"] == SECRET


@pytest.mark.guide("G-284")
async def test_a_class_can_declare_what_is_encrypted(storage: Any, table_name: str) -> None:
    class Employee:
        Department: str
        EmployeeId: int
        Salary: Annotated[int, ENCRYPTED]
        Age: Annotated[int, "in years"]

    mapping = EncryptedProperties.of(Employee, keys=OLD)
    assert set(mapping.fields) == {"Salary"}


@pytest.mark.guide("G-287")
async def test_reading_takes_the_keys_and_no_declaration(storage: Any, table_name: str) -> None:
    await staff_of(storage, table_name).insert(EMPLOYEE)
    reader = staff_of(storage, table_name, EncryptedProperties([], keys=OLD))
    assert await reader.get(**KEY) == EMPLOYEE
    assert [found async for found in reader.scan(prop("LastName") == "Jones")] == [EMPLOYEE]


async def test_a_projection_brings_what_is_needed_to_decrypt_it(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(EMPLOYEE)
    (found,) = await staff.take(1, select=["Ssn"], Department="Sales")
    assert found == {**KEY, "Ssn": SECRET}
    (found,) = await staff.take(1, select=["Age"], Department="Sales")
    assert found == {**KEY, "Age": 34}


@pytest.mark.guide("G-290")
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey", "Timestamp", "EncryptedWith"])
def test_keys_and_timestamp_cannot_be_encrypted(name: str) -> None:
    with pytest.raises(BadDesign, match="needs it as it is"):
        sealed(name)


@pytest.mark.guide("G-290")
async def test_a_field_of_the_key_cannot_be_encrypted(storage: Any, table_name: str) -> None:
    with pytest.raises(BadDesign, match="a field of the primary key"):
        staff_of(storage, table_name, sealed("EmployeeId"))


@pytest.mark.guide("G-291")
async def test_plain_entities_may_share_the_table(storage: Any, table_name: str) -> None:
    await EntitySet(storage, table_name, BY_ID).insert(EMPLOYEE | {"EmployeeId": 1})
    staff = staff_of(storage, table_name)
    await staff.insert(EMPLOYEE | {"EmployeeId": 2, "Salary": None, "Ssn": None})
    await staff.insert(EMPLOYEE | {"EmployeeId": 3})
    assert [found.get("Ssn") async for found in staff.range(Department="Sales")] == [SECRET, None, SECRET]


@pytest.mark.guide("G-292")
async def test_entities_of_several_keys_all_read_back(storage: Any, table_name: str) -> None:
    await staff_of(storage, table_name, sealed(keys=OLD)).insert(EMPLOYEE)
    await staff_of(storage, table_name, sealed(keys=[NEW, OLD])).insert(EMPLOYEE | {"EmployeeId": 224})
    for options in ({"keys": [NEW, OLD]}, {"keys": NEW, "resolve": {"old": OLD}.get}):
        reader = staff_of(storage, table_name, sealed(**options))
        assert [found["Ssn"] async for found in reader.range(Department="Sales")] == [SECRET, SECRET]


# -- types

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


@settings(max_examples=60)
@given(value=VALUES)
async def test_a_value_comes_back_with_its_type(storage: Any, new_name: Any, value: Any) -> None:
    staff = staff_of(storage, new_name(), sealed("Value"))
    await staff.insert({**KEY, "Value": value})
    found = (await staff.get(**KEY))["Value"]
    assert alike({"Value": found}, {"Value": value})


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
    staff = staff_of(storage, table_name, sealed("Value"))
    await staff.insert({**KEY, "Value": value})
    found = (await staff.get(**KEY))["Value"]
    assert type(found) is kind
    assert found == value


async def test_a_value_of_no_property_type_is_refused_without_being_shown(storage: Any, table_name: str) -> None:
    with pytest.raises(BadProperty, match="list is not a property type") as refused:
        await staff_of(storage, table_name).insert({**KEY, "Ssn": [SECRET]})
    assert SECRET not in str(refused.value) + repr(refused.value.__cause__)
