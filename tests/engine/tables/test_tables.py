"""Tables: names, creation, deletion and pages."""

from __future__ import annotations

import pytest

from support.table_states import Rejected, insert
from tablepatterns.errors import BadInput
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.key_range import KeyScope
from tablepatterns_engine.tables.service import Tables

CHARACTERS = "The specifed resource name contains invalid characters."


def test_a_bad_name_is_named_before_the_entity_is_looked_at(tables: Tables, rejected: Rejected) -> None:
    with rejected("InvalidResourceName", CHARACTERS):
        tables.apply("my_table", insert("p", "r"))


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
