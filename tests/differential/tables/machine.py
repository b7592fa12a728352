"""Random runs: operations on tables that start empty, asked of the engine and of Azurite."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from differential.service import Comparing
from differential.tables import strategies as drawn
from differential.tables.operations import CreateTable, Operation, Single, Write


class TablesMachine(RuleBasedStateMachine):
    """One run.

    :param pair: accounts without any of the tables that are drawn
    """

    def __init__(self, pair: Comparing) -> None:
        super().__init__()
        self._pair = pair

    @initialize(populations=st.tuples(*[drawn.populations] * len(drawn.TABLES)))
    def begin(self, populations: tuple[list[Write], ...]) -> None:
        for table, writes in zip(drawn.TABLES, populations, strict=True):
            self._pair.compare(CreateTable(table))
            for write in writes:
                self._pair.compare(Single(table, write))

    @rule(operation=drawn.table_operations)
    def tables(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.writes_by_sdk)
    def write(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.writes_by_hand)
    def write_by_hand(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.transactions)
    def transact(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.point_queries)
    def get(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.queries)
    def query(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.pages_by_hand)
    def read_page(self, operation: Operation) -> None:
        self._pair.compare(operation)
