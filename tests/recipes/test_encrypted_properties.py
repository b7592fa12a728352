"""Encrypted properties: what is stored, read back, and rejected."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from support.backends import awaited
from support.employees import BY_ID, jones
from support.encrypted_staff import KEY, NEW, OLD, SECRET, encrypted, staff_of
from tablepatterns import (
    BulkLoad,
    EncryptedProperties,
    Entity,
    EntitySet,
    IntraPartitionIndex,
    Key,
    prop,
)
from tablepatterns.errors import BadDesign, BadInput, BadProperty, DuplicateIndexValue
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.encrypted_properties import Encrypted
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.summary import Summary

BLIND_KEY = bytes(range(64, 96))
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
    await staff.replace(EMPLOYEE | {"Salary": 3}, force=True)

    def raised(employee: Entity) -> None:
        employee["Salary"] += 1

    await staff.update(raised, **KEY)
    (row,) = await stored(storage, table_name)
    assert isinstance(row["Salary"], bytes)
    assert (await staff.get(**KEY))["Salary"] == 4


async def test_a_bulk_load_that_is_resumed_knows_its_own_entities(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    tokens: list[str] = []
    await BulkLoad(staff).load([EMPLOYEE], progress=lambda progress: tokens.append(progress.token))
    loaded = await BulkLoad(staff).load([EMPLOYEE], resume=tokens[0])
    assert (loaded.entities, loaded.already_stored) == (1, 1)


@pytest.mark.guide("G-288")
async def test_every_merge_is_rejected_before_it_is_sent(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert(EMPLOYEE)
    before = await stored(storage, table_name)
    for merging in (
        staff.merge(entity, {"Age": 35}),
        staff.merge(KEY, {"Salary": 1}, force=True),
        staff.insert_or_merge({**KEY, "Age": 35}),
    ):
        with pytest.raises(BadInput, match="with encrypted properties, only whole entities can be written"):
            await merging
    assert await stored(storage, table_name) == before


@pytest.mark.guide("G-285")
async def test_what_is_encrypted_can_depend_on_the_entity_and_the_property(storage: Any, table_name: str) -> None:
    def chosen(partition_key: str, row_key: str, name: str) -> bool:
        return name == "Salary" or partition_key == "Sales"

    staff = staff_of(storage, table_name, encrypted(when=chosen))
    await staff.insert(EMPLOYEE)
    await staff.insert(EMPLOYEE | {"Department": "IT"})
    in_it, in_sales = await stored(storage, table_name)
    assert (type(in_it["Salary"]), type(in_it["Ssn"])) == (bytes, str)
    assert (type(in_sales["Salary"]), type(in_sales["Ssn"])) == (bytes, bytes)
    assert (await staff.get(Department="IT", EmployeeId=223))["Ssn"] == SECRET


@pytest.mark.guide("G-284")
async def test_a_class_can_declare_what_is_encrypted(storage: Any, table_name: str) -> None:
    @dataclass
    class Employee:
        Department: str
        EmployeeId: int
        Salary: Annotated[int, Encrypted()]
        Age: Annotated[int, "in years"]

    key = Key("{Department}", "{EmployeeId:06d}")
    staff: Any = EntitySet(storage, table_name, key, model=Employee, mappings=[EncryptedProperties(keys=OLD)])
    await staff.insert(Employee("Sales", 223, 90_000, 34))
    stored = await staff.table.get("Sales", "000223")
    assert (type(stored["Salary"]), stored["Age"]) == (bytes, 34)
    assert await staff.get(Department="Sales", EmployeeId=223) == Employee("Sales", 223, 90_000, 34)


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
    with pytest.raises(BadDesign, match="needs it unencrypted"):
        encrypted(name)


@pytest.mark.guide("G-291")
async def test_plain_entities_may_share_the_table(storage: Any, table_name: str) -> None:
    await EntitySet(storage, table_name, BY_ID).insert(EMPLOYEE | {"EmployeeId": 1})
    staff = staff_of(storage, table_name)
    await staff.insert(EMPLOYEE | {"EmployeeId": 2, "Salary": None, "Ssn": None})
    await staff.insert(EMPLOYEE | {"EmployeeId": 3})
    assert [found.get("Ssn") async for found in staff.range(Department="Sales")] == [SECRET, None, SECRET]


@pytest.mark.guide("G-292")
async def test_entities_of_several_keys_all_read_back(storage: Any, table_name: str) -> None:
    await staff_of(storage, table_name, encrypted(keys=OLD)).insert(EMPLOYEE)
    await staff_of(storage, table_name, encrypted(keys=[NEW, OLD])).insert(EMPLOYEE | {"EmployeeId": 224})
    for options in ({"keys": [NEW, OLD]}, {"keys": NEW, "resolve": {"old": OLD}.get}):
        reader = staff_of(storage, table_name, encrypted(**options))
        assert [found["Ssn"] async for found in reader.range(Department="Sales")] == [SECRET, SECRET]


# -- indexes


async def test_copies_hold_the_ciphertext_of_the_primary(storage: Any, table_name: str) -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    staff = staff_of(storage, table_name, derived=[by_email])
    await staff.insert(EMPLOYEE)
    copy, primary = await stored(storage, table_name)
    assert copy["Ssn"] == primary["Ssn"]
    found = await staff.find(by_email, Department="Sales", Email=EMPLOYEE["Email"])
    assert found == EMPLOYEE
    found["Salary"] = 1
    await staff.replace(found)
    assert (await staff.get(**KEY))["Salary"] == 1


@pytest.mark.parametrize(
    "derived",
    [
        IntraPartitionIndex(Key("{Department}", "ssn_{Ssn}")),
        Summary(Key("{Department}", "total"), sums={"Salary": "Payroll"}),
        Summary(Key("{Department}", "total_{Ssn}")),
        IndexEntity("Ssn"),
        CopiedFields(Key("{Department}", "boss"), refers={"EmployeeId": "Boss"}, copies={"Salary": "BossSalary"}),
    ],
    ids=lambda derived: derived.name,
)
async def test_nothing_that_works_with_its_values_can_be_derived_of_an_encrypted_field(
    storage: Any, table_name: str, derived: Any
) -> None:
    with pytest.raises(BadDesign, match="nothing can be derived from it; use another field, such as its blind index"):
        staff_of(storage, table_name, derived=[derived])


async def test_an_index_that_holds_a_field_without_its_header_is_rejected(storage: Any, table_name: str) -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=["Ssn"])
    with pytest.raises(BadDesign, match="its rows would lack EncryptedWith"):
        staff_of(storage, table_name, derived=[by_email])


BY_HASH = IntraPartitionIndex(Key("{Department}", "email_{EmailHash}"))


def hashed(**options: Any) -> EncryptedProperties:
    return encrypted("Email", "Ssn", blind={"Email": "EmailHash"}, **({"blind_key": BLIND_KEY} | options))


async def test_a_blind_index_finds_an_encrypted_value_and_keeps_it_unique(storage: Any, table_name: str) -> None:
    mapping = hashed()
    staff = staff_of(storage, table_name, mapping, derived=[BY_HASH])
    entity = await staff.insert(EMPLOYEE)
    assert entity == EMPLOYEE
    asked = mapping.blind(table_name, Email=EMPLOYEE["Email"])
    assert await staff.find(BY_HASH, Department="Sales", **asked) == EMPLOYEE
    assert [found async for found in staff.range(Department="Sales", where=prop("EmailHash") == asked["EmailHash"])]
    with pytest.raises(DuplicateIndexValue):
        await staff.insert(EMPLOYEE | {"EmployeeId": 224})
    assert all("jonesj" not in repr(row) for row in await stored(storage, table_name))

    entity["Email"] = "jo@contoso.com"
    await staff.replace(entity)
    assert await staff.find(BY_HASH, Department="Sales", **asked) is None
    asked = mapping.blind(table_name, Email="jo@contoso.com")
    assert (await staff.find(BY_HASH, Department="Sales", **asked))["Email"] == "jo@contoso.com"


def test_a_hash_is_of_its_key_its_table_its_property_and_its_type() -> None:
    mapping = encrypted("A", "B", blind={"A": "HashA", "B": "HashB"}, blind_key=BLIND_KEY)
    other = encrypted("A", "B", blind={"A": "HashA", "B": "HashB"}, blind_key=bytes(32))
    hashes = [
        mapping.blind("Staff", A="1")["HashA"],
        mapping.blind("Others", A="1")["HashA"],
        mapping.blind("Staff", A=1)["HashA"],
        mapping.blind("Staff", B="1")["HashB"],
        other.blind("Staff", A="1")["HashA"],
    ]
    assert len(set(hashes)) == 5
    assert {len(each) for each in hashes} == {32}
    assert mapping.blind("STAFF", A="1") == mapping.blind("Staff", A="1")


async def test_what_is_invalid_is_rejected_when_it_is_declared(storage: Any, table_name: str) -> None:
    for options, reason in [
        ({"keys": []}, "there are none"),
        ({"keys": [OLD, OLD]}, "the same id"),
        ({"keys": "secret"}, "a LocalKey or VaultKey"),
        ({"blind": {"Age": "AgeHash"}, "blind_key": BLIND_KEY}, "it is not encrypted"),
        ({"blind": {"Ssn": "Hash", "Salary": "Hash"}, "blind_key": BLIND_KEY}, "the same name"),
        ({"blind": {"Ssn": "RowKey"}, "blind_key": BLIND_KEY}, "the name is reserved"),
        ({"blind": {"Ssn": "Hash"}}, "at least 32 random bytes"),
        ({"blind": {"Ssn": "Hash"}, "blind_key": bytes(31)}, "at least 32 random bytes"),
    ]:
        with pytest.raises(BadDesign, match=reason):
            encrypted(**options)
    with pytest.raises(BadInput, match="the fields with a blind index are Email"):
        hashed().blind("Staff", Ssn=SECRET)


@pytest.mark.parametrize("name", ["EncryptedWith", "EmailHash"])
async def test_a_field_by_the_name_of_what_the_mapping_makes_is_rejected(
    storage: Any, table_name: str, name: str
) -> None:
    staff = staff_of(storage, table_name, hashed())
    with pytest.raises(BadProperty, match="the name is reserved"):
        await staff.insert(EMPLOYEE | {name: "x"})


# -- nothing is told


async def test_nothing_of_a_plaintext_or_a_key_is_logged_or_shown(
    storage: Any, table_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mapping = hashed()
    staff = staff_of(storage, table_name, mapping, derived=[BY_HASH])
    await staff.insert(EMPLOYEE)
    await staff.get(**KEY)
    with pytest.raises(DuplicateIndexValue) as refused:
        await staff.insert(EMPLOYEE | {"EmployeeId": 224})
    with pytest.raises(BadInput, match="it was not read from this set") as not_read:
        await staff.replace(EMPLOYEE)
    writing = staff.inserting(EMPLOYEE)
    shown = f"{not_read.value}{writing!r}{await writing.encoded()!r}"
    shown += f"{caplog.text}{refused.value}{refused.value!r}{mapping!r}{vars(mapping)!r}{OLD!r}{BY_HASH!r}"
    for secret in (SECRET, "jonesj@contoso.com", OLD._secret.hex(), repr(OLD._secret), repr(BLIND_KEY)):
        assert secret not in shown


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ModuleNotFoundError, match="pip install cryptography"):
        encrypted()
