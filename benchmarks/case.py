"""A case, whatever the service: one call, made of many different asks, and who makes it."""

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
    """Where a call goes.

    :param client: the SDK's client of a table, a queue or a container
    """

    client: C
    loaded: Loaded


def always(answer: object) -> bool:
    """Accept any answer: the SDK raises an error where the status is one, and there is nothing else to see."""
    return True


@dataclass(frozen=True)
class Case(Generic[C]):
    """One call, made of many different asks.

    :param ask: make what one call asks for, at the place where it is asked; this is not timed
    :param call: make the call
    :param is_right: tell whether an answer is what was asked for
    :param target: how many times the floor's cost the engine's may be, None where that is not the question
    :param point: whether it is a point operation, which is to be much faster than Azurite's
    :param every: it is measured in each so manieth round, since it takes long
    :param after: look at the place after so many asks, of which so many were carried out there, and tidy it; not timed
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
        """Raise unless the answer is what was asked for: a fast error is not a fast answer."""
        if not self.is_right(answer):
            raise AssertionError(f"{self.name}: {str(answer)[:200]} is not what was asked for")


@dataclass(frozen=True)
class Entry(Generic[C]):
    """One contestant in one case.

    :param client: what makes the calls
    :param place: what makes the asks; the floor has no place of its own, and asks at the engine's
    """

    case: Case[C]
    contestant: str
    client: C
    place: Place[C]

    @property
    def carries_out(self) -> bool:
        """Whether its calls change anything; the floor's do not."""
        return self.client is self.place.client


def at(case: Case[C], contestant: str, place: Place[C]) -> Entry[C]:
    """Return the entry of a contestant with a place of its own."""
    return Entry(case, contestant, place.client, place)
