"""Schedules as lines of text, and requests in words."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.explore_actors import pages, stored
from tablepatterns.errors import BadInput
from tablepatterns_explore import Counterexample, World, replay
from tablepatterns_explore.choice import Choice, Kind, line_of, parse

LABELS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}(\.[1-9]){0,2}", fullmatch=True)


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    kind: Kind = draw(st.sampled_from(get_args(Kind)))
    if kind == "wake":
        return Choice(kind)
    if kind == "stall":
        return Choice(kind, seconds=draw(st.integers(1, 10**9)) / 1000)
    return Choice(kind, draw(LABELS))


@given(st.lists(choices()))
def test_a_schedule_comes_back_from_its_line(schedule: list[Choice]) -> None:
    assert parse(line_of(schedule)) == schedule


@pytest.mark.parametrize("word", ["1", "A#", "A!*", ">>", ">-1", "!", "A..1", "Ä"])
def test_a_word_that_is_no_step_is_rejected_with_what_would_be_one(word: str) -> None:
    with pytest.raises(BadInput, match=r"not a step of a schedule; write A, A\*, A\?, A!"):
        parse(f"A {word}")


async def every_request(world: World, table: Any) -> None:
    entity = {"PartitionKey": "it's", "RowKey": "a/b"[:1], "Visits": 1}
    await table.create_entity(entity)
    await table.get_entity("it's", "a")
    await table.update_entity(entity)
    await table.update_entity(entity, mode="replace")
    await table.upsert_entity(entity)
    await table.upsert_entity(entity, mode="replace")
    _ = [each async for each in table.list_entities()]
    _ = [each async for each in table.query_entities("PartitionKey eq 'it''s'")]
    await table.submit_transaction([("delete", entity), ("upsert", {**entity, "RowKey": "b"})])
    await table.get_table_access_policy()
    await table.delete_table()
    await world.storage.tables.create_table("Others")
    await world.storage.queues.create_queue("work")


def test_requests_are_shown_in_the_terms_of_the_recipes() -> None:
    with pytest.raises(Counterexample) as caught:
        replay(lambda world: [every_request(world, pages(world))], "", invariant=lambda world: False)
    steps = [line.strip().removeprefix("A  ") for line in str(caught.value).splitlines() if line.startswith("  A")]
    assert [line.rsplit("  ", 1)[0].rstrip() for line in steps] == [
        """insert Pages("it's", 'a')""",
        """get Pages("it's", 'a')""",
        """merge Pages("it's", 'a')""",
        """replace Pages("it's", 'a')""",
        """insert or merge Pages("it's", 'a')""",
        """insert or replace Pages("it's", 'a')""",
        "query Pages",
        "query Pages where PartitionKey eq 'it''s'",
        """transaction of 2: delete Pages("it's", 'a'), insert or merge Pages("it's", 'b')""",
        "GET Pages (acl)",
        "delete table Pages",
        "create table Others",
        "PUT work",
    ]


def test_what_is_too_long_for_a_line_is_cut() -> None:
    async def write_at_length(table: Any) -> None:
        await table.create_entity({"PartitionKey": "pages", "RowKey": "x" * 200})

    with pytest.raises(Counterexample) as caught:
        replay(lambda world: [write_at_length(pages(world))], "", invariant=lambda world: not stored(world))
    assert max(map(len, str(caught.value).splitlines())) <= 100
    assert "xxx…  201" in str(caught.value)
