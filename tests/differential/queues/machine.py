"""Random runs: operations on queues that start empty, asked of the engine and of Azurite."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from differential.queues import strategies as drawn
from differential.queues.operations import CreateQueue, Operation, Put
from differential.service import Comparing


class QueuesMachine(RuleBasedStateMachine):
    """One run.

    :param pair: accounts without any of the queues that are drawn
    """

    def __init__(self, pair: Comparing) -> None:
        super().__init__()
        self._pair = pair

    @initialize(sizes=st.tuples(*[st.integers(0, 5)] * len(drawn.QUEUES)))
    def begin(self, sizes: tuple[int, ...]) -> None:
        for queue, size in zip(drawn.QUEUES, sizes, strict=True):
            self._pair.compare(CreateQueue(queue))
            for number in range(size):
                self._pair.compare(Put(queue, str(number)))

    @rule(operation=drawn.operations_on_queues)
    def queues(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.lists)
    def list(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.puts)
    def put(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.receipts)
    def get(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.looks)
    def peek(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.updates)
    def update(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.removals)
    def remove(self, operation: Operation) -> None:
        self._pair.compare(operation)
