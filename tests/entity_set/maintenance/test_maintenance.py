"""Verify and repair: inconsistent derived rows are found, and written anew from their primaries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.employees import rows_of
from support.examples import examples
from support.maintained_set import BY_ID, FAR, KINDS, NEAR, change, fill, found_by, person
from support.table_states import op
from tablepatterns import EntitySet, Finding, InPartition, InTable, Key
from tablepatterns.entity_set.derived import Change, Derived
from tablepatterns.entity_set.placement import RowReader
from tablepatterns.errors import BadDesign, EntityChanged
from tablepatterns.jobs import backfill, repair, verify
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

# ------------------------------------------------------------------ verify and repair


async def test_verify_reports_all_drift_and_repair_mends_all_but_what_is_contested(
    plain: Any, staff: Any, index: Any
) -> None:
    for number in range(6):
        await staff.insert(person(number))
    await change(plain, 1, Age=99)
    await change(plain, 2, Email="moved@contoso.com")
    await plain.delete({"Department": "Sales", "EmployeeId": 3}, force=True)
    await plain.insert(person(7, Email="5@contoso.com"))
    report = await verify(staff, index)
    assert found_by(report) == {
        Finding.STALE: ["1@contoso.com"],
        Finding.MISSING: ["moved@contoso.com"],
        Finding.ORPHANED: ["2@contoso.com", "3@contoso.com"],
        Finding.CONTESTED: ["5@contoso.com"],
    }
    assert (report.entities, report.rows, report.is_clean) == (6, 6, False)
    (contested,) = report.of(Finding.CONTESTED)
    assert contested.owner == ("empid_Sales", "id_000007")
    assert await repair(staff, index) == 4
    assert found_by(await verify(staff, index)) == {Finding.CONTESTED: ["5@contoso.com"]}
    await plain.delete({"Department": "Sales", "EmployeeId": 5}, force=True)
    assert await repair(staff, index) == 1
    assert (await verify(staff, index)).is_clean
    assert (await staff.find(index, Department="Sales", Email="5@contoso.com"))["EmployeeId"] == 7


async def test_verify_writes_nothing(plain: Any, staff: Any, index: Any, engine: Engine) -> None:
    await fill(plain, 3)
    with engine.ledger.span() as span:
        await verify(staff, index)
    assert {record.operation for record in span.records} <= {"QueryEntity", "QueryEntities"}


async def test_repair_goes_by_what_is_there_now_and_not_by_an_old_report(plain: Any, staff: Any, index: Any) -> None:
    await staff.insert(person(1))
    await change(plain, 1, Email="moved@contoso.com")
    report = await verify(staff, index)
    await change(plain, 1, Email="1@contoso.com", Age=99)
    await repair(staff, index, report)
    assert (await verify(staff, index)).is_clean
    assert (await staff.find(index, Department="Sales", Email="1@contoso.com"))["Age"] == 99


async def test_maintenance_ignores_rows_of_other_kinds(staff: Any, index: Any, storage: Any, table_name: str) -> None:
    await staff.insert(person(1))
    strangers = [
        {"PartitionKey": "empid_Sales", "RowKey": "settings"},
        {"PartitionKey": "email_Sales", "RowKey": "no owner"},
    ]
    for row in strangers:
        await storage.table(table_name).submit(Operation.insert(row))
    before = await rows_of(storage, table_name)
    assert (await verify(staff, index)).is_clean
    await backfill(staff, index)
    await repair(staff, index)
    assert await rows_of(storage, table_name) == before


async def test_what_maintenance_costs(plain: Any, engine: Engine, storage: Any, table_name: str) -> None:
    await fill(plain, 40)
    near = EntitySet(storage, table_name, BY_ID, derived=[NEAR])
    far = EntitySet(storage, table_name, BY_ID, derived=[FAR])
    await storage.queue(f"{table_name}-intents").create()

    async def cost(call: Any) -> int:
        with engine.ledger.span() as span:
            await call
        return int(span.totals.billable)

    assert await cost(backfill(near, NEAR)) == 1 + 1
    # Four transactions are rejected before each entity is looked at
    assert await cost(backfill(near, NEAR)) == 1 + 4 + 2 * 40
    assert await cost(verify(near, NEAR)) == 1
    assert await cost(backfill(far, FAR)) == 1 + 2 + 2 * 40
    assert await cost(verify(far, FAR)) == 1


async def test_an_entity_that_changes_during_a_repair_is_repaired_from_its_new_value(
    plain: Any, backend: Any, engine: Engine, table_name: str, index: Any
) -> None:
    await fill(plain, 1)
    changed: list[int] = []

    def meddle(response: Any) -> None:
        # In the partition: between the look at the entity and the write. Elsewhere: between the write and the last look
        request = response.http_request
        is_look = request.method == "GET" and b"id_000000" in response.http_response.content
        is_write = request.method == "POST" and response.http_response.status_code == 201
        is_copy = is_write and "Jones" in str(request.content)
        if (is_look if index is NEAR else is_copy) and not changed:
            changed.append(1)
            row = engine.tables.get(table_name, "empid_Sales", "id_000000")
            engine.tables.apply(table_name, _merge(row, Age=99))

    slow = EntitySet(backend.connect(engine, raw_response_hook=meddle), table_name, BY_ID, derived=[index])
    await backfill(slow, index)
    assert changed
    assert (await verify(slow, index)).is_clean


def _merge(row: Any, **properties: Any) -> Any:
    return op("merge", row.partition_key, row.row_key, "*", **properties)


class Untold(Derived):
    """Derived data that says only how it is kept."""

    name = "untold"

    def check_key(self, key: Key, table: str) -> None:
        """Anything will do."""

    async def operations(self, change: Change, table: RowReader) -> list[Operation]:
        return []


async def test_derived_data_that_cannot_be_verified_is_rejected_by_maintenance(plain: Any, storage: Any) -> None:
    await fill(plain, 1)
    untold = Untold()
    staff = EntitySet(storage, plain.table.name, BY_ID, derived=[untold])
    for work in (backfill, verify, repair):
        with pytest.raises(BadDesign, match="keys, repair_operation and primary_keys_of"):
            await work(staff, untold)


# ------------------------------------------------------------------ rows that entities share


class Names(Derived):
    """The smallest list of entities: one row for each last name, which holds their numbers as property names."""

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self.placement = InPartition() if partition == "empid_{}" else InTable()

    name = "names"
    shares_rows = True

    def check_key(self, key: Key, table: str) -> None:
        """Any key of these tests will do."""

    def keys(self, key: Key, fields: Any) -> list[tuple[str, str]]:
        return [(self._partition.format(fields["Department"]), f"name_{fields['LastName']}")]

    def primary_keys_of(self, key: Key, row: Any) -> list[tuple[str, str]] | None:
        if not row["RowKey"].startswith("name_"):
            return None
        department = row["PartitionKey"].partition("_")[2]
        return [(f"empid_{department}", name[1:]) for name in row if name.startswith("_")]

    def repair_operation(self, keys: tuple[str, str], row: Any, primary: Any) -> Operation | None:
        held = {name for name in row or () if name.startswith("_")}
        part = {f"_{primary.row[1]}"}
        is_wanted = primary.fields is not None and keys in self.keys(primary.key, primary.fields)
        wanted = held | part if is_wanted else held - part
        if wanted == held:
            return None
        stored = {"PartitionKey": keys[0], "RowKey": keys[1], **dict.fromkeys(sorted(wanted), True)}
        if row is None:
            return Operation.insert(stored)
        return Operation.replace(stored, row.etag) if wanted else Operation.delete(*keys, row.etag or ANY)


@pytest.mark.parametrize("partition", ["empid_{}", "name_{}"])
async def test_shared_rows_are_maintained_backfilled_verified_and_repaired(
    plain: Any, storage: Any, table_name: str, partition: str
) -> None:
    await fill(plain, 3)
    names = Names(partition)
    staff = EntitySet(storage, table_name, BY_ID, derived=[names])
    row = (partition.format("Sales"), "name_Jones")
    await backfill(staff, names)
    assert set((await rows_of(storage, table_name))[row]) == {f"_id_{number:06d}" for number in range(3)}
    await staff.insert(person(3))
    await change(staff, 0, LastName="Smith")
    await staff.delete({"Department": "Sales", "EmployeeId": 1}, force=True)
    assert (await verify(staff, names)).is_clean
    assert set((await rows_of(storage, table_name))[row]) == {"_id_000002", "_id_000003"}
    await plain.delete({"Department": "Sales", "EmployeeId": 2}, force=True)
    await change(plain, 3, LastName="Brown")
    report = await verify(staff, names)
    assert found_by(report) == {Finding.ORPHANED: ["name_Jones", "name_Jones"], Finding.MISSING: ["name_Brown"]}
    await repair(staff, names, report)
    assert (await verify(staff, names)).is_clean
    assert row not in await rows_of(storage, table_name)


async def test_a_commit_is_retried_if_another_writer_changed_a_shared_row(
    plain: Any, backend: Any, storage: Any, engine: Engine, table_name: str
) -> None:
    names = Names("empid_{}")
    staff = EntitySet(storage, table_name, BY_ID, derived=[names])
    await staff.insert(person(0))
    meddled: list[int] = []

    def meddle(response: Any) -> None:
        request = response.http_request
        if request.method == "GET" and "name_Jones" in request.url and not meddled:
            meddled.append(1)
            row = engine.tables.get(table_name, "empid_Sales", "name_Jones")
            engine.tables.apply(table_name, _merge(row, Touched=True))

    slow = EntitySet(backend.connect(engine, raw_response_hook=meddle), table_name, BY_ID, derived=[names])
    await slow.insert(person(1))
    assert meddled
    assert (await verify(staff, names)).is_clean
    stale = await staff.get(Department="Sales", EmployeeId=1)
    await change(staff, 1, Age=1)
    with pytest.raises(EntityChanged):
        await staff.merge(stale, {"LastName": "Smith"})


# ------------------------------------------------------------------ whatever is done past the set

MEDDLING = st.tuples(
    st.sampled_from(["insert", "change", "delete", "drop a copy"]), st.integers(0, 3), st.integers(0, 3)
)


@pytest.mark.nightly_on_azurite
@examples(25)
@given(steps=st.lists(MEDDLING, max_size=8))
async def test_whatever_is_done_past_the_set_repair_ends_with_nothing_out_of_line(
    storage: Any, new_name: Any, steps: list[tuple[str, int, int]]
) -> None:
    for index in KINDS.values():
        name = new_name()
        plain = EntitySet(storage, name, BY_ID)
        staff = EntitySet(storage, name, BY_ID, derived=[index])
        await staff.insert(person(0))
        for word, number, value in steps:
            await _meddle(plain, storage, index, word, number, value)
        await repair(staff, index)
        left = await verify(staff, index)
        assert set(found_by(left)) <= {Finding.CONTESTED}
        emails = [each["Email"] async for each in plain.range(Department="Sales")]
        copies = [each["Email"] async for each in staff.range(index, Department="Sales")]
        assert copies == sorted(set(emails))


async def _meddle(plain: Any, storage: Any, index: Any, word: str, number: int, value: int) -> None:
    key = {"Department": "Sales", "EmployeeId": number}
    current = await plain.get(**key)
    if word == "drop a copy":
        keys = index.key.format({"Department": "Sales", "Email": f"{value}@contoso.com"})
        if await storage.table(plain.table.name).get(*keys):
            await storage.table(plain.table.name).submit(Operation.delete(*keys, ANY))
    elif current is None:
        await plain.insert(person(number, Email=f"{value}@contoso.com"))
    elif word == "delete":
        await plain.delete(current)
    else:
        await plain.merge(current, {"Email": f"{value}@contoso.com"})
