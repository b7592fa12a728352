"""Reads with a count return exactly that many entities, whatever other rows are in the range."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import (
    ChildSet,
    Entity,
    EntitySet,
    EntityTypes,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    WideEntity,
    connect,
)
from tablepatterns_engine.account import Engine
from tablepatterns_explore import World, explore

SALES = {"Department": "Sales"}
NOON = datetime(2026, 8, 22, 12, tzinfo=timezone.utc)


async def listed(stream: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in stream]


async def pages_of(page: Callable[..., Awaitable[Any]], size: int, **fields: Any) -> list[tuple[Any, ...]]:
    """Return the items of all pages of a size, each of which is full but the last ones."""
    found, token = [], None
    while True:
        read = await page(size=size, token=token, **fields)
        found.append(read.items)
        token = read.token
        if token is None:
            return found
        assert len(read.items) == size


async def check(owner: Any, expected: list[Any], **fields: Any) -> None:
    """Ask a set for fewer entities than there are, for all, and for more, in every way that takes a count."""
    assert await listed(owner.range(**fields)) == expected
    for count in range(len(expected) + 2):
        assert await owner.take(count, **fields) == expected[:count]
    for size in range(1, len(expected) + 2):
        assert [each for items in await pages_of(owner.page, size, **fields) for each in items] == expected


@pytest.mark.nightly_on_azurite
@pytest.mark.guide("G-305")
async def test_the_guides_compound_keys_beside_their_parents(storage: Any, table_name: str) -> None:
    employees = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:06d}"))
    reviews = ChildSet(storage, table_name, employees.key, "_{Year:04d}")
    for number in range(1, 6):
        await employees.insert(SALES | {"EmployeeId": number})
        for year in (2011, 2012):
            await reviews.insert(SALES | {"EmployeeId": number, "Year": year})
    assert [each["EmployeeId"] for each in await employees.take(2, **SALES)] == [1, 2]
    await check(employees, [SALES | {"EmployeeId": number} for number in range(1, 6)], **SALES)
    both = [SALES | {"EmployeeId": number, "Year": year} for number in range(1, 6) for year in (2011, 2012)]
    await check(reviews, both, **SALES)


async def test_the_latest_entries_beside_a_wide_entity(storage: Any, table_name: str) -> None:
    claims = LogTail(storage, table_name, "{Department}")
    wide = WideEntity(storage, table_name, Key("{Department}", "0_{Year:04d}_"), part_bytes=2_000)
    await wide.insert(SALES | {"Year": 2014} | {f"Day{day:03d}": "x" * 100 for day in range(60)})
    for amount in range(4):
        await claims.append(SALES | {"At": NOON + timedelta(days=amount), "Amount": amount})
    for count in range(6):
        latest = await claims.latest(count, **SALES)
        assert [each["Amount"] for each in latest] == [3, 2, 1, 0][:count]


async def test_the_latest_entities_of_period_tables(storage: Any, new_name: Any) -> None:
    def make(account: Any, table: str) -> Any:
        return LogTail(account, table, "{Department}")

    logins = PeriodTables(storage, f"{new_name()}x", Period.DAY, factory=make)
    for hour in range(0, 72, 12):
        moment = NOON - timedelta(hours=hour)
        await logins.insert(SALES | {"At": moment, "Hour": hour})
        counts = EntitySet(storage, logins.of(moment).table.name, Key("{Department}", "{Count:06d}"))
        for count in range(3):
            await counts.insert_or_replace(SALES | {"Count": count})
    for count in range(8):
        latest = await logins.latest(count, **SALES)
        assert [each["Hour"] for each in latest] == list(range(0, 72, 12))[:count]


async def test_the_first_entities_of_a_partition_spread(storage: Any, engine: Engine, table_name: str) -> None:
    spread = PartitionSpread(storage, table_name, Key("{Department}", "{EmployeeId:06d}"), buckets=3)
    reviews = ChildSet(storage, table_name, spread.entity_set.key, "_{Year:04d}")
    for number in range(6):
        await spread.insert(SALES | {"EmployeeId": number})
        for year in range(2000, 2020):
            await reviews.insert(spread.placed(SALES | {"EmployeeId": number}) | {"Year": year})
    for count in range(8):
        assert [each["EmployeeId"] for each in await spread.take(count, **SALES)] == list(range(6))[:count]
    with engine.ledger.span() as span:
        await spread.take(6, **SALES)
    assert span.totals.requests <= 3 * 3


@dataclass(frozen=True)
class Employee:
    """An employee."""

    Department: str
    EmployeeId: int


@dataclass(frozen=True)
class Review:
    """What is said of an employee in a year."""

    Department: str
    EmployeeId: int
    Year: int


@pytest.mark.nightly_on_azurite
async def test_pages_of_one_class_among_others(storage: Any, table_name: str) -> None:
    employees = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:06d}"), model=Employee)
    reviews = ChildSet(storage, table_name, employees.key, "_{Year:04d}", model=Review)
    staff = EntityTypes(employees, reviews)
    for number in range(5):
        await employees.insert(Employee("Sales", number))
        for year in range(2011, 2014):
            await reviews.insert(Review("Sales", number, year))
    for entities, expected in ((employees, 5), (reviews, 15), (staff, 20)):
        everything = [entity async for entity in entities.range(**SALES)]
        assert len(everything) == expected
        for size in range(1, expected + 2):
            pages = await pages_of(entities.page, size, **SALES)
            assert [entity for items in pages for entity in items] == everything


# ------------------------------------------------------------------ the law


@pytest.mark.guide("G-305")
@examples(60)
@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.booleans()), unique_by=lambda row: row[0]),
    size=st.integers(1, 12),
    examines=st.sampled_from([None, 1, 3, 7]),
    is_index=st.booleans(),
)
def test_every_count_finds_the_first_entities_among_other_rows(
    rows: list[tuple[int, bool]], size: int, examines: int | None, is_index: bool
) -> None:
    engine = Engine() if examines is None else Engine(page_examines=examines)
    with connect(engine) as storage:
        index = IntraPartitionIndex(Key("{Group}", "n{Number:03d}"))
        ours = EntitySet(storage, "Numbers", Key("{Group}", "a{Number:03d}"), derived=[index])
        others = EntitySet(
            storage, "Numbers", Key("{Group}", "a{Number:03d}_{Rest}"),
            derived=[IntraPartitionIndex(Key("{Group}", "n{Number:03d}_{Rest}"))],
        )  # fmt: skip
        for number, is_ours in rows:
            fields = {"Group": "all", "Number": number}
            (ours.insert(fields) if is_ours else others.insert(fields | {"Rest": "x"}))
        via = (index,) if is_index else ()
        expected = [{"Group": "all", "Number": number} for number, is_ours in sorted(rows) if is_ours]
        assert ours.take(size, *via, Group="all") == expected[:size]
        found: list[Entity] = []
        token: str | None = None
        while True:
            page = ours.page(*via, size=size, token=token, Group="all")
            found += page.items
            token = page.token
            assert len(page.items) <= size
            if token is None:
                break
            assert len(page.items) == size or examines is not None
        assert found == expected


async def test_a_count_costs_one_request_if_the_range_has_no_other_rows(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:06d}"))
    other = EntitySet(storage, table_name, Key("{Department}", "zebra_{Number:06d}"))
    for number in range(20):
        await employees.insert(SALES | {"EmployeeId": number})
        await other.insert(SALES | {"Number": number})
    for read in (employees.take(10, **SALES), employees.take(20, **SALES), employees.page(size=20, **SALES)):
        with engine.ledger.span() as span:
            await read
        assert span.totals.requests == 1


async def test_few_entities_among_many_rows_take_few_requests(storage: Any, engine: Engine, table_name: str) -> None:
    employees = EntitySet(storage, table_name, Key("{Department}", "empid_{EmployeeId:06d}"))
    reviews = ChildSet(storage, table_name, employees.key, "_{Year:04d}")
    await employees.create_table()
    for number in range(2):
        await employees.insert(SALES | {"EmployeeId": number})
        writes = [reviews.inserting(SALES | {"EmployeeId": number, "Year": year}) for year in range(600)]
        for start in range(0, 600, 100):
            await reviews.table.submit(*(write.primary() for write in writes[start : start + 100]))
    for read in (employees.take(2, **SALES), employees.page(size=2, **SALES)):
        with engine.ledger.span() as span:
            found = await read
        assert len(getattr(found, "items", found)) == 2
        assert span.totals.requests <= 7


def test_pages_are_right_while_rows_of_the_set_come_and_go() -> None:
    """A page that reads a second time, up to its last entity, returns what it then reads."""

    async def all_pages(employees: Any) -> list[int]:
        pages = await pages_of(employees.page, 2, **SALES)
        return [each["EmployeeId"] for items in pages for each in items]

    def a_reader_and_a_writer(world: World) -> dict[str, Any]:
        employees = EntitySet(world.storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
        reviews = ChildSet(world.storage, "Staff", employees.key, "_{Year:04d}")
        for number in (0, 2, 4, 6):
            gone = world.run(employees.insert(SALES | {"EmployeeId": number}))
            world.run(reviews.insert(SALES | {"EmployeeId": number, "Year": 2011}))

        async def write() -> None:
            await employees.insert(SALES | {"EmployeeId": 1})
            await employees.delete(gone)

        return {"reader": all_pages(employees), "writer": write()}

    def none_is_missed_or_read_twice(world: World) -> None:
        found = world.returned["reader"]
        assert found == sorted(set(found))
        assert {0, 2, 4} <= set(found)

    assert explore(a_reader_and_a_writer, invariant=none_is_missed_or_read_twice).exhaustive
