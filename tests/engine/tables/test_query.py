"""Queries: results, order, pages, and the number of entities read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filters.strategies import entities, key_filters
from support.table_states import all_entities, all_keys, delete, insert, op
from tablepatterns.filters import Filter, QueryClass, matcher, parse
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.service import Page, Tables

SALES, ROWS = "PartitionKey eq 'Sales'", 20


@pytest.fixture
def people(tables: Tables) -> Tables:
    """Three partitions of 20 entities each; every fifth one is a Jones."""
    for partition in ["Admin", "Research", "Sales"]:
        for n in range(ROWS):
            tables.apply("People", insert(partition, f"{n:03}", Name="Jones" if n % 5 == 0 else "Smith", Age=n))
    return tables


def ask(tables: Tables, text: str, **options: int) -> Page:
    return tables.query("People", parse(text), **options)


def found(page: Page) -> list[str]:
    return [entity.row_key for entity in page.entities]


# -- Order


def test_keys_are_ordered_by_utf16_units_and_not_by_code_points(tables: Tables) -> None:
    for key in ["\uffee", "\U0001f6eb", "z"]:
        tables.apply("People", insert(key, "r"))
        tables.apply("People", insert("p", key))
    assert [key for key, row in all_keys(tables, "People") if row == "r"] == ["z", "\U0001f6eb", "\uffee"]
    assert [row for key, row in all_keys(tables, "People") if key == "p"] == ["z", "\U0001f6eb", "\uffee"]
    assert found(ask(tables, "PartitionKey eq 'p' and RowKey gt '\U0001f6eb'")) == ["\uffee"]
    assert found(ask(tables, "PartitionKey eq 'p' and RowKey lt '\uffee'")) == ["z", "\U0001f6eb"]


# -- What is read

READS: list[tuple[str, QueryClass, int, int]] = [
    (f"{SALES} and RowKey eq '003'", QueryClass.POINT, 1, 1),
    (f"{SALES} and RowKey eq '003' and Name eq 'Jones'", QueryClass.POINT, 1, 0),
    (f"{SALES} and RowKey eq 'none'", QueryClass.POINT, 0, 0),
    ("PartitionKey eq 'None' and RowKey eq '003'", QueryClass.POINT, 0, 0),
    (f"{SALES} and RowKey ge '003' and RowKey lt '007'", QueryClass.RANGE, 4, 4),
    (f"{SALES} and RowKey gt '003' and RowKey le '007'", QueryClass.RANGE, 4, 4),
    (f"{SALES} and RowKey ge '003' and RowKey lt '007' and Name eq 'Jones'", QueryClass.RANGE, 4, 1),
    (f"{SALES} and RowKey ge '015'", QueryClass.RANGE, 5, 5),
    (f"{SALES} and RowKey lt '005'", QueryClass.RANGE, 5, 5),
    (SALES, QueryClass.RANGE, ROWS, ROWS),
    (f"{SALES} and Name eq 'Jones'", QueryClass.PARTITION_SCAN, ROWS, 4),
    (f"{SALES} and (RowKey eq '003' or RowKey eq '007')", QueryClass.PARTITION_SCAN, ROWS, 2),
    (f"({SALES} and RowKey eq '003') or ({SALES} and RowKey eq '007')", QueryClass.PARTITION_SCAN, ROWS, 2),
    (f"{SALES} and RowKey ne '003'", QueryClass.PARTITION_SCAN, ROWS, ROWS - 1),
    ("Name eq 'Jones'", QueryClass.TABLE_SCAN, 3 * ROWS, 12),
    ("RowKey eq '003'", QueryClass.TABLE_SCAN, 3 * ROWS, 3),
    ("PartitionKey eq 'Admin' or PartitionKey eq 'Sales'", QueryClass.TABLE_SCAN, 3 * ROWS, 2 * ROWS),
    ("PartitionKey lt 'B' or PartitionKey gt 'S'", QueryClass.TABLE_SCAN, 3 * ROWS, 2 * ROWS),
    ("RowKey eq '003' or PartitionKey eq 'Sales'", QueryClass.TABLE_SCAN, 3 * ROWS, ROWS + 2),
    (f"{SALES} and RowKey ge '010' and (RowKey eq '011' or RowKey eq '012')", QueryClass.RANGE, 10, 2),
    ("PartitionKey ge 'Research' and PartitionKey lt 'Sales'", QueryClass.TABLE_SCAN, ROWS, ROWS),
    ("PartitionKey gt 'Research' and RowKey lt '003'", QueryClass.TABLE_SCAN, ROWS, 3),
    (f"{SALES} and RowKey gt '007' and RowKey lt '003'", QueryClass.RANGE, 0, 0),
    ("PartitionKey eq 'Sales' and PartitionKey eq 'Admin'", QueryClass.TABLE_SCAN, 0, 0),
    ("false", QueryClass.TABLE_SCAN, 0, 0),
    ("true", QueryClass.TABLE_SCAN, 3 * ROWS, 3 * ROWS),
]


@pytest.mark.parametrize(("text", "query_class", "examined", "returned"), READS, ids=[text for text, *_ in READS])
def test_a_query_reads_what_its_class_says_and_no_more(
    people: Tables, text: str, query_class: QueryClass, examined: int, returned: int
) -> None:
    page = ask(people, text)
    assert (page.query_class, page.examined, len(page.entities)) == (query_class, examined, returned)
    assert page.next is None


def test_a_query_without_a_filter_is_a_table_scan(people: Tables) -> None:
    page = people.query("People")
    assert (page.query_class, page.examined) == (QueryClass.TABLE_SCAN, 3 * ROWS)


def test_a_page_of_n_reads_no_more_than_it_needs(people: Tables) -> None:
    assert ask(people, SALES, limit=7).examined == 7
    assert ask(people, f"{SALES} and Name eq 'Jones'", limit=2).examined == 6


def test_filters_that_differ_only_in_a_type_are_different_queries(people: Tables) -> None:
    assert len(ask(people, f"{SALES} and Age eq 1").entities) == 1
    assert len(ask(people, f"{SALES} and Age eq true").entities) == 0
    assert len(ask(people, f"{SALES} and Age eq 1.0").entities) == 0


# -- Pages


def test_a_page_of_no_entities_reads_nothing_and_ends_the_query(people: Tables) -> None:
    page = ask(people, SALES, limit=0)
    assert (page.entities, page.next, page.examined) == ([], None, 0)


def test_a_continuation_works_after_its_next_entity_was_deleted_or_others_were_inserted(people: Tables) -> None:
    first = ask(people, SALES, limit=10)
    people.apply("People", delete("Sales", "010"))
    people.apply("People", insert("Sales", "005a"))
    people.apply("People", insert("Sales", "010a"))
    second = people.query("People", parse(SALES), start=first.next)
    assert found(second) == ["010a", *(f"{n:03}" for n in range(11, 20))]


@pytest.mark.guide("G-296", "G-298", "G-299", "G-300")
@pytest.mark.parametrize("page_examines", [1, 7, ROWS, 3 * ROWS - 1, 3 * ROWS, None])
@pytest.mark.parametrize("text", ["true", SALES, "Name eq 'Jones'", "Name eq 'Nobody'", "PartitionKey gt 'Admin'"])
def test_short_and_empty_pages_lose_nothing_and_repeat_nothing(
    people: Tables, clock: Clock, text: str, page_examines: int | None
) -> None:
    short = Tables(clock, page_examines=page_examines)
    short.create("People")
    for entity in people.query("People").entities:
        short.apply("People", insert(entity.partition_key, entity.row_key, **entity.properties))
    assert all_keys(short, "People", parse(text)) == [(e.partition_key, e.row_key) for e in ask(people, text).entities]


def test_a_page_without_results_is_empty_and_has_a_continuation(clock: Clock) -> None:
    tables = Tables(clock, page_examines=2)
    tables.create("People")
    for partition, row in [("a", "1"), ("a", "2"), ("b", "1")]:
        tables.apply("People", insert(partition, row, Last=(partition == "b")))
    first = ask(tables, "Last eq true")
    assert (first.entities, first.next, first.examined) == ([], ("b", "1"), 2)
    assert found(tables.query("People", parse("Last eq true"), start=first.next)) == ["1"]


# -- Laws


@given(st.lists(entities, max_size=12), key_filters, st.integers(1, 5), st.integers(1, 5))
def test_a_query_finds_what_the_filter_finds_among_all_entities(
    people: list[dict[str, Any]], wanted: Filter, limit: int, page_examines: int
) -> None:
    tables = Tables(Clock(), page_examines=page_examines)
    tables.create("People")
    for one in people:
        age = {"Age": one["Age"]} if "Age" in one else {}
        tables.apply("People", op("insert_or_replace", one["PartitionKey"], one["RowKey"], **age))
    matches = matcher(wanted)
    matching = [entity for entity in all_entities(tables, "People") if matches(entity.get)]
    assert list(all_entities(tables, "People", wanted, limit=limit)) == matching
