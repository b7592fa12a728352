"""Bound: which choices a schedule has, while every schedule within a bound is tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...engine.clock import SECOND
from ...errors import BadInput
from .choice import Choice
from .run import Run
from .wording import changes


@dataclass(frozen=True)
class Bound:
    """How much may go wrong in a schedule, and how long it may get; the words are those of `explore`.

    :raises BadInput: a number is negative, or a stall takes no time
    """

    kills: int = 0
    lost: int = 0
    stalls: tuple[float, ...] = ()
    preemptions: int | None = None
    latency: float = 30
    steps: int = 1000

    def __post_init__(self) -> None:
        for name in ("kills", "lost", "preemptions", "latency", "steps"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise BadInput(name, value, "there cannot be fewer than none", "give 0 or more")
        for seconds in self.stalls:
            if not seconds > 0:
                raise BadInput("stalls", seconds, "a stall takes some time", "give more than 0 seconds")

    def options(self, run: Run) -> list[Choice]:
        """Return the choices that a run has, those without a fault first.

        The very first goes on with the actor whose turn it was, if that has a request to send.
        """
        return [*run.turns(), *self._wakes(run), *self._losses(run), *self._deaths(run), *self._stalls(run)]

    def permits(self, run: Run, choice: Choice) -> bool:
        """Tell whether a choice leaves a run with no more preemptions than it may have."""
        return self.preemptions is None or run.preemptions + run.preempts(choice) <= self.preemptions

    def left(self, run: Run) -> tuple[object, ...]:
        """Return what is left of the bound: what can still happen depends on it, as it does on the state."""
        turn = run.current.name if run.current is not None and self.preemptions is not None else None
        return self._kills_left(run), self._lost_left(run), self._stalls_left(run), turn

    def _kills_left(self, run: Run) -> int:
        return self.kills - run.count("die", "die after")

    def _lost_left(self, run: Run) -> int:
        return self.lost - run.count("lose", "time out")

    def _stalls_left(self, run: Run) -> list[float]:
        left = sorted(self.stalls)
        for choice in run.choices:
            if choice.kind == "stall":
                left.remove(choice.seconds)
        return left

    def _wakes(self, run: Run) -> Iterator[Choice]:
        """Yield the choice that a sleeper wakes, if every request that waits to be sent may take so long."""
        sleeps = [sleep.until for actor in run.alive for sleep in actor.sleeps]
        waits = [call.since for actor in run.alive for call in actor.calls]
        if sleeps and all(min(sleeps) - since <= self.latency * SECOND for since in waits):
            yield Choice("wake")

    def _losses(self, run: Run) -> Iterator[Choice]:
        # A read whose answer is lost is made again: the schedule in which it is made later does the same
        if self._lost_left(run) > 0:
            for label in _changes(run):
                yield from (Choice("lose", label), Choice("time out", label))

    def _deaths(self, run: Run) -> Iterator[Choice]:
        if self._kills_left(run) > 0:
            yield from (Choice("die", actor.name) for actor in run.alive if actor.calls)
            yield from (Choice("die after", label) for label in _changes(run))

    def _stalls(self, run: Run) -> Iterator[Choice]:
        yield from (Choice("stall", seconds=seconds) for seconds in sorted(set(self._stalls_left(run))))


def _changes(run: Run) -> Iterator[str]:
    """Yield the labels of the requests that may change something."""
    for actor in run.alive:
        yield from (actor.label(call) for call in actor.calls if changes(call.request))
