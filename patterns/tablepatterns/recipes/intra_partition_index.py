"""Intra-partition secondary index: a second copy of each entity in its own partition, under another RowKey.

Status: ready
"""

from __future__ import annotations

from collections.abc import Iterable

from ..argument_types import checked
from ..entity_set.derived import Change, Index, RowLayout, copy_operations, names_of
from ..entity_set.row_store import RowReader
from ..errors import BadDesign
from ..key import Key
from ..sdk.operation import Operation


class IntraPartitionIndex(Index):
    """Find and order the entities of a partition by another key, exactly, with one point or range query.

    Goal: look employees up by e-mail as well as by number, within a department, without a scan.

    Keys: the copies share the primary's PartitionKey; a prefix of their own in the RowKey keeps the two apart, and
    what follows it gives the order. Values that form no unique key should be followed by the primary's.

    Guarantees: copies and primary change in one entity group transaction, so no reader ever sees them differ. The
    copy is written with *insert*: its key is a unique constraint, and a second entity with the same value is refused
    with `DuplicateIndexValue`, with nothing changed. An entity in which a field of the key is None has no copy.

    Does not: reach across partitions (that is the inter-partition secondary index), or notice rows that other
    programs write past the set. Order results on the Cosmos DB Table API.

    Cost: no further storage transaction on insert, replace, merge and delete; one row more per entity, which counts
    towards the 100 operations of the transaction, the throughput of the partition, and the bill for capacity.
    `find` and each page of a range are 1 transaction.

    >>> from tablepatterns import EntitySet, Key, connect, prefix
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com", "Age": 34})
    >>> employees.find(by_email, Department="Sales", Email="jonesj@contoso.com")["EmployeeId"]
    223
    >>> [found["Email"] for found in employees.range(by_email, Department="Sales", Email=prefix("j"))]
    ['jonesj@contoso.com']

    :param key: the key of the copies; its PartitionKey must be the primary's
    :param include: the properties that a copy holds besides the fields of both keys; None, the default, for all, so
        that the copy answers every question and can be written back as it was read
    :param name: what errors and reports call the index; by default the RowKey's template
    :raises BadDesign: when a set is made with it: its partition is not the primary's, or its rows could be taken for
        the primary's

    Guide: intra-partition secondary index pattern.
    """

    @checked
    def __init__(self, key: Key, *, include: Iterable[str] | None = None, name: str | None = None) -> None:
        self._key = key
        self.include = None if include is None else frozenset(include)
        self._name = name or key.row_template

    @property
    def key(self) -> Key:
        """The key of the copies."""
        return self._key

    @property
    def name(self) -> str:
        """The name that errors and reports use."""
        return self._name

    def shape(self, primary: Key) -> RowLayout:
        """Return how the copies are keyed and what they hold, for entities with that primary key."""
        return RowLayout(self.key, None if self.include is None else self.include | set(primary.fields))

    def join(self, key: Key) -> None:
        """Check that the copies fall in the primary's partition and cannot be taken for primaries."""
        if self.key.partition_template != key.partition_template:
            rule = f"its copies must share the primary's partition, {key.partition_template!r}"
            hint = "use the same PartitionKey template, or an InterPartitionIndex"
            raise BadDesign(f"index {self.name}", self.key.partition_template, rule, hint)
        if self.key.overlaps(key):
            rule = f"a copy could have the key of a primary, {key.row_template!r}"
            raise BadDesign(f"index {self.name}", self.key.row_template, rule, "give each its own RowKey prefix")

    async def operations(self, change: Change, table: RowReader) -> list[Operation]:
        """Return the writes that bring the copy in line with the change."""
        return copy_operations(self.shape(change.key), change)

    def __repr__(self) -> str:
        held = "all" if self.include is None else names_of(self.include)
        return f"<IntraPartitionIndex {self.name} include={held}>"
