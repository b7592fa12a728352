"""Tables: names, creation, deletion and pages."""

from __future__ import annotations

import pytest

from support.table_states import Rejected, insert
from tablepatterns.errors import BadInput
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.service import KeyScope, Tables

CHARACTERS = "The specifed resource name contains invalid characters."
LENGTH = "The specified resource name length is not within the permissible limits."


@pytest.mark.parametrize("name", ["abc", "A" * 63, "Log20140822", "Z9z"])
@pytest.mark.guide("G-002")
def test_a_name_has_3_to_63_letters_and_digits_with_a_letter_first(tables: Tables, name: str) -> None:
    tables.create(name)
    assert tables.table(name).name == name


@pytest.mark.parametrize("name", ["", "ab", "a" * 64])
@pytest.mark.parametrize("call", ["create", "delete", "table"])
def test_a_name_of_another_length_is_rejected(tables: Tables, rejected: Rejected, call: str, name: str) -> None:
    with rejected("OutOfRangeInput", LENGTH):
        getattr(tables, call)(name)


@pytest.mark.parametrize("name", ["my_table", "my-table", "my.table", "my table", "1table", "täble", "abc\n"])
@pytest.mark.parametrize("call", ["create", "delete", "table"])
def test_a_name_with_other_characters_is_rejected(tables: Tables, rejected: Rejected, call: str, name: str) -> None:
    with rejected("InvalidResourceName", CHARACTERS):
        getattr(tables, call)(name)


@pytest.mark.parametrize("name", ["tables", "Tables", "TABLES"])
def test_the_reserved_name_is_rejected_in_any_case(tables: Tables, rejected: Rejected, name: str) -> None:
    with rejected("InvalidInput", "One of the request inputs is not valid."):
        tables.create(name)


def test_a_bad_name_is_named_before_the_entity_is_looked_at(tables: Tables, rejected: Rejected) -> None:
    with rejected("InvalidResourceName", CHARACTERS):
        tables.apply("my_table", insert("p", "r"))


@pytest.mark.guide("G-008", "G-009")
def test_names_are_one_name_whatever_their_case_and_keep_their_first_spelling(
    tables: Tables, rejected: Rejected
) -> None:
    tables.apply("PEOPLE", insert("p", "r"))
    assert tables.get("people", "p", "r").row_key == "r"
    with rejected("TableAlreadyExists", "The table specified already exists."):
        tables.create("pEOPLE")
    assert tables.names() == (["People"], None)


def test_a_deleted_table_is_empty_when_it_is_created_again(tables: Tables) -> None:
    tables.apply("People", insert("p", "r"))
    tables.delete("people")
    assert tables.names() == ([], None)
    tables.create("People")
    assert tables.query("People").entities == []


def test_deleting_a_table_that_is_not_there_does_not_find_a_resource(tables: Tables, rejected: Rejected) -> None:
    with rejected("ResourceNotFound", "The specified resource does not exist."):
        tables.delete("Nobody")


def test_every_call_on_a_missing_table_says_that_the_table_is_missing(tables: Tables, rejected: Rejected) -> None:
    text = "The table specified does not exist."
    for call in (
        lambda: tables.table("Nobody"),
        lambda: tables.get("Nobody", "p", "r"),
        lambda: tables.apply("Nobody", insert("p", "r")),
        lambda: tables.query("Nobody"),
        lambda: tables.query("Nobody", scope=KeyScope()),
        lambda: tables.get_policies("Nobody"),
        lambda: tables.set_policies("Nobody", []),
    ):
        with rejected("TableNotFound", text):
            call()
    with rejected("TableNotFound", "0:" + text):
        tables.transact("Nobody", [insert("p", "r")])


def test_names_come_in_order_whatever_their_case(tables: Tables) -> None:
    for name in ["beta", "Alpha", "gamma"]:
        tables.create(name)
    assert tables.names() == (["Alpha", "beta", "gamma", "People"], None)


def test_names_come_in_pages_and_the_last_full_page_has_no_mark(tables: Tables) -> None:
    for name in ["aaa", "bbb", "ccc"]:
        tables.create(name)
    first, mark = tables.names(limit=2)
    second, end = tables.names(mark, limit=2)
    assert (first, second, end) == (["aaa", "bbb"], ["ccc", "People"], None)


def test_a_page_of_names_continues_after_the_table_of_its_token_was_deleted(tables: Tables) -> None:
    for name in ["aaa", "bbb", "ccc"]:
        tables.create(name)
    _, mark = tables.names(limit=2)
    tables.delete("bbb")
    assert tables.names(mark) == (["ccc", "People"], None)


def test_names_can_be_picked_and_asked_for_in_no_number(tables: Tables) -> None:
    for name in ["Log1", "Log2", "Other"]:
        tables.create(name)
    assert tables.names(limit=1, predicate=lambda name: name.startswith("Log")) == (["Log1"], "Log1")
    assert tables.names("Log1", predicate=lambda name: name.startswith("Log")) == (["Log2"], None)
    assert tables.names(limit=0) == ([], None)


def test_a_page_has_at_most_1000_names(tables: Tables) -> None:
    for number in range(1000):
        tables.create(f"T{number:04}")
    for limit in [1000, 1001]:
        names, mark = tables.names(limit=limit)
        assert (len(names), tables.names(mark)[0]) == (1000, ["T0999"])


def test_a_page_that_examines_nothing_is_rejected(clock: Clock) -> None:
    with pytest.raises(BadInput, match="at least one entity"):
        Tables(clock, page_examines=0)
