"""Named exclusions from the comparison, where Azurite differs from the service.

An excuse allows one difference between two responses. Operations that would leave the two in different states are
withheld from Azurite instead. Each service has its own exclusions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from differential.answers import Rejected


class Case(NamedTuple):
    """A difference, and the operation with its state.

    :param before: the engine's state of the operation's subject; None if it did not exist
    :param path: the members that lead to the difference
    """

    operation: Any
    before: Any
    path: tuple[Any, ...]
    engine: Any
    azurite: Any

    @property
    def part(self) -> Any:
        """The part of the response that differs."""
        return self.path[0] if self.path else None

    @property
    def member(self) -> Any:
        """The member that differs."""
        return self.path[-1] if self.path else None

    @property
    def both_reject(self) -> bool:
        return isinstance(self.engine, Rejected) and isinstance(self.azurite, Rejected)

    @property
    def rejected_alike(self) -> bool:
        """Whether both reject the operation with the same status."""
        return self.both_reject and bool(self.engine.status == self.azurite.status)


Applies: TypeAlias = Callable[[Case], bool]
Recognises: TypeAlias = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Excuse:
    """A difference that the comparison ignores.

    :param reason: what Azurite does
    """

    name: str
    reason: str
    applies: Applies


@dataclass(frozen=True)
class Withheld:
    """Operations that are not sent to Azurite.

    :param reason: what Azurite would do
    :param rejected: whether they are sent to the engine, which must reject them; otherwise they are not sent
    """

    name: str
    reason: str
    rejected: bool
    recognises: Recognises


class Exclusions:
    """The exclusions of one service."""

    def __init__(self) -> None:
        self._excuses: Final[list[Excuse]] = []
        self._withheld: Final[list[Withheld]] = []

    def excuse(self, reason: str) -> Callable[[Applies], Applies]:
        """Add an excuse, named for the function that says where it applies."""

        def add(applies: Applies) -> Applies:
            self._excuses.append(Excuse(_name(applies), reason, applies))
            return applies

        return add

    def withhold(self, reason: str, *, rejected: bool) -> Callable[[Recognises], Recognises]:
        """Withhold operations, named for the function that recognises them."""

        def add(recognises: Recognises) -> Recognises:
            self._withheld.append(Withheld(_name(recognises), reason, rejected, recognises))
            return recognises

        return add

    def excuse_for(self, case: Case) -> Excuse | None:
        """Return the excuse for a difference, None where there is none."""
        return next((each for each in self._excuses if each.applies(case)), None)

    def withheld(self, operation: Any, before: Any) -> Withheld | None:
        """Return why an operation is withheld, None where it is not."""
        return next((each for each in self._withheld if each.recognises(operation, before)), None)

    def __iter__(self) -> Iterator[Excuse | Withheld]:
        yield from self._withheld
        yield from self._excuses


def _name(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ")
