"""The engine and Azurite side by side: each operation is sent to both, and the responses are compared."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from differential.account import Account
from differential.answers import Compared, Rejected, parts_in
from differential.counterparts import Counterparts
from differential.differences import Difference, differences
from differential.exclusions import Case
from differential.service import Operation, Service
from differential.tally import Tally
from tablepatterns_engine.account import Engine

_ENGINE, _AZURITE = 0, 1


class Disagreement(AssertionError):
    """The engine and Azurite answer one operation in two ways, and no exclusion says why."""


class Pair:
    """Two accounts that hold the same.

    :param engine: whose state is looked at, to know what an operation met
    :param accounts: the engine's account and Azurite's
    """

    def __init__(self, service: Service, engine: Engine, accounts: tuple[Account, Account], tally: Tally) -> None:
        self._service = service
        self._state = engine
        self._accounts = accounts
        self._tally = tally
        self._counterparts = Counterparts()

    def compare(self, operation: Operation) -> None:
        """Ask both for an operation.

        :raises Disagreement: they answer in two ways
        """
        self._tally.operations[type(operation).__name__] += 1
        before = self._service.before(self._state, operation)
        if withheld := self._service.exclusions.withheld(operation, before):
            self._tally.exclusions[withheld.name] += 1
            if withheld.rejected:
                self._expect_error(operation, before)
            return
        engine, azurite = self._answer(operation, _ENGINE), self._answer(operation, _AZURITE)
        found = differences(engine, azurite, self._counterparts)
        unexplained = [each for each in found if not self._is_excused(operation, before, each)]
        if unexplained:
            raise Disagreement("\n".join([repr(operation), *map(str, unexplained)]))
        self._service.note(self._counterparts, operation, engine, azurite)

    def _answer(self, operation: Operation, side: int) -> Compared:
        def known(of: Hashable, age: int) -> str | None:
            noted = self._counterparts.noted(of, age)
            return noted and noted[side]

        account = self._accounts[side]
        return self._service.normal(operation, account.hear(lambda: operation.send(account, known)), account.base)

    def _expect_error(self, operation: Operation, before: Any) -> None:
        [answer] = parts_in(self._answer(operation, _ENGINE))
        if not isinstance(answer, Rejected) or self._service.before(self._state, operation) != before:
            raise Disagreement(f"{operation!r}\nis to be rejected and to change nothing, and is answered {answer!r}")

    def _is_excused(self, operation: Operation, before: Any, difference: Difference) -> bool:
        excuse = self._service.exclusions.excuse_for(Case(operation, before, *difference))
        if excuse:
            self._tally.exclusions[excuse.name] += 1
        return excuse is not None
