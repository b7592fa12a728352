"""A scenario: the invariant that must hold, and its actors, which are created as often as needed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, count
from string import ascii_uppercase
from typing import Any, Final, NamedTuple, TypeAlias, cast

from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError

from tablepatterns.argument_types import is_async, is_generator
from tablepatterns.errors import BadInput
from tablepatterns_engine.faults import RESPONSE_LOST, TIMED_OUT_AFTER, Fault
from tablepatterns_engine.ledger import Record

from .choice import Kind
from .code import Actor, Code, Unrepeatable, Unstarted
from .request_points import Call, ResponseOrError
from .shared_objects import SharedObjects
from .snapshot import Saved
from .sync_actor import SyncActor
from .world import World

Program: TypeAlias = Coroutine[Any, Any, Any] | Callable[[], object]
"""What an actor does: a coroutine, or a plain function on a sync account."""
MakeActors: TypeAlias = Callable[[World], Iterable[Program] | Mapping[str, Program]]
"""Creates the actors of one schedule, and the state that they start from."""
Check: TypeAlias = Callable[[World], object]
"""Raises an error, or returns False, if a world breaks the condition."""
Errors: TypeAlias = type[Exception] | tuple[type[Exception], ...]

_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Scenario:
    """Actors and the conditions to check, with the parameters of `explore`."""

    make: MakeActors
    invariant: Check | None = None
    always: Check | None = None
    expected: Errors = ()

    def actors(self, world: World) -> dict[str, Coroutine[Any, Any, Any]]:
        """Return new, unstarted coroutines of the actors, by name."""
        actors = _actors_by_name(self.make(world))
        if not actors:
            rule = "it returned no actors, so there is nothing to explore"
            raise BadInput("make", self.make, rule, "return a coroutine, or a function, for each")
        for name, code in actors.items():
            if not _NAME.fullmatch(name):
                rule = "schedules are written with the names of the actors"
                raise BadInput("name of an actor", name, rule, "use letters, digits and underscores")
            if is_generator(code):
                rule = "a function with `yield` does not run when it is called"
                raise BadInput(f"actor {name}", code, rule, "write it without `yield`")
            if is_async(code):
                raise BadInput(f"actor {name}", code, "an actor is a coroutine", "call its `async def` function")
            if not isinstance(code, Coroutine) and not callable(code):
                rule = "an actor is a coroutine, or a function without parameters"
                raise BadInput(f"actor {name}", code, rule, "call its `async def` function, or pass a function")
        return {
            name: code if isinstance(code, Coroutine) else SyncActor(code, world.threads)
            for name, code in actors.items()
        }

    def expects(self, actor: Actor) -> bool:
        """Return whether an actor's error is allowed: an expected one, or that of a lost response."""
        error = actor.error
        if error is None or isinstance(error, self.expected):
            return True
        status = error.status_code if isinstance(error, HttpResponseError) else None
        is_of_network = isinstance(error, (ServiceRequestError, ServiceResponseError)) or (status or 0) >= 500
        return actor.node.is_response_lost and is_of_network


def _actors_by_name(actors: Iterable[Program] | Mapping[str, Program]) -> dict[str, Program]:
    if isinstance(actors, Mapping):
        return dict(cast("Mapping[str, Program]", actors))
    # A to Z, then A1, B1 and so on
    names = (letter + suffix for suffix in chain([""], map(str, count(1))) for letter in ascii_uppercase)
    return dict(zip(names, actors, strict=False))


FAULTS: Final[Mapping[Kind, Fault]] = {"lose": RESPONSE_LOST, "time out": TIMED_OUT_AFTER}
"""What happens to the response to a request that is executed."""


class Executed(NamedTuple):
    response: ResponseOrError
    records: tuple[Record, ...]
    account: Saved


class ActorGroup:
    """The actors of a scenario in one world, whose account is emptied, and the state of the account before they begin.

    :param keeps_histories: whether what an actor did before it ended matters, besides the account and its result
    """

    def __init__(self, scenario: Scenario, world: World, *, keeps_histories: bool = True) -> None:
        self.keeps_histories = keeps_histories
        self.scenario = scenario
        self.world = world
        self._unstarted: defaultdict[str, list[Unstarted]] = defaultdict(list)
        names = self._create_actors()
        self.start: Saved = self.world.snapshots.save()
        self.records = tuple(self.world.ledger.records)
        """The requests that were sent to create them."""
        self._executions: dict[tuple[object, ...], Executed] = {}
        self.checked_states: set[object] = set()
        """The states for which a check is known to hold."""
        self.codes = [Code(name, self.world, self._new_coroutine) for name in names]

    @property
    def shares_objects(self) -> bool:
        """Whether actors share something besides the account, and have changed it."""
        return any(code.shares_objects for code in self.codes)

    @property
    def reorderings(self) -> int:
        """How often turns of independent calls led to the same place in another order for the first time."""
        return sum(code.reorderings for code in self.codes)

    def execute(self, account: Saved, call: Call, sender: str, kind: Kind) -> Executed:
        """Execute a request; `kind` is what becomes of the response.

        It is executed again only where the account differs. Everything else about it follows from the place in the code
        of the actor that sends it.
        """
        key = call, sender, kind, account.exact_digest
        if key not in self._executions:
            world = self.world
            world.snapshots.go_to(account)
            world.snapshots.fill()
            world.turn_to(sender)
            fault = world.engine.faults.add(FAULTS[kind]) if kind in FAULTS else nullcontext()
            with fault, world.ledger.span() as span:
                response = call.execute()
            self._executions[key] = Executed(response, tuple(span.records), world.snapshots.save())
        return self._executions[key]

    def close(self) -> None:
        for code in self.codes:
            code.close()
        for coroutine, _ in chain.from_iterable(self._unstarted.values()):
            coroutine.close()

    def _new_coroutine(self, name: str) -> Unstarted:
        """Return an unstarted coroutine of an actor; if none is left, create all actors again."""
        if not self._unstarted[name]:
            snapshots = self.world.snapshots
            current_state = snapshots.current
            names = self._create_actors()
            is_same = snapshots.save().digest == self.start.digest
            snapshots.go_to(current_state)
            if not is_same or names != [code.name for code in self.codes]:
                raise Unrepeatable
        return self._unstarted[name].pop()

    def _create_actors(self) -> list[str]:
        self.world.empty()
        self.world.turn_to("make")
        coroutines = self.scenario.actors(self.world)
        if self.world.has_prepared:
            # They may know what the ones made later, without these requests, cannot know
            for coroutine in coroutines.values():
                coroutine.close()
            return self._create_actors()
        shared = SharedObjects((self.scenario.invariant, self.scenario.always), coroutines.values())
        for name, coroutine in coroutines.items():
            self._unstarted[name].append((coroutine, shared))
        return list(coroutines)
