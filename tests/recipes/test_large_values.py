"""Large values: streams, orphans and their grace period, `verify`, and encryption."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from support.backends import awaited
from support.employees import BY_ID
from support.large_staff import HOUR, JONES, LIMIT, blobs_of, container_of, no_container_is_left, row_of, staff_of  # noqa: F401
from tablepatterns import (
    Archive,
    EncryptedProperties,
    EntitySet,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LargePropertyStore,
    LocalKey,
    Upload,
    WideEntity,
    Worker,
)
from tablepatterns.entity_set.internals import mappings_of
from tablepatterns.errors import BadDesign, BadInput, BadToken, DecryptionFailed, EntityNotFound, LargeValueMissing
from tablepatterns.recipes.large_properties import large_values as kept
from tablepatterns.recipes.large_properties.large_values import BlobReference, CollectionReport, LargePropertyReport

PHOTO = bytes(range(256)) * 300
AT_ONCE = timedelta(0)


# -- reading piece by piece


async def test_a_large_value_is_read_in_chunks_and_a_small_one_too(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    values = LargePropertyStore(staff)
    jones = await staff.insert({**JONES, "Photo": Upload(iter([PHOTO] * 3)), "Report": "naïve"})
    assert b"".join([piece async for piece in values.open(jones, "Photo")]) == PHOTO * 3
    assert [piece async for piece in values.open(jones, "Report")] == ["naïve".encode()]
    await staff.merge(jones, {"Report": "é" * LIMIT, "Photo": b"small"})
    assert b"".join([piece async for piece in values.open(JONES, "Report")]) == "é".encode() * LIMIT
    assert [piece async for piece in values.open(JONES, "Photo")] == [b"small"]


async def test_a_value_that_is_not_there_has_no_pieces_and_an_empty_one_has_no_content(
    storage: Any, table_name: str
) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": Upload(iter([]))})
    assert [piece async for piece in LargePropertyStore(staff).open(JONES, "Report")] == []
    assert b"".join([piece async for piece in LargePropertyStore(staff).open(JONES, "Photo")]) == b""


async def test_what_cannot_be_opened_is_reported(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    values = LargePropertyStore(staff)
    with pytest.raises(EntityNotFound):
        [piece async for piece in values.open(JONES, "Photo")]
    await staff.insert({**JONES, "Photo": PHOTO})
    with pytest.raises(BadInput, match="large properties are Photo, Report"):
        [piece async for piece in values.open(JONES, "Age")]
    (name,) = await blobs_of(storage, table_name)
    await storage.container(container_of(table_name)).delete(name)
    with pytest.raises(LargeValueMissing, match="which does not exist"):
        [piece async for piece in values.open(JONES, "Photo")]


def test_a_set_without_large_properties_is_rejected(storage: Any, table_name: str) -> None:
    with pytest.raises(BadDesign, match="no mapping for large properties"):
        LargePropertyStore(EntitySet(storage, table_name, BY_ID))


# -- orphans


@pytest.mark.guide("G-249")
async def test_blobs_of_values_that_were_replaced_deleted_or_never_kept_go_in_the_end(
    storage: Any, table_name: str
) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert({**JONES, "Photo": PHOTO, "Report": "r" * LIMIT})
    gone = await staff.insert({**JONES, "EmployeeId": 224, "Photo": PHOTO})
    await staff.delete(gone)
    await staff.merge(entity, {"Photo": PHOTO[::-1], "Report": "small"})
    never = await staff.inserting({**JONES, "EmployeeId": 225, "Photo": PHOTO}).encoded()
    await never.before[0]()
    values = LargePropertyStore(staff)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=5, marked=4)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=5, deleted=4)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1)
    (left,) = await blobs_of(storage, table_name)
    assert (await row_of(storage, table_name))["Photo"].endswith(left)
    assert (await staff.get(**JONES))["Photo"] == PHOTO[::-1]


async def test_a_blob_goes_when_its_grace_is_over_twice(storage: Any, engine: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    values = LargePropertyStore(staff)
    await staff.delete(await staff.insert({**JONES, "Photo": PHOTO}))
    done = []
    for minutes in (59, 1, 59, 1):
        engine.clock.advance(minutes * 60)
        done.append(await values.collect_orphans(grace=HOUR))
    assert [(each.marked, each.deleted) for each in done] == [(0, 0), (1, 0), (0, 0), (0, 1)]
    assert await blobs_of(storage, table_name) == []


async def test_a_collection_is_continued_by_its_token_and_shared_among_workers(
    storage: Any, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "BATCH", 2)
    staff = staff_of(storage, table_name)
    for number in range(8):
        person = {**JONES, "Department": f"D{number % 4}", "EmployeeId": number, "Photo": PHOTO}
        await staff.delete(await staff.insert(person))
    values, reports = LargePropertyStore(staff), list[CollectionReport]()
    assert await values.collect_orphans(grace=AT_ONCE, progress=reports.append) == CollectionReport(8, 8)
    assert len(reports) == 5
    # The blobs of the first two partitions are deleted, whose names are before the token
    token = reports[1].token
    assert await values.collect_orphans(grace=AT_ONCE, resume=token) == CollectionReport(4, 0, 4)
    with pytest.raises(BadToken):
        await values.collect_orphans(grace=AT_ONCE, resume=token, workers=2)
    with pytest.raises(BadToken):
        await LargePropertyStore(staff_of(storage, table_name, container="other")).collect_orphans(resume=token)
    assert await values.collect_orphans(grace=AT_ONCE, workers=2) == CollectionReport(4, 0, 4)
    assert await blobs_of(storage, table_name) == []


async def test_what_a_collection_costs(storage: Any, engine: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    values = LargePropertyStore(staff)
    for number in range(3):
        await staff.insert({**JONES, "EmployeeId": number, "Photo": PHOTO})
        await staff.insert_or_replace({**JONES, "EmployeeId": number, "Photo": PHOTO})
    costs = []
    for _ in range(4):
        with engine.ledger.span() as span:
            await values.collect_orphans(grace=HOUR)
        costs.append(span.totals.requests)
        engine.clock.advance(3600)
    assert costs == [1, 1 + 1 + 3, 1 + 1 + 2 * 3, 1 + 1]


async def test_blobs_of_others_are_left_alone(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    container = storage.container(container_of(table_name))
    await staff.insert({**JONES, "Photo": PHOTO})
    large = LargeProperties(["Photo", "Plan"], container=container_of(table_name))
    departments = EntitySet(storage, table_name, Key("{Department}", "department"), mappings=[large])
    await departments.delete(await departments.insert({"Department": "Sales", "Photo": PHOTO}))
    same_key = EntitySet(storage, table_name, BY_ID, mappings=[large])
    await same_key.insert({**JONES, "EmployeeId": 1, "Plan": PHOTO})
    await container.upload("readme.txt", b"not ours")
    await container.upload(f"{table_name.lower()}/readme.txt", b"not ours")
    before = await blobs_of(storage, table_name)
    for _ in range(2):
        assert await LargePropertyStore(staff).collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1)
    assert await blobs_of(storage, table_name) == before


async def test_many_partitions_and_batches_are_gone_through(
    storage: Any, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "BATCH", 2)
    staff = staff_of(storage, table_name)
    for department in ("Sales", "IT", "Ops"):
        for number in range(4):
            entity = {"Department": department, "EmployeeId": number, "Photo": PHOTO, "Report": "r" * LIMIT}
            await staff.insert(entity)
            await staff.insert_or_replace(entity | {"Report": "small"})
    values = LargePropertyStore(staff)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=36, marked=24)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=36, deleted=24)
    assert await values.verify(grace=AT_ONCE) == LargePropertyReport()
    assert [len(found["Photo"]) async for found in staff.scan()] == [len(PHOTO)] * 12


async def test_marks_without_a_blob_and_of_a_blob_that_is_needed_are_removed(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": PHOTO})
    container = storage.container(container_of(table_name))
    (name,) = await blobs_of(storage, table_name)
    lone = name.replace("empid_000223", "empid_000001")
    for mark in (f"{name}.orphan", f"{lone}.orphan"):
        await container.upload(mark, b"")
    assert await LargePropertyStore(staff).collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1)
    assert await blobs_of(storage, table_name) == [name]


async def test_a_grace_below_nothing_is_rejected(storage: Any, table_name: str) -> None:
    for word in ("collect_orphans", "verify"):
        with pytest.raises(BadInput, match="must not be negative"):
            await getattr(LargePropertyStore(staff_of(storage, table_name)), word)(grace=-HOUR)


async def test_nothing_at_all_is_fine(storage: Any, table_name: str) -> None:
    values = LargePropertyStore(staff_of(storage, table_name))
    assert await values.collect_orphans() == CollectionReport()
    assert (await values.verify()).is_clean


# -- verify


async def test_verify_reports_missing_and_orphaned_blobs(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    values = LargePropertyStore(staff)
    await staff.insert({**JONES, "Photo": PHOTO, "Report": "r" * LIMIT})
    await staff.insert({**JONES, "EmployeeId": 224, "Photo": PHOTO})
    assert (await values.verify(grace=AT_ONCE)).is_clean
    photo, _, other = await blobs_of(storage, table_name)
    await storage.container(container_of(table_name)).delete(photo)
    await staff.insert_or_replace({**JONES, "EmployeeId": 224})
    found = await values.verify(grace=AT_ONCE)
    assert found == LargePropertyReport((BlobReference(("Sales", "empid_000223"), "Photo", photo),), (other,))
    assert (await values.verify()).orphans == ()


# -- with encryption


def encrypted_staff(storage: Any, table: str, number: int = 0) -> Any:
    encrypted = EncryptedProperties(["Photo", "Salary"], keys=LocalKey(f"key{number}", bytes([number] * 32)))
    return staff_of(storage, table, encrypted)


async def test_what_is_encrypted_and_then_too_large_goes_to_a_blob_that_holds_no_plaintext(
    storage: Any, table_name: str
) -> None:
    staff = encrypted_staff(storage, table_name)
    entity = {**JONES, "Photo": "secret " * LIMIT, "Salary": 90_000}
    await staff.insert(entity)
    (name,) = await blobs_of(storage, table_name)
    assert name.endswith(".bin")
    content = await storage.container(container_of(table_name)).download(name)
    assert b"secret" not in content
    assert await staff.get(**JONES) == entity
    with pytest.raises(BadInput, match="it is one of the encrypted properties, which are read as a whole"):
        [piece async for piece in LargePropertyStore(staff).open(JONES, "Photo")]


async def test_an_encrypted_value_goes_to_a_blob_where_its_ciphertext_is_too_large(
    storage: Any, table_name: str
) -> None:
    staff = encrypted_staff(storage, table_name)
    overhead = 4 + 12 + 16 + 1
    await staff.insert({**JONES, "Photo": b"p" * (LIMIT - overhead)})
    assert await blobs_of(storage, table_name) == []
    await staff.insert({**JONES, "EmployeeId": 224, "Photo": b"p" * (LIMIT - overhead + 1)})
    assert len(await blobs_of(storage, table_name)) == 1
    assert [len(found["Photo"]) async for found in staff.range(Department="Sales")] == [
        LIMIT - overhead,
        LIMIT - overhead + 1,
    ]


async def test_the_encrypted_blob_of_another_entity_is_rejected(storage: Any, table_name: str) -> None:
    staff = encrypted_staff(storage, table_name)
    for number in (1, 2):
        await staff.insert({**JONES, "EmployeeId": number, "Photo": PHOTO})
    container = storage.container(container_of(table_name))
    first, second = await blobs_of(storage, table_name)
    await container.upload(first, await container.download(second))
    with pytest.raises(DecryptionFailed, match=r"Photo of the entity \('Sales', 'empid_000001'\)"):
        await staff.get(**{**JONES, "EmployeeId": 1})


# ------------------------------------------------------------------ forged links to the blobs of others


SECRET = b"the payroll " * 10_000
OURS = b"a photo " * 10_000
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
KEYS = ("Sales", "empid_000223")


async def address(storage: Any, table: str, whose: str) -> str:
    """Write a large value of another entity, and return the link to its blob."""
    staff = staff_of(storage, table)
    entity = {"Department": "Board", "EmployeeId": 1} if whose == "partition" else {**JONES, "EmployeeId": 7}
    if whose == "property":
        await staff.update(lambda found: found.update(Report=SECRET), **JONES)
        return str((await row_of(storage, table))["Report"])
    if whose == "table":
        staff = EntitySet(storage, f"{table}Other", BY_ID, mappings=mappings_of(staff).mappings)
    await staff.insert({**entity, "Photo": SECRET})
    client = awaited(storage.tables.get_table_client(staff.table.name))
    return str((await client.get_entity(*BY_ID.format(entity)))["Photo"])


async def overwrite(storage: Any, table: str, link: str, row_key: str = KEYS[1]) -> None:
    """Write another link into a row of Jones with the plain SDK."""
    client = awaited(storage.tables.get_table_client(table))
    await client.update_entity({"PartitionKey": "Sales", "RowKey": row_key, "Photo": link})


@pytest.mark.parametrize("whose", ["row", "partition", "property", "table"])
async def test_a_link_to_the_value_of_another_is_rejected_on_every_way_to_it(
    storage: Any, table_name: str, whose: str
) -> None:
    staff = staff_of(storage, table_name, derived=[BY_EMAIL])
    await staff.insert({**JONES, "Email": "jo@contoso.com", "Photo": OURS})
    link = await address(storage, table_name, whose)
    for row_key in (KEYS[1], "email_jo@contoso.com"):
        await overwrite(storage, table_name, link, row_key)
    for call in (
        lambda: staff.get(**JONES),
        lambda: staff.take(1, **JONES),
        lambda: staff.find(BY_EMAIL, Department="Sales", Email="jo@contoso.com"),
        lambda: staff.update(lambda found: found.update(Age=1), **JONES),
        lambda: anext(aiter(LargePropertyStore(staff).open(JONES, "Photo"))),
    ):
        with pytest.raises(LargeValueMissing, match=r"Photo of the entity .* not one of its own"):
            await call()


async def test_a_wide_entity_with_the_link_of_another_is_rejected(storage: Any, table_name: str) -> None:
    large = LargeProperties(["Photo"], container=container_of(table_name))
    staff: Any = WideEntity(storage, table_name, BY_ID, mappings=[large])
    await staff.insert({**JONES, "Photo": OURS})
    await staff.insert({**JONES, "EmployeeId": 7, "Photo": SECRET})
    client = awaited(storage.tables.get_table_client(table_name))
    rows = {row["RowKey"]: row async for row in client.list_entities()}
    (ours,) = [key for key, row in rows.items() if "000223" in key and "Photo" in row]
    (link,) = [row["Photo"] for key, row in rows.items() if "000007" in key and "Photo" in row]
    await overwrite(storage, table_name, link, ours)
    with pytest.raises(LargeValueMissing, match="not one of its own"):
        await staff.get(**JONES)
    with pytest.raises(LargeValueMissing, match="not one of its own"):
        await anext(aiter(LargePropertyStore(staff).open(JONES, "Photo")))


async def test_an_archive_takes_no_value_of_another(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    former: Any = EntitySet(storage, f"{table_name}Former", BY_ID, mappings=mappings_of(staff).mappings)
    archive: Any = Archive(staff, former, queue=f"{table_name.lower()}-archive")
    await staff.insert({**JONES, "Photo": OURS})
    await overwrite(storage, table_name, await address(storage, table_name, "row"))
    await archive.archive(JONES)
    worker: Any = Worker(storage, [archive], max_deliveries=1)
    assert (await worker.run_once()).poisoned == 1
    assert await former.get(**JONES) is None
    assert await row_of(storage, table_name)


async def test_verify_reports_foreign_links_and_a_collection_deletes_no_foreign_blob(
    storage: Any, engine: Any, table_name: str
) -> None:
    staff = staff_of(storage, table_name)
    values = LargePropertyStore(staff)
    await staff.insert({**JONES, "Photo": OURS})
    link = await address(storage, table_name, "row")
    theirs = link.split(f"/{container_of(table_name)}/", 1)[1]
    await overwrite(storage, table_name, link)
    found = await values.verify()
    assert not found.is_clean
    assert found.foreign == (BlobReference(KEYS, "Photo", theirs),)
    for _ in range(3):
        engine.clock.advance(25 * 3600)
        await values.collect_orphans(grace=HOUR)
    assert await blobs_of(storage, table_name) == [theirs]
    other = await staff.get(Department="Sales", EmployeeId=7)
    assert other["Photo"] == SECRET
    await staff.delete(other)
    for _ in range(3):
        engine.clock.advance(25 * 3600)
        await values.collect_orphans(grace=HOUR)
    assert await blobs_of(storage, table_name) == [], "a link of another entity keeps no blob"
