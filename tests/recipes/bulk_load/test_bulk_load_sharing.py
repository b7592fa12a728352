"""Bulk load into a set whose entities share rows: lists and totals are exact, and written once per chunk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablepatterns
from support.crashing_client import Crash, Crashed, connect_crashing
from support.employees import BY_ID, by_email, employees_of, jones, rows_of
from support.examples import examples
from support.unreliable_transport import connect_unreliable
from tablepatterns import BulkLoad, CopiedFields, EntitySet, IndexEntity, Int64, Key, Summary
from tablepatterns.errors import (
    BadProperty,
    DerivedDataMismatch,
    EntityAlreadyExists,
    LimitExceeded,
    LoadInterrupted,
    ReferenceNotFound,
    TooMuchContention,
)
from tablepatterns.jobs import verify
from tablepatterns_engine.account import Engine

NAMES = ("Jones", "Smith", "Brown")
BY_NAME = IndexEntity("LastName")
PAYROLL = Summary(Key("{Department}", "department"), count="EmployeeCount", sums={"Salary": "Payroll"})


def staff(count: int, start: int = 0, departments: int = 1, **changes: Any) -> list[dict[str, Any]]:
    return [
        jones(
            Department=f"D{number % departments}",
            EmployeeId=number,
            LastName=NAMES[number % len(NAMES)],
            Email=f"{number}@contoso.com",
            Salary=number,
        )
        | changes
        for number in range(start, start + count)
    ]


def sharing(storage: Any, table: str, *others: Any) -> Any:
    return employees_of(storage, table, BY_NAME, PAYROLL, *others)


def shared_rows(entities: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the lists and totals of employees, by another way than the library's."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each in sorted(entities, key=lambda each: int(each["EmployeeId"])):
        department = each["Department"]
        names = rows.setdefault((department, f"lastname_{each['LastName']}"), {"Ids": ""})
        names["Ids"] = "/".join(filter(None, [names["Ids"], f"empid_{each['EmployeeId']:06d}"]))
        totals = rows.setdefault((department, "department"), {"EmployeeCount": 0, "Payroll": Int64(0)})
        totals["EmployeeCount"] += 1
        totals["Payroll"] += each["Salary"]
    return rows


async def check(storage: Any, table: str, entities: Iterable[Mapping[str, Any]]) -> None:
    """The table holds these employees, their lists and their totals, and nothing else."""
    entities = list(entities)
    primaries = {
        (each["Department"], f"empid_{each['EmployeeId']:06d}"): {
            name: value for name, value in each.items() if name not in ("Department", "EmployeeId")
        }
        for each in entities
    }
    assert await rows_of(storage, table) == primaries | shared_rows(entities)


# ------------------------------------------------------------------ how many transactions


@pytest.mark.guide("G-065", "G-073")
async def test_a_chunk_is_filled_and_each_shared_row_is_read_once(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = sharing(storage, table_name)
    await employees.create_table()
    with engine.ledger.span() as span:
        loaded = await BulkLoad(employees).load(staff(400))
    # Of the hundred operations of a chunk three are lists, and one is the total
    assert loaded.transactions == 5
    assert dict(span.totals.by_operation) == {"Transaction": 5, "QueryEntity": 4}
    await check(storage, table_name, staff(400))


async def test_every_window_reads_its_shared_rows_once(storage: Any, engine: Engine, table_name: str) -> None:
    employees = sharing(storage, table_name)
    await employees.create_table()
    with engine.ledger.span() as span:
        await BulkLoad(employees, window=150).load(staff(300))
    assert dict(span.totals.by_operation) == {"Transaction": 4, "QueryEntity": 8}
    await check(storage, table_name, staff(300))


@pytest.mark.guide("G-067", "G-074")
async def test_own_rows_and_shared_ones_are_in_one_chunk(storage: Any, engine: Engine, table_name: str) -> None:
    employees = sharing(storage, table_name, by_email)
    loaded = await BulkLoad(employees).load(staff(96, departments=2))
    # 48 employees with a copy each are 96 rows
    assert loaded.transactions == 2
    assert (await employees.totals(PAYROLL, Department="D1"))["EmployeeCount"] == 48
    smiths = await employees.find_all(BY_NAME, Department="D0", LastName="Smith")
    assert [each["EmployeeId"] for each in smiths] == [number for number in range(0, 96, 2) if number % 3 == 1]
    assert (await verify(employees, BY_NAME)).is_clean


@pytest.mark.guide("G-066")
async def test_a_chunk_with_a_long_list_stays_below_4_mb(storage: Any, engine: Engine, table_name: str) -> None:
    wide = IndexEntity("LastName", key=Key("{Department}", "lastname_{LastName}"))
    employees = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:0500d}"), derived=[wide])
    text = {f"Text{number}": "x" * 30_000 for number in range(3)}
    with engine.ledger.span() as span:
        loaded = await BulkLoad(employees).load(staff(150, LastName="Jones", **text))
    assert max(record.bytes_in for record in span.records) < 4_000_000
    assert 3 < loaded.transactions < 8
    assert (await verify(employees, wide)).is_clean


async def test_reads_of_shared_rows_are_paced(backend: Any, engine: Engine, table_name: str) -> None:
    employees = sharing(backend.connect(engine), table_name)
    await employees.create_table()
    start = engine.clock.now().datetime()
    await BulkLoad(employees, max_concurrency=1, max_per_second=4).load(staff(10))
    # Four reads and a transaction
    assert 4 / 4 <= (engine.clock.now().datetime() - start).total_seconds()


# ------------------------------------------------------------------ what exists already, and who comes repeatedly


async def test_a_replaced_entity_leaves_its_list_and_its_part_of_the_total(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = sharing(storage, table_name)
    await BulkLoad(employees).load(staff(120))
    moved = staff(120, start=60, LastName="White", Salary=7)
    with engine.ledger.span() as span:
        loaded = await BulkLoad(employees).load(moved, mode="insert_or_replace")
    assert loaded.transactions == 2
    # The entities are read in one range, and what they share row by row
    assert dict(span.totals.by_operation) == {"Transaction": 2, "QueryEntities": 1, "QueryEntity": 5}
    await check(storage, table_name, staff(60) + moved)


@pytest.mark.guide("G-067", "G-073")
@pytest.mark.parametrize("window", [10_000, 7])
async def test_of_a_repeated_entity_the_last_one_counts(storage: Any, table_name: str, window: int) -> None:
    entities = [
        each | {"LastName": name, "Salary": salary}
        for salary, name in enumerate(("Jones", "Smith", "Jones", "White"))
        for each in staff(10, departments=2)
    ]
    loaded = await BulkLoad(sharing(storage, table_name), window=window).load(entities, mode="insert_or_replace")
    assert loaded.entities == 40
    await check(storage, table_name, entities[-10:])


async def test_an_entity_that_exists_is_reported_by_its_position(storage: Any, table_name: str) -> None:
    employees = sharing(storage, table_name)
    there = staff(1, start=120)[0] | {"Age": 99}
    await employees.insert(there)
    with pytest.raises(LoadInterrupted, match=r"^entity 120 of the input: .*; 96 entities are stored") as stop:
        await BulkLoad(employees).load(staff(150))
    assert isinstance(stop.value.__cause__, EntityAlreadyExists)
    await check(storage, table_name, [there, *staff(96)])


@pytest.mark.parametrize(
    ("bad", "kind"),
    [({"Salary": 0.5}, BadProperty), ({"LastName": "a/b"}, tablepatterns.errors.BadKey)],
)
async def test_what_cannot_be_shared_is_found_before_its_window_is_sent(
    storage: Any, engine: Engine, table_name: str, bad: dict[str, Any], kind: type[Exception]
) -> None:
    entities = staff(50)
    entities[33] |= bad
    with engine.ledger.span() as span, pytest.raises(LoadInterrupted, match=r"^entity 33 of the input") as stop:
        await BulkLoad(sharing(storage, table_name)).load(entities)
    assert isinstance(stop.value.__cause__, kind)
    assert span.records == []


async def test_a_total_that_overflows_stops_the_load_at_its_entity(storage: Any, table_name: str) -> None:
    entities = staff(30)
    entities[20]["Salary"] = 2**63 - 1
    with pytest.raises(LoadInterrupted, match=r"^entity 20 of the input: .*; 20 entities are stored") as stop:
        await BulkLoad(sharing(storage, table_name)).load(entities)
    assert isinstance(stop.value.__cause__, LimitExceeded)
    await check(storage, table_name, entities[:20])
    entities[20]["Salary"] = 5
    loaded = await BulkLoad(sharing(storage, table_name)).load(entities, resume=stop.value.token)
    assert (loaded.entities, loaded.already_stored) == (30, 0)
    await check(storage, table_name, entities)


async def test_what_is_no_list_stays_and_stops_the_load(backend: Any, storage: Any, table_name: str) -> None:
    # Another program's set: one connection would not have both
    notes = EntitySet(backend.connect(), table_name, Key("{Department}", "lastname_{LastName}"))
    await notes.insert({"Department": "D0", "LastName": "Smith", "Text": "a note"})
    with pytest.raises(LoadInterrupted, match=r"^entity 1 of the input: .*has no list Ids") as stop:
        await BulkLoad(sharing(storage, table_name)).load(staff(5))
    assert isinstance(stop.value.__cause__, DerivedDataMismatch)
    await check_only_first(storage, table_name)


async def check_only_first(storage: Any, table: str) -> None:
    rows = await rows_of(storage, table)
    assert rows.pop(("D0", "lastname_Smith")) == {"Text": "a note"}
    assert set(rows) == {("D0", "empid_000000"), ("D0", "lastname_Jones"), ("D0", "department")}


# ------------------------------------------------------------------ other writers beside it


async def test_a_list_that_others_took_away_is_made_again(backend: Any, engine: Engine, table_name: str) -> None:
    others = sharing(tablepatterns.connect(engine), table_name)
    gone = staff(1, start=1000)[0]
    others.insert(gone)

    def interfere(write: int) -> None:
        if write == 1:
            for each in (gone, *staff(96)):
                others.delete(each, force=True)

    mine = sharing(connect_unreliable(backend, engine, interfere), table_name)
    await BulkLoad(mine).load(staff(150))
    await check(backend.connect(engine), table_name, staff(150 - 96, start=96))


async def test_a_load_that_loses_every_race_gives_up(backend: Any, engine: Engine, table_name: str) -> None:
    others = sharing(tablepatterns.connect(engine), table_name)
    mine = sharing(
        connect_unreliable(backend, engine, lambda write: others.insert(staff(1, start=1000 + write)[0]) and None),
        table_name,
    )
    with pytest.raises(LoadInterrupted, match="another writer was faster") as stop:
        await BulkLoad(mine).load(staff(2), retry_for=1)
    assert isinstance(stop.value.__cause__, TooMuchContention)


# ------------------------------------------------------------------ broken off and resumed


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12), st.sampled_from(NAMES)), max_size=40),
    st.integers(1, 25),
    st.integers(0, 12),
    st.booleans(),
)
@examples(30)
async def test_any_input_survives_any_crash_in_order(
    backend: Any, engine: Engine, keys: list[tuple[int, int, str]], window: int, crash: int, after: bool
) -> None:
    engine, tokens = Engine(), list[str | None]([None])
    entities = [
        {"Department": f"D{department}", "EmployeeId": number, "LastName": name, "Salary": salary}
        for salary, (department, number, name) in enumerate(keys)
    ]
    dying = sharing(connect_crashing(backend, engine, Crash(crash, after)), "Employees")
    with suppress(Crashed):
        await BulkLoad(dying, window=window, max_concurrency=2).load(
            entities, mode="insert_or_replace", progress=lambda report: tokens.append(report.token)
        )
    into = sharing(backend.connect(engine), "Employees")
    await BulkLoad(into, window=window).load(entities, mode="insert_or_replace", resume=tokens[-1])
    last = {(entity["Department"], entity["EmployeeId"]): entity for entity in entities}
    await check(backend.connect(engine), "Employees", last.values())


# ------------------------------------------------------------------ copies of what is referred to


MANAGER = CopiedFields(
    Key("{Department}", "team_{Team}"), refers={"EmployeeId": "ManagerId"}, copies={"Email": "ManagerEmail"}
)


def teams_of(storage: Any, table: str) -> tuple[Any, Any]:
    by_team = EntitySet(storage, table, BY_ID, derived=[MANAGER])
    return by_team, EntitySet(storage, table, MANAGER.key, derived=[MANAGER.filled_from(by_team)])


async def hire_managers(employees: Any, count: int) -> list[dict[str, Any]]:
    """Insert a manager for each team, and return the teams."""
    for number in range(count):
        manager = {"EmployeeId": number, "Team": f"T{number}", "Email": f"{number}@contoso.com"}
        await employees.insert({"Department": "D0", **manager})
    return [{"Department": "D0", "Team": f"T{number}", "ManagerId": number} for number in range(count)]


async def test_copies_are_filled_in_and_recognized_on_resuming(storage: Any, engine: Engine, table_name: str) -> None:
    employees, teams = teams_of(storage, table_name)
    entities = await hire_managers(employees, 20)
    tokens: list[str] = []
    with engine.ledger.span() as span:
        loaded = await BulkLoad(teams).load(entities, progress=lambda report: tokens.append(report.token))
    assert dict(span.totals.by_operation) == {"Transaction": 1, "QueryEntity": 20}
    emails = {team["ManagerId"]: team["ManagerEmail"] async for team in teams.range(Department="D0")}
    assert emails == {number: f"{number}@contoso.com" for number in range(20)}
    loaded = await BulkLoad(teams).load(entities, resume=tokens[0])
    assert (loaded.entities, loaded.already_stored) == (20, 20)


async def test_a_reference_to_nothing_names_its_entity(storage: Any, table_name: str) -> None:
    employees, teams = teams_of(storage, table_name)
    entities = await hire_managers(employees, 9)
    entities[5]["ManagerId"] = 10
    with pytest.raises(LoadInterrupted, match=r"^entity 5 of the input: .*; 5 entities are stored") as stop:
        await BulkLoad(teams).load(entities)
    assert isinstance(stop.value.__cause__, ReferenceNotFound)
