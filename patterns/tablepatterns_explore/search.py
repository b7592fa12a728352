"""Search every schedule within a bound, and shrink the one that fails."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, NamedTuple, TypeAlias

from tablepatterns.errors import BadInput
from tablepatterns_engine.clock import SECOND

from .choice import Chance, Choice, line_of
from .code import Unrepeatable
from .digest import digest_of
from .run import Position, Run, ScheduleFailure, attempt, run_to_end
from .scenario import ActorGroup, Scenario
from .world import World


@dataclass(frozen=True)
class Bound:
    """The bound of a search, with the parameters of `explore`."""

    crashes: int = 0
    lost_responses: int = 0
    stalls: tuple[float, ...] = ()
    preemptions: int | None = None
    latency: float = 30
    steps: int = 1000

    def __post_init__(self) -> None:
        for name in ("crashes", "lost_responses", "preemptions", "latency", "steps"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise BadInput(name, value, "must not be negative", "pass 0 or more")
        for seconds in self.stalls:
            if not seconds > 0:
                raise BadInput("stalls", seconds, "must be above 0 seconds", "pass a longer stall")

    def options(self, run: Run) -> list[Choice]:
        """Return the choices of a run, those without a fault first.

        The first one continues with the current actor, if it has a request to send.
        """
        choices = run.turns()
        sleeps = [sleep.until for actor in run.running for sleep in actor.sleeps]
        waits = [call.since for actor in run.running for call in actor.calls]
        # A sleeper wakes if every pending request may take that long
        if sleeps and all(min(sleeps) - since <= self.latency * SECOND for since in waits):
            choices.append(Choice("wake"))
        writes = [actor.label(call) for actor in run.running for call in actor.calls if call.may_write]
        # A read whose response is lost is retried, which is equivalent to a schedule in which it is sent later
        if self._lost_responses_left(run) > 0:
            choices += [choice for label in writes for choice in (Choice("lose", label), Choice("time out", label))]
        if self._crashes_left(run) > 0:
            choices += [Choice("crash", actor.name) for actor in run.running if actor.calls]
            choices += [Choice("crash after", label) for label in writes]
        return choices + [Choice("stall", seconds=seconds) for seconds in sorted(set(self._stalls_left(run)))]

    def permits(self, run: Run, choice: Choice) -> bool:
        return self.preemptions is None or run.preemptions + run.preempts(choice) <= self.preemptions

    def remaining(self, run: Run) -> tuple[object, ...]:
        """Return the rest of the bound, which determines the possible continuations together with the state."""
        turn = run.current.name if self.preemptions is not None and run.current and run.current.is_running else None
        return self._crashes_left(run), self._lost_responses_left(run), self._stalls_left(run), turn

    def _crashes_left(self, run: Run) -> int:
        return self.crashes - run.count("crash", "crash after")

    def _lost_responses_left(self, run: Run) -> int:
        return self.lost_responses - run.count("lose", "time out")

    def _stalls_left(self, run: Run) -> list[float]:
        stalls = sorted(self.stalls)
        for choice in run.choices if stalls else ():
            if choice.kind == "stall":
                stalls.remove(choice.seconds)
        return stalls


_REPEATED_EVERY: Final = 10
"""The first schedule is repeated, then the 10th, the 100th, and so on."""
_FAULT_SHARE: Final = 0.1
"""The probability that a choice of a random schedule is a fault, while the bound permits some."""


class _Branch(NamedTuple):
    """A schedule to continue: its number of faults, the position before its last choice, and that choice.

    Without a position, it has not begun. Equal ones are ordered by when they were found.
    """

    faults: int
    preemptions: int
    order: int
    position: Position | None
    choice: Choice | None


_BEGIN: Final = _Branch(0, 0, 0, None, None)


@dataclass(frozen=True)
class Explored:
    """The result of `explore`, if no schedule breaks a condition.

    :param schedules: how many schedules ran to their end
    :param pruned: how many stopped at a state already seen
    :param states: the number of different states
    :param samples: how many schedules were sampled at random
    :param choices: the number of choices in all of them; a common prefix counts once
    :param exhaustive: whether every schedule within the bound was tried
    :param seconds: the duration
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
        return f"{extent}: {self.schedules:,} schedules run, {self.pruned:,} pruned (state already seen){samples}"


