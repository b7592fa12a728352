"""Inter-partition secondary index: a second copy of each entity in another partition or table, under keys of its own.

Status: ready
"""

from __future__ import annotations

from collections.abc import Iterable

from ..argument_types import checked
from ..entity_set.derived import INTENT_ID, Index, RowLayout, names_of
from ..errors import BadDesign
from ..key import Key


class InterPartitionIndex(Index):
    """Find and order entities by another key in other partitions, which carry the load of it, a moment late.

    Goal: look employees up by e-mail at a rate that the partition of the primary rows should not bear, or without
    knowing their department.

    Keys: the copies have a PartitionKey and a RowKey of their own; a prefix in the PartitionKey names the index where
    copies and primaries share a table. The keys must be those of one entity: follow values that are not with the
    primary's, or make the index unique.

    Guarantees: copies follow their primaries by intent, write, reconcile. Whoever dies, and wherever, once the
    messages of the intents queue are worked off each copy is what its primary says, and there are no others. The
    writer brings the copies in line itself before it returns, so that a worker is needed only for writers that died or
    were cut off. A copy is never written over, or deleted for, another living entity. With `unique` a key is reserved
    before the primary row is written, and a second entity with the same value is refused with `DuplicateIndexValue`,
    with nothing changed. An entity found here may be written back: it is refused if the primary says otherwise.

    Does not: show a change at the very moment at which it is made: a reader may find an old copy for a while, or
    none; read the primary row where that matters. Without `unique` two entities with one value are not refused: the
    first keeps the copy, and `verify` tells. A process that stalls for longer than half the lease between one request
    and the next may leave a copy that nobody knows of, or break `unique`: `verify` finds and `repair` mends it.

    Cost: `insert` 3 table + 2 queue transactions, as much as 25 table operations: the intent, the primary, the copy, a
    look at the primary, the end of the intent. With `unique` and a new value `insert` 4 table + 2 queue transactions,
    as much as 26 table operations. `replace` 4 table + 2 queue transactions, as much as 26 table operations, where what
    copies hold changes; 5 table + 2 queue transactions, as much as 27 table operations, where the index key does; 1
    table transaction where no copy changes. `delete` 4 table + 2 queue transactions, as much as 26 table operations.
    Each further index takes one to three transactions of a table on top. `find`, and each page of a range, 1 table
    transaction.

    >>> from tablepatterns import EntitySet, Key, connect, prefix
    >>> by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("empid_{Department}", "{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com", "Age": 34})
    >>> employees.find(by_email, Department="Sales", Email="jonesj@contoso.com")["EmployeeId"]
    223
    >>> [found["Email"] for found in employees.range(by_email, Department="Sales", Email=prefix("j"))]
    ['jonesj@contoso.com']

    :param key: the key of the copies
    :param table: the table of the copies; None, the default, for that of the primaries. No other set may keep copies
        there under keys of the same form: `repair` of one would take those of the other for orphans, and delete them.
        Two such sets of one connection are refused; those of other processes are not seen
    :param include: the properties that a copy holds besides the fields of both keys; None, the default, for all, so
        that the copy answers every question and can be written back as it was read
    :param unique: whether a second entity with the same key is refused
    :param name: what errors, reports and messages call the index; by default the key's templates. Give one where the
        templates may change, since messages may outlive them
    :raises BadDesign: when a set is made with it: its copies would lie with the primaries, or with those of another set

    Guide: inter-partition secondary index pattern.
    """

    @checked
    def __init__(
        self,
        key: Key,
        *,
        table: str | None = None,
        include: Iterable[str] | None = None,
        unique: bool = False,
        name: str | None = None,
    ) -> None:
        self._key = key
        self._table = table
        self.include = None if include is None else frozenset(include)
        self._is_unique = unique
        self._name = name or f"{key.partition_template}/{key.row_template}"

    @property
    def key(self) -> Key:
        """The key of the copies."""
        return self._key

    @property
    def name(self) -> str:
        """The name that errors, reports and messages use."""
        return self._name

    @property
    def is_eventual(self) -> bool:
        """Whether the copies lie outside the primary's partition, which they do."""
        return True

    @property
    def is_unique(self) -> bool:
        """Whether a second entity with the same key is refused."""
        return self._is_unique

    def table(self, primary: str) -> str:
        """Return the name of the table that the copies are in."""
        return self._table or primary

    def shape(self, primary: Key) -> RowLayout:
        """Return how the copies are keyed and what they hold, for entities with that primary key."""
        include = None if self.include is None else self.include | set(primary.fields)
        return RowLayout(self.key, include, self._table, is_eventual=True, hides=INTENT_ID if self.is_unique else None)

    def join(self, key: Key) -> None:
        """Check that the copies need not lie in the primary's partition."""
        if self._table is None and self.key.partition_template == key.partition_template:
            rule = "its copies would share the primary's partition"
            raise BadDesign(f"index {self.name}", self.key.partition_template, rule, "use an IntraPartitionIndex")

    def __repr__(self) -> str:
        held = "all" if self.include is None else names_of(self.include)
        return f"<InterPartitionIndex {self.name} include={held}{' unique' if self.is_unique else ''}>"
