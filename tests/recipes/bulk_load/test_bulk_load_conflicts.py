"""A bulk load of entities that exist already, or come repeatedly, and beside other writers."""

from __future__ import annotations

from typing import Any

import pytest

import tablepatterns
from support.employees import BY_ID, by_email, employees_of, jones, rows_of
from support.staff_rows import rows_for, staff
from support.unreliable_transport import connect_unreliable
from tablepatterns import BulkLoad, EntitySet, Key
from tablepatterns.entity_set.derived import Change, Derived
from tablepatterns.errors import DuplicateIndexValue, EntityAlreadyExists, LoadInterrupted, TooMuchContention
from tablepatterns.recipes.bulk_load.bulk_load import KeyDigest, LoadPosition
from tablepatterns.sdk.operation import Operation
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine


@pytest.mark.guide("G-068", "G-073")
async def test_a_conflict_rejects_its_chunk_and_stops_the_load(employees: Any, storage: Any, table_name: str) -> None:
    there = jones(Department="D0", EmployeeId=70, Email="else@contoso.com")
    await employees.insert(there)
    with pytest.raises(LoadInterrupted, match=r"^entity 70 of the input: .*; 50 entities are stored") as stop:
        await BulkLoad(employees).load(staff(200))
    assert isinstance(stop.value.__cause__, EntityAlreadyExists)
    assert (stop.value.position, stop.value.status_code, stop.value.error_code) == (70, 409, "EntityAlreadyExists")
    assert await rows_of(storage, table_name) == rows_for([there, *staff(50)])


async def test_a_conflict_in_an_index_names_the_entity_and_the_index(
    employees: Any, storage: Any, table_name: str
) -> None:
    there = jones(Department="D0", EmployeeId=500, Email="55@contoso.com")
    await employees.insert(there)
    with pytest.raises(
        LoadInterrupted, match=r"^entity 55 .*is already used by another entity .*unique index email_\{Email\}"
    ) as stop:
        await BulkLoad(employees).load(staff(60))
    assert isinstance(stop.value.__cause__, DuplicateIndexValue)
    assert await rows_of(storage, table_name) == rows_for([there, *staff(50)])


async def test_an_equal_entity_is_a_conflict_too_unless_a_load_is_resumed(employees: Any) -> None:
    await employees.insert(staff(1)[0])
    with pytest.raises(LoadInterrupted) as stop:
        await BulkLoad(employees).load(staff(3))
    loaded = await BulkLoad(employees).load(staff(3), resume=stop.value.token)
    assert (loaded.entities, loaded.already_stored, loaded.transactions) == (3, 1, 1)


@pytest.mark.parametrize("spacing", [1, 3, 60])
async def test_stored_entities_are_looked_up_in_ranges(
    plain: Any, engine: Engine, table_name: str, spacing: int
) -> None:
    """Other rows between them cost more reads, but no more than a point query for each entity."""
    stored = [jones(Department="D0", EmployeeId=number) for number in range(40 * spacing)]
    await BulkLoad(plain).load(stored)
    wanted = [*stored[::spacing], jones(Department="D0", EmployeeId=90_000)]
    digest = KeyDigest(table_name.lower(), BY_ID.partition_template, BY_ID.row_template)
    with engine.ledger.span() as span:
        loaded = await BulkLoad(plain).load(reversed(wanted), resume=LoadPosition(digest.text()).text())
    assert (loaded.entities, loaded.already_stored, loaded.transactions) == (41, 40, 1)
    # The first transaction fails
    reads = sum(span.totals.by_operation.values()) - 2
    assert reads == {1: 1, 3: 2, 60: 21}[spacing]


async def test_insert_or_replace_replaces_entities_with_their_copies(
    employees: Any, storage: Any, table_name: str
) -> None:
    await BulkLoad(employees).load(staff(80, departments=2, Nickname="Jo"))
    moved = [each | {"Email": f"new{each['EmployeeId']}@contoso.com"} for each in staff(60, departments=2, start=40)]
    loaded = await BulkLoad(employees).load(moved, mode="insert_or_replace")
    expected = rows_for(staff(40, departments=2, Nickname="Jo") + moved)
    assert await rows_of(storage, table_name) == expected
    # 20 entities in each partition move a copy, which makes 3 operations, and 10 are new
    assert loaded.transactions == 2


async def test_insert_or_replace_needs_no_read_where_nothing_is_derived(plain: Any, engine: Engine) -> None:
    await BulkLoad(plain).load(staff(30))
    with engine.ledger.span() as span:
        await BulkLoad(plain).load(staff(100, Age=35), mode="insert_or_replace")
    assert dict(span.totals.by_operation) == {"Transaction": 1}
    assert {entity["Age"] async for entity in plain.range(Department="D0")} == {35}


