"""The parts of the comparison that differ between services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hypothesis.stateful import RuleBasedStateMachine

from conformance.raw import Raw
from differential.account import Account, Heard, Known
from differential.answers import Compared
from differential.counterparts import Counterparts
from differential.exclusions import Exclusions
from tablepatterns_engine.account import Engine


class Operation(Protocol):
    """What can be asked of an account: it is data, and knows how to ask any account for it."""

    def send(self, account: Account, known: Known) -> object: ...


class Comparing(Protocol):
    """What a machine needs: to have operations compared."""

    def compare(self, operation: Any) -> None: ...


@dataclass(frozen=True)
class Service:
    """One service.

    :param raw: how raw requests are sent to it
    :param machine: what draws operations
    :param empty: drops from an account what the run before left
    :param before: what the engine holds of what an operation is about, not to be changed by it
    :param normal: what was heard, as what can be compared
    :param note: notes what an operation made on both accounts, so that later ones can name it
    :param packages: of whose versions the record tells
    """

    name: str
    raw: type[Raw]
    machine: Callable[[Comparing], RuleBasedStateMachine]
    empty: Callable[[Account], None]
    before: Callable[[Engine, Any], Any]
    normal: Callable[[Any, Heard, str], Compared]
    note: Callable[[Counterparts, Any, Compared, Compared], None]
    exclusions: Exclusions
    packages: tuple[str, ...] = ("hypothesis",)
