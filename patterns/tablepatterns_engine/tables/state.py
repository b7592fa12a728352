"""The state of a table: partitions in key order, and entities in key order within each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tablepatterns.edm import Ticks, ordinal

from ..collections import OrderedMap
from ..key_range import KeyRange, after
from ..resources import AccessPolicy
from .entities import Entity, Value


class Partition(OrderedMap[Entity]):
    """The entities that share a PartitionKey, ordered by `edm.ordinal` of their row keys."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class Walk:
    """The rows that a query has yet to read, as they were when it started; they are read in parts.

    A write to the table copies them first, so that the query is a snapshot and other requests need not wait for
    its end.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterator[Entity]) -> None:
        self._rows = rows

    def part(self, count: int) -> list[Entity]:
        return list(islice(self._rows, count))

    def copy(self) -> None:
        self._rows = iter(list(self._rows))


class Table:
    """A table, with its name as spelled at creation. Not thread-safe: `Tables` guards it."""

    __slots__ = ("name", "partitions", "policies", "walks")

    def __init__(self, name: str) -> None:
        self.name = name
        self.partitions: OrderedMap[Partition] = OrderedMap()
        self.policies: Sequence[AccessPolicy] = ()
        self.walks: list[Walk] = []
        """The queries in progress."""

    def find(self, partition_key: str, row_key: str) -> Entity | None:
        partition = self.partitions.get(partition_key if partition_key.isascii() else ordinal(partition_key))
        return None if partition is None else partition.get(row_key if row_key.isascii() else ordinal(row_key))

    def put(self, partition_key: str, row_key: str, properties: Mapping[str, Value], timestamp: Ticks) -> Entity:
        if self.walks:
            self._copy_walks()
        key = partition_key if partition_key.isascii() else ordinal(partition_key)
        partition = self.partitions.get(key)
        if partition is None:
            partition = self.partitions[key] = Partition(partition_key)
        row = row_key if row_key.isascii() else ordinal(row_key)
        previous = partition.get(row)
        # Versions share their key strings: at a million entities the copies would be a tenth of the memory.
        entity = Entity(partition.key, row_key if previous is None else previous.row_key, properties, timestamp)
        partition[row] = entity
        return entity

    def remove(self, partition_key: str, row_key: str) -> None:
        """Remove a stored entity, and its partition if it is then empty."""
        self._copy_walks()
        key = ordinal(partition_key)
        partition = self.partitions[key]
        del partition[ordinal(row_key)]
        if not partition:
            del self.partitions[key]

    def begin(self, rows: Iterator[Entity]) -> Walk:
        """Return a walk over rows of this table that can continue after the lock is released."""
        walk = Walk(rows)
        self.walks.append(walk)
        return walk

    def end(self, walk: Walk) -> None:
        if walk in self.walks:
            self.walks.remove(walk)

    def _copy_walks(self) -> None:
        for walk in self.walks:
            walk.copy()
        self.walks.clear()

    def walk(self, keys: KeyRange) -> Iterator[Entity]:
        """Yield the entities of a key range in order, without reading any others."""
        (first, row), upper = keys.lower, keys.upper
        last, last_row = (None, None) if upper is None else upper
        for partition in self.partitions.walk(first, None if last is None else after(last)):
            key = ordinal(partition.key)
            yield from partition.walk(row if key == first else "", last_row if key == last else None)
