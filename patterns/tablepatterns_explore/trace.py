"""Run a schedule from the start, and print one that fails line by line."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .actors import ActorGroup
from .choice import Choice, line_of
from .run import Event, Run, Violation
from .scenario import Scenario
from .world import World


class ScheduleFailure(Exception):
    """A schedule with which something is wrong, at the point where it is."""

    def __init__(self, run: Run, violation: Violation) -> None:
        super().__init__(violation.condition)
        self.violation = violation
        self.choices: Sequence[Choice] = tuple(run.choices)
        self.events: Sequence[Event] = tuple(run.events)
        self.endings = run.endings()
        self.cost = run.faults, run.preemptions, len(run.choices)
        """How much goes wrong: faults, preemptions, and how long it is."""


@contextmanager
def attempt(scenario: Scenario, world: World) -> Generator[Run, None, None]:
    """Yield a run that has begun, with actors of its own in a world that is empty before, and end it."""
    group = ActorGroup(scenario, world)
    run = Run(group)
    try:
        run.begin()
        yield run
    except Violation as violation:
        raise ScheduleFailure(run, violation) from violation
    finally:
        group.close()


def run_to_end(run: Run) -> None:
    """Let one actor after the other run to its end, and check the world."""
    while run.running:
        run.check_always()
        run.take(run.turns()[0])
    run.check_always()
    run.check_end()


_WIDEST = 88


def describe_failure(failure: ScheduleFailure) -> str:
    """Return who did what, what came of it, what is wrong then, and how to reproduce it."""
    cause = failure.violation.cause
    # What pytest adds to an assertion is told with the cause itself
    error_line = next(iter(str(cause).splitlines()), type(cause).__name__)
    headline = f"{failure.violation.condition}: {error_line}"
    faults, preemptions, _ = failure.cost
    cost = f"{_count_text(faults, 'fault')}, {_count_text(preemptions, 'preemption')}"
    replay_line = f"reproduce with: replay(make, {line_of(failure.choices)!r}, ...)"
    return "\n".join([headline, "", *_format_events(failure), "", f"{failure.endings}; {cost}", replay_line])


def _format_events(failure: ScheduleFailure) -> list[str]:
    actions = [_shorten(event.action) for event in failure.events]
    names = max((len(event.label) for event in failure.events), default=0)
    width = max(
        (len(action) for action, event in zip(actions, failure.events, strict=True) if event.outcome), default=0
    )
    return [
        f"  {event.label:<{names}}  {action:<{width}}  {event.outcome}".rstrip()
        for action, event in zip(actions, failure.events, strict=True)
    ]


def _shorten(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _count_text(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
