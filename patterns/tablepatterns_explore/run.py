"""Run one schedule, choice by choice, and print one that fails line by line."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput
from tablepatterns_engine.clock import SECOND
from tablepatterns_engine.ledger import Record

from .choice import Choice, Kind, line_of
from .code import Actor, Node, Unrepeatable
from .digest import digest_of
from .scenario import FAULTS, ActorGroup, Check, Executed, Scenario
from .snapshot import Saved
from .world import World


def _result_of(executed: Executed) -> str:
    if not executed.records:
        return type(executed.response).__name__
    record = executed.records[-1]
    return ", ".join(filter(None, [f"{record.status} {record.error or ''}".strip(), record.fault]))


class Event(NamedTuple):
    """One line of the description of a schedule: an actor, its request, and the response."""

    label: str
    action: str
    outcome: str = ""


class _Step(NamedTuple):
    """A choice of a schedule, None where it begins, with everything that followed from it; `length` counts choices."""

    before: _Step | None
    choice: Choice | None
    events: list[Event]
    records: list[Record]
    length: int

    def path(self) -> list[_Step]:
        steps: list[_Step] = [self]
        while (before := steps[-1].before) is not None:
            steps.append(before)
        return steps[::-1]

    @property
    def choices(self) -> list[Choice]:
        return [step.choice for step in self.path() if step.choice is not None]


class Position(NamedTuple):
    """The progress of a schedule: everything that is needed to continue it."""

    account: Saved
    state: bytes
    actors: tuple[tuple[Node, bool], ...]
    current: int | None
    last: _Step
    fault_kinds: tuple[Kind, ...]
    preemptions: int


class Run:
    """One schedule: its world, its actors, and the choices made so far.

    Every method that resumes an actor raises `ScheduleFailure` if the actor ends with an unexpected error.

    :param group: the actors and their world, which another run may have used before
    :param position: where it begins, of another run of the same cast; before the actors begin if there is none
    """

    def __init__(self, group: ActorGroup, position: Position | None = None) -> None:
        self.group = group
        self.world = group.world
        self.actors = [Actor(code) for code in group.codes]
        self.world.actors = self.actors
        self.current: Actor | None = None
        """The actor that had the last turn."""
        self._fault_kinds: tuple[Kind, ...] = ()
        self.preemptions = 0
        """The number of switches away from an actor that could have continued."""
        self._last = _Step(None, None, [], [*group.records], 0)
        self._state: bytes | None = None
        self.account = group.start
        """The present state of the account."""
        if position is not None:
            self.account = position.account
            for actor, (node, has_crashed) in zip(self.actors, position.actors, strict=True):
                actor.node, actor.has_crashed = node, has_crashed
            self.current = None if position.current is None else self.actors[position.current]
            self._last = position.last
            self._fault_kinds, self.preemptions = position.fault_kinds, position.preemptions
        self.world.snapshots.go_to(self.account)

    def begin(self) -> None:
        for actor in self.actors:
            self._reach(actor, actor.code.node_after(actor.node))
        self._pass_time()

    def position(self) -> Position:
        actors = tuple((actor.node, actor.has_crashed) for actor in self.actors)
        current = None if self.current is None else self.actors.index(self.current)
        return Position(self.account, self.state(), actors, current, self._last, self._fault_kinds, self.preemptions)

    @property
    def faults(self) -> int:
        return len(self._fault_kinds)

    @property
    def length(self) -> int:
        return self._last.length

    @property
    def choices(self) -> list[Choice]:
        return self._last.choices

    @property
    def events(self) -> list[Event]:
        return [event for step in self._last.path() for event in step.events]

    def state(self) -> bytes:
        """Return the digest of everything that the rest of the schedule and the checks depend on."""
        if self._state is None:
            keeps_all = self.group.keeps_histories
            actors = [actor.position() if keeps_all or actor.is_running else actor.outcome() for actor in self.actors]
            self._state = digest_of(self.account.digest, actors)
        return self._state

    def visible_state(self) -> bytes:
        """Return the digest of the account and of all that is known of the actors."""
        return digest_of(self.account.digest, [(actor.position(), actor.visible_state()) for actor in self.actors])

    def _go_to(self, account: Saved) -> None:
        self.account = account
        self._state = None
        self.world.snapshots.go_to(account)

    @property
    def running(self) -> list[Actor]:
        return [actor for actor in self.actors if actor.is_running]

    def count(self, *kinds: Kind) -> int:
        """Return the number of choices so far of the given kinds, which must be faults."""
        return sum(kind in kinds for kind in self._fault_kinds)

    def turns(self) -> list[Choice]:
        """Return the choices without a fault or a delay, the current actor's first."""
        actors = sorted(self.running, key=lambda actor: actor is not self.current)
        return [Choice("go", actor.label(call)) for actor in actors for call in actor.calls]

    def preempts(self, choice: Choice) -> bool:
        """Return whether a choice switches away from an actor that could continue."""
        if choice.kind in ("wake", "stall", "crash"):
            return choice.kind == "wake"
        return self.current is not None and bool(self.current.calls) and choice.actor != self.current.name

    def allows(self, choice: Choice) -> bool:
        """Return whether a choice is possible now, ignoring the bound."""
        if choice.kind == "wake":
            return any(actor.sleeps for actor in self.running)
        if choice.kind == "stall":
            return bool(self.running)
        if choice.kind == "crash":
            return any(actor.name == choice.actor for actor in self.running)
        return any(actor.label(call) == choice.label for actor in self.running for call in actor.calls)

    def take(self, choice: Choice) -> None:
        """Make an allowed choice, and run every actor until it waits again."""
        if not self.allows(choice):
            waiting = ", ".join(actor.label(call) for actor in self.running for call in actor.calls) or "none"
            rule = f"it cannot come next, after {self.length} others; actors with a request to send: {waiting}"
            raise BadInput("schedule", str(choice), rule, "take the line from a counterexample of the same actors")
        self.preemptions += self.preempts(choice)
        if choice.is_fault:
            self._fault_kinds += (choice.kind,)
        self._last = _Step(self._last, choice, [], [], self._last.length + 1)
        if choice.kind == "wake":
            self._wait_for_sleepers()
        elif choice.kind == "stall":
            self._add_event("", f"every actor stalls for {choice.seconds:g} s")
            self._go_to(self.account.at(Ticks(self.account.now + round(choice.seconds * SECOND))))
        else:
            actor = next(actor for actor in self.running if actor.name == choice.actor)
            (self._crash if choice.kind == "crash" else self._send)(choice, actor)
        self._pass_time()
        self._state = None

    def repeat(self, choices: Iterable[Choice]) -> None:
        """Repeat choices of another run of the same actors."""
        for choice in choices:
            if not self.allows(choice):
                raise Unrepeatable
            self.take(choice)

    def check_always(self) -> None:
        check = self.group.scenario.always
        if check is not None:
            self._check(check, "invariant violated")
            # Whatever the check has done to the account, the schedule goes on without it
            self.world.snapshots.go_to(self.account)

    def check_end(self) -> None:
        check = self.group.scenario.invariant
        if check is not None:
            self._check(check, "final check failed")

    def endings(self) -> str:
        return ", ".join(actor.ending() for actor in self.actors)

    def _check(self, check: Check, condition: str) -> None:
        """Check each state of the account once, or with each outcome of the actors if the check reads these."""
        of_account = condition, self.account.digest
        of_all = *of_account, *(actor.outcome() for actor in self.actors)
        if of_account in self.group.checked_states or of_all in self.group.checked_states:
            return
        world = self.world
        world.snapshots.fill()
        # A check may use the account, such as to drain a queue
        world.snapshots.note_changes()
        world.turn_to("check")
        world.ledger.show(record for step in self._last.path() for record in step.records)
        world.are_actors_read = False
        try:
            if check(world) is False:
                raise AssertionError(f"{getattr(check, '__name__', 'the check')} returned False")
        except Exception as error:
            raise ScheduleFailure(self, condition, error) from error
        if world.ledger.is_read:
            self.group.keeps_histories = True
        else:
            self.group.checked_states.add(of_all if world.are_actors_read else of_account)

    def _add_event(self, label: str, action: str, outcome: str = "") -> None:
        self._last.events.append(Event(label, action, outcome))

    # -- what an actor does

    def _crash(self, choice: Choice, actor: Actor) -> None:
        action = actor.calls[0].text if len(actor.calls) == 1 else f"{len(actor.calls)} requests"
        self._add_event(choice.actor, action, f"not sent: {actor.name} crashes")
        actor.has_crashed = True

    def _send(self, choice: Choice, actor: Actor) -> None:
        self.current = actor
        call = next(call for call in actor.calls if actor.label(call) == choice.label)
        index = actor.points.index(call)
        sender = f"{choice.label}, request {actor.node.history.turns.get(call.strand, 0)}"
        executed = self.group.execute(self.account, call, sender, choice.kind)
        self._go_to(executed.account)
        self._last.records.extend(executed.records)
        outcome = _result_of(executed)
        if choice.kind == "crash after":
            self._add_event(choice.label, call.text, f"{outcome}, but {actor.name} crashes before the response arrives")
            actor.has_crashed = True
        else:
            self._add_event(choice.label, call.text, outcome)
            is_lost = choice.kind in FAULTS
            self._reach(actor, actor.code.node_after(actor.node, index, executed.response, is_lost=is_lost))

    def _reach(self, actor: Actor, node: Node) -> None:
        actor.node = node
        if node.has_written:
            self._go_to(self.world.snapshots.save())
        if actor.error is not None and not self.group.scenario.expects(actor):
            raise ScheduleFailure(self, f"{actor.name} raised {type(actor.error).__name__}", actor.error)

    # -- what time does

    def _pass_time(self) -> None:
        """Wake every actor whose sleep has ended, and the next one if no actor has a request to send."""
        while sleepers := [(sleep.until, actor, sleep) for actor in self.running for sleep in actor.sleeps]:
            until, actor, first_sleep = min(sleepers, key=lambda sleeper: sleeper[0])
            if until > self.account.now:
                if any(actor.calls for actor in self.running):
                    return
                self._wait_for_sleepers()
            self._reach(actor, actor.code.node_after(actor.node, actor.points.index(first_sleep)))

    def _wait_for_sleepers(self) -> None:
        until = min(sleep.until for actor in self.running for sleep in actor.sleeps)
        woken = [actor.name for actor in self.running if any(sleep.until == until for sleep in actor.sleeps)]
        pause = Ticks(until) - self.account.now
        self._add_event("", f"{pause / SECOND:g} s pass, until {' and '.join(woken)} can continue")
        self._go_to(self.account.at(max(until, self.account.now)))


