"""Attempt: a run from its beginning, whose actors do not outlive it, and what is found to be wrong with it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .chance import Chance
from .choice import Choice
from .run import Event, Run, Violation
from .scenario import Scenario


class Found(Exception):
    """A schedule with which something is wrong.

    :param run: the schedule, at the point where it is wrong
    :param violation: what is wrong
    """

    def __init__(self, run: Run, violation: Violation) -> None:
        super().__init__(violation.what)
        self.violation = violation
        self.choices: Sequence[Choice] = tuple(run.choices)
        self.events: Sequence[Event] = tuple(run.events)
        self.endings = run.endings()
        self.cost = run.faults, run.preemptions, len(run.choices)
        """How much goes wrong: faults, preemptions, and how long it is."""


@contextmanager
def attempt(scenario: Scenario, chance: Chance) -> Generator[Run, None, None]:
    """Give a run that has begun, and end it.

    :raises Found: something is wrong with it
    """
    run = Run(scenario, chance)
    try:
        run.begin()
        yield run
    except Violation as violation:
        raise Found(run, violation) from violation
    finally:
        run.leave()


def go_to_end(run: Run) -> None:
    """Let one actor after the other go on to its end, and check the world."""
    while run.alive:
        run.check_always()
        run.take(run.turns()[0])
    run.check_always()
    run.check_end()
