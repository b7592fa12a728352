"""Counts and sums that change with the entities, in their partition and outside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.derived_tables import DerivedTables, operations
from support.employees import BY_ID, jones, rows_of
from support.examples import examples
from tablepatterns import EntityGroupTransaction, EntitySet, Int64, Key, connect
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.entity_set.reconcile import Finding
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    BadProperty,
    DerivedDataMismatch,
    LimitExceeded,
    TooMuchContention,
)
from tablepatterns.jobs import backfill, recount, repair, verify
from tablepatterns.limits import INT64_MAX
from tablepatterns.recipes.summary import Summary
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

DEPARTMENT = Key("{Department}", "department")
ROW = ("Sales", "department")
TOTALS: dict[str, Any] = {"count": "EmployeeCount", "sums": {"Salary": "Payroll"}}
Make = Callable[[DerivedTables], Summary]


def here() -> Summary:
    return Summary(DEPARTMENT, **TOTALS)


EVENTUAL: dict[str, Make] = {
    "another partition": lambda places: Summary(Key("total_{Department}", "t"), store=InTable(), **TOTALS),
    "another table": lambda places: Summary(DEPARTMENT, store=InTable(places.other), **TOTALS),
    "another table, spread": lambda places: Summary(DEPARTMENT, store=InTable(places.other), spread=4, **TOTALS),
}
OUTSIDE = pytest.mark.parametrize("make", list(EVENTUAL.values()), ids=list(EVENTUAL))
WITHIN: dict[str, Make] = {
    "the partition": lambda places: here(),
    "the partition, spread": lambda places: Summary(DEPARTMENT, spread=4, **TOTALS),
}
EVERYWHERE = pytest.mark.parametrize("make", [*WITHIN.values(), *EVENTUAL.values()], ids=[*WITHIN, *EVENTUAL])


async def totals(employees: Any, via: Summary, department: str = "Sales") -> tuple[int, int]:
    found = await employees.totals(via, Department=department)
    assert list(found) == ["EmployeeCount", "Payroll"]
    return found["EmployeeCount"], found["Payroll"]


@EVERYWHERE
@pytest.mark.guide("G-192", "G-269", "G-271")
async def test_totals_follow_every_kind_of_write(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    assert await totals(employees, via) == (0, 0)
    for number, salary in ((1, 100), (2, 20), (3, None)):
        await employees.insert(jones(EmployeeId=number, Salary=salary))
    await employees.insert(jones(Department="Marketing", Salary=7))
    assert await totals(employees, via) == (3, 120)
    entity = await employees.get(Department="Sales", EmployeeId=1)
    await employees.merge(entity, {"Salary": 5_000_000_000})
    assert await totals(employees, via) == (3, 5_000_000_020)
    await employees.insert_or_replace(jones(EmployeeId=2))
    assert await totals(employees, via) == (3, 5_000_000_000)
    await employees.delete(entity)
    await employees.delete({"Department": "Sales", "EmployeeId": 2}, force=True)
    assert await totals(employees, via) == (1, 0)
    assert await totals(employees, via, "Marketing") == (1, 7)


@pytest.mark.guide("G-192", "G-269")
async def test_totals_spread_in_the_partition_are_exact_and_recounted(places: DerivedTables, engine: Engine) -> None:
    past = places.employees()
    for number in range(30):
        await past.insert(jones(EmployeeId=number, Salary=number))
    via = Summary(DEPARTMENT, spread=4, **TOTALS)
    employees = places.employees(via)
    assert len(await recount(employees, via, Department="Sales")) == 4
    assert await totals(employees, via) == (30, sum(range(30)))
    assert await recount(employees, via, Department="Sales") == []
    entity = await employees.get(Department="Sales", EmployeeId=7)
    with engine.ledger.span() as span:
        await employees.merge(entity, {"Salary": 1007})
    assert operations(span) == ["QueryEntity", "Transaction"]
    await employees.rename(entity, EmployeeId=100)
    with engine.ledger.span() as span:
        assert await totals(employees, via) == (30, sum(range(30)) + 1000)
    assert operations(span) == ["QueryEntities"]
    assert await recount(employees, via, Department="Sales") == []


def test_totals_of_several_pages_are_of_one_instant() -> None:
    storage = connect(Engine(page_examines=3))
    via = Summary(DEPARTMENT, spread=8, **TOTALS)
    employees = EntitySet(storage, "Staff", BY_ID, derived=[via])
    for number in range(40):
        employees.insert(jones(EmployeeId=number, Salary=1))
    read, left = employees.table.read_page, [5]

    async def meddled(*args: Any, **options: Any) -> Any:
        found = await read(*args, **options)
        if left[0]:
            left[0] -= 1
            employees.insert(jones(EmployeeId=100 + left[0], Salary=1))
        return found

    employees.table.read_page = meddled  # type: ignore[method-assign]
    assert employees.totals(via, Department="Sales") == {"EmployeeCount": 45, "Payroll": 45}


@pytest.mark.guide("G-192", "G-269")
async def test_totals_are_kept_in_the_department_and_leave_the_rest_of_it(places: DerivedTables) -> None:
    departments = EntitySet(places.storage, places.table, DEPARTMENT)
    employees = places.employees(here())
    await departments.insert({"Department": "Sales", "DepartmentName": "Sales"})
    await employees.insert(jones(Salary=100))
    held = {"DepartmentName": "Sales", "EmployeeCount": 1, "Payroll": Int64(100)}
    assert (await rows_of(places.storage, places.table))[ROW] == held
    assert type((await rows_of(places.storage, places.table))[ROW]["Payroll"]) is Int64


async def test_groups_may_be_of_any_field_and_entities_may_move_between_them(places: DerivedTables) -> None:
    via = Summary(Key("{Department}", "office_{Office}"), name="offices")
    employees = places.employees(via)
    entity = await employees.insert(jones(EmployeeId=1, Office="Oslo"))
    await employees.insert(jones(EmployeeId=2))
    await employees.merge(entity, {"Office": "Rome"})
    rows = await rows_of(places.storage, places.table)
    assert rows["Sales", "office_Oslo"] == {"Count": 0}
    assert rows["Sales", "office_Rome"] == {"Count": 1}
    assert await employees.totals(via, Department="Sales", Office="Rome") == {"Count": 1}


async def test_a_transaction_of_several_entities_counts_each_of_them(places: DerivedTables) -> None:
    via = here()
    employees = places.employees(via)
    departments = EntitySet(places.storage, places.table, DEPARTMENT)
    old = await employees.insert(jones(EmployeeId=1, Salary=1))
    sales = await departments.get(Department="Sales")
    changes = [employees.inserting(jones(EmployeeId=number, Salary=10)) for number in (2, 3)]
    transaction = EntityGroupTransaction(places.storage, places.table)
    written = await transaction.commit(
        *changes, employees.deleting(old), departments.merging(sales, {"DepartmentName": "Sales"})
    )
    assert await totals(employees, via) == (2, 20)
    assert written[-1] == await departments.get(Department="Sales")
    written[-1]["DepartmentName"] = "Selling"
    await departments.replace(written[-1])
    assert await totals(employees, via) == (2, 20)


changes = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.integers(-5, 5)), max_size=12)


@examples(25)
@given(changes=changes)
@pytest.mark.parametrize("store", [None, InTable("Totals")], ids=["here", "elsewhere"])
def test_totals_are_those_of_the_entities_whatever_is_written(changes: Any, store: Any) -> None:
    via = Summary(Key("{Department}", "group_{Group}"), sums={"Points": "Points"}, store=store)
    employees = EntitySet(connect(), "Employees", BY_ID, derived=[via])
    model: dict[int, tuple[str | None, int]] = {}
    for number, group, points in changes:
        fields = {"Department": "Sales", "EmployeeId": number}
        if points == 0 and number in model:
            employees.delete(fields, force=True)
            del model[number]
        else:
            employees.insert_or_replace({**fields, "Group": group, "Points": points})
            model[number] = group, points
    for group in ("a", "b"):
        points = [each for of, each in model.values() if of == group]
        found = employees.totals(via, Department="Sales", Group=group)
        assert found == {"Count": len(points), "Points": sum(points)}


# -- what is older, and what went wrong


async def test_totals_that_are_younger_than_the_entities_are_recounted(places: DerivedTables) -> None:
    past = places.employees()
    for number in range(5):
        await past.insert(jones(EmployeeId=number, Salary=10))
    via = here()
    employees = places.employees(via)
    with pytest.raises(DerivedDataMismatch, match="recount"):
        await employees.delete({"Department": "Sales", "EmployeeId": 0}, force=True)
    assert await recount(employees, via, Department="Sales") == [ROW]
    assert await totals(employees, via) == (5, 50)
    assert await recount(employees, via, Department="Sales") == []
    await past.delete({"Department": "Sales", "EmployeeId": 0}, force=True)
    assert await recount(employees, via, Department="Sales") == [ROW]
    assert await totals(employees, via) == (4, 40)


async def test_recount_clears_empty_groups(places: DerivedTables) -> None:
    via = Summary(Key("{Department}", "office_{Office}"))
    employees = places.employees(via)
    await employees.insert(jones(Office="Oslo"))
    await places.employees().update(lambda each: each.update(Office="Rome"), Department="Sales", EmployeeId=223)
    wrong = await recount(employees, via, Department="Sales")
    assert sorted(wrong) == [("Sales", "office_Oslo"), ("Sales", "office_Rome")]
    assert await employees.totals(via, Department="Sales", Office="Oslo") == {"Count": 0}
    assert await employees.totals(via, Department="Sales", Office="Rome") == {"Count": 1}


class Interrupted(Summary):
    """While entities are added up, others are inserted, so many times."""

    def __init__(self, engine: Engine, table: str, times: int) -> None:
        super().__init__(DEPARTMENT, **TOTALS)
        self.left = times
        self._rival = engine, table

    def part(self, key: Any, fields: Any) -> Any:
        if self.left:
            self.left -= 1
            engine, table = self._rival
            others = EntitySet(connect(engine), table, BY_ID, derived=[here()])
            others.insert(jones(EmployeeId=1000 + self.left, Salary=1))
        return super().part(key, fields)


async def test_recounting_retries_after_a_concurrent_write(places: DerivedTables, engine: Engine) -> None:
    past = places.employees()
    await past.insert(jones(Salary=10))
    await places.storage.table(places.table).submit(
        Operation.insert({"PartitionKey": "Sales", "RowKey": "department", "EmployeeCount": 5})
    )
    via = Interrupted(engine, places.table, 2)
    employees = places.employees(via)
    assert await recount(employees, via, Department="Sales") == [ROW]
    assert await totals(employees, via) == (3, 12)
    via.left = 1000
    await places.storage.table(places.table).submit(
        Operation.merge({"PartitionKey": "Sales", "RowKey": "department", "EmployeeCount": 5000}, ANY)
    )
    with pytest.raises(TooMuchContention, match="attempts in"):
        await recount(employees, via, retry_for=0.5, Department="Sales")


@pytest.mark.guide("G-362")
@OUTSIDE
async def test_totals_in_another_table_can_be_backfilled_verified_and_repaired(
    places: DerivedTables, make: Make
) -> None:
    past = places.employees()
    for number in range(5):
        await past.insert(jones(EmployeeId=number, Salary=10))
    via = make(places)
    employees = places.employees(via)
    await backfill(employees, via)
    assert await totals(employees, via) == (5, 50)
    await past.delete({"Department": "Sales", "EmployeeId": 1}, force=True)
    await past.update(lambda each: each.update(Salary=20), Department="Sales", EmployeeId=2)
    report = await verify(employees, via)
    assert len(report.of(Finding.ORPHANED)) == len(report.of(Finding.STALE)) == 1
    await repair(employees, via, report)
    assert await totals(employees, via) == (4, 50)
    assert (await verify(employees, via)).is_clean


async def test_an_error_recommends_recounting_if_nothing_else_helps(places: DerivedTables) -> None:
    via = here()
    employees = places.employees(via)
    # Whatever there is, which is nothing as yet
    for work in (verify, repair, backfill):
        with pytest.raises(BadDesign, match="use recount"):
            await work(employees, via)


# -- what is refused


@pytest.mark.parametrize("value", [1.5, True, "100"])
@EVERYWHERE
async def test_only_whole_numbers_add_up(places: DerivedTables, make: Make, value: Any) -> None:
    employees = places.employees(make(places))
    with pytest.raises(BadProperty, match="whole numbers"):
        await employees.insert(jones(Salary=value))
    assert await rows_of(places.storage, places.table) == {}


async def test_a_sum_beyond_64_bits_is_rejected_and_changes_nothing(places: DerivedTables) -> None:
    via = here()
    employees = places.employees(via)
    await employees.insert(jones(EmployeeId=1, Salary=INT64_MAX))
    with pytest.raises(LimitExceeded, match="64 bits"):
        await employees.insert(jones(EmployeeId=2, Salary=1))
    assert await totals(employees, via) == (1, INT64_MAX)


async def test_a_property_that_is_not_a_total_is_not_overwritten(places: DerivedTables) -> None:
    row = {"PartitionKey": "Sales", "RowKey": "department", "EmployeeCount": "many"}
    await places.storage.table(places.table).submit(Operation.insert(row))
    with pytest.raises(DerivedDataMismatch, match="'many'"):
        await places.employees(here()).insert(jones())


async def test_summaries_of_another_set_cannot_be_asked(places: DerivedTables) -> None:
    via = Summary(DEPARTMENT, store=InTable(places.other))
    employees = places.employees(via)
    with pytest.raises(BadInput, match="the set keeps"):
        await employees.totals(here(), Department="Sales")
    with pytest.raises(BadInput, match="use verify"):
        await recount(employees, via, Department="Sales")
    with pytest.raises(BadKey, match="Department"):
        await employees.totals(via)


async def test_a_partition_is_recounted_as_a_whole(places: DerivedTables) -> None:
    via = here()
    employees = places.employees(via)
    with pytest.raises(BadKey, match="as a whole"):
        await recount(employees, via, Department="Sales", EmployeeId=1)
    with pytest.raises(BadKey, match="Department"):
        await recount(employees, via)


async def test_a_summary_that_is_being_built_counts_changes_until_it_is_recounted(places: DerivedTables) -> None:
    await places.employees().insert(jones(EmployeeId=1, Salary=10))
    via = here()
    employees = places.employees(via, backfilling=[via])
    await employees.insert(jones(EmployeeId=2, Salary=10))
    assert await totals(employees, via) == (1, 10)
    await recount(employees, via, Department="Sales")
    assert await totals(employees, via) == (2, 20)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"count": None}, "needs a count or a sum"),
        ({"sums": {"Salary": "Count"}}, "two properties have this name"),
        ({"sums": {"Salary": "Department"}}, "two properties have this name"),
        ({"store": InBlobs("totals")}, "cannot be stored in blobs"),
        ({"spread": 0}, "1 to 1,000"),
        ({"spread": 1001}, "1 to 1,000"),
    ],
)
def test_an_invalid_summary_is_rejected(options: Any, rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        Summary(DEPARTMENT, **options)


@pytest.mark.parametrize(
    ("via", "rule"),
    [
        (Summary(Key("all", "department")), "share the primary's partition"),
        (Summary(DEPARTMENT, store=InTable()), "would share the primary's partition"),
    ],
)
def test_a_summary_with_an_unsuitable_key_is_rejected(via: Summary, rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        EntitySet(connect(), "Employees", BY_ID, derived=[via])


# -- beside others


@pytest.mark.guide("G-270")
async def test_a_department_with_totals_is_still_updated_by_one_operation(
    places: DerivedTables, engine: Engine
) -> None:
    departments = EntitySet(places.storage, places.table, DEPARTMENT)
    via = here()
    employees = places.employees(via)
    await departments.insert({"Department": "Sales", "Rooms": 1})
    await employees.insert(jones(Salary=10))
    department = await departments.get(Department="Sales")
    with engine.ledger.span() as span:
        await departments.merge(department, {"Rooms": 2})
    assert operations(span) == ["MergeEntity"]
    assert await totals(employees, via) == (1, 10)
