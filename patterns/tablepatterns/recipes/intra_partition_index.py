"""Keep a second copy of each entity in its own partition, as an intra-partition secondary index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from ..argument_types import checked
from ..entity import same_value
from ..entity_set.derived import Change, Index, keys_of
from ..entity_set.placement import RowReader
from ..errors import BadDesign
from ..key import K, Key
from ..sdk.operation import ANY, Operation


class IntraPartitionIndex(Index, Generic[K]):
    """Look up and sort the entities of a partition by a second key, using copies in the same partition.

    Use it for lookups whose callers know the partition, such as employees of a department by e-mail as well as by
    number. To look entities up across partitions, use `InterPartitionIndex`.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com", "Age": 34})
    >>> employees.find(by_email, Department="Sales", Email="jonesj@contoso.com")["EmployeeId"]
    223

    Consistency: copies and primary change in one entity group transaction, so readers never see them differ. Rows that
    other programs write without the set are not indexed. How to choose the key of the copies:
    docs/patterns/intra_partition_index.md.

    Uniqueness: a copy is written with *insert*, so its key is unique. A second entity with the same key raises
    `DuplicateIndexValue`; nothing is written. An entity in which a field of the key is None has no copy.

    Cost: no further storage transaction on insert, replace, merge and delete; one row more per entity, which counts
    towards the 100 operations of the transaction, the throughput of the partition, and the bill for capacity. `find`
    and each page of a range are 1 transaction.

    :param key: the key of the copies; its PartitionKey must be the primary's
    :param name: a label for errors and reports; by default the RowKey template
    :raises BadDesign: when a set is created with it: its partition is not the primary's, or its rows could be mistaken
        for primaries

    The other parameters are those of `InterPartitionIndex`. Guide: intra-partition secondary index pattern.
    """

    @checked
    def __init__(self, key: Key[K], *, include: Iterable[str] | None = None, name: str | None = None) -> None:
        self.key: Key[K] = key
        self.include = None if include is None else frozenset(include)
        self.name = name or key.row_template

    def check_key(self, key: Key, table: str) -> None:
        if self.key.partition_template != key.partition_template:
            rule = f"its copies must share the primary's partition, {key.partition_template!r}"
            hint = "use the same PartitionKey template, or an InterPartitionIndex"
            raise BadDesign(f"index {self.name}", self.key.partition_template, rule, hint)
        if self.key.overlaps(key):
            rule = f"a copy could have the key of a primary, {key.row_template!r}"
            raise BadDesign(f"index {self.name}", self.key.row_template, rule, "give each its own RowKey prefix")

    async def operations(self, change: Change, rows: RowReader) -> list[Operation]:
        # A new copy is an insert, not an upsert, so that two entities cannot share a row. Existing copies are written
        # with any ETag: the row that the caller read guards the transaction
        shape = self.shape(change.key)
        old = shape.row(change.old) if change.old is not None and shape.has_row(change.old) else None
        new = shape.row(change.new) if change.new is not None and shape.has_row(change.new) else None
        if old and new and keys_of(old) == keys_of(new):
            if old == new and same_value(old, new):
                return []
            if change.merged is not None:
                return [Operation.merge(shape.part(change, new), ANY, becomes=new)]
            return [Operation.replace(new, ANY)]
        deletes = [Operation.delete(*keys_of(old), ANY)] if old else []
        return deletes + ([Operation.insert(new)] if new else [])
