"""Runs of the machine against one Azurite, and the tally of all that they compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import hypothesis
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import backends
from backends import Backend
from differential.account import Account
from differential.machine import TablesMachine
from differential.pair import Pair
from differential.strategies import ALL_TABLES
from differential.tally import Tally
from tablepatterns.engine.account import Engine
from tablepatterns.recipe import finish


class Runs:
    """Compares the engine with an Azurite, in as many runs as are asked for.

    :param azurite: Azurite's account
    """

    def __init__(self, azurite: Account) -> None:
        self.tally = Tally()
        self._azurite = azurite

    def run(self, limits: settings, seed: int | None = None) -> None:
        """Draw operations and compare what they are answered.

        :param limits: how many runs there are, and of how many operations each
        :param seed: what they are drawn from, if not from what the settings say
        :raises Disagreement: one operation is answered in two ways
        """
        machine: Any = self._machine
        run_state_machine_as_test(machine if seed is None else hypothesis.seed(seed)(machine), settings=limits)

    @property
    def _machine(self) -> Callable[[], TablesMachine]:
        return lambda: TablesMachine(self._pair())

    def _pair(self) -> Pair:
        """Return a new engine beside Azurite, from which the tables of the run before are gone."""
        for name in ALL_TABLES:
            self._azurite.service.delete_table(name)
        engine = Engine()
        return Pair(engine, (Account(Backend("memory", engine, {}, finish)), self._azurite), self.tally)


@contextmanager
def runs(azurite: str) -> Iterator[Runs]:
    """Give the means to compare the engine with the Azurite that a connection string reaches."""
    with backends.opened("azurite", azurite, retry_total=0) as backend, closing(Account(backend)) as account:
        yield Runs(account)
