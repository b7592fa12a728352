"""Keep a second copy of each entity in another partition or table, as an inter-partition secondary index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from ..argument_types import checked
from ..entity_set.derived import Index
from ..entity_set.placement import InTable
from ..errors import BadDesign
from ..key import K, Key


class InterPartitionIndex(Index, Generic[K]):
    """Look up and sort entities by a second key, using copies stored in other partitions.

    Use it when lookups by the second key should not load the primary's partition, or when callers do not know that
    partition. Otherwise prefer `IntraPartitionIndex`: it is always consistent, and costs one request.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("empid_{Department}", "{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com", "Age": 34})
    >>> employees.find(by_email, Department="Sales", Email="jonesj@contoso.com")["EmployeeId"]
    223

    Consistency: eventual. Until the writer or a worker has updated a copy, a reader may see the old one, or none. How
    this works, and how to choose the key of the copies: docs/patterns/inter_partition_index.md.

    Uniqueness: with `unique=True`, a second entity with the same key raises `DuplicateIndexValue`, and nothing is
    written. Otherwise the first entity keeps the copy, and `verify` reports the other.

    Cost: `insert` 3 table + 2 queue transactions, equivalent to 25 table operations; with `unique` and a new value
    `insert` 4 table + 2 queue transactions, equivalent to 26 table operations. `replace` 4 table + 2 queue
    transactions, equivalent to 26 table operations, if the copies change; 5 table + 2 queue transactions, equivalent to
    27 table operations, if the index key does; 1 table transaction if no copy changes. `delete` 4 table + 2 queue
    transactions, equivalent to 26 table operations. Each further index takes one to three transactions of a table on
    top. `find`, and each page of a range, 1 table transaction.

    :param key: the key of the copies
    :param table: the table of the copies; None for that of the primaries. No other set may keep copies there under keys
        of the same form, since `repair` of one would delete those of the other
    :param include: the properties that a copy holds besides the fields of both keys; None for all, so that a copy is
        complete and can be written back
    :param unique: whether to reject a second entity with the same key
    :param name: a label for errors, reports and messages; by default the key's templates. Set it if the templates may
        change, since queued messages refer to it
    :raises BadDesign: when a set is created with it: its copies would share the partition of the primaries, or the keys
        of another set's copies

    Guide: inter-partition secondary index pattern.
    """

    @checked
    def __init__(
        self,
        key: Key[K],
        *,
        table: str | None = None,
        include: Iterable[str] | None = None,
        unique: bool = False,
        name: str | None = None,
    ) -> None:
        self.key: Key[K] = key
        self.placement = InTable(table)
        self.include = None if include is None else frozenset(include)
        self.is_unique = unique
        self.name = name or f"{key.partition_template}/{key.row_template}"

    def check_key(self, key: Key, table: str) -> None:
        if self.placement == InTable() and self.key.partition_template == key.partition_template:
            rule = "its copies would share the primary's partition"
            raise BadDesign(f"index {self.name}", self.key.partition_template, rule, "use an IntraPartitionIndex")
