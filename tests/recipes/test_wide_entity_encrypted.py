"""Wide entities with encrypted properties: bound to the entity in every row; and rejected designs."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from support.large_staff import blobs_of, container_of, no_container_is_left  # noqa: F401
from support.wide_counts import DAYS
from support.wide_staff import (
    JONES,
    NEW,
    OLD,
    PAID,
    SMITH,
    SPREAD,
    SSN,
    WHOLE,
    encrypted,
    large,
    row_with,
    rows_of,
    wide_of,
)
from tablepatterns import Entity, Int64, Key, LocalKey, connect
from tablepatterns.entity import reading_of
from tablepatterns.errors import BadDesign, BadInput, BadProperty, DecryptionFailed, EntityChanged
from tablepatterns.recipes.encrypted_properties.key_rotation import PLAIN, KeyRotation, RotationProgress
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

NOTES = "likes long walks. " * 20


async def overwrite(storage: Any, table: str, row: dict[str, Any], **changes: Any) -> None:
    """Change a row as a program does that has only the account key."""
    keys = {name: row[name] for name in ("PartitionKey", "RowKey")}
    await storage.table(table).submit(Operation.merge(keys | changes, ANY))


async def test_encrypted_and_large_properties_are_in_any_row_and_come_back(storage: Any, table_name: str) -> None:
    mappings = large(table_name, "Photo", "Notes"), encrypted("Salary", "Ssn", "Notes", "Born")
    wide = wide_of(storage, table_name, *mappings, **SPREAD)
    entity = WHOLE | {"Notes": NOTES, "Born": datetime(1980, 2, 29, tzinfo=timezone.utc)}
    assert await wide.insert(entity) == entity
    found = await wide.get(**JONES)
    assert found == entity
    assert type(found["Salary"]) is Int64
    rows = await rows_of(storage, table_name)
    assert len(rows) > 4
    assert not any(SSN in repr(row) or "walks" in repr(row) for row in rows.values())
    contents = [
        await storage.container(container_of(table_name)).download(blob) for blob in await blobs_of(storage, table_name)
    ]
    assert len(contents) == 2
    assert not any(b"walks" in content for content in contents)
    assert (await wide.get(**JONES, select=["Ssn", "Notes"])) == JONES | {"Ssn": SSN, "Notes": NOTES}


@pytest.mark.parametrize("transaction_bytes", [4_000_000, 1])
async def test_a_value_that_moves_to_another_row_is_decrypted_there(
    storage: Any, table_name: str, transaction_bytes: int
) -> None:
    wide = wide_of(storage, table_name, encrypted("Ssn"), part_bytes=300, transaction_bytes=transaction_bytes)
    entity = await wide.insert(JONES | {"Name": "", "Ssn": SSN})
    rows = []
    for length in (1, 120, 3):
        entity["Name"] = "x" * length
        await wide.replace(entity)
        assert entity == await wide.get(**JONES) == JONES | {"Name": "x" * length, "Ssn": SSN}
        rows.append((await row_with(storage, table_name, "Ssn"))["RowKey"].partition("_")[0])
    assert len(set(rows)) > 1


async def test_a_merge_is_rejected_where_some_are_encrypted_before_any_request(
    storage: Any, engine: Engine, table_name: str
) -> None:
    wide = wide_of(storage, table_name, encrypted(), **SPREAD)
    entity = await wide.insert(PAID)
    with engine.ledger.span() as span:
        for write in (wide.merge(entity, {"Name": "Smith"}), wide.merge(JONES, {"Ssn": SSN}, force=True)):
            with pytest.raises(BadInput, match="with encrypted properties, only whole entities can be written"):
                await write
    assert span.totals.requests == 0


@pytest.mark.guide("G-293")
async def test_a_ciphertext_of_another_entity_or_property_is_rejected(storage: Any, table_name: str) -> None:
    key = Key("{Department}", "{Employee}")
    wide = wide_of(storage, table_name, encrypted(), key=key, **SPREAD)
    sales = {"Department": "Sales"}
    for who, ssn in ((JONES, SSN), (SMITH, "219-09-9999")):
        await wide.insert({**sales, **who, "Salary": 1, "Ssn": ssn})
    rows = [row for row in (await rows_of(storage, table_name)).values() if row["RowKey"].startswith("000223")]
    theirs = [row for row in (await rows_of(storage, table_name)).values() if row["RowKey"].startswith("000224")]

    def holding(those: list[dict[str, Any]], name: str) -> dict[str, Any]:
        (row,) = [row for row in those if name in row]
        return row

    mine, salary, header = (holding(rows, name) for name in ("Ssn", "Salary", "EncryptedWith"))
    for changes in (
        [(mine, {"Ssn": salary["Salary"]})],
        [(mine, {"Ssn": holding(theirs, "Ssn")["Ssn"]})],
        [
            (each, {name: holding(theirs, name)[name]})
            for each, name in ((mine, "Ssn"), (salary, "Salary"), (header, "EncryptedWith"))
        ],
    ):
        for row, change in changes:
            await overwrite(storage, table_name, row, **change)
        with pytest.raises(DecryptionFailed, match=r"of the entity \('Sales', '000223_01'\)") as refused:
            await wide.get(**sales, **JONES)
        assert "219-09-9999" not in f"{refused.value}{refused.value!r}"
        for row in (mine, salary, header):
            await overwrite(storage, table_name, row, **{name: row[name] for name in row if name != "WriteId"})
    assert (await wide.get(**sales, **JONES))["Ssn"] == SSN


async def test_the_parts_of_a_plain_set_under_the_same_key_are_another_place(storage: Any, table_name: str) -> None:
    one = wide_of(storage, table_name, encrypted("Ssn"), key=Key("{Employee}", "counts_"))
    other = wide_of(storage, table_name, encrypted("Ssn"), key=Key("{Employee}", "notes_"))
    await one.insert(JONES | {"Ssn": SSN})
    await other.insert(JONES | {"Ssn": "other"})
    rows = await rows_of(storage, table_name)
    moved = {name: rows["counts_01"][name] for name in ("Ssn", "EncryptedWith")}
    await overwrite(storage, table_name, rows["notes_01"], **moved)
    with pytest.raises(DecryptionFailed):
        await other.get(**JONES)


async def test_no_error_and_no_repr_shows_a_secret(storage: Any, table_name: str) -> None:
    wide = wide_of(storage, table_name, encrypted(), **SPREAD)
    entity = await wide.insert(PAID)
    part = await wide.get(**JONES, select=["Ssn"])
    for refused, write in (
        (BadInput, wide.replace({"Ssn": SSN} | JONES)),
        (BadInput, wide.replace(part)),
        (BadInput, wide.delete({"Ssn": SSN} | JONES)),
        (BadProperty, wide.insert(SMITH | {"Ssn": [SSN]})),
        (EntityChanged, _stale(wide, entity)),
    ):
        with pytest.raises(refused) as raised:
            await write
        assert SSN not in f"{raised.value}{raised.value!r}{raised.value.__cause__!r}"
    assert SSN not in repr(reading_of(entity))
    assert SSN not in repr(wide)


async def _stale(wide: Any, entity: Entity) -> None:
    await wide.replace(await wide.get(**JONES))
    await wide.replace(entity)


# ------------------------------------------------------------------ keys that are changed


async def test_wide_entities_are_written_again_under_the_new_key(storage: Any, table_name: str) -> None:
    before = wide_of(storage, table_name, encrypted(), **SPREAD)
    wide = wide_of(storage, table_name, encrypted(keys=[NEW, OLD]), **SPREAD)
    await before.insert(PAID)
    await before.insert(PAID | SMITH | {"Ssn": "219-09-9999"})
    await wide.insert(PAID | {"Employee": "000225"})
    rotation = KeyRotation(wide)
    assert await rotation.in_use() == {"old": 2, "new": 1}
    assert await rotation.rotate() == RotationProgress(seen=3, rewritten=2)
    assert await rotation.in_use() == {"new": 3}
    assert await rotation.rotate() == RotationProgress(seen=3)
    after = wide_of(storage, table_name, encrypted(keys=NEW), **SPREAD)
    assert await after.get(**JONES) == PAID
    assert (await after.get(**SMITH))["Ssn"] == "219-09-9999"


async def test_what_is_plain_is_encrypted_and_rows_of_no_value_are_not_counted(storage: Any, table_name: str) -> None:
    await wide_of(storage, table_name, **SPREAD).insert(PAID)
    wide = wide_of(storage, table_name, encrypted(), **SPREAD)
    stray = {"PartitionKey": "000223", "RowKey": f"02_{'0' * 32}", "Ssn": "plain"}
    other = {"PartitionKey": "000223", "RowKey": "note", "Text": "another's"}
    for row in (stray, other):
        await storage.table(table_name).submit(Operation.insert(row))
    rotation = KeyRotation(wide)
    assert await rotation.in_use() == {PLAIN: 1}
    assert await rotation.rotate() == RotationProgress(seen=1, rewritten=1)
    assert await rotation.in_use() == {"old": 1}
    assert await wide.get(**JONES) == PAID


async def test_a_rotation_asks_for_the_entity_and_not_for_its_rows(storage: Any, table_name: str) -> None:
    asked: set[tuple[str, str, str]] = set()

    def when(partition_key: str, row_key: str, name: str) -> bool:
        asked.add((partition_key, row_key, name))
        return name == "Ssn"

    wide = wide_of(storage, table_name, encrypted(when=when), **SPREAD)
    await wide.insert(PAID)
    assert await KeyRotation(wide).rotate() == RotationProgress(seen=1)
    assert await KeyRotation(wide).in_use() == {"old": 1}
    assert asked == {("000223", "01", "Salary"), ("000223", "01", "Ssn")}


async def test_what_a_rotation_costs(storage: Any, engine: Engine, table_name: str) -> None:
    await wide_of(storage, table_name, encrypted(), **SPREAD).insert(PAID)
    rotation = KeyRotation(wide_of(storage, table_name, encrypted(keys=[NEW, OLD]), **SPREAD))
    costs = []
    for call in (rotation.in_use, rotation.rotate, rotation.rotate):
        with engine.ledger.span() as span:
            await call()
        costs.append(span.totals.requests)
    assert costs == [2, 4, 2]


# ------------------------------------------------------------------ designs


async def test_what_mappings_store_besides_may_be_declared_at_the_end(
    storage: Any, engine: Engine, table_name: str
) -> None:
    mapping = encrypted("Ssn", blind={"Ssn": "SsnHash"}, blind_key=bytes(range(32)))
    names = [*DAYS[:249], "Ssn", "Name", "EncryptedWith", "SsnHash"]
    await wide_of(storage, table_name, properties=DAYS[:249]).insert(JONES | {"Day001": 1})
    wide = wide_of(storage, table_name, mapping, properties=names)
    entity = await wide.get(**JONES)
    entity |= {"Ssn": SSN, "Name": "Jones"}
    await wide.replace(entity)
    assert await wide.get(**JONES) == JONES | {"Day001": 1, "Ssn": SSN, "Name": "Jones"}
    assert (await row_with(storage, table_name, "Ssn"))["RowKey"] == "01"
    assert (await row_with(storage, table_name, "EncryptedWith"))["RowKey"] == "02"
    with engine.ledger.span() as span:
        assert await wide.get(**JONES, select=["Ssn"]) == JONES | {"Ssn": SSN}
        assert await wide.get(**JONES, select=["Name"]) == JONES | {"Name": "Jones"}
    assert [record.operation for record in span.records] == ["QueryEntities", "QueryEntity"]


@pytest.mark.parametrize(
    ("mappings", "options", "subject"),
    [
        ([encrypted("Ssn")], {"properties": ["Name", "Ssn"]}, "EncryptedWith"),
        (
            [encrypted("Ssn", blind={"Ssn": "SsnHash"}, blind_key=bytes(32))],
            {"properties": ["Ssn", "EncryptedWith"]},
            "SsnHash",
        ),
        ([encrypted("Employee")], {}, "it is a field of the primary key"),
        ([large("staff", "WideParts")], {}, "WideParts"),
        ([encrypted("Ssn"), encrypted("Salary")], {}, "one mapping of each kind"),
    ],
)
def test_mappings_that_cannot_work_are_rejected(mappings: list[Any], options: dict[str, Any], subject: str) -> None:
    with connect() as storage, pytest.raises(BadDesign, match=subject):
        wide_of(storage, "Staff", *mappings, **options)


def test_mappings_of_properties_that_are_not_declared_are_no_harm() -> None:
    with connect() as storage:
        wide_of(storage, "Staff", encrypted("Ssn", keys=LocalKey.generate("1")), properties=["Name"])
