"""Limits of entities: the last valid value and the first invalid one of each."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest

from support.table_states import Rejected, insert, op
from tablepatterns.edm import Int64, Ticks, entity_size
from tablepatterns.limits import DATETIME_MIN, MAX_ENTITY_BYTES
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.entities import Kind, Value
from tablepatterns_engine.tables.service import Tables

ASTRAL = "\U0001f6eb"
TOO_LARGE = "PropertyValueTooLarge"


def stored(tables: Tables, **properties: Value) -> dict[str, Value]:
    tables.apply("People", insert("p", "r", **properties))
    return dict(tables.get("People", "p", "r").properties)


@pytest.mark.parametrize(
    "value",
    ["", "text", True, False, 0, -(2**31), 2**31 - 1, Int64(-(2**63)), Int64(2**63 - 1), 4.0, float("inf"), b"",
     b"\0\xff", UUID(int=7), Ticks.of(DATETIME_MIN), Ticks(Ticks.MAX)],
    ids=repr,
)  # fmt: skip
def test_a_value_of_each_type_is_kept_with_its_type(tables: Tables, value: Value) -> None:
    found = stored(tables, Value=value)["Value"]
    assert found == value
    assert type(found) is type(value)


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


# -- Names


@pytest.mark.parametrize("name", ["Age", "_", "age2", "naïve", "年齢", "a" * 255, "class"])
def test_a_property_name_is_an_identifier_of_at_most_255_characters(tables: Tables, name: str) -> None:
    assert stored(tables, **{name: 1}) == {name: 1}


def test_property_names_differ_by_case(tables: Tables) -> None:
    assert stored(tables, Birthday="a", birthday="b") == {"Birthday": "a", "birthday": "b"}


NO_NAMES = ["", "1st", "first-name", "a b", "a.b", "a:b", "\ue000", "a\x7f", "PartitionKey", "RowKey", "Timestamp"]


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_property_name_that_is_no_identifier_is_rejected(tables: Tables, rejected: Rejected, name: str) -> None:
    with rejected("PropertyNameInvalid", "The property name is invalid."):
        stored(tables, **{name: 1})


@pytest.mark.parametrize("name", ["a" * 256, "a" * 254 + "\U00020000"])
def test_a_property_name_of_256_characters_is_rejected(tables: Tables, rejected: Rejected, name: str) -> None:
    with rejected("PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."):
        stored(tables, **{name: 1})


# -- Numbers of properties


def test_an_entity_has_252_properties_and_not_253(tables: Tables, rejected: Rejected) -> None:
    properties: dict[str, Value] = {f"P{n}": n for n in range(252)}
    assert stored(tables, **properties) == properties
    with rejected("TooManyProperties"):
        tables.apply("People", insert("p", "other", One=1, **properties))


def test_a_merge_may_not_push_an_entity_past_252_properties(tables: Tables, rejected: Rejected) -> None:
    stored(tables, **{f"P{n}": n for n in range(252)})
    tables.apply("People", op("merge", "p", "r", P0=1))
    with rejected("TooManyProperties"):
        tables.apply("People", op("merge", "p", "r", One=1))


# -- Values


@pytest.mark.parametrize("largest", ["x" * 32768, ASTRAL * 16384, b"x" * 65536], ids=["text", "astral", "binary"])
def test_a_string_or_binary_has_64_kib_and_no_more(tables: Tables, rejected: Rejected, largest: str | bytes) -> None:
    assert stored(tables, Value=largest) == {"Value": largest}
    larger = largest + "x" if isinstance(largest, str) else largest + b"x"
    with rejected(TOO_LARGE):
        tables.apply("People", insert("p", "other", Value=larger))


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_an_integer_beyond_32_bits_must_say_that_it_is_an_int64(tables: Tables, rejected: Rejected, value: int) -> None:
    with rejected("InvalidInput"):
        stored(tables, Value=value)


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


def test_a_merge_may_not_push_an_entity_past_1_mib(tables: Tables, rejected: Rejected) -> None:
    stored(tables, **of_size(MAX_ENTITY_BYTES))
    with rejected("EntityTooLarge"):
        tables.apply("People", op("merge", "p", "r", More=b""))


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


# -- Keys

FORBIDDEN = ["/", "\\", "#", "?", "\t", "\n", "\r", "\x00", "\x1f", "\x7f", "\x9f"]
UPSERTS: list[Kind] = ["insert_or_replace", "insert_or_merge"]
BY_KEY: list[Kind] = ["replace", "merge", "delete", *UPSERTS]


@pytest.mark.parametrize(
    "key", ["", " ", "'", "%", "a" * 512, ASTRAL * 256, "email_jonesj@contoso.com", "\x20\x7e\xa0"]
)
def test_a_key_is_any_other_text_of_up_to_512_units_even_none(tables: Tables, key: str) -> None:
    tables.apply("People", insert(key, key, Age=34))
    found = tables.get("People", key, key)
    assert (found.partition_key, found.row_key) == (key, key)


@pytest.mark.parametrize("character", FORBIDDEN)
def test_an_insert_with_a_forbidden_character_in_a_key_is_rejected(
    tables: Tables, rejected: Rejected, character: str
) -> None:
    key = f"a{character}b"
    with rejected("OutOfRangeInput", f"The 'PartitionKey' parameter of value '{key}' is out of range."):
        tables.apply("People", insert(key, "r"))
    with rejected("OutOfRangeInput", f"The 'RowKey' parameter of value '{key}' is out of range."):
        tables.apply("People", insert("p", key))


@pytest.mark.parametrize("kind", BY_KEY)
@pytest.mark.parametrize("character", FORBIDDEN)
def test_a_url_with_a_forbidden_character_in_a_key_is_rejected_in_other_words(
    tables: Tables, rejected: Rejected, kind: Kind, character: str
) -> None:
    syntax = ("InvalidInput", "Bad Request - Error in query syntax.")
    code, text = syntax if character in "/\\" else ("OutOfRangeInput", "One of the request inputs is out of range.")
    with rejected(code, text):
        tables.apply("People", op(kind, "p", f"a{character}b"))
    with rejected(code, text):
        tables.get("People", f"a{character}b", "r")


@pytest.mark.parametrize("key", ["a" * 513, ASTRAL * 256 + "a"])
@pytest.mark.parametrize("kind", ["insert", *UPSERTS])
def test_a_new_entity_with_a_key_over_1_kib_is_rejected(
    tables: Tables, rejected: Rejected, kind: Kind, key: str
) -> None:
    with rejected(TOO_LARGE):
        tables.apply("People", op(kind, key, "r"))
    with rejected(TOO_LARGE):
        tables.apply("People", op(kind, "p", key))


@pytest.mark.parametrize("kind", ["replace", "merge", "delete"])
def test_a_key_over_1_kib_is_simply_not_found(tables: Tables, rejected: Rejected, kind: Kind) -> None:
    with rejected("ResourceNotFound"):
        tables.apply("People", op(kind, "p", "a" * 513))


def test_stamps_of_new_versions_are_the_clocks_and_increase(tables: Tables, clock: Clock) -> None:
    first = tables.apply("People", insert("p", "r"))
    clock.advance(1)
    second = tables.apply("People", op("merge", "p", "r"))
    assert first is not None
    assert second is not None
    assert second.timestamp.datetime() - first.timestamp.datetime() == timedelta(seconds=1)
    assert second.timestamp == clock.now()
