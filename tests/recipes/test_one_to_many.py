"""Parents and children in one partition, in different partitions, and denormalized."""

from __future__ import annotations

from typing import Any

import pytest

from support.crashing_client import Crash, Crashed, connect_crashing
from tablepatterns import EntityGroupTransaction, EntitySet, Int64, IntraPartitionIndex, Key, aio, connect
from tablepatterns.entity_set.placement import InTable
from tablepatterns.errors import BadDesign, BadInput, BadKey, BadProperty, BadToken, EntityChanged
from tablepatterns.recipes.one_to_many import Changed, OneToMany, SharedFields
from tablepatterns.recipes.summary import Summary
from tablepatterns_engine.account import Engine

HEAD = Key("{Department}", "department")
STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
SALES = {"Department": "Sales"}


def employee(number: int, department: str = "Sales", **more: Any) -> dict[str, Any]:
    return {"Department": department, "EmployeeId": number, **more}


def together_in(storage: Any, table: str) -> Any:
    """Return a department and its employees in one partition, with their count in the department itself."""
    counted = Summary(HEAD, count="EmployeeCount")
    employees = EntitySet(storage, table, STAFF, derived=[counted])
    return OneToMany(EntitySet(storage, table, HEAD), employees)


# ------------------------------------------------------------------ two types


@pytest.mark.guide("G-269")
async def test_together_the_count_changes_with_each_employee(storage: Any, engine: Engine, table_name: str) -> None:
    staff = together_in(storage, table_name)
    await staff.parents.insert({**SALES, "EmployeeCount": 0, "Floor": 3})
    assert staff.shares_partition
    with engine.ledger.span() as span:
        jones = await staff.children.insert(employee(223))
    assert span.totals.by_operation["Transaction"] == 1
    await staff.children.insert(employee(152))
    assert await staff.parent_of(jones) == {**SALES, "EmployeeCount": 2, "Floor": 3}
    await staff.children.delete(jones)
    assert (await staff.parent_of(jones))["EmployeeCount"] == 1


async def test_together_both_change_in_one_transaction_or_not_at_all(storage: Any, table_name: str) -> None:
    staff = OneToMany(EntitySet(storage, table_name, HEAD), EntitySet(storage, table_name, STAFF))
    stale = await staff.parents.insert({**SALES, "Newest": 0})
    await staff.parents.update(lambda found: found.update(Newest=1), **SALES)
    both = EntityGroupTransaction(storage, table_name)
    with pytest.raises(EntityChanged):
        await both.commit(staff.children.inserting(employee(223)), staff.parents.merging(stale, {"Newest": 223}))
    assert (await staff.family(**SALES)).children == ()
    fresh = await staff.parents.get(**SALES)
    await both.commit(staff.children.inserting(employee(223)), staff.parents.merging(fresh, {"Newest": 223}))
    found = await staff.family(**SALES)
    assert (found.parent["Newest"], found.children[0]["EmployeeId"]) == (223, 223)


@pytest.mark.guide("G-271")
async def test_apart_each_changes_by_one_operation_and_the_count_follows(
    storage: Any, new_name: Any, queue_name: str
) -> None:
    table = new_name()
    counted = Summary(HEAD, count="EmployeeCount", store=InTable(new_name()))
    employees = EntitySet(storage, table, STAFF, derived=[counted], intents=queue_name)
    staff = OneToMany(EntitySet(storage, new_name(), HEAD), employees)
    assert not staff.shares_partition
    await staff.parents.insert(SALES)
    jones = await employees.insert(employee(223))
    await employees.insert(employee(152))
    await employees.delete(jones)
    await employees.process_intents()
    assert await employees.totals(counted, **SALES) == {"EmployeeCount": 1}
    assert (await staff.family(**SALES)).parent == SALES


async def test_children_take_a_range_query_and_the_parent_a_point_query(
    storage: Any, engine: Engine, new_name: Any
) -> None:
    staff = OneToMany(EntitySet(storage, new_name(), HEAD), EntitySet(storage, new_name(), STAFF))
    await staff.parents.insert({**SALES, "Floor": 3})
    for number in (3, 1, 2):
        await staff.children.insert(employee(number))
    await staff.children.insert(employee(9, "Marketing"))
    with engine.ledger.span() as span:
        found = await staff.family(**SALES)
    assert found.parent == {**SALES, "Floor": 3}
    assert [each["EmployeeId"] for each in found.children] == [1, 2, 3]
    assert span.totals.requests == 2
    assert [each["EmployeeId"] async for each in staff.children_of(**SALES)] == [1, 2, 3]
    assert (await staff.parent_of(found.children[0]))["Floor"] == 3
    assert await staff.parent_of(employee(9, "Marketing")) is None
    assert await staff.parent_of({"EmployeeId": 9}) is None
    with pytest.raises(BadKey):
        await staff.family(Floor=3)


