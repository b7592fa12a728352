"""Random operations on an account without tables, sent to the engine and to Azurite."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from differential.machine import Machine
from differential.tables import strategies as drawn
from differential.tables.operations import CreateTable, Operation, Query, Single, Write


class TablesMachine(Machine):
    """One run."""

    @initialize(populations=st.tuples(*[drawn.populations] * len(drawn.TABLES)))
    def begin(self, populations: tuple[list[Write], ...]) -> None:
        for table, writes in zip(drawn.TABLES, populations, strict=True):
            self.compare(CreateTable(table))
            for write in writes:
                self.compare(Single(table, write))

    @rule(operation=drawn.table_operations)
    def tables(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.writes_by_sdk)
    def write(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.raw_writes)
    def write_raw(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.transactions)
    def transact(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.point_queries)
    def get(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.queries)
    def query(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.raw_pages)
    def read_page(self, operation: Operation) -> None:
        self.compare(operation)

    def look(self) -> Iterator[Operation]:
        for table in (*drawn.ALL_TABLES, "DiffPeople"):
            yield Query(table)
