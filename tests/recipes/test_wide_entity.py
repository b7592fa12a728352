"""Wide entity: values that exceed a row, read consistently, and rejected writes after a concurrent change."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.wide_counts import DAYS, JONES, counts_of, year
from tablepatterns import Entity, Int64, Key, WideEntity, connect
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    BadProperty,
    DerivedDataMismatch,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    LimitExceeded,
)
from tablepatterns.recipe import set_profile_of
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine


async def rows_of(storage: Any, table: str) -> dict[str, dict[str, Any]]:
    """Return the properties of all rows by RowKey, without those of the recipe."""
    rows = [row async for row in storage.table(table).query(None)]
    hidden = ("PartitionKey", "RowKey", "WideParts")
    return {row.row_key: {name: row[name] for name in row if name not in hidden} for row in rows}


@pytest.fixture(params=["declared", "free"])
def counts(request: pytest.FixtureRequest, storage: Any, table_name: str) -> Any:
    return counts_of(storage, table_name, properties=DAYS if request.param == "declared" else ())


# ------------------------------------------------------------------ parts and properties


@pytest.mark.guide("G-232", "G-235")
async def test_a_year_is_two_rows_and_reads_back_equal(counts: Any, storage: Any, table_name: str) -> None:
    written = await counts.insert(year())
    assert dict(written) == year()
    assert await counts.get(**JONES) == year()
    rows = await rows_of(storage, table_name)
    assert {key: len(row) for key, row in rows.items()} == {"01": 250, "02": 115}
    assert {row.partition_key async for row in storage.table(table_name).query(None)} == {"000223"}


async def test_250_properties_are_one_row_and_251_are_two(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name)
    entity = await wide.insert(JONES | dict.fromkeys(DAYS[:250], 1))
    assert list(await rows_of(storage, table_name)) == ["01"]
    await wide.merge(entity, {DAYS[250]: 1})
    assert {key: len(row) for key, row in (await rows_of(storage, table_name)).items()} == {"01": 250, "02": 1}


async def test_every_type_comes_back_as_it_was(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name, part_bytes=60)
    entity = JONES | {
        "Text": "naïve 🛫",
        "Bytes": b"\x00\xff",
        "Int": 5,
        "Long": Int64(5),
        "Real": 0.5,
        "Yes": True,
        "At": datetime(2014, 8, 22, tzinfo=timezone.utc),
        "Id": UUID(int=7),
    }
    await wide.insert(entity)
    assert len(await rows_of(storage, table_name)) > 3
    found = await wide.get(**JONES)
    assert found == entity
    assert {name: type(value) for name, value in found.items()} | {"At": datetime} == {
        name: type(value) for name, value in entity.items()
    }


@pytest.mark.guide("G-234")
async def test_bytes_split_a_value_as_properties_do(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name)
    chapters = JONES | {f"Chapter{number:02d}": chr(97 + number) * 30_000 for number in range(20)}
    entity = await wide.insert(chapters)
    assert await wide.get(**JONES) == chapters
    assert [len(row) for row in (await rows_of(storage, table_name)).values()] == [16, 4]
    entity["Chapter00"] = "short"
    await wide.replace(entity)
    assert (await wide.get(**JONES))["Chapter00"] == "short"


@pytest.mark.guide("G-236")
async def test_a_change_of_two_parts_is_one_transaction(counts: Any, engine: Engine) -> None:
    entity = await counts.insert(year())
    with engine.ledger.span() as span:
        await counts.merge(entity, {"Day001": 7, "Day365": 9})
    assert (span.totals.requests, span.totals.billable) == (1, 1)
    assert await counts.get(**JONES) == year(Day001=7, Day365=9)


@pytest.mark.guide("G-237", "G-238")
async def test_a_change_of_one_property_is_one_merge_of_its_part(counts: Any, engine: Engine) -> None:
    entity = await counts.insert(year())
    with engine.ledger.span() as span:
        await counts.merge(entity, {"Day300": 7})
    (record,) = span.records
    assert (record.operation, record.billable) == ("MergeEntity", 1)
    assert await counts.get(**JONES) == year(Day300=7)


@pytest.mark.guide("G-238")
async def test_the_part_of_a_declared_property_is_known_without_reading(
    storage: Any, engine: Engine, table_name: str
) -> None:
    counts = counts_of(storage, table_name, properties=DAYS)
    await counts.insert(year())
    with engine.ledger.span() as span:
        await counts.merge(JONES, {"Day300": 7}, force=True)
        found = await counts.get(**JONES, select=["Day300", "Day301"])
    assert [(record.operation, record.examined) for record in span.records] == [("MergeEntity", 0), ("QueryEntity", 1)]
    assert dict(found) == JONES | {"Day300": 7, "Day301": 300}


async def test_a_selection_reads_what_was_asked_and_cannot_be_written_back(counts: Any) -> None:
    await counts.insert(year())
    part = await counts.get(**JONES, select=["Day001", "Day365"])
    assert dict(part) == JONES | {"Day001": 0, "Day365": 364}
    for write in (counts.replace(part), counts.merge(part, {"Day001": 1}), counts.delete(part)):
        with pytest.raises(BadInput, match="only some of its properties"):
            await write


async def test_what_does_not_exist_is_none(counts: Any, storage: Any, table_name: str) -> None:
    assert await counts.get(**JONES) is None
    await counts.insert(year())
    assert await counts.get(Employee="000224") is None
    assert await counts.get(Employee="000224", select=["Day300"]) is None
    with pytest.raises(BadKey, match="Department"):
        await counts.get(**JONES, Department="Sales")


@pytest.mark.guide("G-240")
async def test_shrinking_leaves_no_part_behind(counts: Any, storage: Any, table_name: str, engine: Engine) -> None:
    entity = await counts.insert(year())
    for day in DAYS[100:]:
        del entity[day]
    with engine.ledger.span() as span:
        await counts.replace(entity)
    assert span.totals.requests == 1
    assert await counts.get(**JONES) == JONES | {day: number for number, day in enumerate(DAYS[:100])}
    assert sum(len(row) for row in (await rows_of(storage, table_name)).values()) == 100
    profile = set_profile_of(counts)
    assert profile is not None
    assert len(await rows_of(storage, table_name)) == (2 if profile.settings["fixed"] else 1)


@pytest.mark.guide("G-240")
async def test_deleting_leaves_no_part_behind(counts: Any, storage: Any, table_name: str, engine: Engine) -> None:
    entity = await counts.insert(year())
    with engine.ledger.span() as span:
        await counts.delete(entity)
    assert span.totals.requests == 1
    assert await rows_of(storage, table_name) == {}
    with pytest.raises(EntityNotFound):
        await counts.delete(entity)
    await counts.insert(year())
    await counts.delete(JONES, force=True)
    assert await counts.get(**JONES) is None


@pytest.mark.guide("G-241")
@pytest.mark.parametrize("row_key", ["01", "02"])
async def test_a_missing_part_is_reported(counts: Any, storage: Any, table_name: str, row_key: str) -> None:
    await counts.insert(year())
    await storage.table(table_name).submit(Operation.delete("000223", row_key, ANY))
    with pytest.raises(DerivedDataMismatch, match=f"'{row_key}'"):
        await counts.get(**JONES)


@pytest.mark.parametrize("says", ["", "0", "2 x", "two"])
async def test_a_head_of_another_program_is_reported(counts: Any, storage: Any, table_name: str, says: str) -> None:
    row = {"PartitionKey": "000223", "RowKey": "01", "Day001": 1, "WideParts": says}
    await storage.table(table_name).submit(Operation.insert(row))
    with pytest.raises(DerivedDataMismatch, match="the head lists"):
        await counts.get(**JONES)


async def test_a_property_in_two_parts_is_reported(storage: Any, table_name: str) -> None:
    counts = counts_of(storage, table_name)
    await counts.insert(year())
    row = {"PartitionKey": "000223", "RowKey": "02", "Day001": 1}
    await storage.table(table_name).submit(Operation.merge(row, ANY))
    with pytest.raises(DerivedDataMismatch, match="in two parts"):
        await counts.get(**JONES)


async def test_a_second_insert_is_rejected_and_changes_nothing(counts: Any, storage: Any, table_name: str) -> None:
    await counts.insert(year())
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityAlreadyExists):
        await counts.insert(JONES | {"Day001": 1})
    assert await rows_of(storage, table_name) == before


@pytest.mark.parametrize("day", ["Day001", "Day365"])
async def test_a_whole_write_is_rejected_if_any_part_changed(
    counts: Any, storage: Any, table_name: str, day: str
) -> None:
    stale, other = await counts.insert(year()), await counts.get(**JONES)
    await counts.merge(other, {day: 1000})
    before = await rows_of(storage, table_name)
    for write in (counts.replace(stale), counts.delete(stale), counts.merge(stale, {day: 2})):
        with pytest.raises(EntityChanged):
            await write
    assert await rows_of(storage, table_name) == before


async def test_changes_of_different_parts_do_not_disturb_one_another(counts: Any) -> None:
    one, other = await counts.insert(year()), await counts.get(**JONES)
    await counts.merge(one, {"Day001": 1000})
    await counts.merge(other, {"Day365": 2000})
    assert await counts.get(**JONES) == year(Day001=1000, Day365=2000)


async def test_two_writers_cannot_put_one_new_property_in_two_parts(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name, part_bytes=100)
    one = await wide.insert(JONES | {"A": "x" * 40, "B": "y" * 30})
    other, third = await wide.get(**JONES), await wide.get(**JONES)
    await wide.merge(other, {"A": ""})
    await wide.merge(other, {"New": 1})
    with pytest.raises(EntityChanged):
        await wide.merge(third, {"New": 2})
    with pytest.raises(EntityChanged):
        await wide.merge(one, {"New": 3})
    assert await wide.get(**JONES) == JONES | {"A": "", "B": "y" * 30, "New": 1}


async def test_a_property_stays_where_it_is_until_it_has_no_room(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name, part_bytes=100)
    entity = await wide.insert(JONES | {"A": "x" * 30, "B": "y" * 30, "C": "z" * 30})
    assert {key: list(row) for key, row in (await rows_of(storage, table_name)).items()} == {
        "01": ["A"],
        "02": ["B"],
        "03": ["C"],
    }
    await wide.merge(entity, {"A": ""})
    await wide.merge(entity, {"C": "w" * 31})
    assert [list(row) for row in (await rows_of(storage, table_name)).values()] == [["A"], ["B"], ["C"]]
    await wide.merge(entity, {"D": 1, "A": "v" * 40})
    assert await wide.get(**JONES) == JONES | {"A": "v" * 40, "B": "y" * 30, "C": "w" * 31, "D": 1}
    await wide.replace(entity)
    assert await wide.get(**JONES) == entity


async def test_update_retries_after_a_lost_race(counts: Any, engine: Engine, backend: Any) -> None:
    await counts.insert(year(Day001=0, Day365=0))
    rival = counts_of(backend.connect(), counts.table.name)
    submit, calls = counts.table.submit, 0

    async def late(*operations: Operation) -> Any:
        if calls == 1:
            await rival.merge(await rival.get(**JONES), {"Day001": 5})
        return await submit(*operations)

    def count(entity: Entity) -> None:
        nonlocal calls
        calls += 1
        entity["Day365"] += 1

    counts.table.submit = late
    assert await counts.update(count, **JONES) == year(Day001=5, Day365=1)
    assert calls == 2
    assert await counts.get(**JONES) == year(Day001=5, Day365=1)
    with pytest.raises(EntityNotFound):
        await counts.update(count, Employee="000224")


async def test_an_unconditional_merge_needs_no_entity_as_read(counts: Any) -> None:
    with pytest.raises(EntityNotFound):
        await counts.merge(JONES, {"Day300": 1}, force=True)
    stale, _ = await counts.insert(year()), await counts.update(lambda entity: None, **JONES)
    await counts.merge(stale, {"Day001": 7, "Day300": 8}, force=True)
    assert await counts.get(**JONES) == year(Day001=7, Day300=8)
    with pytest.raises(EntityNotFound):
        await counts.merge({"Employee": "000224"}, {"Day300": 1}, force=True)


async def test_declared_names_may_be_added_at_the_end(storage: Any, table_name: str) -> None:
    await counts_of(storage, table_name, properties=DAYS[:200]).insert(JONES | {"Day001": 1})
    longer = counts_of(storage, table_name, properties=DAYS)
    await longer.merge(JONES, {"Day365": 2}, force=True)
    assert await longer.get(**JONES) == JONES | {"Day001": 1, "Day365": 2}
    assert list(await rows_of(storage, table_name)) == ["01", "02"]


async def test_entities_of_several_keys_share_a_partition(storage: Any, table_name: str) -> None:
    wide = WideEntity(storage, table_name, Key("{Employee}", "counts_{Year:04d}"))
    for number in (2013, 2014):
        await wide.insert(year(Year=number, Day001=number))
    await counts_of(storage, table_name).insert(JONES | {"Name": "Jones"})
    assert sorted(await rows_of(storage, table_name)) == [
        "01",
        "counts_2013_01",
        "counts_2013_02",
        "counts_2014_01",
        "counts_2014_02",
    ]
    assert (await wide.get(**JONES, Year=2014))["Day001"] == 2014
    assert await counts_of(storage, table_name).get(**JONES) == JONES | {"Name": "Jones"}


async def test_rows_of_others_in_the_range_are_left_alone(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name)
    await wide.insert(year())
    for row_key in ("011", "02_photo", "3"):
        row = {"PartitionKey": "000223", "RowKey": row_key, "Name": "another's"}
        await storage.table(table_name).submit(Operation.insert(row))
    assert await wide.get(**JONES) == year()
    assert await wide.sweep(**JONES) == 0
    await wide.delete(await wide.get(**JONES))
    assert sorted(await rows_of(storage, table_name)) == ["011", "02_photo", "3"]


# ------------------------------------------------------------------ whatever the changes


NAMES = st.sampled_from(["A", "B", "C", "D", "E"])
VALUES = st.one_of(st.none(), st.integers(0, 9), st.text("xyz", max_size=60))
CHANGES = st.tuples(st.sampled_from(["replace", "merge"]), st.dictionaries(NAMES, VALUES, max_size=5))


@examples(40)
@given(first=st.dictionaries(NAMES, VALUES, max_size=5), changes=st.lists(CHANGES, max_size=5))
async def test_whatever_the_changes_the_value_is_as_in_one_row(
    storage: Any, new_name: Any, first: dict[str, Any], changes: list[tuple[str, dict[str, Any]]]
) -> None:
    wide = counts_of(storage, new_name(), part_bytes=150, transaction_bytes=6000)
    known = {name: value for name, value in first.items() if value is not None}
    entity = await wide.insert(JONES | first)
    for word, change in changes:
        given = {name: value for name, value in change.items() if value is not None}
        if word == "merge":
            known |= given
            await wide.merge(entity, change)
        else:
            known = given
            entity.clear()
            entity.update(JONES | change)
            await wide.replace(entity)
        assert dict(entity) == dict(await wide.get(**JONES)) == JONES | known
    assert await wide.sweep(**JONES) == 0


# ------------------------------------------------------------------ what is refused


async def test_bad_input_is_rejected_before_any_request(storage: Any, engine: Engine, table_name: str) -> None:
    wide, declared = counts_of(storage, table_name, part_bytes=100), counts_of(storage, table_name, properties=["A"])
    entity = await wide.insert(JONES | {"A": 1})
    another = await wide.get(**JONES)
    another["Employee"] = "000224"
    with engine.ledger.span() as span:
        for refused, write in (
            (LimitExceeded, wide.insert(JONES | {f"P{n}": "x" * 60 for n in range(50)})),
            (BadProperty, wide.insert(JONES | {"WideParts": 1})),
            (BadProperty, wide.insert(JONES | {"A": [1]})),
            (BadProperty, wide.insert(JONES | {"WriteId": "x"})),
            (BadProperty, declared.insert(JONES | {"B": 1})),
            (BadKey, wide.insert({"A": 1})),
            (BadKey, wide.insert(JONES | {"RowKey": "01"})),
            (BadKey, wide.merge(entity, {"Employee": "000224"})),
            (BadKey, wide.replace(another)),
            (BadInput, wide.replace(JONES | {"A": 1})),
            (LimitExceeded, declared.insert(JONES | {"A": "x" * 40_000})),
        ):
            with pytest.raises(refused):
                await write
    assert span.totals.requests == 0


async def test_49_parts_are_accepted_and_50_are_not(storage: Any, table_name: str) -> None:
    wide = counts_of(storage, table_name, part_bytes=100)
    entity = JONES | {f"P{n:02d}": "x" * 40 for n in range(49)}
    await wide.insert(entity)
    assert await wide.get(**JONES) == entity
    with pytest.raises(LimitExceeded, match="at most 49"):
        await wide.insert({"Employee": "000224"} | {f"P{n:02d}": "x" * 40 for n in range(50)})


def test_a_declared_part_that_is_too_large_is_rejected_with_the_way_out() -> None:
    with connect() as storage:
        wide = WideEntity(storage, "Counts", Key("{Employee}", ""), properties=DAYS, part_bytes=2000)
        with pytest.raises(LimitExceeded, match="part 1"):
            wide.insert(year(Day001=1))


@pytest.mark.parametrize(
    ("key", "options", "subject"),
    [
        (Key("{Employee}", "{WidePart}"), {}, "WidePart"),
        (Key("{Employee}", ""), {"properties": ["A", "B", "A"]}, "'A'"),
        (Key("{Employee}", ""), {"properties": ["Employee"]}, "Employee"),
        (Key("{Employee}", ""), {"part_bytes": 2**20}, "part_bytes"),
        (Key("{Employee}", ""), {"transaction_bytes": 0}, "transaction_bytes"),
    ],
)
def test_a_design_that_cannot_work_is_rejected(key: Key, options: dict[str, Any], subject: str) -> None:
    with connect() as storage, pytest.raises(BadDesign, match=subject):
        WideEntity(storage, "Counts", key, **options)
