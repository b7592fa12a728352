"""A scenario: its actors, and the invariant that must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from string import ascii_uppercase
from typing import Any, Final, TypeAlias, cast

from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError

from tablepatterns.argument_types import is_async, is_generator
from tablepatterns.errors import BadInput

from .code import Actor
from .sync_actor import SyncActor
from .world import World

Code: TypeAlias = Coroutine[Any, Any, Any]
Program: TypeAlias = Code | Callable[[], object]
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

    def actors(self, world: World) -> dict[str, Code]:
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
