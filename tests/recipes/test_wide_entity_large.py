"""Wide entities beyond one transaction: published atomically, without leftovers, and read as a snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from support.crashing_client import Crash, Crashed, connect_crashing
from tablepatterns import Key, WideEntity, connect
from tablepatterns.errors import DerivedDataMismatch, EntityAlreadyExists, EntityChanged, EntityNotFound
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns_engine.account import Engine

JONES = {"Employee": "000223"}
SMALL = {"part_bytes": 100, "transaction_bytes": 3500}
"""Parts of one property, of which a transaction takes two: what a large value does, without its bytes."""


def wide_of(storage: Any, table: str, **options: Any) -> Any:
    return WideEntity(storage, table, Key("{Employee}", ""), **(SMALL | options))


def value(letter: str, count: int = 5) -> dict[str, Any]:
    return JONES | {f"P{number}": letter * 40 for number in range(count)}


async def row_keys(storage: Any, table: str) -> list[str]:
    return [row.row_key async for row in storage.table(table).query(None)]


@pytest.fixture
def wide(storage: Any, table_name: str) -> Any:
    return wide_of(storage, table_name)


@pytest.mark.guide("G-242")
async def test_a_value_of_many_megabytes_is_published_in_one_piece(storage: Any, table_name: str) -> None:
    wide = WideEntity(storage, table_name, Key("{Employee}", ""))
    chapters = JONES | {f"Chapter{number:03d}": chr(97 + number % 26) * 32_000 for number in range(130)}
    entity = await wide.insert(chapters)
    assert await wide.get(**JONES) == chapters
    head, *others = await row_keys(storage, table_name)
    assert head == "01"
    assert len(others) == 8
    assert len({key.partition("_")[2] for key in others}) == 1
    await wide.merge(entity, {"Chapter129": "short"})
    entity |= {name: text.upper() for name, text in entity.items() if name.startswith("Chapter")}
    await wide.replace(entity)
    assert await wide.get(**JONES) == entity
    assert len(await row_keys(storage, table_name)) == 9
    await wide.delete(entity)
    assert await row_keys(storage, table_name) == []


async def test_the_widest_value_of_the_longest_text_can_still_be_published(engine: Engine) -> None:
    # Each of these characters takes six bytes in a request, where two are counted
    texts = {f"Text{number:02d}": "\x01" * 32_768 for number in range(14)}
    numbers = {f"N{number:05d}": number for number in range(49 * 250 - 14)}
    with connect(engine) as storage:
        wide = WideEntity(storage, "Wide", Key("{Employee}", "{Name}"))
        entity = wide.insert({"Employee": "e" * 512, "Name": "n" * 470} | texts | numbers)
        wide.replace(entity)
        found = wide.get(Employee="e" * 512, Name="n" * 470)
    assert found == entity
    assert len(engine.tables.query("Wide").entities) == 49


@pytest.mark.guide("G-242")
async def test_each_transaction_and_the_one_that_publishes_are_all_it_costs(wide: Any, engine: Engine) -> None:
    await wide.table.create()
    with engine.ledger.span() as span:
        entity = await wide.insert(value("a"))
    assert span.totals.billable == 3
    with engine.ledger.span() as span:
        await wide.replace(entity)
        await wide.get(**JONES)
    assert span.totals.billable == 4


async def test_old_rows_go_with_the_transaction_that_publishes(wide: Any, storage: Any, table_name: str) -> None:
    entity = await wide.insert(value("a"))
    before = await row_keys(storage, table_name)
    for letter, count in (("b", 7), ("c", 3), ("d", 1), ("e", 5)):
        entity.clear()
        entity.update(value(letter, count))
        await wide.replace(entity)
        assert await wide.get(**JONES) == value(letter, count)
        assert len(await row_keys(storage, table_name)) == count
    assert not set(before[1:]) & set(await row_keys(storage, table_name))


async def test_a_part_of_a_generation_is_merged_in_place(wide: Any, storage: Any, table_name: str) -> None:
    entity = await wide.insert(value("a"))
    before = await row_keys(storage, table_name)
    await wide.merge(entity, {"P3": "b"})
    await wide.merge(entity, {"P0": "c", "P4": "d"})
    assert await wide.get(**JONES) == value("a") | {"P0": "c", "P3": "b", "P4": "d"}
    assert await row_keys(storage, table_name) == before


async def test_a_merge_too_large_for_one_transaction_is_a_new_generation(wide: Any) -> None:
    entity = await wide.insert(value("a"))
    stale = await wide.get(**JONES)
    changes = dict.fromkeys(("P0", "P1", "P2", "P3"), "b" * 40)
    await wide.merge(entity, changes)
    assert await wide.get(**JONES) == entity == value("a") | changes
    with pytest.raises(EntityChanged):
        await wide.merge(stale, {"P4": "c"})


async def test_declared_properties_are_found_under_a_generation_too(storage: Any, table_name: str) -> None:
    names = [f"P{number:03d}" for number in range(600)]
    wide = wide_of(storage, table_name, properties=names, part_bytes=900_000)
    await wide.insert(JONES | dict.fromkeys(names, 1))
    assert len(await row_keys(storage, table_name)) == 3
    await wide.merge(JONES, {"P300": 2, "P599": 3}, force=True)
    assert await wide.get(**JONES, select=["P300", "P301"]) == JONES | {"P300": 2, "P301": 1}
    assert await wide.get(**JONES, select=["P001"]) == JONES | {"P001": 1}
    assert (await wide.get(**JONES))["P599"] == 3


@pytest.mark.parametrize("change", ["replace", "merge", "delete"])
async def test_a_writer_that_loses_a_race_leaves_no_rows(wide: Any, storage: Any, table_name: str, change: str) -> None:
    stale = await wide.insert(value("a"))
    current = await wide.get(**JONES)
    if change == "delete":
        await wide.delete(current)
    elif change == "merge":
        await wide.merge(current, {"P4": "b"})
    else:
        await wide.replace(current)
    before = await row_keys(storage, table_name)
    with pytest.raises(EntityNotFound if change == "delete" else EntityChanged):
        await wide.replace(stale)
    with pytest.raises(EntityAlreadyExists) if change != "delete" else pytest.raises(EntityNotFound):
        await (wide.insert(value("c")) if change != "delete" else wide.delete(stale))
    assert await row_keys(storage, table_name) == before


async def rows_after_death(backend: Any, engine: Engine, wide: Any, at: int, *, after: bool) -> list[str]:
    """Crash a process at a request of a replacement, and return the rows."""
    dying = wide_of(connect_crashing(backend, engine, Crash(at + 1, after)), wide.table.name)
    entity = await dying.get(**JONES)
    entity.update(value("b"))
    with pytest.raises(Crashed):
        await dying.replace(entity)
    return await row_keys(wide.account, wide.table.name)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_after_any_crash_the_value_is_old_or_new(
    backend: Any, engine: Engine, wide: Any, at: int, after: bool
) -> None:
    await wide.insert(value("a"))
    left = await rows_after_death(backend, engine, wide, at, after=after)
    published = (at, after) == (2, True)
    found = await wide.get(**JONES)
    assert found == value("b" if published else "a")
    strays = 0 if published else 2 * (at + after)
    assert len(left) == 5 + min(strays, 4)
    assert await wide.sweep(**JONES) == min(strays, 4)
    assert len(await row_keys(wide.account, wide.table.name)) == 5
    await wide.replace(found)


@pytest.mark.parametrize("last", ["replace", "delete"])
async def test_the_next_complete_write_removes_the_rows_of_a_crashed_writer(
    backend: Any, engine: Engine, wide: Any, last: str
) -> None:
    await wide.insert(value("a"))
    assert len(await rows_after_death(backend, engine, wide, 1, after=True)) == 9
    await (wide.replace if last == "replace" else wide.delete)(await wide.get(**JONES))
    assert len(await row_keys(wide.account, wide.table.name)) == (5 if last == "replace" else 0)


async def test_an_insert_that_crashed_is_invisible_and_can_be_repeated(backend: Any, engine: Engine, wide: Any) -> None:
    dying = wide_of(connect_crashing(backend, engine, Crash(1, True)), wide.table.name)
    await wide.table.create()
    with pytest.raises(Crashed):
        await dying.insert(value("a"))
    assert await wide.get(**JONES) is None
    await wide.insert(value("b"))
    assert await wide.get(**JONES) == value("b")
    assert await wide.sweep(**JONES) == 4
    assert await wide.get(**JONES) == value("b")


@pytest.mark.guide("G-241")
async def test_a_missing_row_of_a_generation_is_reported(wide: Any, storage: Any, table_name: str) -> None:
    await wide.insert(value("a"))
    lost = (await row_keys(storage, table_name))[3]
    await storage.table(table_name).submit(Operation.delete("000223", lost, ANY))
    with pytest.raises(DerivedDataMismatch, match=lost):
        await wide.get(**JONES)


async def test_a_read_in_several_pages_is_of_one_instant(backend: Any, table_name: str) -> None:
    engine = Engine(page_examines=2)
    wide = wide_of(backend.connect(engine), table_name)
    await wide.insert(value("a"))
    with engine.ledger.span() as span:
        assert await wide.get(**JONES) == value("a")
    assert span.totals.requests == 6
