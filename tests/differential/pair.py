"""The engine and Azurite side by side: each operation is asked of both, and what they answer is held together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from differential.account import Account
from differential.answers import Refused, normal
from differential.differences import Difference, differences
from differential.exclusions import EXCUSES, WITHHELD, Case, Entities
from differential.operations import Operation, Write, writes_of
from differential.tally import Tally
from differential.versions import Versions
from tablepatterns.engine.account import Engine
from tablepatterns.engine.refusal import Refusal
from tablepatterns.engine.stretch import Stretch

NEVER = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\""
"""The ETag of no version that there can be."""

_AGES = {"fresh": 0, "stale": 1}
_ENGINE, _AZURITE = 0, 1


class Disagreement(AssertionError):
    """The engine and Azurite answer one operation in two ways, and no exclusion says why."""


class Pair:
    """Two accounts that have the same tables, which hold the same entities.

    :param engine: whose state is looked at, to know what an operation met
    :param accounts: the engine's account and Azurite's
    """

    def __init__(self, engine: Engine, accounts: tuple[Account, Account], tally: Tally) -> None:
        self._state = engine
        self._accounts = accounts
        self._tally = tally
        self._versions = Versions()

    def compare(self, operation: Operation) -> None:
        """Ask both for an operation.

        :raises Disagreement: they answer in two ways
        """
        self._tally.operations[type(operation).__name__] += 1
        before = self._entities(operation.table)
        if withheld := next((each for each in WITHHELD if each.recognises(operation, before)), None):
            self._tally.exclusions[withheld.name] += 1
            if withheld.refused:
                self._expect_refusal(operation, before)
            return
        engine, azurite = self._answer(operation, _ENGINE), self._answer(operation, _AZURITE)
        found = differences(operation, engine, azurite, self._versions)
        unexplained = [each for each in found if not self._is_excused(operation, before, each)]
        if unexplained:
            raise Disagreement("\n".join([repr(operation), *map(str, unexplained)]))
        self._note_versions(operation, engine, azurite)

    def _answer(self, operation: Operation, side: int) -> dict[str, Any]:
        account, etags = self._accounts[side], self._etags(operation, side)
        return normal(operation, account.hear(lambda: operation.send(account, etags)), account.base)

    def _expect_refusal(self, operation: Operation, before: Entities | None) -> None:
        [answer] = self._answer(operation, _ENGINE)["answers"]
        [refusal] = answer.get("parts", [answer]) if isinstance(answer, dict) else [answer]
        if not isinstance(refusal, Refused) or self._entities(operation.table) != before:
            raise Disagreement(f"{operation!r}\nis to be refused and to change nothing, and is answered {answer!r}")

    def _is_excused(self, operation: Operation, before: Entities | None, difference: Difference) -> bool:
        case = Case(operation, before, *difference)
        excuse = next((each for each in EXCUSES if each.applies(case)), None)
        if excuse:
            self._tally.exclusions[excuse.name] += 1
        return excuse is not None

    def _entities(self, table: str) -> Entities | None:
        try:
            found = self._state.tables.table(table)
        except Refusal:
            return None
        return {(entity.partition_key, entity.row_key): entity for entity in found.walk(Stretch())}

    def _etags(self, operation: Operation, side: int) -> Callable[[Write], str | None]:
        def etag(write: Write) -> str | None:
            if write.condition in _AGES:
                version = self._versions.written((operation.table.lower(), write.key), _AGES[write.condition])
                return version[side] if version else NEVER
            return "*" if write.condition == "any" else None

        return etag

    def _note_versions(self, operation: Operation, engine: dict[str, Any], azurite: dict[str, Any]) -> None:
        if writes := writes_of(operation):
            made = zip(writes, _etags_in(engine), _etags_in(azurite), strict=False)
            for write, ours, theirs in made:
                if ours and theirs:
                    self._versions.write((operation.table.lower(), write.key), ours, theirs)


def _etags_in(answer: dict[str, Any]) -> Iterator[str | None]:
    """Yield the ETags of the versions that writes made, in the order of the writes; None for a write that made none."""
    for whole in answer["answers"]:
        for part in whole.get("parts", [whole]) if isinstance(whole, dict) else []:
            yield part.get("etag") if isinstance(part, dict) else None