async def test_children_may_use_other_field_names_and_be_found_by_an_index(storage: Any, new_name: Any) -> None:
    table = new_name()
    by_boss = IntraPartitionIndex(Key("{Company}", "boss_{Boss:06d}_{EmployeeId:06d}"))
    key = Key("{Company}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, table, key, derived=[by_boss])
    reports = OneToMany(employees, employees, by={"EmployeeId": "Boss"}, via=by_boss)
    for number, boss in ((1, None), (2, 1), (3, 1), (4, 2)):
        await employees.insert({"Company": "Contoso", "EmployeeId": number, "Boss": boss})
    asked = {"Company": "Contoso", "EmployeeId": 1}
    assert [each["EmployeeId"] async for each in reports.children_of(**asked)] == [2, 3]
    four = await employees.get(Company="Contoso", EmployeeId=4)
    assert (await reports.parent_of(four))["EmployeeId"] == 2
    assert await reports.parent_of(await employees.get(**asked)) is None


def test_children_that_are_not_one_range_are_rejected() -> None:
    storage = connect()
    departments = EntitySet(storage, "Departments", HEAD)
    employees = EntitySet(storage, "Staff", Key("{EmployeeId:06d}", "{Year:04d}"))
    with pytest.raises(BadDesign, match="any partition"):
        OneToMany(departments, employees)
    with pytest.raises(BadDesign, match="not one range"):
        OneToMany(departments, EntitySet(storage, "Staff", Key("staff", "{EmployeeId:06d}")))
    with pytest.raises(BadDesign, match="by"):
        OneToMany(departments, EntitySet(storage, "Staff", STAFF), by={"Floor": "Department"})


# ------------------------------------------------------------------ denormalised


async def filled(storage: Any, table: str, count: int, *derived: Any) -> Any:
    employees = EntitySet(storage, table, STAFF, derived=derived)
    for number in range(count):
        await employees.insert(employee(number, Floor=3, Email=f"{number}@contoso.com"))
    return employees


@pytest.mark.guide("G-272")
async def test_one_request_gives_the_employee_and_the_department(storage: Any, engine: Engine, table_name: str) -> None:
    employees = await filled(storage, table_name, 1)
    with engine.ledger.span() as span:
        assert (await employees.get(Department="Sales", EmployeeId=0))["Floor"] == 3
    assert span.totals.requests == 1


@pytest.mark.guide("G-273")
async def test_a_change_reaches_every_employee_chunk_by_chunk(storage: Any, table_name: str) -> None:
    employees = await filled(storage, table_name, 5)
    await employees.insert(employee(9, "Marketing", Floor=3))
    reports: list[Changed] = []
    done = await SharedFields(employees, ["Floor"]).change(
        {"Floor": 4}, chunk=2, progress=reports.append, Department="Sales"
    )
    assert done == Changed(5, 5, None) == reports[-1]
    assert [each.entities for each in reports[:2]] == [2, 4]
    assert [each["Floor"] async for each in employees.range(Department="Sales")] == [4] * 5
    assert (await employees.get(Department="Marketing", EmployeeId=9))["Floor"] == 3


@pytest.mark.guide("G-273")
async def test_a_change_that_crashed_is_resumed_where_it_stopped(backend: Any, engine: Engine) -> None:
    storage = backend.connect()
    employees = await filled(storage, "Staff", 6)
    reports: list[Changed] = []
    dying = EntitySet(connect_crashing(backend, engine, Crash(at=3, after=True)), "Staff", STAFF)
    with pytest.raises(Crashed):
        await SharedFields(dying, ["Floor"]).change({"Floor": 4}, chunk=2, progress=reports.append, Department="Sales")
    assert [each["Floor"] async for each in employees.range(Department="Sales")] == [4, 4, 4, 4, 3, 3]
    resumed = SharedFields(employees, ["Floor"])
    assert await resumed.change({"Floor": 4}, resume=reports[-1].token, chunk=2, Department="Sales") == Changed(
        4, 2, None
    )
    assert [each["Floor"] async for each in employees.range(Department="Sales")] == [4] * 6
    with pytest.raises(BadToken):
        await resumed.change({"Floor": 4}, resume=reports[-1].token, Department="Marketing")


async def test_a_chunk_costs_a_read_and_a_write_and_no_write_twice(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = await filled(storage, table_name, 120)
    departments = SharedFields(employees, ["Floor"])
    with engine.ledger.span() as span:
        assert (await departments.change({"Floor": 4}, Department="Sales")).written == 120
    assert span.totals.requests == 4
    with engine.ledger.span() as again:
        assert await departments.change({"Floor": 4}, Department="Sales") == Changed(120, 0, None)
    assert again.totals.requests == 2


async def test_what_is_derived_of_them_follows_in_as_many_transactions_as_it_takes(
    storage: Any, table_name: str
) -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    by_floor = IntraPartitionIndex(Key("{Department}", "floor_{Floor:02d}_{EmployeeId:06d}"))
    employees = await filled(storage, table_name, 60, by_email, by_floor)
    await SharedFields(employees, ["Floor"]).change({"Floor": 4}, Department="Sales")
    copies = [each["Floor"] async for each in employees.range(by_email, Department="Sales")]
    assert copies == [4] * 60
    assert [each["Floor"] async for each in employees.range(by_floor, Department="Sales")] == [4] * 60


@pytest.mark.parametrize("value", [True, 3.0, Int64(3)], ids=repr)
async def test_a_value_that_is_equal_and_of_another_type_is_written(storage: Any, table_name: str, value: Any) -> None:
    employees = await filled(storage, table_name, 1)
    if value is True:
        await employees.update(lambda found: found.update(Floor=1), Department="Sales", EmployeeId=0)
    departments = SharedFields(employees, ["Floor"])
    assert (await departments.change({"Floor": value}, Department="Sales")).written == 1
    assert type((await employees.get(Department="Sales", EmployeeId=0))["Floor"]) is type(value)
    assert (await departments.change({"Floor": value}, Department="Sales")).written == 0


async def test_a_value_that_cannot_be_stored_is_rejected_and_changes_nothing(storage: Any, table_name: str) -> None:
    employees = await filled(storage, table_name, 2)
    with pytest.raises(BadProperty, match="Floor"):
        await SharedFields(employees, ["Floor"]).change({"Floor": object()}, Department="Sales")
    assert [each["Floor"] async for each in employees.range(Department="Sales")] == [3, 3]


async def test_a_field_can_be_taken_away(storage: Any, table_name: str) -> None:
    employees = await filled(storage, table_name, 2)
    assert (await SharedFields(employees, ["Floor"]).change({"Floor": None}, Department="Sales")).written == 2
    assert ["Floor" in each async for each in employees.range(Department="Sales")] == [False, False]


async def test_others_who_write_the_same_employees_lose_nothing(storage: Any, engine: Engine, table_name: str) -> None:
    employees = await filled(storage, table_name, 4)

    class Busy(EntitySet[Any]):
        """A set that another program writes to once, between the read and the write of a chunk."""

        done = False

        async def meddle(self) -> None:
            if not self.done:
                self.done = True
                await employees.merge({"Department": "Sales", "EmployeeId": 2}, {"Age": 50}, force=True)

    busy = Busy(storage, table_name, STAFF)
    page = busy.page

    async def meddled(*fields: Any, **options: Any) -> Any:
        found = await page(*fields, **options)
        await busy.meddle()
        return found

    busy.page = meddled
    done = await SharedFields(busy, ["Floor"]).change({"Floor": 4}, Department="Sales")
    assert done.entities == 4
    two = await employees.get(Department="Sales", EmployeeId=2)
    assert (two["Age"], two["Floor"]) == (50, 4)


async def test_invalid_changes_are_rejected(storage: Any, table_name: str) -> None:
    employees = EntitySet(storage, table_name, STAFF)
    for fields in ([], ["Department"]):
        with pytest.raises(BadDesign):
            SharedFields(employees, fields)
    departments = SharedFields(employees, ["Floor"])
    with pytest.raises(BadInput, match="Age"):
        await departments.change({"Age": 4}, Department="Sales")
    for chunk in (0, 101):
        with pytest.raises(BadInput, match="chunk"):
            await departments.change({"Floor": 4}, chunk=chunk, Department="Sales")


# ------------------------------------------------------------------ separate accounts


@pytest.mark.guide("G-361")
async def test_a_parent_and_its_children_are_found_across_two_accounts(
    backend: Any, storage: Any, engine: Engine, table_name: str
) -> None:
    elsewhere = Engine()
    departments: Any = EntitySet(storage, table_name, Key("{Department}", ""))
    employees: Any = EntitySet(backend.connect(elsewhere), table_name, Key("{Department}", "{EmployeeId:06d}"))
    staff: Any = OneToMany(departments, employees)
    assert not staff.shares_partition
    await departments.insert({**SALES, "Floor": 3})
    jones = await employees.insert(employee(223))
    await employees.insert(employee(7, "Marketing"))
    with engine.ledger.span() as here, elsewhere.ledger.span() as there:
        family = await staff.family(**SALES)
    assert (family.parent, family.children) == ({**SALES, "Floor": 3}, (jones,))
    assert (here.totals.requests, there.totals.requests) == (1, 1)
    assert (await staff.parent_of(jones))["Floor"] == 3
    assert [each async for each in staff.children_of(**SALES)] == [jones]


def test_a_sync_account_and_an_async_one_have_no_family() -> None:
    departments: Any = EntitySet(connect(), "Departments", HEAD)
    employees: Any = EntitySet(aio.connect(), "Employees", STAFF)
    with pytest.raises(BadDesign, match="one of the two accounts is sync"):
        OneToMany(departments, employees)
