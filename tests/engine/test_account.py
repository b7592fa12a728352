"""The account that holds the services together."""

from __future__ import annotations

import base64
from datetime import datetime, timezone

import pytest

from support.table_states import insert
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock


def test_an_account_is_the_emulators_by_default() -> None:
    engine = Engine()
    assert engine.account_name == "devstoreaccount1"
    assert len(base64.b64decode(engine.account_key)) == 64


@pytest.mark.guide("G-348")
def test_the_key_is_in_no_text_of_the_account() -> None:
    engine = Engine("contoso", key="c2VjcmV0")
    assert repr(engine) == str(engine) == "<Engine contoso>"


def test_accounts_share_nothing() -> None:
    one, other = Engine(), Engine()
    one.tables.create("People")
    assert other.tables.names() == ([], None)


def test_the_tables_take_their_time_from_the_accounts_clock() -> None:
    engine = Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc)))
    engine.tables.create("People")
    engine.clock.advance(60)
    made = engine.tables.apply("People", insert("p", "r"))
    assert made is not None
    assert made.timestamp.iso() == "2014-08-22T00:01:00Z"


def test_the_work_per_page_is_a_setting_of_the_account() -> None:
    engine = Engine(page_examines=1)
    engine.tables.create("People")
    for row in "ab":
        engine.tables.apply("People", insert("p", row))
    assert engine.tables.query("People").next == ("p", "b")
