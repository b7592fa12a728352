"""Entities in the state of the engine: their size, order and versions; `tests/conformance` has what a request shows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest

from support.table_states import Rejected, delete, insert, op
from tablepatterns.edm import Int64, Ticks, entity_size
from tablepatterns.limits import DATETIME_MIN, MAX_ENTITY_BYTES
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.entities import Value
from tablepatterns_engine.tables.service import Operation, Tables

ASTRAL = "\U0001f6eb"


def stored(tables: Tables, **properties: Value) -> dict[str, Value]:
    tables.apply("People", insert("p", "r", **properties))
    return dict(tables.get("People", "p", "r").properties)


def test_system_properties_can_be_asked_for_like_others(tables: Tables, clock: Clock) -> None:
    tables.apply("People", insert("Sales", "1", Age=34))
    entity = tables.get("People", "Sales", "1")
    asked = ["PartitionKey", "RowKey", "Timestamp", "Age", "Salary"]
    assert [entity.get(name) for name in asked] == ["Sales", "1", clock.now(), 34, None]


def test_the_etag_is_the_timestamp_with_its_colons_encoded(tables: Tables, clock: Clock) -> None:
    clock.set(datetime(2020, 7, 24, 14, 34, 27, 863997, tzinfo=timezone.utc))
    clock.advance(0.000_000_4)
    tables.apply("People", insert("p", "r"))
    entity = tables.get("People", "p", "r")
    assert entity.timestamp.iso() == "2020-07-24T14:34:27.8639974Z"
    assert entity.etag == "W/\"datetime'2020-07-24T14%3A34%3A27.8639974Z'\""
    assert repr(entity) == "<Entity 'p', 'r' of 2020-07-24T14:34:27.8639974Z>"


# -- Values


@pytest.mark.parametrize("value", [None, [], datetime(2014, 8, 22, tzinfo=timezone.utc)], ids=repr)
def test_what_no_edm_type_holds_is_rejected(tables: Tables, rejected: Rejected, value: Value) -> None:
    with rejected("InvalidInput"):
        stored(tables, Value=value)


def test_an_instant_before_1601_is_rejected_in_the_services_spelling(tables: Tables, rejected: Rejected) -> None:
    early = Ticks(Ticks.of(DATETIME_MIN) - 1)
    with rejected("OutOfRangeInput", "The 'Born' parameter of value '12/31/1600 23:59:59' is out of range."):
        stored(tables, Born=early)
    with rejected("OutOfRangeInput", "The 'Born' parameter of value '01/01/0001 00:00:00' is out of range."):
        stored(tables, Born=Ticks(0))


# -- Size


def of_size(size: int) -> dict[str, Value]:
    """Return properties with which an entity with keys of one character has exactly this size."""
    properties: dict[str, Value] = {f"P{n:02}": b"x" * 65536 for n in range(15)}
    rest = size - entity_size("p", "r", {**properties, "Rest": b""})
    return {**properties, "Rest": b"x" * rest}


def test_an_entity_has_1_mib_and_no_more(tables: Tables, rejected: Rejected) -> None:
    largest = of_size(MAX_ENTITY_BYTES)
    assert entity_size("p", "r", largest) == MAX_ENTITY_BYTES
    assert stored(tables, **largest) == largest
    with rejected("EntityTooLarge", "The entity is larger than the maximum size permitted."):
        tables.apply("People", op("insert_or_replace", "p", "r", **of_size(MAX_ENTITY_BYTES + 1)))


@pytest.mark.parametrize(
    "value",
    ["text", "naïve", ASTRAL, True, 34, Int64(34), 4.0, Ticks.of(DATETIME_MIN), UUID(int=7), b"\0\xff"],
    ids=repr,
)
def test_a_value_of_each_type_counts_with_its_published_size(tables: Tables, rejected: Rejected, value: Value) -> None:
    others = {f"P{n:02}": b"x" * 65536 for n in range(15)}
    room = MAX_ENTITY_BYTES - entity_size("naïve", ASTRAL, {**others, "Größe": value, "Rest": b""})
    largest = {**others, "Größe": value, "Rest": b"x" * room}
    tables.apply("People", insert("naïve", ASTRAL, **largest))
    assert tables.get("People", "naïve", ASTRAL).properties == largest
    with rejected("EntityTooLarge"):
        tables.apply("People", op("replace", "naïve", ASTRAL, **{**largest, "Rest": b"x" * (room + 1)}))


def test_a_merge_with_the_same_names_may_not_push_an_entity_past_1_mib(tables: Tables, rejected: Rejected) -> None:
    largest = stored(tables, **of_size(MAX_ENTITY_BYTES))
    tables.apply("People", op("merge", "p", "r", **largest))
    with rejected("EntityTooLarge"):
        tables.apply("People", op("merge", "p", "r", **of_size(MAX_ENTITY_BYTES + 1)))
    assert tables.get("People", "p", "r").properties == largest


@pytest.mark.parametrize("merged", [{"B": 3, "A": 4}, {"A": 4, "B": 3}, {"A": 4, "C": 5, "B": 3}], ids=str)
def test_a_merge_stores_properties_in_ordinal_order(tables: Tables, merged: dict[str, Value]) -> None:
    stored(tables, B=1, A=2)
    tables.apply("People", op("merge", "p", "r", **merged))
    assert list(tables.get("People", "p", "r").properties.items()) == sorted(merged.items())


# -- Versions and keys


def test_stamps_of_new_versions_are_the_clocks_and_increase(tables: Tables, clock: Clock) -> None:
    first = tables.apply("People", insert("p", "r"))
    clock.advance(1)
    second = tables.apply("People", op("merge", "p", "r"))
    assert first is not None
    assert second is not None
    assert second.timestamp.datetime() - first.timestamp.datetime() == timedelta(seconds=1)
    assert second.timestamp == clock.now()


def test_a_version_that_was_read_does_not_change_under_its_reader(tables: Tables) -> None:
    stored(tables, Name="Jones", Age=34)
    version = tables.get("People", "p", "r")
    tables.apply("People", op("merge", "p", "r", Age=35))
    tables.apply("People", delete("p", "r"))
    assert version.properties == {"Name": "Jones", "Age": 34}


def test_what_was_stored_does_not_change_with_the_callers_dictionary(tables: Tables) -> None:
    properties: dict[str, Value] = {"Age": 34}
    tables.apply("People", Operation("insert", "p", "r", properties))
    properties["Age"] = 35
    assert tables.get("People", "p", "r").properties == {"Age": 34}


def test_keys_differ_by_case_and_by_every_character(tables: Tables) -> None:
    for row in ["a", "A", "a ", "å", "a\u030a"]:
        tables.apply("People", insert("p", row))
    assert len(tables.query("People").entities) == 5


def test_a_surrogate_pair_is_the_character_it_stands_for(tables: Tables, rejected: Rejected) -> None:
    tables.apply("People", insert("p", "\U0001f6eb"))
    assert tables.get("People", "p", "\ud83d\udeeb").row_key == "\U0001f6eb"
    with rejected("EntityAlreadyExists"):
        tables.apply("People", insert("p", "\ud83d\udeeb"))
