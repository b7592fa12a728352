"""Read the children of a parent: all of them and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from support.employees import BY_ID, employees_of, jones
from tablepatterns import ChildSet, EntityGroupTransaction, Key
from tablepatterns.errors import BadDesign, BadKey
from tablepatterns_engine.account import Engine


def reviews_of(storage: Any, table: str) -> Any:
    return ChildSet(storage, table, BY_ID, "_{Year:04d}")


def review(number: int, year: int) -> dict[str, Any]:
    return {
        "Department": "Sales",
        "EmployeeId": number,
        "Year": year,
        "ManagerRating": 4,
        "PeerRating": 3,
        "Comments": "long",
    }


@pytest.mark.guide("G-193", "G-194", "G-104", "G-196")
async def test_a_review_is_one_point_query_and_its_key_parses_back(
    storage: Any, engine: Engine, table_name: str
) -> None:
    reviews = reviews_of(storage, table_name)
    written = await reviews.insert(review(123, 2012))
    assert written.key == ("Sales", "empid_000123_2012")
    with engine.ledger.span() as span:
        found = await reviews.get(Department="Sales", EmployeeId=123, Year=2012)
    assert found == review(123, 2012)
    assert [record.query_class for record in span.records] == ["point query"]
    assert reviews.key.parse(*written.key) == {"Department": "Sales", "EmployeeId": 123, "Year": 2012}


@pytest.mark.guide("G-197", "G-198", "G-199", "G-201")
@pytest.mark.parametrize("number", [123, 199, 999, 1, 999_999])
async def test_the_children_of_one_parent_are_all_found_and_no_other(
    storage: Any, table_name: str, number: int
) -> None:
    reviews, employees = reviews_of(storage, table_name), employees_of(storage, table_name)
    neighbours = {max(number - 1, 0), number, min(number + 1, 999_999)}
    for each in neighbours:
        await employees.insert(jones(EmployeeId=each, Email=f"{each}@contoso.com"))
        for year in (2012, 2011):
            await reviews.insert(review(each, year))
    selected = ["ManagerRating", "PeerRating", "Comments"]
    found = [each async for each in reviews.children(Department="Sales", EmployeeId=number, select=selected)]
    assert found == [review(number, 2011), review(number, 2012)]
    (slim,) = await reviews.take(1, Department="Sales", EmployeeId=number, select=["Comments"])
    assert slim == {"Department": "Sales", "EmployeeId": number, "Year": 2011, "Comments": "long"}


@pytest.mark.guide("G-197", "G-198", "G-201")
async def test_a_family_is_one_range_query(storage: Any, engine: Engine, table_name: str) -> None:
    reviews, employees = reviews_of(storage, table_name), employees_of(storage, table_name)
    for number in (122, 123, 124):
        await employees.insert(jones(EmployeeId=number, Email=f"{number}@contoso.com"))
        await reviews.insert(review(number, 2012))
    with engine.ledger.span() as span:
        parent, children = await reviews.family(Department="Sales", EmployeeId=123)
    assert (span.totals.requests, span.totals.examined) == (1, 2)
    assert parent["LastName"] == "Jones"
    assert children == [review(123, 2012)]
    assert await reviews.family(Department="Sales", EmployeeId=500) == (None, [])


@pytest.mark.guide("G-200", "G-070")
async def test_employee_and_review_are_written_in_one_transaction(
    storage: Any, engine: Engine, table_name: str
) -> None:
    reviews, employees = reviews_of(storage, table_name), employees_of(storage, table_name)
    await employees.table.create()
    with engine.ledger.span() as span:
        written = await EntityGroupTransaction(storage, table_name).commit(
            employees.inserting(jones()), reviews.inserting(review(223, 2012))
        )
    assert [entity.row_key for entity in written] == ["empid_000223", "empid_000223_2012"]
    assert (span.totals.requests, span.totals.billable) == (1, 1)


async def test_a_child_can_be_changed_and_deleted_like_any_entity(storage: Any, table_name: str) -> None:
    reviews = reviews_of(storage, table_name)
    await reviews.insert(review(123, 2012))
    (found,) = [each async for each in reviews.children(Department="Sales", EmployeeId=123)]
    found["ManagerRating"] = 5
    await reviews.replace(found)
    assert (await reviews.get(Department="Sales", EmployeeId=123, Year=2012))["ManagerRating"] == 5
    await reviews.delete(found)
    assert await reviews.family(Department="Sales", EmployeeId=123) == (None, [])


async def test_the_whole_key_of_the_parent_must_be_given(storage: Any, table_name: str) -> None:
    with pytest.raises(BadKey, match="EmployeeId"):
        _ = [each async for each in reviews_of(storage, table_name).children(Department="Sales")]


@pytest.mark.guide("G-195")
async def test_a_parent_that_could_run_into_its_children_is_rejected(storage: Any) -> None:
    with pytest.raises(BadDesign, match="fixed width"):
        ChildSet(storage, "Employees", Key("{Department}", "{Name}"), "_{Year:04d}")
