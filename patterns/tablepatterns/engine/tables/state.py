"""The state of a table: partitions in key order, and entities in key order within each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from sortedcontainers import SortedList

from ...edm import ordinal
from ..resources import AccessPolicy
from .entities import Entity, check_key, check_size
from .key_range import Stretch, after

T = TypeVar("T")


class Ordered(Generic[T]):
    """Values by key; keys are compared as Python compares strings.

    Finding is hashing; putting in and taking out cost a binary search; a walk costs one more, and what it yields.

    >>> rows = Ordered[int]()
    >>> rows["b"], rows["a"] = 2, 1
    >>> list(rows.walk()), list(rows.walk("b")), rows.get("c")
    ([1, 2], [2], None)
    """

    __slots__ = ("_order", "_values")

    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._order: Any = SortedList()

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: str) -> T:
        return self._values[key]

    def __setitem__(self, key: str, value: T) -> None:
        if key not in self._values:
            self._order.add(key)
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._order.remove(key)

    def get(self, key: str) -> T | None:
        """Return the value of a key, None if there is none."""
        return self._values.get(key)

    def walk(self, lower: str = "", upper: str | None = None) -> Iterator[T]:
        """Return the values from a key, included, to another, excluded, in key order; None is the end."""
        return map(self._values.__getitem__, self._order.irange(lower, upper, (True, False)))

    def check(self) -> None:
        """Assert that the order is that of the keys, and that nothing is missing from it or in it twice."""
        self._order._check()
        if list(self._order) != sorted(self._values):
            raise AssertionError(f"the order {list(self._order)} is not that of {sorted(self._values)}")


class Partition(Ordered[Entity]):
    """The entities that share a PartitionKey; they are filed under `edm.ordinal` of their row keys.

    :param key: the PartitionKey
    """

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key

    def put(self, row: str, entity: Entity) -> None:
        """Store a version, in place of the former one if there is one."""
        former = self.get(row)
        # Versions share their key strings: at a million entities the copies would be a tenth of the memory.
        entity.partition_key = self.key
        entity.row_key = entity.row_key if former is None else former.row_key
        self[row] = entity


class Table:
    """One table; it is not thread-safe by itself, `Tables` guards it.

    :param name: the name as it was given at creation
    """

    __slots__ = ("name", "partitions", "policies")

    def __init__(self, name: str) -> None:
        self.name = name
        self.partitions: Ordered[Partition] = Ordered()
        self.policies: Sequence[AccessPolicy] = ()

    def find(self, partition_key: str, row_key: str) -> Entity | None:
        """Return the entity with these keys, or None."""
        partition = self.partitions.get(ordinal(partition_key))
        return None if partition is None else partition.get(ordinal(row_key))

    def put(self, entity: Entity) -> None:
        """Store a version of an entity."""
        key = ordinal(entity.partition_key)
        partition = self.partitions.get(key)
        if partition is None:
            partition = self.partitions[key] = Partition(entity.partition_key)
        partition.put(ordinal(entity.row_key), entity)

    def remove(self, partition_key: str, row_key: str) -> None:
        """Drop an entity, which must be stored, and its partition once that is empty."""
        key = ordinal(partition_key)
        partition = self.partitions[key]
        del partition[ordinal(row_key)]
        if not partition:
            del self.partitions[key]

    def walk(self, keys: Stretch) -> Iterator[Entity]:
        """Yield the entities of a stretch of the table in order, touching none outside."""
        (first, row), upper = keys.lower, keys.upper
        last, last_row = (None, None) if upper is None else upper
        for partition in self.partitions.walk(first, None if last is None else after(last)):
            key = ordinal(partition.key)
            yield from partition.walk(row if key == first else "", last_row if key == last else None)

    def check(self) -> None:
        """Assert that all is filed under its own keys, that no empty partition is kept, and what holds of entities."""
        self.partitions.check()
        for partition in self.partitions.walk():
            partition.check()
            if not partition or self.partitions.get(ordinal(partition.key)) is not partition:
                raise AssertionError(f"partition {partition.key!r} is empty, or filed under another key")
            for entity in partition.walk():
                if self.find(entity.partition_key, entity.row_key) is not entity:
                    raise AssertionError(f"{entity!r} is filed under other keys")
                check_key("PartitionKey", entity.partition_key, in_body=True)
                check_key("RowKey", entity.row_key, in_body=True)
                check_size(entity.partition_key, entity.row_key, entity.properties)
        moments = [entity.timestamp for partition in self.partitions.walk() for entity in partition.walk()]
        if len(set(moments)) < len(moments):
            raise AssertionError(f"two entities of table {self.name!r} have the same timestamp")
