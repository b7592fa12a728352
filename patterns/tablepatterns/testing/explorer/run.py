"""Run one schedule, choice by choice."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final, NamedTuple

from ...edm import Ticks
from ...engine.clock import SECOND
from ...engine.faults import ANSWER_LOST, TIMED_OUT_AFTER, Fault
from ...engine.ledger import Record
from ...errors import BadInput
from .actor import Actor, Call
from .choice import Chance, Choice, Kind
from .digest import of_answer
from .scenario import Check, Scenario
from .world import World

_FAULTS: Final[dict[Kind, Fault]] = {"lose": ANSWER_LOST, "time out": TIMED_OUT_AFTER}


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


class Run:
    """One schedule under way: a world, its actors, and the choices made so far.

    Whatever lets an actor go on raises `Violation` when it ends with an error that nobody expects.
    """

    def __init__(self, scenario: Scenario, chance: Chance) -> None:
        self.world = World(chance)
        self.world.actors = scenario.actors(self.world)
        self.choices: list[Choice] = []
        self.events: list[Event] = []
        self.current: Actor | None = None
        """The actor whose turn it was last."""
        self.preemptions = 0
        """How often an actor's turn ended though it could have gone on."""
        self._scenario = scenario

    def begin(self) -> None:
        """Let every actor run to where it waits first."""
        for actor in self.world.actors:
            self._turn_to(actor)
            self._go_on(actor)
        self._pass_time()

    @property
    def alive(self) -> list[Actor]:
        """The actors that have not ended."""
        return [actor for actor in self.world.actors if actor.state == "alive"]

    @property
    def faults(self) -> int:
        """How often something went wrong so far."""
        return sum(choice.is_fault for choice in self.choices)

    def count(self, *kinds: Kind) -> int:
        """Return how many of the choices so far are of some kinds."""
        return sum(choice.kind in kinds for choice in self.choices)

    def turns(self) -> list[Choice]:
        """Return the choices in which nothing goes wrong and no time passes, the turn of the same actor first."""
        actors = sorted(self.alive, key=lambda actor: actor is not self.current)
        return [Choice("go", actor.label(call)) for actor in actors for call in actor.calls]

    def preempts(self, choice: Choice) -> bool:
        """Tell whether a choice takes the turn from an actor that could go on."""
        if choice.kind in ("wake", "stall", "die"):
            return choice.kind == "wake"
        return self.current is not None and bool(self.current.calls) and choice.actor != self.current.name

    def allows(self, choice: Choice) -> bool:
        """Tell whether a choice can be made now, in whatever bound."""
        if choice.kind == "wake":
            return any(actor.sleeps for actor in self.alive)
        if choice.kind == "stall":
            return bool(self.alive)
        if choice.kind == "die":
            return any(actor.name == choice.actor for actor in self.alive)
        return any(actor.label(call) == choice.label for actor in self.alive for call in actor.calls)

    def take(self, choice: Choice) -> None:
        """Make a choice that is allowed, and let everybody run to where it waits next."""
        if not self.allows(choice):
            waiting = ", ".join(actor.label(call) for actor in self.alive for call in actor.calls) or "nobody"
            rule = f"it cannot come next, after {len(self.choices)} others; with a request to send: {waiting}"
            raise BadInput("schedule", str(choice), rule, "take the line from a counterexample of the same actors")
        self.preemptions += self.preempts(choice)
        self.choices.append(choice)
        if choice.kind == "wake":
            self._wait_for_sleepers()
        elif choice.kind == "stall":
            self.events.append(Event("", f"everybody stalls for {choice.seconds:g} s"))
            self.world.stamps.advance(choice.seconds)
        else:
            actor = next(actor for actor in self.alive if actor.name == choice.actor)
            self._turn_to(actor)
            (self._die if choice.kind == "die" else self._send)(choice, actor)
        self._pass_time()

    def check_always(self) -> None:
        """Check what must hold at every step."""
        self._check(self._scenario.always, "what must always hold does not")

    def check_end(self) -> None:
        """Check what must hold when all actors have ended."""
        self._check(self._scenario.invariant, "the invariant does not hold in the end")

    def endings(self) -> str:
        """Return in words how far each actor came."""
        return ", ".join(actor.ending() for actor in self.world.actors)

    def leave(self) -> None:
        """Let all who are left die, so that none of their code runs later."""
        for actor in self.alive:
            self._turn_to(actor)
            actor.die()

    def _check(self, check: Check | None, what: str) -> None:
        if check is None:
            return
        self.world.turn_to(f"check after {len(self.choices)} choices")
        try:
            if check(self.world) is False:
                raise AssertionError(f"{getattr(check, '__name__', 'the check')} returned False")
        except Exception as error:
            raise Violation(what, error) from error

    # -- what an actor does

    def _die(self, choice: Choice, actor: Actor) -> None:
        doing = actor.calls[0].text if len(actor.calls) == 1 else f"{len(actor.calls)} requests"
        self.events.append(Event(choice.actor, doing, f"not sent: {actor.name} dies"))
        actor.die()

    def _send(self, choice: Choice, actor: Actor) -> None:
        self.current = actor
        call = next(call for call in actor.calls if actor.label(call) == choice.label)
        heard, outcome = self._carried_out(choice, call)
        if choice.kind == "die after":
            self.events.append(Event(choice.label, call.text, f"{outcome}, and {actor.name} dies before it hears"))
            actor.die()
        else:
            self.events.append(Event(choice.label, call.text, outcome))
            actor.lost |= choice.kind in _FAULTS
            self._hear(actor, call, heard)

    def _carried_out(self, choice: Choice, call: Call) -> tuple[Any, str]:
        """Return what is heard of a request, which may be an error, and the same in words."""
        engine = self.world.engine
        fault = engine.faults.add(_FAULTS[choice.kind]) if choice.kind in _FAULTS else nullcontext()
        with fault, engine.ledger.span() as span:
            heard = call.carry_out()
        return heard, _told(span.records[-1]) if span.records else type(heard).__name__

    def _hear(self, actor: Actor, call: Call, heard: Any) -> None:
        known = repr(heard) if isinstance(heard, Exception) else of_answer(heard, self.world.stamps)
        actor.learn(call.strand, known)
        call.process_intents(heard)
        self._go_on(actor, call)

    def _turn_to(self, actor: Actor) -> None:
        self.world.turn_to(f"{actor.name}, step {actor.steps}", actor)

    def _go_on(self, actor: Actor, settled: Any = None) -> None:
        actor.go_on(settled)
        if actor.error is not None and not self._scenario.expects(actor):
            raise Violation(f"{actor.name} raised {type(actor.error).__name__}", actor.error)

    # -- what time does

    def _pass_time(self) -> None:
        """Wake all who have slept long enough; where nobody else has anything to do, the next ones too."""
        while sleepers := [(each.until, actor, each) for actor in self.alive for each in actor.sleeps]:
            until, actor, sleep = min(sleepers, key=lambda sleeper: sleeper[0])
            if until > self.world.stamps.now():
                if any(actor.calls for actor in self.alive):
                    return
                self._wait_for_sleepers()
            self._turn_to(actor)
            self._go_on(actor, sleep)

    def _wait_for_sleepers(self) -> None:
        """Let the time pass until the first sleeper wakes."""
        until = min(sleep.until for actor in self.alive for sleep in actor.sleeps)
        woken = [actor.name for actor in self.alive if any(sleep.until == until for sleep in actor.sleeps)]
        passed = Ticks(until) - self.world.stamps.now()
        self.events.append(Event("", f"{passed / SECOND:g} s pass, until {' and '.join(woken)} can go on"))
        self.world.pass_until(until)
