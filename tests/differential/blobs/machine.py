"""Random runs: operations on containers that start with a few blobs, asked of the engine and of Azurite."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from differential.blobs import strategies as drawn
from differential.blobs.containers import CreateContainer
from differential.blobs.operations import Operation, PutBlob
from differential.blobs.terms import Place
from differential.service import Comparing


class BlobsMachine(RuleBasedStateMachine):
    """One run.

    :param pair: accounts without any of the containers that are drawn
    """

    def __init__(self, pair: Comparing) -> None:
        super().__init__()
        self._pair = pair

    @initialize(contents=st.dictionaries(st.sampled_from(drawn.BLOBS), drawn.contents))
    def begin(self, contents: dict[str, str]) -> None:
        for container in drawn.CONTAINERS:
            self._pair.compare(CreateContainer(container))
        for name, content in contents.items():
            self._pair.compare(PutBlob(Place(drawn.CONTAINERS[0], name), "BlockBlob", content))

    @rule(operation=drawn.operations_on_containers)
    def containers(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.lists)
    def list(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.puts)
    def put(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.blocks)
    def blocks(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.appends)
    def append(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.reads)
    def read(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.changes)
    def change(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.on_leases)
    def lease(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.snapshots)
    def take_snapshot(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.deletions)
    def delete(self, operation: Operation) -> None:
        self._pair.compare(operation)

    @rule(operation=drawn.copies)
    def copy(self, operation: Operation) -> None:
        self._pair.compare(operation)
