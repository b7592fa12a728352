"""Lists of the keys of all entities with a value, in the partition, in a table and in blobs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from support.derived_tables import DerivedTables, operations
from support.employees import BY_ID, by_email, jones, rows_of
from tablepatterns import EntityGroupTransaction, EntitySet, Key, connect
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.entity_set.reconcile import Finding
from tablepatterns.errors import BadDesign, BadInput, BadKey, DerivedDataMismatch, LimitExceeded, TooMuchContention
from tablepatterns.jobs import backfill, repair, verify
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

LIST = ("Sales", "Jones")
SALES = {"Department": "Sales", "LastName": "Jones"}
JONES = {"LastName": "Jones"}
AS_IN_GUIDE = Key("{Department}", "{LastName}")
Make = Callable[[DerivedTables], IndexEntity]
EVENTUAL: dict[str, Make] = {
    "another partition": lambda places: IndexEntity("LastName", store=InTable()),
    "another table": lambda places: IndexEntity("LastName", store=InTable(places.other)),
    "another table, spread": lambda places: IndexEntity("LastName", store=InTable(places.other), spread=4),
    "blobs": lambda places: IndexEntity("LastName", store=InBlobs(places.container)),
}
HERE: dict[str, Make] = {
    "the partition": lambda places: IndexEntity("LastName"),
    "the partition, spread": lambda places: IndexEntity("LastName", spread=4),
}
EVERYWHERE = pytest.mark.parametrize("make", [*HERE.values(), *EVENTUAL.values()], ids=[*HERE, *EVENTUAL])
OUTSIDE = pytest.mark.parametrize("make", list(EVENTUAL.values()), ids=list(EVENTUAL))


def asked(via: IndexEntity, **fields: Any) -> dict[str, Any]:
    """Return the key fields of a list; in the partition, they include the department."""
    return fields | ({} if via.is_eventual else {"Department": "Sales"})


async def numbers(employees: Any, via: IndexEntity, name: str = "Jones") -> list[int]:
    """Return the numbers in a list, and check that the entities found are the same."""
    listed = [keys["EmployeeId"] for keys in await employees.keys_of(via, **asked(via, LastName=name))]
    found = await employees.find_all(via, **asked(via, LastName=name))
    assert [each["EmployeeId"] for each in found] == listed
    assert all(each["LastName"] == name for each in found)
    return listed


# -- what lists look like


def guides() -> IndexEntity:
    return IndexEntity("LastName", key=AS_IN_GUIDE, ids="EmployeeIDs")


@pytest.mark.guide("G-167", "G-171", "G-172", "G-173", "G-186")
async def test_the_list_of_a_name_is_a_row_of_the_department(places: DerivedTables) -> None:
    employees = places.employees(guides())
    first = await employees.insert(jones(EmployeeId=223))
    second = await employees.insert(jones(EmployeeId=152))
    assert (await rows_of(places.storage, places.table))[LIST] == {"EmployeeIDs": "empid_000152/empid_000223"}
    assert [each["EmployeeId"] async for each in employees.range(Department="Sales")] == [152, 223]
    await employees.delete(first)
    assert (await rows_of(places.storage, places.table))[LIST] == {"EmployeeIDs": "empid_000152"}
    await employees.delete(second)
    assert await rows_of(places.storage, places.table) == {}


@pytest.mark.guide("G-183")
async def test_an_id_is_listed_once_and_never_holds_the_delimiter(places: DerivedTables) -> None:
    via = IndexEntity("LastName", ids="Names")
    employees: Any = EntitySet(places.storage, places.table, Key("{Department}", "name_{Name}"), derived=[via])
    for name in ("al", "jo", "a/l"):
        entity = {"Department": "Sales", "Name": name, "LastName": "Jones"}
        if "/" in name:
            with pytest.raises(BadKey):
                await employees.insert(entity)
            continue
        for _ in range(2):
            await employees.insert_or_replace(entity)
        await employees.insert_or_merge(entity | {"Age": 34})
    lists = [row["Names"] for row in (await rows_of(places.storage, places.table)).values() if "Names" in row]
    assert lists == ["name_al/name_jo"]
    assert [each["Name"] for each in await employees.find_all(via, Department="Sales", LastName="Jones")] == [
        "al",
        "jo",
    ]


@pytest.mark.guide("G-178", "G-180")
async def test_a_list_in_another_table_holds_both_keys(places: DerivedTables) -> None:
    employees = places.employees(IndexEntity("LastName", store=InTable(places.other)))
    await employees.insert(jones(Department="Sales", EmployeeId=223))
    await employees.insert(jones(Department="Marketing", EmployeeId=5))
    rows = await rows_of(places.storage, places.other)
    assert rows == {("lastname_Jones", "ids"): {"Ids": "Marketing#empid_000005/Sales#empid_000223"}}


@pytest.mark.guide("G-164", "G-165")
async def test_a_list_in_a_blob_holds_both_keys_line_by_line(places: DerivedTables) -> None:
    employees = places.employees(IndexEntity("LastName", store=InBlobs(places.container)))
    await employees.insert(jones(Department="Sales", EmployeeId=223))
    marketing = await employees.insert(jones(Department="Marketing", EmployeeId=5))
    container = places.storage.container(places.container)
    assert await container.download("lastname_Jones/ids") == b"Marketing#empid_000005\nSales#empid_000223\n"
    await employees.delete(marketing)
    await employees.delete(await employees.get(Department="Sales", EmployeeId=223))
    assert [blob.name async for blob in container.blobs()] == []


# -- what it costs


@pytest.mark.guide("G-168", "G-169", "G-174", "G-175", "G-176", "G-177")
async def test_a_list_in_the_partition_costs_a_read_and_no_write_more(places: DerivedTables, engine: Engine) -> None:
    via = guides()
    employees = places.employees(via)
    await places.ready()
    with engine.ledger.span() as span:
        entity = await employees.insert(jones())
    assert operations(span) == ["QueryEntity", "Transaction"]
    entity["LastName"] = "Smith"
    with engine.ledger.span() as span:
        await employees.replace(entity)
    assert operations(span) == ["QueryEntity", "QueryEntity", "Transaction"]
    entity["LastName"] = "Smith"
    with engine.ledger.span() as span:
        await employees.replace(entity)
    assert operations(span) == ["UpdateEntity"]
    for number in range(3):
        await employees.insert(jones(EmployeeId=number, LastName="Smith"))
    with engine.ledger.span() as span:
        assert len(await employees.find_all(via, Department="Sales", LastName="Smith")) == 4
    assert operations(span) == ["QueryEntity"] * 5
    with engine.ledger.span() as span:
        assert len(await employees.keys_of(via, Department="Sales", LastName="Smith")) == 4
    assert operations(span) == ["QueryEntity"]
    with engine.ledger.span() as span:
        await employees.delete(entity)
    assert operations(span) == ["QueryEntity", "Transaction"]


# -- several changes at a time


@pytest.mark.guide("G-169")
async def test_a_transaction_of_several_entities_writes_their_list_once(places: DerivedTables) -> None:
    via = guides()
    employees = places.employees(via)
    old = await employees.insert(jones(EmployeeId=9))
    changes = [employees.inserting(jones(EmployeeId=number)) for number in (3, 1)]
    written = await EntityGroupTransaction(places.storage, places.table).commit(*changes, employees.deleting(old))
    assert (await rows_of(places.storage, places.table))[LIST] == {"EmployeeIDs": "empid_000001/empid_000003"}
    written[0]["LastName"] = "Smith"
    await employees.replace(written[0])
    assert await numbers(employees, via) == [1]


@pytest.mark.guide("G-166", "G-170")
@EVERYWHERE
async def test_sixteen_writers_of_one_list_at_a_time_lose_no_entry(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    await places.ready()
    writes = (employees.insert(jones(EmployeeId=number)) for number in range(16))
    await places.storage.gather(*writes, max_concurrency=16)
    assert await numbers(employees, via) == list(range(16))


class Rivalled(IndexEntity):
    """Another writer changes the list each time after it was read."""

    def __init__(self, engine: Engine, table: str, times: int) -> None:
        super().__init__("LastName", key=AS_IN_GUIDE, ids="EmployeeIDs")
        self.left = times
        self.attempts = 0
        self._rival = engine, table

    def repair_operation(self, keys: Any, row: Any, primary: Any) -> Any:
        self.attempts += 1
        if self.left:
            self.left -= 1
            engine, table = self._rival
            rival = EntitySet(connect(engine), table, BY_ID, derived=[guides()])
            rival.insert(jones(EmployeeId=100 + self.attempts))
        return super().repair_operation(keys, row, primary)


@pytest.mark.guide("G-170")
async def test_a_writer_that_loses_every_race_gives_up_and_changes_nothing(
    places: DerivedTables, engine: Engine
) -> None:
    via = Rivalled(engine, places.table, 1000)
    employees = places.employees(via)
    with pytest.raises(TooMuchContention) as refusal:
        await employees.insert(jones(EmployeeId=1), retry_for=1)
    via.left = 0
    assert via.attempts == refusal.value.attempts > 1
    assert await numbers(employees, via) == list(range(101, 101 + via.attempts))
    assert await employees.get(Department="Sales", EmployeeId=1) is None


@pytest.mark.guide("G-170")
async def test_an_update_gives_up_on_a_list_when_its_time_is_over(places: DerivedTables, engine: Engine) -> None:
    await places.employees(guides()).insert(jones(EmployeeId=1, LastName="Smith"))
    via = Rivalled(engine, places.table, 1000)
    employees = places.employees(via)
    with pytest.raises(TooMuchContention) as refusal:
        await employees.update(
            lambda each: each.update(LastName="Jones"), retry_for=1, Department="Sales", EmployeeId=1
        )
    # One list loses the entity and another gets it
    assert via.attempts == 2 * refusal.value.attempts > 2


# -- how long a list may be


async def long_list(places: DerivedTables, count: int) -> None:
    """Have `count` entries of 500 characters in the list of Jones."""
    via = guides()
    entries = {("Sales", f"{number:0500d}"): "" for number in range(count)}
    row = {"PartitionKey": "Sales", "RowKey": "Jones", **via.key_list.properties("Sales", entries)}
    await places.storage.table(places.table).submit(Operation.insert(row))


@pytest.mark.guide("G-182")
async def test_a_list_continues_in_further_properties(places: DerivedTables) -> None:
    await long_list(places, 200)
    employees = places.employees(guides())
    await employees.insert(jones())
    row = (await rows_of(places.storage, places.table))[LIST]
    assert sorted(row) == ["EmployeeIDs", "EmployeeIDs2", "EmployeeIDs3", "EmployeeIDs4"]
    assert row["EmployeeIDs4"].endswith("/empid_000223")


@pytest.mark.guide("G-182")
async def test_a_full_list_is_rejected_with_a_hint(places: DerivedTables) -> None:
    await long_list(places, 1045)
    employees = places.employees(guides())
    number = 0
    with suppress(LimitExceeded):
        for number in range(1000):
            await employees.insert(jones(EmployeeId=number))
    assert number > 5
    before = await rows_of(places.storage, places.table)
    with pytest.raises(LimitExceeded, match=r"1 MiB.*keep them in blobs"):
        await employees.insert(jones(EmployeeId=number))
    assert await rows_of(places.storage, places.table) == before


@pytest.mark.guide("G-182")
async def test_a_list_in_a_blob_may_be_longer_than_any_row(places: DerivedTables) -> None:
    via = IndexEntity("LastName", store=InBlobs(places.container))
    lines = b"".join(b"Sales#%0500d\n" % number for number in range(2200))
    await places.storage.container(places.container).upload("lastname_Jones/ids", lines)
    employees = places.employees(via)
    await employees.insert(jones())
    content = await places.storage.container(places.container).download("lastname_Jones/ids")
    assert content == lines + b"Sales#empid_000223\n"


async def test_a_spread_list_has_several_rows(places: DerivedTables) -> None:
    via = IndexEntity("LastName", spread=4)
    employees = places.employees(via)
    for number in range(20):
        await employees.insert(jones(EmployeeId=number))
    lists = [keys for keys in await rows_of(places.storage, places.table) if keys[1].startswith("lastname_")]
    assert lists == [("Sales", f"lastname_Jones {part:03d}") for part in range(4)]
    assert await numbers(employees, via) == list(range(20))


# -- what is refused


async def test_a_row_that_is_not_a_list_is_never_overwritten(places: DerivedTables) -> None:
    await places.storage.table(places.table).submit(Operation.insert({"PartitionKey": "Sales", "RowKey": "Jones"}))
    employees = places.employees(guides())
    with pytest.raises(DerivedDataMismatch, match="has no list EmployeeIDs"):
        await employees.insert(jones())
    assert list(await rows_of(places.storage, places.table)) == [LIST]


@pytest.mark.guide("G-186")
async def test_a_list_key_that_could_be_an_employee_is_rejected(places: DerivedTables) -> None:
    via = guides()
    employees = places.employees(via)
    with pytest.raises(BadKey, match="a primary row may have these keys"):
        await employees.insert(jones(LastName="empid_000001"))
    await employees.insert(jones(EmployeeId=1))
    assert await employees.keys_of(via, Department="Sales", LastName="empid_000001") == []


@pytest.mark.parametrize(
    ("derived", "rule"),
    [
        ([IndexEntity("LastName", key=Key("all", "name_{LastName}"))], "share the primary's partition"),
        ([IndexEntity("LastName", key=AS_IN_GUIDE, store=InTable())], "would share the primary's partition"),
        ([IndexEntity("LastName", key=Key("{Department}", "{FirstName}"))], "does not have this field"),
        ([guides(), by_email], "could have the keys of 'LastName'"),
        ([IndexEntity("LastName"), guides()], "could have the keys of 'LastName'"),
        ([IndexEntity("LastName", key=Key("{LastName}", "empid_{Any}"), store=InTable())], "of the primary rows"),
    ],
)
def test_lists_with_unsuitable_keys_are_rejected(derived: Any, rule: str) -> None:
    with pytest.raises(BadDesign, match=rule):
        EntitySet(connect(), "Employees", BY_ID, derived=derived)


@pytest.mark.parametrize(
    ("fields", "options", "rule"),
    [
        ([], {}, "at least one field"),
        (["LastName"], {"spread": 0}, "1 to 1,000 rows"),
        (["LastName"], {"spread": 1001}, "1 to 1,000 rows"),
        (["LastName"], {"spread": 2, "store": InBlobs("names")}, "or 1 blob"),
        (["LastName"], {"ids": "1st"}, "C# identifier"),
    ],
)
def test_invalid_lists_are_rejected(fields: Any, options: Any, rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        IndexEntity(*fields, **options)


# ------------------------------------------------------------------ finding entities by their lists


# -- what is found


@EVERYWHERE
@pytest.mark.guide("G-176", "G-177", "G-184")
async def test_lists_follow_inserts_renames_and_deletes(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    assert await numbers(employees, via) == []
    for number in (223, 152, 7, 42):
        await employees.insert(jones(EmployeeId=number))
    assert await numbers(employees, via) == [7, 42, 152, 223]
    renamed = await employees.get(Department="Sales", EmployeeId=42)
    renamed["LastName"] = "Smith"
    await employees.replace(renamed)
    await employees.insert_or_merge({"Department": "Sales", "EmployeeId": 152, "Age": 50})
    await employees.delete({"Department": "Sales", "EmployeeId": 7}, force=True)
    await employees.insert(jones(EmployeeId=1, LastName=None))
    assert await numbers(employees, via) == [152, 223]
    assert await numbers(employees, via, "Smith") == [42]
    assert (await verify(employees, via)).is_clean


@pytest.mark.guide("G-181")
@OUTSIDE
async def test_lists_in_another_table_find_a_name_in_all_departments(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees = places.employees(via)
    for department in ("Sales", "Marketing"):
        await employees.insert(jones(Department=department))
    found = await employees.find_all(via, LastName="Jones")
    assert [each["Department"] for each in found] == ["Marketing", "Sales"]


@pytest.mark.guide("G-181")
async def test_lists_in_the_partition_find_a_name_in_a_department(places: DerivedTables) -> None:
    via = IndexEntity("LastName")
    employees = places.employees(via)
    for department in ("Sales", "Marketing"):
        await employees.insert(jones(Department=department))
    assert [each["Department"] for each in await employees.find_all(via, **SALES)] == ["Sales"]


async def test_entities_that_have_left_a_list_which_is_late_are_left_out(places: DerivedTables) -> None:
    via = IndexEntity("LastName", store=InTable(places.other))
    employees = places.employees(via)
    await employees.insert(jones(EmployeeId=1))
    past = places.employees()
    await past.insert(jones(EmployeeId=2, LastName="Smith"))
    stale = {"PartitionKey": "lastname_Jones", "RowKey": "ids"}
    listed = "Sales#empid_000001/Sales#empid_000002/Sales#empid_000003"
    await places.storage.table(places.other).submit(Operation.replace({**stale, "Ids": listed}, ANY))
    assert [each["EmployeeId"] for each in await employees.find_all(via, LastName="Jones")] == [1]
    assert len(await employees.keys_of(via, LastName="Jones")) == 3


async def test_a_list_may_be_of_several_fields(places: DerivedTables) -> None:
    via = IndexEntity("LastName", "FirstName")
    employees = places.employees(via)
    for number, first in enumerate(("Jo", "Ann", "Jo")):
        await employees.insert(jones(EmployeeId=number, FirstName=first))
    found = await employees.find_all(via, Department="Sales", LastName="Jones", FirstName="Jo")
    assert [each["EmployeeId"] for each in found] == [0, 2]


# -- what is older, and what went wrong


@EVERYWHERE
async def test_lists_can_be_filled_for_entities_that_are_older(places: DerivedTables, make: Make) -> None:
    past = places.employees()
    for number in range(5):
        await past.insert(jones(EmployeeId=number))
    via = make(places)
    employees = places.employees(via)
    assert (
        len((await verify(employees, via)).of(Finding.MISSING)) + len((await verify(employees, via)).of(Finding.STALE))
        == 5
    )
    await backfill(employees, via)
    assert await numbers(employees, via) == [0, 1, 2, 3, 4]
    assert (await verify(employees, via)).is_clean


@EVERYWHERE
async def test_stale_lists_of_crashed_writers_are_found_and_repaired(places: DerivedTables, make: Make) -> None:
    via = make(places)
    employees, past = places.employees(via), places.employees()
    for number in range(3):
        await employees.insert(jones(EmployeeId=number))
    await past.delete({"Department": "Sales", "EmployeeId": 1}, force=True)
    await past.insert(jones(EmployeeId=7))
    await past.update(lambda employee: employee.update(LastName="Smith"), Department="Sales", EmployeeId=2)
    report = await verify(employees, via)
    assert len(report.of(Finding.ORPHANED)) == 2
    assert len(report.of(Finding.MISSING)) + len(report.of(Finding.STALE)) == 2
    assert await repair(employees, via, report) == len({drift.row for drift in report.drifts})
    assert await numbers(employees, via) == [0, 7]
    assert await numbers(employees, via, "Smith") == [2]
    assert (await verify(employees, via)).is_clean


# -- beside others


@pytest.mark.guide("G-181")
async def test_one_set_may_keep_lists_of_one_field_in_several_places(places: DerivedTables) -> None:
    kinds = [IndexEntity("LastName"), *(make(places) for make in (EVENTUAL["another table"], EVENTUAL["blobs"]))]
    named = [kinds[0], IndexEntity("LastName", store=kinds[1].placement, name="everywhere"), kinds[2]]
    employees = places.employees(*named, by_email)
    for number in (2, 1):
        await employees.insert(jones(EmployeeId=number, Email=f"{number}@contoso.com"))
    for via in named:
        assert await numbers(employees, via) == [1, 2]
        assert (await verify(employees, via)).is_clean
    assert (await employees.find(by_email, Department="Sales", Email="1@contoso.com"))["EmployeeId"] == 1
