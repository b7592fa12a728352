"""Shrink: of a schedule with which something is wrong, nothing is left that it does not need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .attempt import Found, attempt, go_to_end
from .chance import Chance
from .choice import Choice
from .scenario import Scenario


def shrink(found: Found, scenario: Scenario, chance: Chance) -> Found:
    """Return the schedule with fewer faults, preemptions and steps, as long as one change at a time finds any.

    What is wrong with it stays of the same kind: a check that fails, or an actor that raises the same type of error.
    """
    while True:
        better = next(_better(found, scenario, chance), None)
        if better is None:
            return found
        found = better


def _follow(choices: Sequence[Choice], scenario: Scenario, chance: Chance) -> Found | None:
    """Return what is wrong with the schedule that makes these choices as far as it can, and then ends by itself."""
    try:
        with attempt(scenario, chance) as run:
            for choice in filter(run.allows, choices):
                run.check_always()
                run.take(choice)
            go_to_end(run)
    except Found as found:
        return found
    return None


def _better(found: Found, scenario: Scenario, chance: Chance) -> Iterator[Found]:
    for choices in _simpler(found.choices):
        other = _follow(choices, scenario, chance)
        if other and other.cost < found.cost and other.violation.is_like(found.violation):
            yield other


def _simpler(choices: Sequence[Choice]) -> Iterator[list[Choice]]:
    """Yield schedules with one thing less: a fault, a step, or a change of turns."""
    kept = list(choices)
    for index, choice in enumerate(kept):
        yield kept[:index] + kept[index + 1 :]
        if choice.is_fault and choice.label:
            yield [*kept[:index], Choice("go", choice.label), *kept[index + 1 :]]
        earlier = [before for before in range(index) if kept[before].actor == choice.actor]
        if earlier and earlier[-1] + 1 < index:
            place = earlier[-1] + 1
            yield [*kept[:place], choice, *kept[place:index], *kept[index + 1 :]]
