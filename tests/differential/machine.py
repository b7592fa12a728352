"""The state machine of all services: compare operations, and finally the remaining state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from differential.service import Comparing


class Machine(RuleBasedStateMachine):
    """One run.

    :param pair: accounts without anything of what is drawn
    """

    def __init__(self, pair: Comparing) -> None:
        super().__init__()
        self._pair = pair
        self._agree = True

    def compare(self, operation: Any) -> None:
        """Ask both accounts for an operation."""
        self._agree = False
        self._pair.compare(operation)
        self._agree = True

    def look(self) -> Iterable[Any]:
        """Return the reads that show all that a run can have left."""
        raise NotImplementedError

    def teardown(self) -> None:
        # What a broken run left differs anyway
        for operation in self.look() if self._agree else ():
            self.compare(operation)
