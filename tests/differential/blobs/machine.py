"""Random operations on containers with a few blobs, sent to the engine and to Azurite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis.stateful import initialize, rule

from differential.blobs import strategies as drawn
from differential.blobs.containers import CreateContainer, ListBlobs, ListContainers
from differential.blobs.operations import GetBlockList, Operation, PutBlob, Read
from differential.blobs.terms import Place
from differential.machine import Machine


class BlobsMachine(Machine):
    """One run."""

    @initialize(writes=drawn.populations)
    def begin(self, writes: Iterable[PutBlob]) -> None:
        for container in drawn.CONTAINERS:
            self.compare(CreateContainer(container))
        for write in writes:
            self.compare(write)

    @rule(operation=drawn.operations_on_containers)
    def containers(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.lists)
    def list(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.puts)
    def put(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.blocks)
    def blocks(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.appends)
    def append(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.reads)
    def read(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.changes)
    def change(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.on_leases)
    def lease(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.snapshots)
    def take_snapshot(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.deletions)
    def delete(self, operation: Operation) -> None:
        self.compare(operation)

    @rule(operation=drawn.copies)
    def copy(self, operation: Operation) -> None:
        self.compare(operation)

    def look(self) -> Iterator[Operation]:
        yield ListContainers(drawn.PREFIX, include="metadata")
        for container in drawn.CONTAINERS:
            yield ListBlobs(container, include="metadata,snapshots,copy,uncommittedblobs")
            for place in (Place(container, name) for name in drawn.BLOBS):
                yield from (Read(place, "HEAD"), Read(place), GetBlockList(place, "all"))
