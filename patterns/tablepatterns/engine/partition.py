"""The entities of one partition, by RowKey."""

from __future__ import annotations

from .entities import Entity
from .ordered import Ordered


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
