"""Wide entities with large and encrypted properties: values are read back equal, whatever row they are in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.large_staff import blobs_of, container_of, no_container_is_left  # noqa: F401
from support.wide_counts import DAYS
from support.wide_staff import JONES, NEW, PHOTO, SMITH, SPREAD, WHOLE, encrypted, large, row_with, rows_of, wide_of
from tablepatterns import Key, LargeProperties, Upload
from tablepatterns.errors import (
    BadKey,
    BadProperty,
    EntityChanged,
    EntityNotFound,
    LargeValueMissing,
    LimitExceeded,
    UnknownKey,
)
from tablepatterns_engine.account import Engine

REVERSED = PHOTO[::-1]


# ------------------------------------------------------------------ large


async def test_a_large_value_of_a_wide_entity_goes_to_a_blob_and_comes_back(storage: Any, table_name: str) -> None:
    wide = wide_of(storage, table_name, large(table_name))
    year = JONES | {day: number for number, day in enumerate(DAYS)} | {"Photo": PHOTO}
    assert await wide.insert(year) == year
    assert await wide.get(**JONES) == year
    assert sorted(await rows_of(storage, table_name)) == ["01", "02"]
    (blob,) = await blobs_of(storage, table_name)
    assert blob.startswith(f"{table_name.lower()}/000223/01/Photo/")
    assert (await row_with(storage, table_name, "Photo"))["Photo"].endswith(blob)


async def test_a_merge_moves_a_value_from_the_row_to_a_blob_and_back(
    storage: Any, engine: Engine, table_name: str
) -> None:
    wide = wide_of(storage, table_name, large(table_name), **SPREAD)
    entity = await wide.insert(JONES | {"Name": "Jones", "Photo": b"small"})
    costs = []
    for photo in (PHOTO, b"small again", REVERSED):
        with engine.ledger.span() as span:
            merged = await wide.merge(entity, {"Photo": photo})
        costs.append(span.totals.requests)
        assert merged is entity
        assert entity == await wide.get(**JONES) == JONES | {"Name": "Jones", "Photo": photo}
    # The container is made once
    assert costs[1:] == [1, 2]
    with engine.ledger.span() as span:
        await wide.merge(entity, {"Name": "Smith"})
    assert span.totals.requests == 1
    assert entity == await wide.get(**JONES) == JONES | {"Name": "Smith", "Photo": REVERSED}


@pytest.mark.parametrize("declared", [True, False])
async def test_an_unconditional_merge_takes_large_values(storage: Any, table_name: str, declared: bool) -> None:
    options: dict[str, Any] = {"properties": ["Name", "Photo"]} if declared else SPREAD
    wide = wide_of(storage, table_name, large(table_name), **options)
    await wide.insert(JONES | {"Name": "Jones", "Photo": b"small"})
    merged = await wide.merge(JONES, {"Photo": PHOTO}, force=True)
    assert merged == JONES | {"Photo": PHOTO}
    assert await wide.get(**JONES) == JONES | {"Name": "Jones", "Photo": PHOTO}
    with pytest.raises(EntityNotFound):
        await wide.merge(SMITH, {"Photo": b""}, force=True)


async def test_an_unconditional_merge_of_declared_properties_needs_no_reading(
    storage: Any, engine: Engine, table_name: str
) -> None:
    wide = wide_of(storage, table_name, large(table_name), properties=["Name", "Photo"])
    await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO})
    with engine.ledger.span() as span:
        await wide.merge(JONES, {"Photo": REVERSED}, force=True)
    assert [record.operation for record in span.records] == ["PutBlob", "MergeEntity"]


async def test_a_large_value_may_be_sent_from_chunks(storage: Any, table_name: str) -> None:
    wide = wide_of(storage, table_name, large(table_name), **SPREAD)
    await wide.insert(JONES | {"Name": "Jones", "Photo": Upload(iter([PHOTO] * 2))})
    assert (await wide.get(**JONES))["Photo"] == PHOTO * 2
    await wide.merge(JONES, {"Photo": Upload(iter([REVERSED] * 2))}, force=True)
    assert (await wide.get(**JONES))["Photo"] == REVERSED * 2


@pytest.mark.guide("G-234")
async def test_values_stay_in_the_rows_as_long_as_the_entity_has_room_in_all_of_them(
    storage: Any, table_name: str
) -> None:
    names = [f"Chapter{number:02d}" for number in range(20)]
    mapping = LargeProperties(names, container=container_of(table_name))
    wide = wide_of(storage, table_name, mapping)
    book = JONES | {name: chr(97 + number) * 30_000 for number, name in enumerate(names)}
    await wide.insert(book)
    assert await wide.get(**JONES) == book
    assert len(await rows_of(storage, table_name)) == 2
    assert await blobs_of(storage, table_name) == []


async def test_nothing_is_uploaded_for_what_is_rejected(storage: Any, engine: Engine, table_name: str) -> None:
    wide = wide_of(storage, table_name, large(table_name), **SPREAD)
    declared = wide_of(storage, table_name, large(table_name), properties=["Photo", "Text"], part_bytes=2000)
    entity = await wide.insert(JONES | {"Name": "Jones"})
    with engine.ledger.span() as span:
        for refused, write in (
            (LimitExceeded, wide.insert(SMITH | {f"P{n}": "x" * 60 for n in range(50)} | {"Photo": PHOTO})),
            (BadProperty, wide.insert(SMITH | {"A": [1], "Photo": PHOTO})),
            (BadProperty, wide.merge(entity, {"WideParts": 1, "Photo": PHOTO})),
            (BadProperty, wide.merge(JONES, {"WriteId": "x", "Photo": PHOTO}, force=True)),
            (BadProperty, declared.merge(JONES, {"A": 1, "Photo": PHOTO}, force=True)),
            (LimitExceeded, declared.merge(JONES, {"Text": "x" * 2000, "Photo": PHOTO}, force=True)),
        ):
            with pytest.raises(refused):
                await write
        with pytest.raises(EntityNotFound):
            await wide.merge(SMITH, {"Photo": PHOTO}, force=True)
    assert {record.operation for record in span.records} == {"QueryEntities"}


async def test_nothing_is_uploaded_where_one_transaction_cannot_take_the_rest(
    storage: Any, engine: Engine, table_name: str
) -> None:
    wide = wide_of(storage, table_name, large(table_name), properties=["Photo", *DAYS])
    # Each of these characters takes six bytes in a request, where two are counted
    texts = dict.fromkeys([*DAYS[:15], *DAYS[-15:]], "\x01" * 30_000)
    with engine.ledger.span() as span, pytest.raises(LimitExceeded, match="payload"):
        await wide.merge(JONES, {"Photo": PHOTO, **texts}, force=True)
    assert span.totals.requests == 0


async def test_nothing_is_uploaded_where_the_keys_of_a_generation_would_be_too_long(
    storage: Any, engine: Engine, table_name: str
) -> None:
    wide = wide_of(storage, table_name, large(table_name), key=Key("{Employee}", "{Name}"), part_bytes=60)
    wide.transaction_bytes = 1
    with engine.ledger.span() as span, pytest.raises(BadKey):
        await wide.insert(JONES | {"Name": "n" * 500, "Text": "x" * 40, "Photo": PHOTO})
    assert span.totals.requests == 0


async def test_who_was_overtaken_has_changed_nothing_that_is_read(storage: Any, table_name: str) -> None:
    wide = wide_of(storage, table_name, large(table_name), **SPREAD)
    stale = await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO})
    await wide.merge(await wide.get(**JONES), {"Photo": REVERSED})
    for write in (wide.merge(stale, {"Photo": b"x" * 100}), wide.replace(stale)):
        with pytest.raises(EntityChanged):
            await write
    assert await wide.get(**JONES) == JONES | {"Name": "Jones", "Photo": REVERSED}


@pytest.mark.guide("G-246")
async def test_a_selection_reads_only_the_blobs_that_it_needs(storage: Any, engine: Engine, table_name: str) -> None:
    for options in (SPREAD, {"properties": ["Name", "Photo"]}):
        wide = wide_of(storage, table_name, large(table_name), **options)
        await wide.insert(JONES | {"Name": "Jones", "Photo": PHOTO})
        with engine.ledger.span() as span:
            assert await wide.get(**JONES, select=["Name"]) == JONES | {"Name": "Jones"}
        assert span.totals.requests == 1
        with engine.ledger.span() as span:
            assert await wide.get(**JONES, select=["Photo"]) == JONES | {"Photo": PHOTO}
        assert span.totals.requests == 2
        await wide.delete(JONES, force=True)


async def test_deleting_and_sweeping_need_no_blob_and_no_key(storage: Any, table_name: str) -> None:
    wide = wide_of(storage, table_name, large(table_name), encrypted(), **SPREAD)
    await wide.insert(WHOLE)
    (blob,) = await blobs_of(storage, table_name)
    await storage.container(container_of(table_name)).delete(blob)
    with pytest.raises(LargeValueMissing):
        await wide.get(**JONES)
    other = wide_of(storage, table_name, encrypted(keys=NEW), **SPREAD)
    with pytest.raises(UnknownKey):
        await other.get(**JONES)
    assert await other.sweep(**JONES) == 0
    await other.delete(JONES, force=True)
    assert await rows_of(storage, table_name) == {}


# ------------------------------------------------------------------ whatever the changes


NAMES = st.sampled_from(["A", "B", "C", "D"])
VALUES = st.one_of(st.none(), st.integers(0, 9), st.text("xyz", max_size=60), st.binary(max_size=60))
CHANGES = st.tuples(st.sampled_from(["replace", "merge"]), st.dictionaries(NAMES, VALUES, max_size=4))


@examples(25)
@given(
    first=st.dictionaries(NAMES, VALUES, max_size=4),
    changes=st.lists(CHANGES, max_size=4),
    is_sealed=st.booleans(),
)
async def test_whatever_the_changes_the_value_is_as_it_was_given(
    storage: Any, engine: Engine, new_name: Any, first: dict[str, Any], changes: Any, is_sealed: bool
) -> None:
    table = new_name()
    mappings = [large(table, "A", "B", above=30), *([encrypted("B", "C")] if is_sealed else [])]
    wide = wide_of(storage, table, *mappings, part_bytes=150, transaction_bytes=6000)
    known = {name: value for name, value in first.items() if value is not None}
    entity = await wide.insert(JONES | first)
    for word, change in changes:
        asked = {name: value for name, value in change.items() if value is not None}
        if word == "merge" and not is_sealed:
            known |= asked
            await wide.merge(entity, change)
        else:
            known = asked
            entity.clear()
            entity.update(JONES | change)
            await wide.replace(entity)
        assert dict(entity) == dict(await wide.get(**JONES)) == JONES | known
    assert await wide.sweep(**JONES) == 0
