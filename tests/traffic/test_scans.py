"""Scans are rejected, explained, recorded and asserted by the same rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tablepatterns import EntitySet, EntityTypes, Key, ParallelReads, PartitionSpread, QueryClass, Traffic, prop
from tablepatterns.errors import BadFilter
from tablepatterns.filters import classify
from tablepatterns_engine.account import Engine

SALES = {"Department": "Sales"}
OLD = prop("Age") > 64
PLAIN, PREFIXED = Key("{Department}", "{EmployeeId:06d}"), Key("{Department}", "empid_{EmployeeId:06d}")


@dataclass(frozen=True)
class Employee:
    """An employee."""

    Department: str
    EmployeeId: int
    Age: int


async def all_of(entities: Any) -> list[Any]:
    return [each async for each in entities]


async def staff(storage: Any, table: str, key: Key, count: int, old: int = 1) -> Any:
    """Return employees of one department, some of whom are old."""
    entities = EntitySet(storage, table, key)
    await entities.create_table()
    for start in range(0, count, 100):
        rows = [SALES | {"EmployeeId": n, "Age": 65 if n < old else 30} for n in range(start, min(start + 100, count))]
        await entities.table.submit(*(entities.inserting(row).primary() for row in rows))
    return entities


async def test_a_condition_on_properties_of_a_whole_partition_must_be_allowed_by_name(
    storage: Any, engine: Engine, table_name: str, new_name: Any
) -> None:
    employees = await staff(storage, table_name, PLAIN, 3)
    spread = PartitionSpread(storage, new_name(), PLAIN, buckets=2)
    types = EntityTypes(employees)
    calls: list[Any] = [
        lambda **more: all_of(employees.range(where=OLD, **more, **SALES)),
        lambda **more: employees.take(1, where=OLD, **more, **SALES),
        lambda **more: employees.page(where=OLD, **more, **SALES),
        lambda **more: all_of(types.range(where=OLD, **more, **SALES)),
        lambda **more: types.page(where=OLD, **more, **SALES),
        lambda **more: all_of(spread.range(where=OLD, **more, **SALES)),
        lambda **more: spread.take(1, where=OLD, **more, **SALES),
        lambda **more: ParallelReads(employees).ranges([SALES], where=OLD, **more),
    ]
    for call in calls:
        with engine.ledger.span() as span, pytest.raises(BadFilter, match=r"allow=QueryClass\.PARTITION_SCAN"):
            await call()
        assert span.totals.requests == 0
        await call(allow=QueryClass.PARTITION_SCAN)


async def test_a_whole_partition_without_a_condition_is_no_scan(storage: Any, table_name: str) -> None:
    employees = await staff(storage, table_name, PLAIN, 150)
    with Traffic(storage) as traffic:
        assert len(await all_of(employees.range(**SALES))) == 150
        assert len(await all_of(employees.query(prop("PartitionKey") == "Sales"))) == 150
    traffic.assert_no_scans()
    assert traffic.overall.scans == 0
    assert classify(prop("PartitionKey") == "Sales").query_class is QueryClass.RANGE


async def test_a_range_that_is_read_for_a_few_of_its_rows_is_a_scan(
    storage: Any, engine: Engine, table_name: str
) -> None:
    employees = await staff(storage, table_name, PREFIXED, 300, old=2)
    with Traffic(storage) as traffic:
        assert len(await all_of(employees.range(where=OLD, **SALES))) == 2
    assert (traffic.overall.scans, traffic.overall.worst) == (1, QueryClass.PARTITION_SCAN)
    with pytest.raises(AssertionError, match=r"1 x partition scan .*: 300 rows read, 2 returned"):
        traffic.assert_no_scans()
    traffic.assert_no_scans(allow=QueryClass.PARTITION_SCAN)


@pytest.mark.parametrize(
    ("count", "old", "is_scan"),
    [(100, 0, True), (99, 0, False), (200, 100, False), (201, 100, True), (1000, 600, False), (30, 1, False)],
)
async def test_from_where_on_a_range_counts_as_a_scan(
    storage: Any, engine: Engine, table_name: str, count: int, old: int, is_scan: bool
) -> None:
    employees = await staff(storage, table_name, PREFIXED, count, old=old)
    with Traffic(storage) as traffic:
        assert len(await all_of(employees.range(where=OLD, **SALES))) == old
    assert traffic.overall.scans == is_scan
