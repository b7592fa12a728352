"""Known defects of other table libraries: a test for each, which this library passes."""

from __future__ import annotations

from typing import Any

import pytest

from support.crashing_client import Crash, Crashed, connect_crashing
from support.employees import BY_EMAIL, BY_ID, jones, rows_of
from tablepatterns import BulkLoad, EntitySet, InterPartitionIndex, IntraPartitionIndex, Key, prop
from tablepatterns.errors import BadKey, BadProperty
from tablepatterns_engine.account import Engine

JOINED = Key("{First}", "{Second}")
OLD, NEW = "jonesj@contoso.com", "jo@contoso.com"


async def test_keys_that_are_equal_when_joined_are_two_entities(storage: Any, table_name: str) -> None:
    pairs = EntitySet(storage, table_name, JOINED)
    for first, second in (("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", "")):
        await pairs.insert({"First": first, "Second": second, "Is": f"{first}|{second}"})
    assert (await pairs.get(First="a", Second="bc"))["Is"] == "a|bc"
    assert (await pairs.get(First="ab", Second="c"))["Is"] == "ab|c"
    paged = [row.key async for row in pairs.scan()]
    assert paged == [("", "abc"), ("a", "bc"), ("ab", "c"), ("abc", "")]


async def test_forbidden_characters_in_keys_are_rejected_and_not_replaced(
    storage: Any, engine: Engine, table_name: str, new_name: Any
) -> None:
    # In a table of their own: the keys of the two sets overlap
    pairs = EntitySet(storage, new_name(), JOINED)
    with engine.ledger.span() as span:
        for text in ("a/b", "a#b", "a?b", "a\\b"):
            with pytest.raises(BadKey):
                await pairs.insert({"First": text, "Second": "x"})
    assert span.totals.requests == 0
    escaped = EntitySet(storage, table_name, Key("{First:escape}", "{Second}"))
    for text in ("a/b", "a#b", "a*b", "a_b"):
        await escaped.insert({"First": text, "Second": "x"})
    assert len(await rows_of(storage, table_name)) == 4
    assert (await escaped.get(First="a#b", Second="x"))["First"] == "a#b"


async def test_invalid_property_names_are_rejected_and_not_replaced(
    storage: Any, engine: Engine, table_name: str
) -> None:
    pairs = EntitySet(storage, table_name, JOINED)
    with engine.ledger.span() as span, pytest.raises(BadProperty, match="col-1"):
        await pairs.insert({"First": "a", "Second": "b", "col-1": 1, "col-2": 2})
    assert span.totals.requests == 0
    await pairs.insert({"First": "a", "Second": "b", "col1": 1, "col2": 2})
    assert (await rows_of(storage, table_name))["a", "b"] == {"col1": 1, "col2": 2}


async def test_numbers_in_keys_come_in_the_order_of_numbers(storage: Any, table_name: str) -> None:
    numbers = EntitySet(storage, table_name, Key("{Group}", "{Number:+06d}"))
    for number in (10, 9, -10, 100, -9, 0):
        await numbers.insert({"Group": "all", "Number": number})
    assert [row["Number"] async for row in numbers.range(Group="all")] == [-10, -9, 0, 9, 10, 100]


async def test_no_value_gets_out_of_its_place_in_a_filter(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, BY_ID)
    for number, email in enumerate(("' or PartitionKey ne '", "a''b", "a and (b)", "@pk)  x")):
        await staff.insert(jones(EmployeeId=number, Email=email))
        found = [row["EmployeeId"] async for row in staff.range(where=prop("Email") == email, Department="Sales")]
        assert found == [number]


async def test_integers_beyond_32_bits_are_stored_and_asked_for_as_such(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, BY_ID)
    for number, big in enumerate((2**31, 2**40, 2**53 + 1)):
        await staff.insert(jones(EmployeeId=number, Big=big))
        found = [row["EmployeeId"] async for row in staff.range(where=prop("Big") == big, Department="Sales")]
        assert found == [number]


