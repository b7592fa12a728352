"""Run one schedule, choice by choice."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Final, NamedTuple

from ...edm import Ticks
from ...engine.clock import SECOND
from ...engine.faults import RESPONSE_LOST, TIMED_OUT_AFTER, Fault
from ...engine.ledger import Record
from ...errors import BadInput
from .cast import Cast
from .choice import Choice, Kind
from .code import Actor, Node, Unrepeatable
from .digest import digest_of
from .points import Call, Received
from .scenario import Check
from .snapshot import Saved

_FAULTS: Final[dict[Kind, Fault]] = {"lose": RESPONSE_LOST, "time out": TIMED_OUT_AFTER}


def _told(record: Record) -> str:
    """Return what came of a request: its status, the service's error, and the fault that it met."""
    return ", ".join(filter(None, [f"{record.status} {record.error or ''}".strip(), record.fault]))


class Violation(Exception):
    """Something is wrong with this schedule.

    :param what: in words
    :param cause: the error that says so
    """

    def __init__(self, what: str, cause: Exception) -> None:
        super().__init__(what)
        self.what = what
        self.cause = cause

    def is_like(self, other: Violation) -> bool:
        """Tell whether another violation is of the same kind."""
        return type(self.cause) is type(other.cause)


class Event(NamedTuple):
    """One line of the story of a schedule: who did what, and what came of it."""

    who: str
    what: str
    outcome: str = ""


class Position(NamedTuple):
    """How far a schedule has come: all that is needed to go on from there."""

    account: Saved
    state: bytes
    actors: tuple[tuple[Node, bool], ...]
    current: int | None
    choices: tuple[Choice, ...]
    events: tuple[Event, ...]
    records: tuple[Record, ...]
    faults: int
    preemptions: int


