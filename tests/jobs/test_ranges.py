"""Ranges of keys: together they are the whole table, whatever its keys are, and splitting reads few rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.any_entities import keys
from tablepatterns import connect
from tablepatterns.edm import ordinal
from tablepatterns.jobs.ranges import RowRange, split
from tablepatterns.recipe import as_async, finish
from tablepatterns.sdk.operation import Operation
from tablepatterns.sdk.table import Table

Row = tuple[str, str]


def table_of(rows: set[Row]) -> Any:
    storage = connect()
    table = as_async(storage).table("Any")
    finish(table.create())
    for partition_key, row_key in rows:
        finish(table.submit(Operation.insert({"PartitionKey": partition_key, "RowKey": row_key})))
    return storage, table


def rows_of(table: Table, ranges: list[RowRange]) -> list[Row]:
    """Return the keys of the rows of some ranges, one after the other."""

    async def read() -> list[Row]:
        return [(row["PartitionKey"], row["RowKey"]) for rows in ranges async for row in table.query(rows.where)]

    return finish(read())


def in_order(rows: set[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (ordinal(row[0]), ordinal(row[1])))


@given(st.sets(st.tuples(keys(), keys()), max_size=12), st.integers(1, 9))
def test_the_parts_of_a_table_have_each_of_its_rows_once_and_in_order(rows: set[Row], wanted: int) -> None:
    _, table = table_of(rows)
    ranges = finish(split(table, RowRange(), wanted))
    assert len(ranges) <= wanted
    assert rows_of(table, ranges) == in_order(rows)
    assert sorted(ranges, key=lambda part: part.start) == ranges


@given(st.sets(st.tuples(keys(), keys()), min_size=1, max_size=12), st.data())
def test_the_rest_after_any_row_and_its_parts_have_each_further_row_once(rows: set[Row], data: Any) -> None:
    _, table = table_of(rows)
    everything = in_order(rows)
    at = data.draw(st.integers(0, len(everything) - 1))
    rest = RowRange().rest(*everything[at])
    assert rows_of(table, rest) == everything[at + 1 :]
    parts = [part for some in rest for part in finish(split(table, some, 4))]
    assert rows_of(table, parts) == everything[at + 1 :]
    assert sorted(parts, key=lambda part: part.start) == parts


@pytest.mark.parametrize(
    "rows",
    [
        {(f"site-{number:06d}", "") for number in range(0, 900_000, 1000)},
        {("one", f"{number:06d}") for number in range(900)},
        {(name, f"{number}") for name in ("hub", "plant", "site") for number in range(300)},
    ],
    ids=["many partitions", "one partition", "three partitions"],
)
def test_splitting_sends_a_few_probes_that_return_one_row_each(rows: set[Row]) -> None:
    storage, table = table_of(rows)
    before = len(storage.engine.ledger.records)
    whole = RowRange(0, "one") if ("one", "000000") in rows else RowRange()
    ranges = finish(split(table, whole, 8))
    probes = list(storage.engine.ledger.records)[before:]
    assert len(ranges) == (4 if ("hub", "0") in rows else 8)
    assert len(probes) <= 1 + 8 + 16
    assert max(probe.returned for probe in probes) <= 1
    assert rows_of(table, ranges) == in_order(rows)


def test_a_table_that_is_evenly_filled_is_split_evenly() -> None:
    _, table = table_of({(f"site-{number:06d}", "") for number in range(0, 1_000_000, 1000)})
    sizes = [len(rows_of(table, [part])) for part in finish(split(table, RowRange(), 16))]
    assert max(sizes) <= 4 * 1000 / 16, sizes


def test_a_table_without_rows_is_one_range() -> None:
    _, table = table_of(set())
    assert finish(split(table, RowRange(), 8)) == [RowRange()]
