"""Random operations on an account without queues, sent to the engine and to Azurite."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from differential.machine import Machine
from differential.queues import strategies as drawn
from differential.queues.operations import CreateQueue, GetMetadata, GetPolicies, Operation, Peek, Put
from tablepatterns.limits import MAX_MESSAGES_PER_GET


class QueuesMachine(Machine):
    """One run."""

    @initialize(sizes=st.tuples(*[st.integers(0, 5)] * len(drawn.QUEUES)))
    def begin(self, sizes: tuple[int, ...]) -> None:
        for queue, size in zip(drawn.QUEUES, sizes, strict=True):
            self.compare(CreateQueue(queue))
            for number in range(size):
                self.compare(Put(queue, str(number)))

    @rule(operation=drawn.operations_on_queues)
    def queues(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.lists)
    def list(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.puts)
    def put(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.receipts)
    def get(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.looks)
    def peek(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.updates)
    def update(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.removals)
    def remove(self, operation: Operation) -> None:
        self.compare(operation)

    def look(self) -> Iterator[Operation]:
        for queue in drawn.ALL_QUEUES:
            yield from (GetMetadata(queue), GetPolicies(queue), Peek(queue, MAX_MESSAGES_PER_GET))