async def test_insert_or_replace_gives_way_to_other_writers(backend: Any, engine: Engine, table_name: str) -> None:
    others = employees_of(tablepatterns.connect(engine), table_name)
    others.insert(jones(Department="D0", EmployeeId=1, Email="old@contoso.com"))

    def interfere(write: int) -> None:
        if write == 0:
            others.insert_or_replace(jones(Department="D0", EmployeeId=1, Email="other@contoso.com"))
            others.insert(jones(Department="D0", EmployeeId=2, Email="another@contoso.com"))

    mine = employees_of(connect_unreliable(backend, engine, interfere), table_name)
    loaded = await BulkLoad(mine).load(staff(60), mode="insert_or_replace")
    assert (loaded.entities, loaded.transactions) == (60, 2)
    assert await rows_of(backend.connect(engine), table_name) == rows_for(staff(60))


async def test_what_was_written_before_another_writer_came_is_not_written_again(
    backend: Any, engine: Engine, table_name: str
) -> None:
    others = employees_of(tablepatterns.connect(engine), table_name)
    await others.table.create()

    def interfere(write: int) -> None:
        if write == 0:
            # Each of the fifty must now move a copy: 150 operations, which are two chunks
            BulkLoad(others).load([each | {"Email": f"old{each['Email']}"} for each in staff(50)])
        if write == 2:
            others.insert_or_replace(staff(50)[49] | {"Age": 99})

    mine = employees_of(connect_unreliable(backend, engine, interfere), table_name)
    loaded = await BulkLoad(mine).load(staff(50), mode="insert_or_replace")
    assert await rows_of(backend.connect(engine), table_name) == rows_for(staff(50))
    anew = await BulkLoad(employees_of(backend.connect(engine), f"{table_name}x")).load(staff(50))
    assert loaded.bytes == anew.bytes


async def test_a_load_that_loses_every_race_gives_up(backend: Any, engine: Engine, table_name: str) -> None:
    others = EntitySet(tablepatterns.connect(engine), table_name, BY_ID)

    def interfere(write: int) -> None:
        others.insert_or_replace(jones(Department="D0", EmployeeId=1, Age=write))

    mine = employees_of(connect_unreliable(backend, engine, interfere), table_name)
    with pytest.raises(LoadInterrupted, match="another writer was faster") as stop:
        await BulkLoad(mine).load(staff(2), mode="insert_or_replace", retry_for=1)
    assert isinstance(stop.value.__cause__, TooMuchContention)


@pytest.mark.guide("G-067", "G-073")
@pytest.mark.parametrize("window", [10_000, 7])
async def test_of_a_repeated_entity_the_last_one_stays(
    employees: Any, storage: Any, table_name: str, window: int
) -> None:
    entities = [each | {"Age": age} for age in (34, 35, 36) for each in staff(10, departments=2)]
    loaded = await BulkLoad(employees, window=window).load(entities, mode="insert_or_replace")
    assert loaded.entities == 30
    assert await rows_of(storage, table_name) == rows_for(staff(10, departments=2, Age=36))


async def test_an_index_value_passes_from_one_entity_to_the_next(employees: Any, storage: Any, table_name: str) -> None:
    await BulkLoad(employees).load(staff(3))
    turned = [each | {"Email": f"{number + 1}@contoso.com"} for number, each in enumerate(staff(3))]
    await BulkLoad(employees).load(reversed(turned), mode="insert_or_replace")
    assert await rows_of(storage, table_name) == rows_for(turned)


class HeadCount(Derived):
    """One row per department that all its employees share: what is derived depends on what is stored."""

    name = "head count"

    def check_key(self, key: Key, table: str) -> None:
        assert key.partition_fields == ("Department",)

    async def operations(self, change: Change, table: Table) -> list[Operation]:
        assert change.new is not None
        keys = {"PartitionKey": change.new["Department"], "RowKey": "HeadCount"}
        row = await table.get(*keys.values())
        if row is None:
            return [Operation.insert(keys | {"Count": 1})]
        return [Operation.replace(keys | {"Count": row["Count"] + 1}, row.etag or "")]


@pytest.mark.guide("G-067", "G-074")
async def test_a_row_that_entities_share_is_right_after_the_load(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name, by_email, HeadCount())
    loaded = await BulkLoad(employees, window=9).load(staff(20, departments=2))
    rows = await rows_of(storage, table_name)
    assert [rows.pop((department, "HeadCount")) for department in ("D0", "D1")] == [{"Count": 10}, {"Count": 10}]
    assert rows == rows_for(staff(20, departments=2))
    assert loaded.transactions == 20
