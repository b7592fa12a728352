"""Large values of wide entities: addresses may be in any row, and move; blobs are collected as those of sets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from support.large_staff import blobs_of, container_of, no_container_is_left  # noqa: F401
from support.wide_staff import JONES, PHOTO, SMITH, SPREAD, encrypted, large, row_with, rows_of, wide_of
from tablepatterns import EntitySet, Key, LargeProperties, LargePropertyStore
from tablepatterns.errors import BadInput, EntityNotFound, LargeValueMissing
from tablepatterns.recipes.large_properties.large_values import BlobReference, CollectionReport, LargePropertyReport
from tablepatterns.sdk.operation import Operation
from tablepatterns_engine.account import Engine

AT_ONCE = timedelta(0)
LARGE = {"part_bytes": 60, "transaction_bytes": 1}
PLAN = PHOTO[::-1]


def staff_of(storage: Any, table: str, **options: Any) -> Any:
    return wide_of(storage, table, large(table, "Photo", "Plan"), **(SPREAD | options))


@pytest.mark.guide("G-249")
@pytest.mark.parametrize("options", [SPREAD, LARGE])
async def test_blobs_of_values_that_were_replaced_or_deleted_go_in_the_end(
    storage: Any, table_name: str, options: dict[str, int]
) -> None:
    wide = staff_of(storage, table_name, **options)
    entity = await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO, "Plan": PLAN})
    gone = await wide.insert(SMITH | {"Name": "Smith", "Photo": PHOTO})
    await wide.delete(gone)
    await wide.merge(entity, {"Plan": PHOTO, "Other": 1})
    values = LargePropertyStore(wide)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=4, marked=2)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=4, deleted=2)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=2)
    assert await values.verify(grace=AT_ONCE) == LargePropertyReport()
    assert await wide.get(**JONES) == JONES | {"Name": "Jones", "Photo": PHOTO, "Plan": PHOTO, "Other": 1}


async def test_the_blob_of_a_row_that_no_head_names_stays_until_it_is_swept_away(storage: Any, table_name: str) -> None:
    wide = staff_of(storage, table_name)
    entity = await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO})
    row = await row_with(storage, table_name, "Photo")
    await wide.merge(entity, {"Photo": b"small"})
    stray = {"PartitionKey": "000223", "RowKey": f"02_{'0' * 32}", "Photo": row["Photo"]}
    await storage.table(table_name).submit(Operation.insert(stray))
    values = LargePropertyStore(wide)
    for _ in range(2):
        assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1)
    assert await wide.sweep(**JONES) == 1
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1, marked=1)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1, deleted=1)


async def test_entities_of_one_partition_keep_their_blobs(storage: Any, table_name: str) -> None:
    wide = staff_of(storage, table_name, key=Key("{Employee}", "{Name}"))
    for name in ("a", "a02", "b", "a-02"):
        await wide.insert(JONES | {"Name": name, "P0": "x" * 40, "P1": "x" * 40, "P2": "x" * 40, "Photo": PHOTO})
    await LargePropertyStore(wide).collect_orphans(grace=AT_ONCE)
    assert await LargePropertyStore(wide).collect_orphans(grace=AT_ONCE) == CollectionReport(seen=4)
    assert await LargePropertyStore(wide).verify(grace=AT_ONCE) == LargePropertyReport()


async def test_blobs_and_rows_of_others_are_left_alone(storage: Any, backend: Any, table_name: str) -> None:
    wide = staff_of(storage, table_name)
    await wide.insert(JONES | {"Photo": PHOTO})
    elsewhere = LargeProperties(["Photo"], container=f"{container_of(table_name)}x")
    await EntitySet(storage, table_name, Key("{Employee}", "02_note"), mappings=[elsewhere]).insert(
        JONES | {"Photo": PHOTO}
    )
    notes = EntitySet(storage, table_name, Key("{Employee}", "note"), mappings=[large(table_name)])
    await notes.delete(await notes.insert(JONES | {"Photo": PHOTO}))
    # One connection would reject it: it could be a second part
    second = EntitySet(backend.connect(), table_name, Key("{Employee}", "02"), mappings=[large(table_name)])
    await second.insert(SMITH | {"Photo": PHOTO})
    values = LargePropertyStore(wide)
    for _ in range(2):
        assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1)
    assert await values.verify(grace=AT_ONCE) == LargePropertyReport()
    await storage.container(f"{container_of(table_name)}x").drop()


async def test_verify_reports_missing_and_orphaned_blobs(storage: Any, table_name: str) -> None:
    wide = staff_of(storage, table_name)
    await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO, "Plan": PLAN})
    entity = await wide.insert(SMITH | {"Name": "Smith", "Photo": PHOTO})
    photo, _, other = await blobs_of(storage, table_name)
    await storage.container(container_of(table_name)).delete(photo)
    await wide.merge(entity, {"Photo": b"small"})
    found = await LargePropertyStore(wide).verify(grace=AT_ONCE)
    assert found == LargePropertyReport((BlobReference(("000223", "01"), "Photo", photo),), (other,))


async def test_a_value_is_read_in_chunks_from_any_row(storage: Any, table_name: str) -> None:
    wide = staff_of(storage, table_name)
    values = LargePropertyStore(wide)
    with pytest.raises(EntityNotFound):
        [piece async for piece in values.open(JONES, "Photo")]
    entity = await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO * 2, "Plan": b"small"})
    assert b"".join([piece async for piece in values.open(entity, "Photo")]) == PHOTO * 2
    assert [piece async for piece in values.open(JONES, "Plan")] == [b"small"]
    with pytest.raises(BadInput, match="large properties are Photo, Plan"):
        [piece async for piece in values.open(JONES, "Name")]
    (name,) = await blobs_of(storage, table_name)
    await storage.container(container_of(table_name)).delete(name)
    with pytest.raises(LargeValueMissing, match="which does not exist"):
        [piece async for piece in values.open(JONES, "Photo")]


async def test_what_a_collection_costs(storage: Any, engine: Engine, table_name: str) -> None:
    wide = staff_of(storage, table_name)
    for number in range(3):
        entity = await wide.insert({"Employee": f"{number}", "Name": "Jones", "Photo": PHOTO})
        await wide.merge(entity, {"Photo": PLAN})
    values, costs = LargePropertyStore(wide), []
    for _ in range(4):
        with engine.ledger.span() as span:
            await values.collect_orphans(grace=timedelta(hours=1))
        costs.append(span.totals.requests)
        engine.clock.advance(3600)
    # For each of three partitions its rows, and its entity again while a blob seems unused
    assert costs == [1, 1 + 3 + 3 + 3, 1 + 3 + 3 + 2 * 3, 1 + 3]


async def test_a_partition_of_entities_costs_one_query_while_all_blobs_are_needed_or_young(
    storage: Any, engine: Engine, table_name: str
) -> None:
    wide = staff_of(storage, table_name, key=Key("{Employee}", "{Name}"))
    for name in ("a", "b", "c"):
        entity = await wide.insert(JONES | {"Name": name, "Text": "x" * 40, "Photo": PHOTO})
    engine.clock.advance(3600)
    merged = await wide.merge(entity, {"Plan": PLAN})
    await wide.replace(merged | {"Photo": PHOTO + PHOTO[:1], "Plan": PLAN + PLAN[:1]})
    new = await wide.insert(JONES | {"Name": "d", "Text": "x" * 40, "Photo": PHOTO})
    await wide.replace(new | {"Photo": PHOTO + PHOTO[:1]})
    with engine.ledger.span() as span:
        assert await LargePropertyStore(wide).collect_orphans(grace=timedelta(minutes=30)) == CollectionReport(
            seen=8, marked=1
        )
        assert await LargePropertyStore(wide).collect_orphans(grace=timedelta(hours=2)) == CollectionReport(seen=8)
    # The photo that was replaced is old: the entity is read once more, and it is marked
    assert span.totals.requests == (1 + 1 + 1 + 1) + 1


async def test_encrypted_values_are_collected_too(storage: Any, table_name: str) -> None:
    wide = wide_of(storage, table_name, large(table_name), encrypted("Photo"), **SPREAD)
    entity = await wide.insert(JONES | {"Photo": PHOTO[::-1]})
    entity["Photo"] = PHOTO
    await wide.replace(entity)
    values = LargePropertyStore(wide)
    await values.collect_orphans(grace=AT_ONCE)
    assert await values.collect_orphans(grace=AT_ONCE) == CollectionReport(seen=2, deleted=1)
    assert await wide.get(**JONES) == JONES | {"Photo": PHOTO}
    with pytest.raises(BadInput, match="which are read as a whole"):
        [piece async for piece in values.open(JONES, "Photo")]


async def test_a_row_that_is_no_part_has_no_say(storage: Any, table_name: str) -> None:
    wide = staff_of(storage, table_name)
    entity = await wide.insert(JONES | {"Photo": PHOTO})
    row = await row_with(storage, table_name, "Photo")
    await storage.table(table_name).submit(Operation.insert(row | {"RowKey": "02_note"}))
    await wide.delete(entity)
    assert list(await rows_of(storage, table_name)) == ["02_note"]
    assert await LargePropertyStore(wide).collect_orphans(grace=AT_ONCE) == CollectionReport(seen=1, marked=1)