class Search:
    """A search for a schedule that breaks a condition. It raises `ScheduleFailure` if there is one.

    A schedule is stopped when it reaches a state of another one, which tries everything that can follow. What is still
    to be tried is in a heap, by faults, then preemptions, then age, so the first schedule that fails has the fewest of
    these. Each branch holds the position before its choice, so that no request before it is repeated.

    This is right as long as actors depend only on their responses, the time and their random draws. An actor that turns
    out to depend on more raises `Unrepeatable`, and `explore` searches again without what relied on that.

    :param shares_actors: whether the schedules share one group of actors, so that the position before a choice is
        restored and each part of an actor's code runs once for each history. Otherwise each schedule is repeated from
        its beginning
    :param merges_orders: whether independent calls of an actor lead to the same in every order, so that one is
        continued
    """

    def __init__(
        self, scenario: Scenario, bound: Bound, chance: Chance, *, shares_actors: bool, merges_orders: bool
    ) -> None:
        self._schedules = self._pruned = self._abandoned = self._samples = self._choices = 0
        self._states: set[bytes] = set()
        self._scenario = scenario
        self._bound = bound
        self._world = World(chance, merges_orders=merges_orders)
        self._keeps_histories = not shares_actors
        self._group = ActorGroup(scenario, self._world, keeps_histories=False) if shares_actors else None
        self._branches: list[_Branch] = [_BEGIN]
        self._order = count(1)
        self._repeated_at = 1

    def close(self) -> None:
        if self._group is not None:
            self._group.close()

    @property
    def has_merged(self) -> bool:
        """Whether independent calls of an actor led to the same place in different orders."""
        return self._group is not None and self._group.reorderings > 0

    def exhaust(self, limit: int) -> bool:
        """Try every schedule within the bound, but no more than `limit`, and return whether these were all of them.

        Schedules are tried in the order of their faults, then of their preemptions.
        """
        while self._branches and self._schedules + self._pruned + self._abandoned < limit:
            branch = heappop(self._branches)
            with self._resume(branch) as run:
                start_length = run.length
                if branch.choice is not None:
                    run.take(branch.choice)
                self._follow(run)
            self._choices += run.length - start_length
            if self._group is not None and self._group.keeps_histories != self._keeps_histories:
                # A check has read the requests, in which schedules with equal states may differ, so start over
                self._keeps_histories = True
                self._schedules = self._pruned = self._abandoned = self._choices = 0
                self._states.clear()
                self._branches[:] = [_BEGIN]
        return not self._branches and not self._abandoned

    def sample(self, random: Random) -> None:
        """Try one schedule at random, with any number of preemptions."""
        with self._resume(_BEGIN) as run:
            while run.running and run.length < self._bound.steps:
                run.check_always()
                options = self._bound.options(run)
                faults = [choice for choice in options if choice.is_fault]
                regular_choices = [choice for choice in options if not choice.is_fault]
                run.take(random.choice(faults if faults and random.random() < _FAULT_SHARE else regular_choices))
            if run.running:
                self._abandoned += 1
            else:
                self._end(run)
        self._samples += 1
        self._choices += run.length

    def result(self, exhaustive: bool, seconds: float) -> Explored:
        counts = self._schedules, self._pruned, len(self._states), self._samples, self._choices
        return Explored(*counts, exhaustive, seconds)

    def shrink(self, failure: ScheduleFailure) -> ScheduleFailure | None:
        """Return a minimal schedule that fails like one of this search; None if it does not fail from its start."""
        live = partial(attempt, self._scenario, self._world)
        if self._group is None:
            return shrink(failure, live)
        live_failure = follow(failure.choices, live)
        if live_failure is None:
            return None
        # With the actors of the search, most attempts repeat what it has executed
        with suppress(Unrepeatable):
            shorter_failure = shrink(live_failure, partial(self._resume, _BEGIN))
            if confirmed_failure := follow(shorter_failure.choices, live):
                return confirmed_failure
        return shrink(live_failure, live)

    @contextmanager
    def _resume(self, branch: _Branch) -> Generator[Run, None, None]:
        """Yield a run at the position where a branch begins."""
        if self._group is None:
            with attempt(self._scenario, self._world) as run:
                if branch.position is not None:
                    self._repeat(run, branch.position)
                yield run
            return
        run, reorderings = Run(self._group, branch.position), self._group.reorderings
        if branch.position is None:
            run.begin()
        yield run
        if self._group.reorderings > reorderings:
            self._check_order(run)
        if self._group.shares_objects:
            raise Unrepeatable

    def _repeat(self, run: Run, position: Position) -> None:
        try:
            run.repeat(position.last.choices)
            if run.state() != position.state:
                raise Unrepeatable
        except Unrepeatable:
            rule = f"its actors did something else when the schedule {line_of(position.last.choices)!r} was repeated"
            hint = "let them learn only from responses, and from the account's `now`, `random` and `uuid4`"
            raise BadInput("make", self._scenario.make, rule, hint) from None

    def _follow(self, run: Run) -> None:
        """Run to the end, or to a state already explored, and store the alternatives on the way."""
        while (state := digest_of(run.state(), self._bound.remaining(run))) not in self._states:
            self._states.add(state)
            run.check_always()
            if not run.running:
                self._end(run)
                self._schedules += 1
                return
            if run.length == self._bound.steps:
                self._abandoned += 1
                return
            run.take(self._take_branch(run))
        self._pruned += 1

    def _take_branch(self, run: Run) -> Choice:
        """Return the choice without a fault or a preemption, and store the others as branches."""
        first, *alternatives = [choice for choice in self._bound.options(run) if self._bound.permits(run, choice)]
        position = run.position() if alternatives else None
        for choice in reversed(alternatives):
            cost = run.faults + choice.is_fault, run.preemptions + run.preempts(choice)
            heappush(self._branches, _Branch(*cost, next(self._order), position, choice))
        return first

    def _end(self, run: Run) -> None:
        """Check a schedule that has ended, and sometimes also that it can be repeated."""
        ends = self._schedules + self._samples + 1
        visible_state = run.visible_state() if ends == self._repeated_at else b""
        run.check_end()
        if self._group is not None and ends == self._repeated_at:
            self._repeated_at *= _REPEATED_EVERY
            self._repeat_live((run.choices, visible_state))

    def _check_order(self, run: Run) -> None:
        """Check that another order of independent calls makes no difference, here and in the end."""
        choices, visible_state = run.choices, run.visible_state()
        while run.running and run.length < self._bound.steps:
            run.take(run.turns()[0])
        self._repeat_live((choices, visible_state), (run.choices[len(choices) :], run.visible_state()))

    def _repeat_live(self, *parts: tuple[Sequence[Choice], bytes]) -> None:
        try:
            with attempt(self._scenario, self._world) as run:
                for choices, visible_state in parts:
                    run.repeat(choices)
                    if run.visible_state() != visible_state:
                        raise Unrepeatable
        except ScheduleFailure:
            raise Unrepeatable from None


