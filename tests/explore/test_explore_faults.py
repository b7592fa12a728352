"""Explore: actors crash at every request, before or after it is executed, and responses are lost after the commit."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.exceptions import AzureError, HttpResponseError, ServiceRequestError

from support.explore_actors import counter, pages, stored, two, visit, visit_carefully, visits, write, writers
from tablepatterns_explore import Counterexample, World, explore, replay


def ends_of(make: Any, **options: Any) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the crashed actors and the stored rows of every schedule."""
    ends = set()
    explored = explore(
        make, invariant=lambda world: ends.add((tuple(sorted(world.crashed)), tuple(sorted(stored(world))))), **options
    )
    assert explored.exhaustive
    return ends


class TestDeath:
    def test_an_actor_crashes_before_and_after_each_of_its_requests(self) -> None:
        alive, dead = (), ("A",)
        assert ends_of(writers(["1", "2"]), crashes=1) == {
            (alive, ("1", "2")),
            (dead, ()),
            (dead, ("1",)),
            (dead, ("1", "2")),
        }

    def test_no_more_die_than_may(self) -> None:
        rows = ["1"], ["2"], ["3"]
        assert max(len(died) for died, _ in ends_of(writers(*rows), crashes=1)) == 1
        assert max(len(died) for died, _ in ends_of(writers(*rows), crashes=2)) == 2

    def test_a_crash_between_two_writes_is_found(self) -> None:
        def both_or_none(world: World) -> bool:
            return len(stored(world)) in (0, 2)

        with pytest.raises(Counterexample) as caught:
            explore(writers(["primary", "copy"]), invariant=both_or_none, crashes=1)
        assert str(caught.value) == (
            "final check failed: both_or_none returned False\n"
            "\n"
            "  A  insert Pages('pages', 'primary')  201, but A crashes before the response arrives\n"
            "\n"
            "A crashed; 1 fault, no preemptions\n"
            "reproduce with: replay(make, 'A+!', ...)"
        )

    def test_a_crash_after_the_commit_is_reported_as_such(self) -> None:
        with pytest.raises(Counterexample) as caught:
            replay(writers(["1"]), "A+!", invariant=lambda world: not stored(world))
        assert "insert Pages('pages', '1')  201, but A crashes before the response arrives" in str(caught.value)

    def test_a_crashed_actor_sends_no_request_from_its_finally_blocks(self) -> None:
        async def tidy(table: Any) -> None:
            try:
                await write(table, "1", "2")
            finally:
                await write(table, "tidied")

        assert ends_of(lambda world: [tidy(pages(world))], crashes=1) == {
            ((), ("1", "2", "tidied")),
            (("A",), ()),
            (("A",), ("1",)),
            (("A",), ("1", "2")),
            (("A",), ("1", "2", "tidied")),
        }

    def test_an_actor_that_has_ended_does_not_die(self) -> None:
        world = replay(two(visit), "A A B! ")
        assert (world.crashed, world.returned) == ({"B"}, {"A": None})


class TestLostAnswers:
    def test_the_connection_breaks_after_the_commit(self) -> None:
        world = replay(writers(["1"]), "A*")
        assert list(stored(world)) == ["1"]
        assert isinstance(world.raised["A"], ServiceRequestError)

    def test_the_sdk_sends_again_what_was_answered_with_500(self) -> None:
        world = replay(two(visit), "A A?")
        assert [record.status for record in world.engine.ledger.records][-5:] == [200, 500, 204, 200, 204]
        assert world.returned == {"A": None, "B": None}

    def test_both_ways_to_lose_an_answer_are_tried_for_each_request_that_changes_something(self) -> None:
        seen = set()

        def note(world: World) -> None:
            seen.update(record.fault for record in world.engine.ledger.records)

        explore(writers(["1"]), invariant=note, lost_responses=1, expected=AzureError)
        assert seen == {None, "response lost", "timed out after the commit"}

    def test_no_more_answers_are_lost_than_may(self) -> None:
        def lost(world: World) -> int:
            return sum(record.fault is not None for record in world.engine.ledger.records)

        numbers: set[int] = set()
        for allowed in (0, 1, 2):
            make = writers(["1"], ["2"], retry_total=0)
            explore(make, invariant=lambda world: numbers.add(lost(world)), lost_responses=allowed)
            assert numbers == set(range(allowed + 1))

    def test_the_answer_to_a_read_is_not_lost(self) -> None:
        async def look(table: Any) -> int:
            return len([entity async for entity in table.list_entities()])

        assert explore(lambda world: [look(pages(world))], lost_responses=1).schedules == 1

    def test_an_actor_may_end_with_the_error_of_its_own_lost_response(self) -> None:
        assert explore(writers(["1"], retry_total=0), lost_responses=1).exhaustive

    def test_an_actor_may_not_end_with_what_it_made_of_it(self) -> None:
        with pytest.raises(Counterexample, match="A raised ResourceExistsError") as caught:
            explore(writers(["1"]), lost_responses=1)
        assert caught.value.schedule == "A? A"

    def test_an_actor_may_not_end_with_a_network_error_of_another(self) -> None:
        def make(world: World) -> list[Any]:
            made = writers(["1"])(world)
            world.engine.faults.lose_response(operation="InsertEntity")
            return made

        with pytest.raises(Counterexample, match="A raised ServiceRequestError"):
            explore(make)

    def test_a_conditional_update_that_is_repeated_after_a_lost_response_counts_twice(self) -> None:
        def counted_at_most_once(world: World) -> bool:
            return bool(visits(world) <= 1)

        with pytest.raises(Counterexample) as caught:
            explore(lambda world: [visit_carefully(counter(world))], invariant=counted_at_most_once, lost_responses=1)
        assert caught.value.schedule == "A A? A A A"


def test_an_error_of_the_service_is_not_a_lost_response() -> None:
    with pytest.raises(Counterexample, match="A raised ResourceExistsError") as caught:
        explore(writers(["1", "1"]), lost_responses=1, crashes=1)
    assert caught.value.faults == 0
    assert isinstance(caught.value.__cause__, HttpResponseError)