async def test_entities_of_several_partitions_are_loaded_in_one_call(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, BY_ID)
    loaded = [jones(Department="ABC"[number % 3], EmployeeId=number) for number in range(250)]
    await BulkLoad(staff).load(loaded)
    assert len(await rows_of(storage, table_name)) == 250


async def test_two_sets_may_have_indexes_with_the_same_name(storage: Any, new_name: Any) -> None:
    tables = [new_name(), new_name()]
    indexes = [IntraPartitionIndex(BY_EMAIL, name="email") for _ in tables]
    sets: list[Any] = [
        EntitySet(storage, table, BY_ID, derived=[index]) for table, index in zip(tables, indexes, strict=True)
    ]
    for number, each in enumerate(sets):
        await each.insert(jones(Age=number))
    await sets[0].update(lambda found: found.update(Email=NEW), Department="Sales", EmployeeId=223)
    assert await sets[0].find(indexes[0], Department="Sales", Email=OLD) is None
    assert (await sets[1].find(indexes[1], Department="Sales", Email=OLD))["Age"] == 1


@pytest.mark.parametrize("kind", ["near", "far"])
async def test_a_change_leaves_no_old_row_and_writes_none_that_stays(storage: Any, new_name: Any, kind: str) -> None:
    options: Any = {"include": ["FirstName"]}
    index: Any = (
        IntraPartitionIndex(BY_EMAIL, **options)
        if kind == "near"
        else InterPartitionIndex(Key("email", "{Email}"), table=new_name(), **options)
    )
    staff: Any = EntitySet(storage, new_name(), BY_ID, derived=[index])
    rows = storage.table(index.table(staff.table.name))
    entity = await staff.insert(jones())
    old, new = (f"email_{each}" if kind == "near" else each for each in (OLD, NEW))
    (before,) = [row async for row in rows.query(prop("RowKey") == old)]
    # Another value of the same text is no change of the index, nor is one of what its rows do not hold
    entity.update(Email="".join(OLD), Age=35)
    entity = await staff.replace(entity)
    (after,) = [row async for row in rows.query(prop("RowKey") == old)]
    assert after.etag == before.etag
    entity["Email"] = NEW
    await staff.replace(entity)
    found = [row async for row in rows.query(None) if index.key.matches(*row.key)]
    assert [row.row_key for row in found] == [new]


@pytest.mark.parametrize("kind", ["near", "far"])
async def test_after_a_crash_during_a_change_the_entity_is_found_by_its_old_or_new_value(
    backend: Any, engine: Engine, kind: str
) -> None:
    """Who deletes the old row and adds the new one afterwards leaves a moment in which neither finds anything."""
    near, far = IntraPartitionIndex(BY_EMAIL), InterPartitionIndex(Key("email", "{Email}"), table="Emails")
    index: Any = near if kind == "near" else far
    survived = 0
    for at in range(16):
        alone = Engine(clock=engine.clock)
        storage = backend.connect(alone)
        staff: Any = EntitySet(storage, "Staff", BY_ID, derived=[index])
        await staff.insert(jones())
        dying: Any = EntitySet(
            connect_crashing(backend, alone, Crash(at=at, after=True)), "Staff", BY_ID, derived=[index]
        )
        try:
            await dying.update(lambda found: found.update(Email=NEW), Department="Sales", EmployeeId=223)
            survived += 1
        except Crashed:
            pass
        partition = {"Department": "Sales"} if kind == "near" else {}
        found = [await staff.find(index, Email=email, **partition) for email in (OLD, NEW)]
        assert any(each is not None and each["EmployeeId"] == 223 for each in found), (at, found)
    assert 0 < survived < 16


async def test_what_the_caller_changes_later_is_not_stored(storage: Any, table_name: str) -> None:
    staff = EntitySet(storage, table_name, BY_ID)
    given = jones()
    held = await staff.insert(given)
    given["Age"] = held["Age"] = 99
    assert (await staff.get(Department="Sales", EmployeeId=223))["Age"] == 34