class ScheduleFailure(Exception):
    """A schedule breaks a condition, since an actor or a check raised `cause`."""

    def __init__(self, run: Run, condition: str, cause: Exception) -> None:
        super().__init__(condition)
        self.condition = condition
        self.cause = cause
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
    finally:
        group.close()


def run_to_end(run: Run) -> None:
    """Let one actor after the other run to its end, and check the world."""
    while run.running:
        run.check_always()
        run.take(run.turns()[0])
    run.check_always()
    run.check_end()


_WIDEST: Final = 88


def describe_failure(failure: ScheduleFailure) -> str:
    """Return who did what, what came of it, what is wrong then, and how to reproduce it."""
    cause = failure.cause
    # What pytest adds to an assertion is told with the cause itself
    error_line = next(iter(str(cause).splitlines()), type(cause).__name__)
    headline = f"{failure.condition}: {error_line}"
    faults, preemptions, _ = failure.cost
    cost = f"{_count_text(faults, 'fault')}, {_count_text(preemptions, 'preemption')}"
    replay_line = f"reproduce with: replay(make, {line_of(failure.choices)!r}, ...)"
    return "\n".join([headline, "", *_format_events(failure), "", f"{failure.endings}; {cost}", replay_line])


def _format_events(failure: ScheduleFailure) -> list[str]:
    events = [
        event if len(event.action) <= _WIDEST else event._replace(action=event.action[: _WIDEST - 1] + "…")
        for event in failure.events
    ]
    names = max((len(event.label) for event in events), default=0)
    width = max((len(event.action) for event in events if event.outcome), default=0)
    return [f"  {event.label:<{names}}  {event.action:<{width}}  {event.outcome}".rstrip() for event in events]


def _count_text(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
