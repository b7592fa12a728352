"""Writes of other fields leave a large value in its blob, encrypted or not, and never read back another value."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from support.employees import BY_EMAIL, BY_ID
from support.large_staff import JONES, blobs_of, container_of, no_container_is_left  # noqa: F401
from tablepatterns import (
    BulkLoad,
    Encrypted,
    EncryptedProperties,
    EntityGroupTransaction,
    EntitySet,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    KeyRotation,
    Large,
    LargeProperties,
    LargePropertyStore,
    LocalKey,
    PartitionMove,
    WideEntity,
)
from tablepatterns.errors import BadDesign, DecryptionFailed, EntityChanged
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

PHOTO = bytes(range(256)) * 300
OLD, NEW = LocalKey("old", bytes(range(32))), LocalKey("new", bytes(range(1, 33)))
WHOLE = JONES | {"Email": "jo", "Photo": PHOTO, "Salary": 90_000, "Age": 34}
OLDER = {**WHOLE, "Age": 35}
BY_EMAIL_ELSEWHERE = Key("emails_{Department}", "mail_{Email}")
Writing = Callable[[Any, Any], Awaitable[object]]


def encryption_of(*keys: LocalKey, names: Any = ("Photo", "Salary")) -> EncryptedProperties:
    return EncryptedProperties(names, keys=keys)


def mappings_of(table: str, kind: str) -> list[Any]:
    large = LargeProperties(["Photo"], container=container_of(table))
    return [large] if kind == "plain" else [encryption_of(OLD), large]


def staff_of(storage: Any, table: str, kind: str = "encrypted", **options: Any) -> Any:
    return EntitySet(storage, table, BY_ID, **({"mappings": mappings_of(table, kind)} | options))


def celebrate(employee: Any) -> None:
    employee["Age"] = 35


async def replace(staff: Any, jones: Any) -> None:
    celebrate(jones)
    await staff.replace(jones)


async def replace_with_equal_bytes(staff: Any, jones: Any) -> None:
    jones["Photo"] = bytes(bytearray(PHOTO))
    await replace(staff, jones)


async def commit(staff: Any, jones: Any) -> None:
    celebrate(jones)
    another = staff.inserting({"Department": "Sales", "EmployeeId": 7, "Email": "al", "Age": 1})
    await EntityGroupTransaction(staff.account, staff.table.name).commit(another, staff.replacing(jones))


async def rename_twice(staff: Any, jones: Any) -> None:
    renamed = await staff.rename(jones, EmployeeId=9)
    await replace(staff, await staff.rename(renamed, **JONES))


async def move_twice(staff: Any, jones: Any) -> None:
    move = PartitionMove(staff)
    await move.move(jones, Department="HR")
    there = await staff.get(Department="HR", EmployeeId=223)
    await move.move(there, Department="Sales")
    await staff.update(celebrate, **JONES)


async def change_and_change_back(staff: Any, jones: Any) -> None:
    jones["Photo"] = PHOTO[::-1]
    await staff.replace(jones)
    jones["Photo"] = PHOTO
    await replace(staff, jones)


async def delete_and_insert(staff: Any, jones: Any) -> None:
    await staff.delete(jones)
    await staff.insert(OLDER)


WRITES: dict[str, tuple[Writing, int]] = {
    "replace": (replace, 0),
    "replace with equal bytes": (replace_with_equal_bytes, 0),
    "replace(etag=)": (lambda staff, jones: staff.replace(OLDER, etag=jones.etag), 1),
    "replace(force=True)": (lambda staff, jones: staff.replace(OLDER, force=True), 1),
    "insert_or_replace": (lambda staff, jones: staff.insert_or_replace(OLDER), 1),
    "update": (lambda staff, jones: staff.update(celebrate, **JONES), 0),
    "transaction": (commit, 0),
    "rename": (rename_twice, 2),
    "move": (move_twice, 2),
    "change and change back": (change_and_change_back, 2),
    "delete and insert": (delete_and_insert, 1),
    "bulk load": (lambda staff, jones: BulkLoad(staff).load([OLDER], mode="insert_or_replace"), 1),
}
READS_FIRST = {"replace(etag=)", "replace(force=True)", "insert_or_replace", "bulk load"}
"""The writes that read the stored entity if it has derived data, and so know that the value is the same."""
DERIVED: dict[str, Any] = {
    "no index": list,
    "index in the partition": lambda: [IntraPartitionIndex(BY_EMAIL)],
    "index elsewhere": lambda: [InterPartitionIndex(BY_EMAIL_ELSEWHERE)],
}


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("kind", ["plain", "encrypted"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.few(36)
async def test_a_value_is_uploaded_only_if_it_changed_or_what_is_stored_is_unknown(
    storage: Any, table_name: str, write: str, kind: str, derived: str
) -> None:
    staff = staff_of(storage, table_name, kind, derived=DERIVED[derived]())
    jones = await staff.insert(WHOLE)
    writing, uploads = WRITES[write]
    await writing(staff, jones)
    assert await staff.get(**JONES) == OLDER
    # No blob is ever overwritten, so each upload is one more
    expected = 0 if write in READS_FIRST and derived != "no index" else uploads
    assert len(await blobs_of(storage, table_name)) == 1 + expected
    for index in staff.derived:
        assert await staff.find(index, Department="Sales", Email="jo") == OLDER
    await staff.update(lambda employee: employee.update(Age=36, Salary=1), **JONES)
    assert await staff.get(**JONES) == OLDER | {"Age": 36, "Salary": 1}
    assert len(await blobs_of(storage, table_name)) == 1 + expected


@pytest.mark.parametrize("kind", ["plain", "encrypted"])
async def test_a_wide_entity_keeps_a_value_that_stays_in_its_blob(storage: Any, table_name: str, kind: str) -> None:
    names = ["Salary", "Photo", "EncryptedWith", "Age", "Email"]
    mappings = mappings_of(table_name, kind)
    wide = WideEntity(storage, table_name, Key("{Department}", "{EmployeeId:06d}"), properties=names, mappings=mappings)
    jones = await wide.insert(WHOLE)
    for age in (35, 36):
        jones["Age"] = age
        await wide.replace(jones)
    await wide.update(celebrate, **JONES)
    assert await wide.get(**JONES) == OLDER
    assert len(await blobs_of(storage, table_name)) == 1


@pytest.mark.parametrize("kind", ["plain", "encrypted"])
async def test_a_stale_writer_cannot_bring_back_a_collected_value(
    storage: Any, engine: Engine, table_name: str, kind: str
) -> None:
    staff = staff_of(storage, table_name, kind)
    stale = await staff.insert(WHOLE)
    await staff.update(lambda employee: employee.update(Photo=PHOTO[::-1]), **JONES)
    for _ in range(3):
        engine.clock.advance(90_000)
        await LargePropertyStore(staff).collect_orphans()
    assert len(await blobs_of(storage, table_name)) == 1
    with pytest.raises(EntityChanged):
        await replace(staff, stale)
    await staff.replace(stale, force=True)
    assert (await staff.get(**JONES))["Photo"] == PHOTO


# -- encrypted values


async def test_a_value_that_stays_is_not_collected(storage: Any, engine: Engine, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(WHOLE)
    for _ in range(3):
        await staff.update(celebrate, **JONES)
        engine.clock.advance(90_000)
        await LargePropertyStore(staff).collect_orphans()
    assert await staff.get(**JONES) == OLDER


async def test_a_new_key_encrypts_the_value_anew(storage: Any, table_name: str) -> None:
    before, mappings = staff_of(storage, table_name), mappings_of(table_name, "plain")
    await before.insert(WHOLE)
    await before.update(celebrate, **JONES)
    staff = staff_of(storage, table_name, mappings=[encryption_of(NEW, OLD), *mappings])
    rotation: Any = KeyRotation(staff)
    jones = await staff.get(**JONES)
    await before.replace(await before.get(**JONES))
    with pytest.raises(EntityChanged):
        await staff.replace(jones)
    assert (await rotation.rotate()).rewritten == 1
    assert await rotation.in_use() == {"new": 1}
    only_new = staff_of(storage, table_name, mappings=[encryption_of(NEW), *mappings])
    for _ in range(2):
        await only_new.update(celebrate, **JONES)
    assert await only_new.get(**JONES) == OLDER
    # The blob of the rejected write is the third
    assert len(await blobs_of(storage, table_name)) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["Photo"], []),
        ([], ["Photo"]),
        (["Photo"], ["Photo", "Salary"]),
        (["Photo", "Salary"], ["Photo"]),
        (["Photo", "Salary"], ["Salary"]),
        (["Salary"], ["Photo"]),
    ],
)
async def test_a_value_comes_back_when_other_names_are_encrypted(
    storage: Any, table_name: str, first: list[str], second: list[str]
) -> None:
    large = mappings_of(table_name, "plain")
    sets = [
        staff_of(storage, table_name, mappings=[encryption_of(OLD, names=names), *large]) for names in (first, second)
    ]
    await sets[0].insert(WHOLE)
    for staff in (*sets, *sets[::-1]):
        await staff.update(celebrate, **JONES)
        for reader in sets:
            assert await reader.get(**JONES) == OLDER


async def test_a_property_without_a_value_encrypts_the_others_anew(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    jones = await staff.insert(WHOLE)
    del jones["Salary"]
    await staff.replace(jones)
    jones["Salary"] = 5
    await staff.replace(jones)
    assert await staff.get(**JONES) == WHOLE | {"Salary": 5}


@dataclass
class LargeFirst:
    Department: str
    EmployeeId: int
    Photo: Annotated[bytes, Large(), Encrypted()]
    Age: int = 34


@dataclass
class EncryptedFirst:
    Department: str
    EmployeeId: int
    Photo: Annotated[bytes, Encrypted(), Large()]
    Age: int = 34


@pytest.mark.parametrize("model", [LargeFirst, EncryptedFirst])
async def test_a_field_of_a_model_can_be_encrypted_and_large(storage: Any, table_name: str, model: Any) -> None:
    for mappings in ([], [LargeProperties(["Photo"], container=container_of(table_name))]):
        with pytest.raises(BadDesign, match="the set has no key"):
            EntitySet(storage, table_name, BY_ID, model=model, mappings=mappings)
    staff: Any = EntitySet(storage, table_name, BY_ID, model=model, mappings=[EncryptedProperties(keys=OLD)])
    jones = model(**JONES, Photo=PHOTO)
    await staff.insert(jones)
    jones.Age = 35
    await staff.replace(jones)
    assert await staff.get(**JONES) == jones
    (blob,) = await blobs_of(storage, table_name)
    assert PHOTO not in (await storage.container(container_of(table_name)).download(blob))


async def header_of(storage: Any, table: str) -> dict[str, Any]:
    header: dict[str, Any] = json.loads((await storage.table(table).get("Sales", "empid_000223"))["EncryptedWith"])
    return header


async def test_each_write_encrypts_the_other_properties_with_a_new_key(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert(WHOLE)
    headers = [await header_of(storage, table_name)]
    for _ in range(2):
        await staff.update(celebrate, **JONES)
        headers.append(await header_of(storage, table_name))
    assert len({header["key"] for header in headers}) == 3
    assert [header["v"] for header in headers] == [1, 2, 2]
    assert [list(header.get("kept", {})) for header in headers] == [[], ["Photo"], ["Photo"]]
    # The size of a header does not grow with each write
    assert len(json.dumps(headers[1])) == len(json.dumps(headers[2]))


async def test_values_and_keys_of_different_writes_cannot_be_mixed(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    jones = await staff.insert(WHOLE)
    rows = [dict(await storage.table(table_name).get("Sales", "empid_000223"))]
    for photo, salary in ((PHOTO, 1), (PHOTO[::-1], 2), (PHOTO[::-1], 3)):
        jones |= {"Photo": photo, "Salary": salary}
        await staff.replace(jones)
        rows.append(dict(await storage.table(table_name).get("Sales", "empid_000223")))
    headers = [json.loads(row["EncryptedWith"]) for row in rows]
    last = rows[-1]
    forgeries = [
        {"Salary": rows[0]["Salary"]},
        {"Photo": rows[0]["Photo"]},
        {"EncryptedWith": rows[1]["EncryptedWith"]},
        {"EncryptedWith": json.dumps(headers[3] | {"kept": headers[1]["kept"]})},
        {"EncryptedWith": json.dumps(headers[3] | {"kept": {}})},
        {"EncryptedWith": json.dumps(headers[3] | {"kept": {"Salary": headers[3]["kept"]["Photo"]}})},
        {"EncryptedWith": json.dumps(headers[3] | {"kept": {"Photo": "AAAA"}})},
        {"EncryptedWith": json.dumps(headers[3] | {"kept": ["Photo"]})},
        {"EncryptedWith": json.dumps(headers[3] | {"kept": {"Photo": 7}})},
        {"EncryptedWith": json.dumps(headers[3] | {"v": 3})},
    ]
    for forged in forgeries:
        await storage.table(table_name).submit(Operation.replace(last | forged, ANY))
        with pytest.raises(DecryptionFailed):
            await staff.get(**JONES)
    await storage.table(table_name).submit(Operation.replace(last, ANY))
    assert await staff.get(**JONES) == WHOLE | {"Photo": PHOTO[::-1], "Salary": 3}
