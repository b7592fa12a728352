"""Intra-partition secondary indexes: copies that are always consistent, and unique keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.employees import BY_EMAIL, BY_ID, by_email, employees_of, jones, rows_of
from support.examples import examples
from tablepatterns import EntitySet, Int64, IntraPartitionIndex, Key, between, prefix, prop
from tablepatterns.errors import (
    BadDesign,
    BadFilter,
    BadInput,
    DerivedDataMismatch,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
)
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

PRIMARY = ("Sales", "empid_000223")
COPY = ("Sales", "email_jonesj@contoso.com")


@pytest.mark.guide("G-109", "G-110", "G-114", "G-115", "G-120", "G-122", "G-123")
async def test_an_employee_is_stored_under_both_keys_and_found_whole_by_each(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.insert(jones())
    assert await employees.get(Department="Sales", EmployeeId=223) == jones()
    assert await employees.find(by_email, Department="Sales", Email="jonesj@contoso.com") == jones()
    assert await rows_of(storage, table_name) == {
        PRIMARY: {"FirstName": "Jo", "LastName": "Jones", "Age": 34, "Email": "jonesj@contoso.com"},
        COPY: {"FirstName": "Jo", "LastName": "Jones", "Age": 34, "EmployeeId": 223},
    }


@pytest.mark.guide("G-110", "G-111", "G-112", "G-113", "G-114", "G-115", "G-076")
async def test_every_write_and_every_look_up_is_one_transaction(storage: Any, engine: Engine, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.table.create()

    async def cost(call: Any) -> tuple[Any, list[tuple[str, str | None]]]:
        with engine.ledger.span() as span:
            result = await call
        assert span.totals.billable == 1
        return result, [(record.operation, record.query_class) for record in span.records]

    entity, asked = await cost(employees.insert(jones()))
    assert asked == [("Transaction", None)]
    entity["Email"] = "jo@contoso.com"
    await cost(employees.replace(entity))
    await cost(employees.merge(entity, {"Email": "j@contoso.com"}))
    _, asked = await cost(employees.get(Department="Sales", EmployeeId=223))
    assert asked == [("QueryEntity", "point query")]
    found, asked = await cost(employees.find(by_email, Department="Sales", Email="j@contoso.com"))
    assert asked == [("QueryEntity", "point query")]
    await cost(employees.delete(found))
    assert await rows_of(storage, table_name) == {}


@pytest.mark.guide("G-111", "G-113")
async def test_changing_the_email_moves_the_copy(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    entity = await employees.insert(jones())
    entity["Email"] = "jo@contoso.com"
    await employees.replace(entity)
    assert set(await rows_of(storage, table_name)) == {PRIMARY, ("Sales", "email_jo@contoso.com")}
    assert await employees.find(by_email, Department="Sales", Email="jonesj@contoso.com") is None
    assert (await employees.find(by_email, Department="Sales", Email="jo@contoso.com"))["EmployeeId"] == 223


@pytest.mark.parametrize("value", [True, 1.0, Int64(1)], ids=repr)
async def test_an_equal_value_of_another_type_reaches_the_copy(storage: Any, table_name: str, value: Any) -> None:
    employees = employees_of(storage, table_name)
    entity = await employees.insert(jones(Age=1))
    entity["Age"] = value
    await employees.replace(entity)
    found = await employees.find(by_email, Department="Sales", Email=jones()["Email"])
    assert type(found["Age"]) is type(value)


@pytest.mark.guide("G-116", "G-117", "G-118", "G-124", "G-097")
async def test_ranges_come_in_the_order_of_the_index_each_entity_once(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    people = [(100, "zoe@x.com"), (199, "amy@x.com"), (200, "abe@x.com"), (99, "bob@x.com")]
    for number, email in people:
        await employees.insert(jones(EmployeeId=number, Email=email))
    by_id = [e["EmployeeId"] async for e in employees.range(Department="Sales", EmployeeId=between(100, 199))]
    assert by_id == [100, 199]
    in_a = [e["Email"] async for e in employees.range(by_email, Department="Sales", Email=prefix("a"))]
    assert in_a == ["abe@x.com", "amy@x.com"]
    everyone = [e["EmployeeId"] async for e in employees.range(Department="Sales")]
    assert everyone == [99, 100, 199, 200]
    by_mail = [e["EmployeeId"] async for e in employees.range(by_email, Department="Sales")]
    assert by_mail == [200, 199, 99, 100]


@pytest.mark.guide("G-119", "G-125")
async def test_a_duplicate_email_is_rejected_and_writes_nothing(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.insert(jones())
    other = await employees.insert(jones(EmployeeId=224, Email="other@contoso.com"))
    before = await rows_of(storage, table_name)
    with pytest.raises(DuplicateIndexValue, match=r"jonesj@contoso.com.*email_\{Email\}"):
        await employees.insert(jones(EmployeeId=225))
    with pytest.raises(DuplicateIndexValue):
        await employees.merge(other, {"Email": "jonesj@contoso.com"})
    with pytest.raises(DuplicateIndexValue):
        await employees.insert_or_replace(jones(EmployeeId=225))
    assert await rows_of(storage, table_name) == before


@pytest.mark.guide("G-121")
async def test_a_copy_with_a_part_of_the_properties_is_read_and_not_written_back(storage: Any, table_name: str) -> None:
    slim = IntraPartitionIndex(BY_EMAIL, include=["LastName"])
    employees = employees_of(storage, table_name, slim)
    await employees.insert(jones())
    assert (await rows_of(storage, table_name))[COPY] == {"LastName": "Jones", "EmployeeId": 223}
    found = await employees.find(slim, Department="Sales", Email="jonesj@contoso.com")
    assert found == {"Department": "Sales", "EmployeeId": 223, "LastName": "Jones", "Email": "jonesj@contoso.com"}
    before = await rows_of(storage, table_name)
    for write in (employees.replace(found), employees.merge(found, {"LastName": "J"}), employees.delete(found)):
        with pytest.raises(BadInput, match="only a part of it was read"):
            await write
    assert await rows_of(storage, table_name) == before
    with pytest.raises(BadFilter, match="hold no such property"):
        await employees.take(1, slim, Department="Sales", where=prop("Age") > 30)


@pytest.mark.guide("G-126")
async def test_the_etag_of_either_row_guards_the_entity(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.insert(jones())
    for change in ({"Age": 40}, {"Email": "jo@contoso.com"}):
        stale = [
            await employees.get(Department="Sales", EmployeeId=223),
            await employees.find(by_email, Department="Sales", Email="jonesj@contoso.com"),
        ]
        current = await employees.get(Department="Sales", EmployeeId=223)
        await employees.merge(current, change)
        before = await rows_of(storage, table_name)
        for entity in stale:
            with pytest.raises(EntityChanged):
                await employees.merge(entity, {"LastName": "Smith"})
            with pytest.raises(EntityChanged):
                await employees.replace(entity)
            with pytest.raises(EntityChanged):
                await employees.delete(entity)
        assert await rows_of(storage, table_name) == before


async def test_an_entity_found_by_the_index_can_be_written_back(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.insert(jones())
    found = await employees.find(by_email, Department="Sales", Email="jonesj@contoso.com")
    found["Age"] = 35
    await employees.replace(found)
    found["Age"] = 36
    await employees.replace(found)
    rows = await rows_of(storage, table_name)
    assert rows[PRIMARY]["Age"] == rows[COPY]["Age"] == 36


async def test_a_missing_copy_is_an_error_and_nothing_is_written(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    entity = await employees.insert(jones())
    await storage.table(table_name).submit(Operation.delete(*COPY, ANY))
    before = await rows_of(storage, table_name)
    with pytest.raises(DerivedDataMismatch, match="repair"):
        await employees.merge(entity, {"Age": 35})
    assert await rows_of(storage, table_name) == before


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ([Key("{Department}_mail", "email_{Email}")], "share the primary's partition"),
        ([Key("{Department}", "{Email}")], "could have the key of a primary"),
        ([Key("{Department}", "empid_{Email}")], "could have the key of a primary"),
        ([BY_EMAIL, Key("{Department}", "email_{LastName}")], "RowKey prefix"),
    ],
)
async def test_an_invalid_index_is_rejected_at_construction(storage: Any, keys: list[Key], rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        EntitySet(storage, "Employees", BY_ID, derived=[IntraPartitionIndex(key) for key in keys])


WORDS = st.sampled_from(["insert", "replace", "merge", "delete", "put", "put_part", "update"])
STEPS = st.tuples(WORDS, st.integers(0, 2), st.sampled_from([None, "a", "b", "c"]), st.integers(0, 9))


@pytest.mark.guide("G-125")
@examples(40)
@given(steps=st.lists(STEPS, max_size=12))
async def test_whatever_happens_the_copies_are_what_the_primaries_say(
    storage: Any, new_name: Any, steps: list[tuple[str, int, str | None, int]]
) -> None:
    name = new_name()
    employees = employees_of(storage, name)
    await employees.table.create()
    for word, number, email, age in steps:
        await _attempt(employees, word, jones(EmployeeId=number, Email=email, Age=age))
        rows = await rows_of(storage, name)
        primaries = [await employees.get(Department="Sales", EmployeeId=n) for n in range(3)]
        copies = {row_key: row for (_, row_key), row in rows.items() if row_key.startswith("email_")}
        expected = {f"email_{each['Email']}": each for each in primaries if each and each.get("Email")}
        assert {key: row | {"Email": key[6:], "Department": "Sales"} for key, row in copies.items()} == expected


async def _attempt(employees: Any, word: str, fields: dict[str, Any]) -> None:
    key = {name: fields[name] for name in ("Department", "EmployeeId")}
    current = await employees.get(**key)
    given = {name: value for name, value in fields.items() if value is not None}
    changes = {name: given[name] for name in ("Email", "Age") if name in given}
    try:
        if word == "insert":
            await employees.insert(fields)
        elif word == "put":
            await employees.insert_or_replace(fields)
        elif word == "put_part":
            await employees.insert_or_merge(given)
        elif current is not None:
            await _change(employees, word, current, changes, key)
    except (DuplicateIndexValue, EntityAlreadyExists):
        pass  # refused whole: what the table holds is checked by the caller


async def _change(employees: Any, word: str, current: Any, changes: dict[str, Any], key: dict[str, Any]) -> None:
    if word == "replace":
        current.update(changes)
        await employees.replace(current)
    elif word == "merge":
        await employees.merge(current, changes)
    elif word == "delete":
        await employees.delete(current)
    else:
        await employees.update(lambda entity: entity.update(changes), **key)
