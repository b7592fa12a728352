"""Runs of a service's machine against one Azurite, with the tally of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import hypothesis
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from differential.account import Account
from differential.pair import Pair
from differential.service import Service
from differential.tally import Tally
from support import backends
from support.backends import Backend
from tablepatterns.recipe import finish
from tablepatterns_engine.account import Engine


class Runs:
    """Compares the engine with an Azurite, in as many runs as are asked for.

    :param azurite: Azurite's account
    """

    def __init__(self, service: Service, azurite: Account) -> None:
        self.tally = Tally(service.exclusions)
        self._service = service
        self._azurite = azurite

    def run(self, limits: settings, seed: int | None = None) -> None:
        """Draw operations and compare what they are answered.

        :param limits: how many runs there are, and of how many operations each
        :param seed: what they are drawn from, if not from what the settings say
        :raises Disagreement: one operation is answered in two ways
        """

        def machine() -> Any:
            return self._service.machine(self._pair())

        drawn: Any = machine if seed is None else hypothesis.seed(seed)(machine)
        run_state_machine_as_test(drawn, settings=limits)

    def _pair(self) -> Pair:
        """Return a new engine beside Azurite, from which what the run before left is gone."""
        self._service.empty(self._azurite)
        engine = Engine(self._azurite.service.account_name)
        ours = Account(Backend("memory", engine, {}, finish), self._service.raw)
        return Pair(self._service, engine, (ours, self._azurite), self.tally)


@contextmanager
def runs(service: Service, azurite: str) -> Iterator[Runs]:
    """Give the means to compare the engine with the Azurite that a connection string reaches."""
    with (
        backends.opened("azurite", azurite, retry_total=0) as backend,
        closing(Account(backend, service.raw)) as account,
    ):
        yield Runs(service, account)
