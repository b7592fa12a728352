"""Sets of one connection that share a table: no row can belong to two of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from tablepatterns import (
    ChildSet,
    DataSeries,
    EntitySet,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    WideEntity,
    connect,
)
from tablepatterns.errors import BadDesign
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns_engine.account import Engine

pytestmark = pytest.mark.both_sdks

KEY = Key("{Department}", "{Number:06d}")
TEXT = Key("{Department}", "{Anything}")


def series(storage: Any, key: Key, table: str = "Shared") -> Any:
    return DataSeries(storage, table, key, 24, prefix="Hour", value_type=int)


MADE: dict[str, Callable[[Any, str], Any]] = {
    "EntitySet": lambda storage, table: EntitySet(storage, table, TEXT),
    "ChildSet": lambda storage, table: ChildSet(storage, table, KEY, "{Text}"),
    "LogTail": lambda storage, table: LogTail(storage, table, "{Department}"),
    "WideEntity": lambda storage, table: WideEntity(storage, table, KEY),
    "DataSeries": lambda storage, table: series(storage, KEY, table),
    "split DataSeries": lambda storage, table: DataSeries(
        storage, table, KEY, 1000, prefix="Minute", value_type=int, split=True
    ),
    "index": lambda storage, table: EntitySet(
        storage, table, Key("{Department}", "z_{Id}"), derived=[IntraPartitionIndex(Key("{Department}", "1{Email}"))]
    ),
    "list": lambda storage, table: EntitySet(
        storage, table, Key("{Department}", "y_{Id}"),
        derived=[IndexEntity("LastName", key=Key("{Department}", "0{LastName}"))],
    ),
}  # fmt: skip
"""Whatever keeps rows in a table, under keys of which text is one."""


@pytest.mark.parametrize("second", [name for name in MADE if name != "EntitySet"])
def test_rows_of_any_kind_are_kept_apart_from_entities_of_any_key(second: str) -> None:
    for order in permutations(("EntitySet", second)):
        engine = Engine()
        with connect(engine) as storage:
            MADE[order[0]](storage, "Shared")
            with pytest.raises(BadDesign) as caught:
                MADE[order[1]](storage, "shared")
            assert "Key('{Department}', '{Anything}')" in str(caught.value)
            assert "able 'shared'" in str(caught.value)
        assert engine.ledger.totals.requests == 0


@pytest.mark.parametrize("kind", MADE)
def test_what_is_declared_again_is_the_same(kind: str) -> None:
    with connect() as storage:
        for table in ("Shared", "Shared", "SHARED"):
            MADE[kind](storage, table)


@pytest.mark.parametrize("kind", MADE)
def test_another_table_and_another_connection_are_other_places(kind: str) -> None:
    engine = Engine()
    with connect(engine) as storage, connect(engine) as other:
        EntitySet(storage, "Shared", TEXT)
        MADE[kind](storage, "Other")
        MADE[kind](other, "Shared")


def test_the_error_names_both_templates_and_the_table() -> None:
    with connect() as storage:
        EntitySet(storage, "People", Key("{City}", "p_{Person}"))
        with pytest.raises(BadDesign) as caught:
            EntitySet(storage, "People", Key("{City}", "p_{Person}_{Day}"))
        for part in ("'p_{Person}'", "'p_{Person}_{Day}'", "'People'", "RowKey prefix"):
            assert part in str(caught.value)


def test_a_rejected_set_declares_nothing() -> None:
    with connect() as storage:
        EntitySet(storage, "People", Key("{City}", "p_{Person}"))
        by_mail = IntraPartitionIndex(Key("{City}", "p_{Email}"))
        with pytest.raises(BadDesign):
            EntitySet(storage, "People", Key("{City}", "q_{Person}"), derived=[by_mail])
        EntitySet(storage, "People", Key("{City}", "q_{Person}_{Day}"))


def test_a_series_does_not_write_into_the_entities_of_a_set() -> None:
    key = Key("{Employee}", "{Day:%Y-%m-%d}")
    with connect() as storage:
        EntitySet(storage, "Days", key)
        with pytest.raises(BadDesign, match="data series"):
            series(storage, key, "Days")
    with connect() as storage:
        series(storage, key, "Days")
        with pytest.raises(BadDesign, match="data series"):
            EntitySet(storage, "Days", key)


def test_rows_of_one_set_in_another_sets_table() -> None:
    by_email = InterPartitionIndex(Key("{Department}", "{Email}"), table="Copies")
    with connect() as storage:
        EntitySet(storage, "Staff", KEY, derived=[by_email])
        with pytest.raises(BadDesign, match="derived from 'Staff'"):
            EntitySet(storage, "Copies", KEY)


def test_sets_inside_of_recipes_are_declared_too() -> None:
    with connect() as storage:
        spread = PartitionSpread(storage, "Events", Key("{Hour}", "{Number:06d}"), buckets=4)
        with pytest.raises(BadDesign):
            EntitySet(storage, "Events", Key("{Any}", "{Row}"))
        assert spread.entity_set.table.name == "Events"

        days = PeriodTables(
            storage,
            "Days",
            Period.DAY,
            factory=lambda account, table: EntitySet(account, table, Key("{A}", "{At:ticks}")),
        )
        made = days.of(storage.now())
        with pytest.raises(BadDesign):
            EntitySet(storage, made.table.name, Key("{A}", "{Text}"))
        days.insert({"A": "x", "At": storage.now()})
        with pytest.raises(BadDesign):
            EntitySet(storage, made.table.name, Key("{A}", "{Text}"))


async def test_a_dropped_table_may_be_used_otherwise(storage: Any, table_name: str) -> None:
    first = EntitySet(storage, table_name, Key("{City}", "p_{Person}"))
    await first.create_table()
    await first.drop_table()
    EntitySet(storage, table_name, Key("{City}", "{Anything}"))


def test_the_table_as_it_is_goes_with_every_set() -> None:
    with connect() as storage:
        staff = EntitySet(storage, "Staff", KEY)
        everything = EntitySet(storage, "Staff", Key("{PartitionKey}", "{RowKey}"))
        staff.insert({"Department": "Sales", "Number": 1})
        assert [each["RowKey"] for each in everything.scan()] == ["000001"]
        ChildSet(storage, "Staff", KEY, "_{Year:04d}")