Attempt: TypeAlias = Callable[[], AbstractContextManager[Run]]
"""Yields a run that has begun; it raises `ScheduleFailure` if something is wrong with it."""


def shrink(failure: ScheduleFailure, start_run: Attempt) -> ScheduleFailure:
    """Return a minimal schedule: remove faults, preemptions and steps one at a time while it still fails.

    The kind of failure stays the same: a check that fails, or an actor that raises the same type of error.
    """
    while True:
        for choices in _simpler_schedules(failure.choices):
            simpler = follow(choices, start_run)
            if simpler and simpler.cost < failure.cost and type(simpler.cause) is type(failure.cause):
                failure = simpler
                break
        else:
            return failure


def follow(choices: Sequence[Choice], start_run: Attempt) -> ScheduleFailure | None:
    """Return the failure of the schedule that makes the possible ones of these choices and then ends, if it fails."""
    try:
        with start_run() as run:
            for choice in filter(run.allows, choices):
                run.check_always()
                run.take(choice)
            run_to_end(run)
    except ScheduleFailure as failure:
        return failure
    return None


def _simpler_schedules(choices: Sequence[Choice]) -> Iterator[list[Choice]]:
    """Yield schedules with one fault, step or switch less."""
    steps = list(choices)
    for index, choice in enumerate(steps):
        yield steps[:index] + steps[index + 1 :]
        if choice.is_fault and choice.label:
            yield [*steps[:index], Choice("go", choice.label), *steps[index + 1 :]]
        earlier = [before for before in range(index) if steps[before].actor == choice.actor]
        if earlier and earlier[-1] + 1 < index:
            place = earlier[-1] + 1
            yield [*steps[:place], choice, *steps[place:index], *steps[index + 1 :]]