class Run:
    """One schedule: its world, its actors, and the choices made so far.

    Everything that lets an actor go on raises `Violation` if it ends with an unexpected error.

    :param cast: the actors and their world, which another run may have used before
    :param position: where it begins, of another run of the same cast; before the actors begin if there is none
    """

    def __init__(self, cast: Cast, position: Position | None = None) -> None:
        self.cast = cast
        self.world = cast.world
        self.actors = [Actor(code) for code in cast.codes]
        self.world.actors = self.actors
        self.choices: list[Choice] = []
        self.events: list[Event] = []
        self.current: Actor | None = None
        """The actor whose turn it was last."""
        self.faults = 0
        """How many faults there were so far."""
        self.preemptions = 0
        """How often an actor's turn ended though it could have continued."""
        self._records = [*cast.records]
        self._saved: Saved | None = None
        if position is None:
            self._restore(cast.start)
        else:
            self._go_to(position)

    def begin(self) -> None:
        """Let every actor run until it waits for the first time."""
        for actor in self.actors:
            self._reach(actor, actor.code.begin())
        self._pass_time()

    def position(self) -> Position:
        """Return how far it has come."""
        actors = tuple((actor.node, actor.has_crashed) for actor in self.actors)
        current = None if self.current is None else self.actors.index(self.current)
        done = tuple(self.choices), tuple(self.events), tuple(self._records), self.faults, self.preemptions
        return Position(self.account(), self.state(), actors, current, *done)

    def _go_to(self, position: Position) -> None:
        self._restore(position.account)
        for actor, (node, has_crashed) in zip(self.actors, position.actors, strict=True):
            actor.node, actor.has_crashed = node, has_crashed
        self.current = None if position.current is None else self.actors[position.current]
        self.choices, self.events = [*position.choices], [*position.events]
        self._records = [*position.records]
        self.faults, self.preemptions = position.faults, position.preemptions

    def account(self) -> Saved:
        """Return the present state of the account."""
        if self._saved is None:
            self._saved = self.world.snapshots.save()
        return self._saved

    def state(self) -> bytes:
        """Return the digest of the account and of the positions of all actors."""
        return digest_of(self.account().digest, [actor.position() for actor in self.actors])

    def _restore(self, account: Saved) -> None:
        self.world.snapshots.restore(account)
        self._saved = account

    @property
    def running(self) -> list[Actor]:
        """The actors that have not ended."""
        return [actor for actor in self.actors if actor.state == "running"]

    def count(self, *kinds: Kind) -> int:
        """Return how many of the choices so far are of some kinds."""
        return sum(choice.kind in kinds for choice in self.choices)

    def turns(self) -> list[Choice]:
        """Return the choices in which nothing goes wrong and no time passes, the turn of the same actor first."""
        actors = sorted(self.running, key=lambda actor: actor is not self.current)
        return [Choice("go", actor.label(call)) for actor in actors for call in actor.calls]

    def preempts(self, choice: Choice) -> bool:
        """Tell whether a choice takes the turn from an actor that could go on."""
        if choice.kind in ("wake", "stall", "crash"):
            return choice.kind == "wake"
        return self.current is not None and bool(self.current.calls) and choice.actor != self.current.name

    def allows(self, choice: Choice) -> bool:
        """Tell whether a choice can be made now, in whatever bound."""
        if choice.kind == "wake":
            return any(actor.sleeps for actor in self.running)
        if choice.kind == "stall":
            return bool(self.running)
        if choice.kind == "crash":
            return any(actor.name == choice.actor for actor in self.running)
        return any(actor.label(call) == choice.label for actor in self.running for call in actor.calls)

    def take(self, choice: Choice) -> None:
        """Make a choice that is allowed, and let every actor run until it waits again."""
        if not self.allows(choice):
            waiting = ", ".join(actor.label(call) for actor in self.running for call in actor.calls) or "none"
            rule = f"it cannot come next, after {len(self.choices)} others; actors with a request to send: {waiting}"
            raise BadInput("schedule", str(choice), rule, "take the line from a counterexample of the same actors")
        self.preemptions += self.preempts(choice)
        self.faults += choice.is_fault
        self.choices.append(choice)
        if choice.kind == "wake":
            self._wait_for_sleepers()
        elif choice.kind == "stall":
            self.events.append(Event("", f"every actor stalls for {choice.seconds:g} s"))
            self.world.stamps.advance(choice.seconds)
            self._saved = None
        else:
            actor = next(actor for actor in self.running if actor.name == choice.actor)
            (self._crash if choice.kind == "crash" else self._send)(choice, actor)
        self._pass_time()

    def repeat(self, choice: Choice) -> None:
        """Make a choice that another run of the same actors has made.

        :raises Unrepeatable: it is not allowed here
        """
        if not self.allows(choice):
            raise Unrepeatable
        self.take(choice)

    def check_always(self) -> None:
        """Check what must hold at every step."""
        check = self.cast.scenario.always
        if check is not None:
            self._check(check, "what must always hold does not")
            # Whatever the check has done to the account, the schedule goes on without it
            self._restore(self.account())

    def check_end(self) -> None:
        """Check what must hold when all actors have ended."""
        check = self.cast.scenario.invariant
        if check is not None:
            self._check(check, "the invariant does not hold in the end")

    def endings(self) -> str:
        """Return in words how far each actor came."""
        return ", ".join(actor.ending() for actor in self.actors)

    def _check(self, check: Check, what: str) -> None:
        """Check an account once, unless the check looks at what actors did; it looks at that, or it does not."""
        of_account, of_all = (what, self.account().digest), (what, self.state())
        if of_account in self.cast.passed or of_all in self.cast.passed:
            return
        world = self.world
        # A check may use the account, such as to drain a queue
        world.snapshots.note_changes()
        world.turn_to("check")
        world.ledger.show(self._records)
        world.are_actors_read = False
        try:
            if check(world) is False:
                raise AssertionError(f"{getattr(check, '__name__', 'the check')} returned False")
        except Exception as error:
            raise Violation(what, error) from error
        if not world.ledger.is_read:
            self.cast.passed.add(of_all if world.are_actors_read else of_account)

    # -- what an actor does

    def _crash(self, choice: Choice, actor: Actor) -> None:
        doing = actor.calls[0].text if len(actor.calls) == 1 else f"{len(actor.calls)} requests"
        self.events.append(Event(choice.actor, doing, f"not sent: {actor.name} crashes"))
        actor.has_crashed = True

    def _send(self, choice: Choice, actor: Actor) -> None:
        self.current = actor
        settled, call = next(
            (index, point)
            for index, point in enumerate(actor.points)
            if isinstance(point, Call) and actor.label(point) == choice.label
        )
        self.world.turn_to(f"{actor.name}, request {actor.node.steps}")
        received, outcome = self._execute(choice, call)
        if choice.kind == "crash after":
            told = f"{outcome}, but {actor.name} crashes before the response arrives"
            self.events.append(Event(choice.label, call.text, told))
            actor.has_crashed = True
        else:
            self.events.append(Event(choice.label, call.text, outcome))
            is_lost = choice.kind in _FAULTS
            self._reach(actor, actor.code.after(actor.node, settled, received, is_lost=is_lost))

    def _execute(self, choice: Choice, call: Call) -> tuple[Received, str]:
        """Return what is received for a request, and the same in words."""
        engine = self.world.engine
        if call.changes:
            self._note_changes()
        fault = engine.faults.add(_FAULTS[choice.kind]) if choice.kind in _FAULTS else nullcontext()
        with fault, self.world.ledger.span() as span:
            received = call.execute()
        self._records += span.records
        return received, _told(span.records[-1]) if span.records else type(received).__name__

    def _note_changes(self) -> None:
        self._saved = None
        self.world.snapshots.note_changes()

    def _reach(self, actor: Actor, node: Node) -> None:
        actor.node = node
        if self.world.stamps.has_stamped:
            # The actor's code may have written to the engine without a request
            self._note_changes()
        if actor.error is not None and not self.cast.scenario.expects(actor):
            raise Violation(f"{actor.name} raised {type(actor.error).__name__}", actor.error)

    # -- what time does

    def _pass_time(self) -> None:
        """Wake every actor that has slept long enough, and the next ones too if no other has a request to send."""
        while sleepers := [(each.until, actor, each) for actor in self.running for each in actor.sleeps]:
            until, actor, sleep = min(sleepers, key=lambda sleeper: sleeper[0])
            if until > self.world.stamps.now():
                if any(actor.calls for actor in self.running):
                    return
                self._wait_for_sleepers()
            self._reach(actor, actor.code.after(actor.node, actor.points.index(sleep)))

    def _wait_for_sleepers(self) -> None:
        """Let the time pass until the first sleeper wakes."""
        until = min(sleep.until for actor in self.running for sleep in actor.sleeps)
        woken = [actor.name for actor in self.running if any(sleep.until == until for sleep in actor.sleeps)]
        passed = Ticks(until) - self.world.stamps.now()
        self.events.append(Event("", f"{passed / SECOND:g} s pass, until {' and '.join(woken)} can continue"))
        self.world.pass_until(until)
        self._saved = None
