"""Forged links: a row with a link to the blob of another entity, property or table does not return that blob."""

from __future__ import annotations

from typing import Any

import pytest

from support.backends import awaited
from support.employees import BY_ID
from support.large_staff import HOUR, JONES, blobs_of, container_of, no_container_is_left, row_of, staff_of  # noqa: F401
from tablepatterns import (
    Archive,
    EntitySet,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LargePropertyStore,
    WideEntity,
    Worker,
)
from tablepatterns.entity_set.internals import mappings_of
from tablepatterns.errors import LargeValueMissing
from tablepatterns.recipes.large_properties.large_values import BlobReference

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
