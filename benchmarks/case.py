"""A benchmark case: one call, made with many different arguments, and its contestants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Generic, TypeVar

from .data import Loaded

C = TypeVar("C")

FLOOR: Final = "floor"
ENGINE: Final = "engine"
ENGINE_LARGE: Final = "engine, large"
AZURITE: Final = "Azurite"
AZURITE_LARGE: Final = "Azurite, large"


@dataclass(frozen=True)
class Place(Generic[C]):
    """The target of a call, and the data in it.

    :param client: the SDK's client of a table, a queue or a container
    """

    client: C
    loaded: Loaded


def always(answer: object) -> bool:
    """Accept any response: the SDK raises for error statuses, and there is nothing else to check."""
    return True


@dataclass(frozen=True)
class Case(Generic[C]):
    """One call, made with many different arguments.

    :param ask: create the arguments of one call at a place; not timed
    :param call: make the call
    :param is_right: return whether a response is correct
    :param target: the maximum cost of the engine as a multiple of the floor's; None for no target
    :param point: whether it is a point operation, which must be much faster than on Azurite
    :param every: measure it only in every n-th round, because it is slow
    :param after: check and clean up the place, given the number of calls and of those carried out there; not timed
    """

    name: str
    ask: Callable[[Place[C], Random], Any]
    call: Callable[[C, Any], Any]
    is_right: Callable[[Any], bool]
    target: float | None = None
    point: bool = False
    every: int = 1
    after: Callable[[Place[C], int, int], None] | None = None

    def check(self, answer: Any) -> None:
        """Raise unless the response is correct: a fast error does not count."""
        if not self.is_right(answer):
            raise AssertionError(f"{self.name}: {str(answer)[:200]} is not what was asked for")


@dataclass(frozen=True)
class Entry(Generic[C]):
    """One contestant in one case.

    :param client: the client that makes the calls
    :param place: the place that arguments are created for; the floor uses that of the engine
    """

    case: Case[C]
    contestant: str
    client: C
    place: Place[C]

    @property
    def carries_out(self) -> bool:
        """Whether its calls are carried out; those of the floor are not."""
        return self.client is self.place.client


def at(case: Case[C], contestant: str, place: Place[C]) -> Entry[C]:
    """Return the entry of a contestant with a place of its own."""
    return Entry(case, contestant, place.client, place)
