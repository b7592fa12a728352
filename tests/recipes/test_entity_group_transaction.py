"""Commit changes of several types atomically, each with its own condition."""

from __future__ import annotations

from typing import Any

import pytest

from support.employees import BY_ID, by_email, employees_of, jones, rows_of
from tablepatterns import EntityGroupTransaction, EntitySet, Key
from tablepatterns.errors import (
    BadInput,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    LimitExceeded,
)
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine


@pytest.fixture
def departments(storage: Any, table_name: str) -> Any:
    return EntitySet(storage, table_name, Key("{Department}", "Department"))


@pytest.fixture
def employees(storage: Any, table_name: str) -> Any:
    return employees_of(storage, table_name)


@pytest.fixture
def commit(storage: Any, table_name: str) -> Any:
    return EntityGroupTransaction(storage, table_name).commit


@pytest.mark.guide("G-069", "G-070", "G-071")
async def test_changes_of_every_kind_and_several_types_are_one_transaction(
    employees: Any, departments: Any, commit: Any
) -> None:
    sales = await departments.insert({"Department": "Sales", "EmployeeCount": 2})
    gone = await employees.insert(jones(EmployeeId=1, Email="one@contoso.com"))
    old = await employees.insert(jones(EmployeeId=2, Email="two@contoso.com"))
    old["Age"] = 50
    written = await commit(
        employees.inserting(jones(EmployeeId=3, Email="three@contoso.com")),
        employees.replacing(old),
        employees.deleting(gone),
        departments.merging(sales, {"EmployeeCount": 2}),
    )
    assert [entity.etag is not None for entity in written] == [True, True, True, True]
    assert [e["EmployeeId"] async for e in employees.range(by_email, Department="Sales")] == [3, 2]
    await departments.merge(sales, {"EmployeeCount": 3})


@pytest.mark.guide("G-105")
async def test_all_that_belongs_to_one_user_changes_in_one_transaction(
    storage: Any, engine: Engine, table_name: str, commit: Any
) -> None:
    users = EntitySet(storage, table_name, Key("{UserID}", "user"))
    orders = EntitySet(storage, table_name, Key("{UserID}", "order_{Order:06d}"))
    user = await users.insert({"UserID": "jo", "Orders": 0})
    with engine.ledger.span() as span:
        await commit(
            users.merging(user, {"Orders": 2}),
            *(orders.inserting({"UserID": "jo", "Order": number, "Total": 9.5}) for number in (1, 2)),
        )
    assert (span.totals.billable, {record.partition for record in span.records}) == (1, {"jo"})
    assert (await users.get(UserID="jo"))["Orders"] == 2
    assert [each["Order"] async for each in orders.range(UserID="jo")] == [1, 2]
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityAlreadyExists):
        await commit(users.merging(user, {"Orders": 3}), orders.inserting({"UserID": "jo", "Order": 2}))
    assert await rows_of(storage, table_name) == before


@pytest.mark.guide("G-068", "G-071", "G-072")
async def test_one_refusal_rejects_all_and_names_the_operation(
    employees: Any, departments: Any, commit: Any, storage: Any, table_name: str
) -> None:
    sales = await departments.insert({"Department": "Sales", "EmployeeCount": 1})
    await departments.update(lambda each: each.update(EmployeeCount=2), Department="Sales")
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityChanged) as refusal:
        await commit(employees.inserting(jones()), departments.merging(sales, {"EmployeeCount": 9}))
    assert refusal.value.index == 2
    assert refusal.value.status_code == 412
    assert await rows_of(storage, table_name) == before


@pytest.mark.guide("G-068", "G-072")
async def test_each_way_to_fail_says_what_it_means(
    employees: Any, departments: Any, commit: Any, storage: Any, table_name: str
) -> None:
    jo = await employees.insert(jones())
    sales = {"Department": "Sales", "EmployeeCount": 1}
    before = await rows_of(storage, table_name)
    with pytest.raises(EntityAlreadyExists, match=r"empid_000223"):
        await commit(departments.inserting(sales), employees.inserting(jones(Email="other@contoso.com")))
    with pytest.raises(DuplicateIndexValue, match=r"jonesj@contoso.com"):
        await commit(departments.inserting(sales), employees.inserting(jones(EmployeeId=9)))
    assert await rows_of(storage, table_name) == before
    await employees.delete(jo)
    with pytest.raises(EntityNotFound, match="empid_000223"):
        await commit(departments.inserting(sales), employees.merging(jo, {"Age": 1}))
    assert await rows_of(storage, table_name) == {}


@pytest.mark.guide("G-063")
async def test_two_partitions_are_rejected_before_any_request(employees: Any, commit: Any, engine: Engine) -> None:
    both = employees.inserting(jones()), employees.inserting(jones(Department="Marketing"))
    with engine.ledger.span() as span, pytest.raises(BadInput, match="one partition"):
        await commit(*both)
    assert span.records == []


@pytest.mark.guide("G-064")
async def test_two_tables_are_rejected_before_any_request(
    storage: Any, employees: Any, commit: Any, engine: Engine
) -> None:
    elsewhere = EntitySet(storage, "Elsewhere", BY_ID)
    with engine.ledger.span() as span, pytest.raises(BadInput, match="one table"):
        await commit(employees.inserting(jones()), elsewhere.inserting(jones()))
    assert span.records == []


@pytest.mark.guide("G-067")
async def test_touching_an_entity_twice_is_rejected_before_any_request(
    employees: Any, commit: Any, engine: Engine
) -> None:
    with engine.ledger.span() as span, pytest.raises(BadInput, match="only once"):
        await commit(employees.inserting(jones()), employees.inserting(jones(Email="b@contoso.com")))
    assert span.records == []


@pytest.mark.guide("G-065")
async def test_one_hundred_operations_pass_and_one_more_does_not(
    employees: Any, commit: Any, storage: Any, table_name: str
) -> None:
    people = [employees.inserting(jones(EmployeeId=n, Email=f"{n}@contoso.com")) for n in range(51)]
    with pytest.raises(LimitExceeded, match="at most 100"):
        await commit(*people)
    assert await rows_of(storage, table_name) == {}
    await commit(*people[:50])
    assert len(await rows_of(storage, table_name)) == 100


@pytest.mark.guide("G-066")
async def test_a_payload_of_4_mb_is_rejected_and_one_below_passes(storage: Any, commit: Any, table_name: str) -> None:
    plain = EntitySet(storage, table_name, Key("{Department}", "{Id:04d}"))
    photo = {f"Photo{n}": b"x" * 64_000 for n in range(9)}
    fives = [plain.inserting({"Department": "Sales", "Id": n} | photo) for n in range(6)]
    with pytest.raises(LimitExceeded, match="4 MB"):
        await commit(*fives)
    await commit(*fives[:5])
    assert len(await rows_of(storage, table_name)) == 5


async def test_no_changes_are_no_request(commit: Any, engine: Engine) -> None:
    with engine.ledger.span() as span:
        assert await commit() == []
    assert span.records == []


async def test_a_transaction_that_only_changes_does_not_make_the_table(storage: Any, table_name: str) -> None:
    with pytest.raises(EntityNotFound):
        await storage.table(table_name).submit(Operation.delete("Sales", "1", ANY), Operation.delete("Sales", "2", ANY))
    assert await storage.table(table_name).create()
