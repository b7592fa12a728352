"""The six kinds of write: preconditions and results."""

from __future__ import annotations

import pytest

from support.table_states import Rejected, delete, insert, op
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.entities import Entity, Kind, Value
from tablepatterns_engine.tables.service import Operation, Tables

NOT_FOUND = ("ResourceNotFound", "The specified resource does not exist.")
CHANGED = ("UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
STALE = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\""


@pytest.fixture
def jones(tables: Tables) -> Entity:
    tables.apply("People", insert("Sales", "1", Name="Jones", Age=34))
    return tables.get("People", "Sales", "1")


def properties(tables: Tables) -> dict[str, Value]:
    return dict(tables.get("People", "Sales", "1").properties)


def test_an_insert_stores_a_new_entity_and_returns_it(tables: Tables) -> None:
    made = tables.apply("People", insert("Sales", "1", Name="Jones"))
    assert made is tables.get("People", "Sales", "1")
    assert made.properties == {"Name": "Jones"}


@pytest.mark.guide("G-040")
def test_an_insert_of_an_existing_entity_is_rejected(tables: Tables, rejected: Rejected, jones: Entity) -> None:
    with rejected("EntityAlreadyExists", "The specified entity already exists."):
        tables.apply("People", insert("Sales", "1", Name="Smith"))


@pytest.mark.guide("G-041")
def test_the_same_row_key_in_two_partitions_is_two_entities(tables: Tables) -> None:
    tables.apply("People", insert("Sales", "1", Age=1))
    tables.apply("People", insert("Research", "1", Age=2))
    assert tables.get("People", "Sales", "1").properties == {"Age": 1}
    assert tables.get("People", "Research", "1").properties == {"Age": 2}


@pytest.mark.parametrize("kind", ["replace", "insert_or_replace"])
def test_a_replace_drops_the_properties_that_it_does_not_name(tables: Tables, jones: Entity, kind: Kind) -> None:
    tables.apply("People", op(kind, "Sales", "1", Age=35))
    assert properties(tables) == {"Age": 35}


@pytest.mark.parametrize("kind", ["merge", "insert_or_merge"])
def test_a_merge_keeps_the_properties_that_it_does_not_name(tables: Tables, jones: Entity, kind: Kind) -> None:
    tables.apply("People", op(kind, "Sales", "1", Age=35, City="Graz"))
    assert list(properties(tables).items()) == [("Age", 35), ("City", "Graz"), ("Name", "Jones")]


@pytest.mark.parametrize("kind", ["insert_or_replace", "insert_or_merge"])
def test_an_upsert_stores_an_entity_that_was_not_there(tables: Tables, kind: Kind) -> None:
    tables.apply("People", op(kind, "Sales", "1", Age=35))
    assert properties(tables) == {"Age": 35}


@pytest.mark.parametrize("kind", ["replace", "merge", "delete"])
@pytest.mark.parametrize("etag", ["*", None, STALE])
def test_a_change_of_an_entity_that_is_not_there_is_rejected(
    tables: Tables, rejected: Rejected, kind: Kind, etag: str | None
) -> None:
    with rejected(*NOT_FOUND):
        tables.apply("People", op(kind, "Sales", "1", etag))


@pytest.mark.parametrize("kind", ["replace", "merge", "delete"])
def test_a_change_with_a_stale_etag_is_rejected(tables: Tables, rejected: Rejected, jones: Entity, kind: Kind) -> None:
    tables.apply("People", op("merge", "Sales", "1", "*", Age=35))
    with rejected(*CHANGED):
        tables.apply("People", op(kind, "Sales", "1", jones.etag))


@pytest.mark.parametrize("kind", ["replace", "merge", "delete"])
@pytest.mark.parametrize("any_version", [True, False])
def test_a_change_with_the_current_etag_or_any_is_carried_out(
    tables: Tables, jones: Entity, kind: Kind, any_version: bool
) -> None:
    made = tables.apply("People", op(kind, "Sales", "1", "*" if any_version else jones.etag))
    assert (made is None) == (kind == "delete")


@pytest.mark.guide("G-044")
def test_a_merge_that_changes_nothing_makes_a_new_version(tables: Tables, clock: Clock, jones: Entity) -> None:
    made = tables.apply("People", op("merge", "Sales", "1", jones.etag))
    assert made is not None
    assert made.properties == jones.properties
    assert made.timestamp > jones.timestamp
    assert made.etag != jones.etag


def test_a_deleted_entity_is_not_found_and_can_be_inserted_again(
    tables: Tables, rejected: Rejected, jones: Entity
) -> None:
    assert tables.apply("People", delete("Sales", "1", jones.etag)) is None
    with rejected(*NOT_FOUND):
        tables.get("People", "Sales", "1")
    with rejected(*NOT_FOUND):
        tables.apply("People", delete("Sales", "1"))
    tables.apply("People", insert("Sales", "1"))
    assert properties(tables) == {}


def test_a_version_that_was_read_does_not_change_under_its_reader(tables: Tables, jones: Entity) -> None:
    tables.apply("People", op("merge", "Sales", "1", Age=35))
    tables.apply("People", delete("Sales", "1"))
    assert jones.properties == {"Name": "Jones", "Age": 34}


def test_what_was_stored_does_not_change_with_the_callers_dictionary(tables: Tables) -> None:
    given: dict[str, Value] = {"Age": 34}
    tables.apply("People", Operation("insert", "Sales", "1", given))
    given["Age"] = 35
    assert properties(tables) == {"Age": 34}


def test_keys_differ_by_case_and_by_every_character(tables: Tables) -> None:
    for row in ["a", "A", "a ", "å", "a\u030a"]:
        tables.apply("People", insert("p", row))
    assert len(tables.query("People").entities) == 5


def test_a_surrogate_pair_is_the_character_it_stands_for(tables: Tables, rejected: Rejected) -> None:
    tables.apply("People", insert("p", "\U0001f6eb"))
    assert tables.get("People", "p", "\ud83d\udeeb").row_key == "\U0001f6eb"
    with rejected("EntityAlreadyExists"):
        tables.apply("People", insert("p", "\ud83d\udeeb"))
