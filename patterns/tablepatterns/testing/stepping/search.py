"""Search: every schedule within a bound, those with the fewest faults and preemptions first."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, NamedTuple

from ...errors import BadInput
from .attempt import attempt
from .bound import Bound
from .chance import Chance
from .choice import Choice, line_of
from .digest import digest_of
from .run import Run
from .scenario import Scenario

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
                way_out = "let them learn only from answers, and from the account's `now`, `random` and `uuid4`"
                raise BadInput("make", self._scenario.make, rule, way_out)
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
