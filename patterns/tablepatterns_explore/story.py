"""Run a schedule from the start, and print one that fails line by line."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .cast import Cast
from .choice import Choice, line_of
from .run import Event, Run, Violation
from .scenario import Scenario
from .world import World


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
def attempt(scenario: Scenario, world: World) -> Generator[Run, None, None]:
    """Yield a run that has begun, with actors of its own in a world that is empty before, and end it.

    :raises Found: something is wrong with it
    """
    cast = Cast(scenario, world)
    run = Run(cast)
    try:
        run.begin()
        yield run
    except Violation as violation:
        raise Found(run, violation) from violation
    finally:
        cast.close()


def go_to_end(run: Run) -> None:
    """Let one actor after the other run to its end, and check the world."""
    while run.running:
        run.check_always()
        run.take(run.turns()[0])
    run.check_always()
    run.check_end()


_WIDEST = 88


def story_of(found: Found) -> str:
    """Return who did what, what came of it, what is wrong then, and how to reproduce it."""
    cause = found.violation.cause
    # What pytest adds to an assertion is told with the cause itself
    said = next(iter(str(cause).splitlines()), type(cause).__name__)
    wrong = f"{found.violation.what}: {said}"
    faults, preemptions, _ = found.cost
    cost = f"{_counted(faults, 'fault')}, {_counted(preemptions, 'preemption')}"
    again = f"reproduce with: replay(make, {line_of(found.choices)!r}, ...)"
    return "\n".join([wrong, "", *_table(found), "", f"{found.endings}; {cost}", again])


def _table(found: Found) -> list[str]:
    doing = [_cut(event.what) for event in found.events]
    names = max((len(event.who) for event in found.events), default=0)
    width = max((len(what) for what, event in zip(doing, found.events, strict=True) if event.outcome), default=0)
    return [
        f"  {event.who:<{names}}  {what:<{width}}  {event.outcome}".rstrip()
        for what, event in zip(doing, found.events, strict=True)
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
