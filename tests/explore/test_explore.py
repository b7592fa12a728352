"""Explore: every order is tried, violations are found, and reported in a readable and repeatable form."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError

from support.explore_actors import (
    KEYS,
    counter,
    pages,
    stored,
    two,
    visit,
    visit_carefully,
    visits,
    write,
    write_if_new,
    writers,
)
from tablepatterns.errors import BadInput
from tablepatterns_explore import Counterexample, World, explore, replay


def both_counted(world: World) -> None:
    assert visits(world) == 2, f"2 visits, and {visits(world)} counted"


def found(*arguments: Any, **options: Any) -> Counterexample:
    """Return the counterexample that exploring comes to."""
    with pytest.raises(Counterexample) as caught:
        explore(*arguments, **options)
    return caught.value


class TestWhatIsFound:
    def test_a_lost_update_is_found_with_a_single_preemption(self) -> None:
        lost = found(two(visit), invariant=both_counted)
        assert (lost.schedule, lost.faults, lost.preemptions, lost.steps) == ("A B B A", 0, 1, 4)

    def test_what_goes_wrong_without_a_fault_is_found_before_what_needs_one(self) -> None:
        assert found(two(visit), invariant=both_counted, crashes=1, lost_responses=1).schedule == "A B B A"

    def test_the_story_has_every_request_with_its_actor_and_response(self) -> None:
        assert str(found(two(visit), invariant=both_counted)) == (
            "final check failed: 2 visits, and 1 counted\n"
            "\n"
            "  A  get Pages('pages', 'home')      200\n"
            "  B  get Pages('pages', 'home')      200\n"
            "  B  replace Pages('pages', 'home')  204\n"
            "  A  replace Pages('pages', 'home')  204\n"
            "\n"
            "A returned None, B returned None; no faults, 1 preemption\n"
            "reproduce with: replay(make, 'A B B A', ...)"
        )

    def test_a_conditional_update_is_right_in_every_order(self) -> None:
        assert explore(two(visit_carefully), invariant=both_counted).exhaustive

    def test_a_check_that_returns_false_has_failed(self) -> None:
        assert "visits_are_2 returned False" in str(found(two(visit), invariant=visits_are_2))

    def test_what_holds_in_the_end_but_not_always_is_found_only_if_asked_for(self) -> None:
        def never_one(world: World) -> bool:
            return visits(world) != 1

        assert explore(two(visit_carefully), invariant=never_one).exhaustive
        assert found(two(visit_carefully), always=never_one).schedule == "A A"

    def test_an_unexpected_error_is_a_counterexample(self) -> None:
        wrong = found(writers(["1"], ["1"]))
        assert str(wrong).startswith("B raised ResourceExistsError: ")
        assert wrong.__cause__ is not None
        assert type(wrong.__cause__).__name__ == "ResourceExistsError"

    def test_an_error_that_is_expected_is_an_outcome_that_the_invariant_sees(self) -> None:
        seen = set()

        def one_is_refused(world: World) -> None:
            assert len(world.returned) == len(world.raised) == 1
            seen.update(world.raised)

        explore(writers(["1"], ["1"]), invariant=one_is_refused, expected=Exception)
        assert seen == {"A", "B"}

    def test_what_actors_return_is_seen_by_the_invariant(self) -> None:
        def one_wrote(world: World) -> None:
            assert sorted(world.returned.values()) == [False, True]

        def make(world: World) -> list[Any]:
            table = pages(world)
            return [write_if_new(table, "1"), write_if_new(table, "1")]

        assert explore(make, invariant=one_wrote).exhaustive

    def test_an_actor_that_fails_before_its_first_request_is_found(self) -> None:
        async def fail() -> None:
            raise ZeroDivisionError

        assert "A raised ZeroDivisionError" in str(found(lambda world: [fail(), visit(counter(world))]))


def signed(world: World) -> tuple[Any, ...]:
    """Return who wrote the page last, and what each made of it."""
    return stored(world)["home"]["By"], visits(world), *world.returned.values()


def visits_are_2(world: World) -> bool:
    return bool(visits(world) == 2)


class TestWhatIsTried:
    @pytest.mark.parametrize("length", [1, 2, 5])
    def test_schedules_that_lead_to_the_same_state_are_gone_on_with_once(self, length: int) -> None:
        explored = explore(writers(["a1", "a2", "a3", "a4", "a5"][:length], ["b1", "b2", "b3", "b4", "b5"][:length]))
        assert explored.schedules == 1
        assert explored.states == (length + 1) ** 2
        # Each state but those at the rims is reached in two ways
        assert explored.pruned == length**2

    def test_refusals_that_differ_only_in_the_number_of_the_request_are_the_same(self) -> None:
        async def look(table: Any) -> None:
            for row in ("1", "2"):
                with suppress(ResourceNotFoundError):
                    await table.get_entity("pages", row)

        def make(world: World) -> list[Any]:
            table = pages(world)
            return [look(table), look(table)]

        assert explore(make).states == 9

    def test_the_time_of_day_is_not_taken_for_a_timestamp(self) -> None:
        async def write_down(world: World, table: Any, row: str) -> None:
            await table.create_entity({"PartitionKey": "pages", "RowKey": row, "At": world.storage.now()})

        def make(world: World) -> list[Any]:
            table = pages(world)
            return [write_down(world, table, row) for row in "12"]

        assert explore(make).states == 4

    def test_without_preemptions_each_actor_continues_until_it_waits(self) -> None:
        explored = explore(two(visit), invariant=both_counted, preemptions=0)
        assert explored.exhaustive
        assert explored.schedules == 2

    def test_a_state_is_continued_by_the_current_actor(self) -> None:
        async def sign(table: Any, name: str) -> int:
            page = await table.get_entity(*KEYS.values())
            page["Visits"] += 1
            await table.upsert_entity({**page, "By": name})
            return int(page["Visits"])

        def make(world: World) -> list[Any]:
            table = counter(world)
            return [sign(table, name) for name in "AB"]

        ends = set()
        explore(make, preemptions=1, invariant=lambda world: ends.add(signed(world)))
        assert ends == {signed(replay(make, order)) for order in ("A A B B", "B B A A", "A B B A", "B A A B")}

    def test_a_bound_of_preemptions_is_met_exactly(self) -> None:
        def overtaken_twice(world: World) -> bool:
            return max(world.returned.values()) < 3

        def make(world: World) -> list[Any]:
            table = counter(world)
            return [visit_carefully(table) for _ in range(3)]

        assert explore(make, invariant=overtaken_twice, preemptions=1).exhaustive
        assert found(make, invariant=overtaken_twice, preemptions=2).preemptions == 2

    def test_a_schedule_with_as_many_steps_as_allowed_is_not_cut(self) -> None:
        rows = [["1"], ["2", "3"]]
        assert explore(writers(*rows), steps=3).exhaustive
        assert not explore(writers(*rows), steps=2).exhaustive

    def test_a_search_that_needs_more_schedules_than_allowed_says_that_it_is_not_exhaustive(self) -> None:
        needed = explore(two(visit))
        total = needed.schedules + needed.pruned
        assert explore(two(visit), schedules=total) == needed
        assert not explore(two(visit), schedules=total - 1).exhaustive

    def test_the_same_is_tried_each_time(self) -> None:
        assert explore(two(visit_carefully), crashes=1) == explore(two(visit_carefully), crashes=1)

    def test_the_result_reports_what_was_tried(self) -> None:
        assert str(explore(two(visit), samples=3)) == (
            "every schedule within the bound: 4 schedules run, 1 pruned (state already seen), 3 at random"
        )
        assert str(explore(two(visit), schedules=1)).startswith("not every schedule within the bound: 1 schedules run")


class TestSamples:
    def test_what_the_bound_leaves_out_is_found_at_random_and_made_simple(self) -> None:
        def make(world: World) -> list[Any]:
            table = counter(world)
            return [visit(table), visit(table), write(table, "1", "2", "3")]

        lost = found(make, invariant=both_counted, preemptions=0, crashes=1, lost_responses=1, samples=100)
        assert (lost.faults, lost.preemptions) == (0, 1)

    def test_what_is_made_simple_stays_the_same_kind_of_wrong(self) -> None:
        def wrong_in_one_way_or_another(world: World) -> None:
            raise KeyError if visits(world) == 1 else ValueError

        kinds = set()
        for seed in range(5):
            wrong = found(two(visit), invariant=wrong_in_one_way_or_another, schedules=0, samples=1, seed=seed)
            kinds.add((type(wrong.__cause__), wrong.preemptions))
        assert kinds == {(KeyError, 1), (ValueError, 0)}

    def test_a_seed_gives_the_same_schedules_each_time(self) -> None:
        def drawn(seed: int) -> list[str]:
            ends: list[str] = []
            explore(
                two(visit_carefully),
                invariant=lambda world: ends.append(repr(world.returned)),
                schedules=0,
                samples=20,
                seed=seed,
            )
            return ends

        assert drawn(1) == drawn(1) != drawn(2)

    def test_a_sample_that_does_not_end_is_cut(self) -> None:
        explored = explore(two(visit), steps=1, schedules=0, samples=2)
        assert (explored.samples, explored.exhaustive) == (2, False)


class TestReplay:
    def test_the_line_of_a_counterexample_shows_it_again(self) -> None:
        line = found(two(visit), invariant=both_counted).schedule
        with pytest.raises(Counterexample) as again:
            replay(two(visit), line, invariant=both_counted)
        assert again.value.schedule == line

    def test_a_schedule_that_is_all_right_gives_its_world(self) -> None:
        assert visits(replay(two(visit), "A A B B", invariant=both_counted)) == 2

    def test_after_the_last_step_all_actors_run_to_the_end(self) -> None:
        world = replay(two(visit), "B")
        assert world.returned == {"A": None, "B": None}

    def test_a_step_that_cannot_occur_is_rejected_with_a_reason(self) -> None:
        with pytest.raises(
            BadInput, match=r"'A': it cannot come next, after 2 others; actors with a request to send: B"
        ):
            replay(two(visit), "A A A")

    def test_a_check_that_must_always_hold_is_made_at_every_step(self) -> None:
        with pytest.raises(Counterexample):
            replay(two(visit), "A A", always=lambda world: visits(world) == 0)

    def test_actors_may_have_names(self) -> None:
        def make(world: World) -> dict[str, Any]:
            table = counter(world)
            return {"reader": visit(table), "writer_2": visit(table)}

        assert found(make, invariant=both_counted).schedule == "reader writer_2 writer_2 reader"
