"""Search every schedule within a bound, and shrink the one that fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, NamedTuple

from ...engine.clock import SECOND
from ...errors import BadInput
from .actor import changes
from .choice import Chance, Choice, line_of
from .digest import digest_of
from .run import Run
from .scenario import Scenario
from .story import Found, attempt, go_to_end


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


_FAULT_SHARE: Final = 0.1
"""How likely each choice of a random schedule is a fault, while there are some left."""


class _Branch(NamedTuple):
    """A schedule to go on with: how much goes wrong in it, how it begins, and the state before its last choice.

    Of equally good ones the one that was found first comes first.
    """

    faults: int
    preemptions: int
    order: int
    choices: tuple[Choice, ...]
    state: bytes


@dataclass(frozen=True)
class Explored:
    """What was tried, and held.

    :param schedules: how many schedules came to their end
    :param pruned: how many were left in a state in which another had been: what can follow is tried from there
    :param states: how many states there are
    :param samples: how many schedules were drawn at random
    :param choices: the choices made in all of them, those that repeat another's beginning included
    :param exhaustive: whether every schedule within the bound was tried
    :param seconds: how long it took
    """

    schedules: int
    pruned: int
    states: int
    samples: int
    choices: int
    exhaustive: bool
    seconds: float = field(compare=False)

    def __str__(self) -> str:
        extent = "every schedule within the bound" if self.exhaustive else "not every schedule within the bound"
        samples = f", {self.samples:,} at random" if self.samples else ""
        return f"{extent}: {self.schedules:,} to the end, {self.pruned:,} to a known state{samples}"


class Search:
    """A search for a schedule with which something is wrong; it raises `Found` when there is one.

    A schedule is left as soon as it comes to a state in which another one was: whatever can happen from there on is
    tried there.
    """

    def __init__(self, scenario: Scenario, bound: Bound, chance: Chance) -> None:
        self._schedules = self._pruned = self._cut = self._samples = self._choices = 0
        self._states: set[bytes] = set()
        self._scenario = scenario
        self._bound = bound
        self._chance = chance
        self._branches = [_Branch(0, 0, 0, (), b"")]
        self._order = count(1)

    def exhaust(self, limit: int) -> bool:
        """Try every schedule within the bound, but no more than `limit`; tell whether it was all of them.

        None that was tried before the one found has fewer faults, or as many and fewer preemptions.
        """
        while self._branches and self._schedules + self._pruned + self._cut < limit:
            branch = heappop(self._branches)
            with attempt(self._scenario, self._chance) as run:
                self._repeat(run, branch)
                self._follow(run)
            self._choices += len(run.choices)
        return not self._branches and not self._cut

    def sample(self, random: Random) -> None:
        """Try one schedule at random, with as many preemptions as it likes."""
        with attempt(self._scenario, self._chance) as run:
            while run.alive and len(run.choices) < self._bound.steps:
                run.check_always()
                options = self._bound.options(run)
                faults = [choice for choice in options if choice.is_fault]
                others = [choice for choice in options if not choice.is_fault]
                run.take(random.choice(faults if faults and random.random() < _FAULT_SHARE else others))
            if run.alive:
                self._cut += 1
            else:
                run.check_end()
        self._samples += 1
        self._choices += len(run.choices)

    def explored(self, exhaustive: bool, seconds: float) -> Explored:
        """Return what was tried."""
        done = self._schedules, self._pruned, len(self._states), self._samples, self._choices
        return Explored(*done, exhaustive, seconds)

    def _repeat(self, run: Run, branch: _Branch) -> None:
        for position, choice in enumerate(branch.choices, start=1):
            is_last = position == len(branch.choices)
            if not run.allows(choice) or (is_last and self._state(run) != branch.state):
                rule = f"its actors did something else when the schedule {line_of(branch.choices)!r} was repeated"
                hint = "let them learn only from answers, and from the account's `now`, `random` and `uuid4`"
                raise BadInput("make", self._scenario.make, rule, hint)
            run.take(choice)

    def _follow(self, run: Run) -> None:
        """Go on to the end, or to a state that is known, and note where else the schedule could go."""
        while (state := self._state(run)) not in self._states:
            self._states.add(state)
            run.check_always()
            if not run.alive:
                run.check_end()
                self._schedules += 1
                return
            if len(run.choices) == self._bound.steps:
                self._cut += 1
                return
            run.take(self._branch_off(run, state))
        self._pruned += 1

    def _branch_off(self, run: Run, state: bytes) -> Choice:
        """Return the choice that goes on without a fault or a preemption, and keep the others for later."""
        first, *others = [choice for choice in self._bound.options(run) if self._bound.permits(run, choice)]
        begun, faults = tuple(run.choices), run.faults
        for choice in reversed(others):
            cost = faults + choice.is_fault, run.preemptions + run.preempts(choice)
            heappush(self._branches, _Branch(*cost, next(self._order), (*begun, choice), state))
        return first

    def _state(self, run: Run) -> bytes:
        return digest_of(run.world.digest(), self._bound.left(run))


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
