"""Derived data: what an `EntitySet` keeps right along with each entity, and how rows are made from entities.

One logical change (old entity, new entity) becomes physical operations. A kind of derived data lies either in the
partition of the primary row, and then changes in one entity group transaction with it; or elsewhere, in another
partition or table, and then follows it by intent, write, reconcile: see `eventual`.

What a kind has to say, to be kept, checked, filled for entities that are older than it, and mended:

- `keys`: which rows an entity has a part in;
- `mended`: how one such row must change for one entity, whatever the row holds;
- `owners`: which entities have, or had, a part in a row; None for a row of another kind.

`mended` looks at the entity as it is now, and at nothing that happened before. So it may be applied again, late, and in
any order, and each time brings the row closer to what the entities say. A row that several entities have a part in
(`shares_rows`) is changed in the part of one of them, and written back on condition of its own ETag.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..entity import Entity, Looked
from ..errors import BadDesign, BadProperty
from ..limits import SYSTEM_PROPERTIES
from ..same_value import same_value
from ..sdk.operation import ANY, Operation
from ..write_id import Lineage

if TYPE_CHECKING:
    from ..declared_rows import StoreName
    from ..key import Key
    from ..recipe import Account
    from .row_store import RowReader, RowStore

Fields = Mapping[str, Any]
INTENT_ID: Final = "IntentId"
"""The property by which a row of a unique index elsewhere shows that it only holds the key, for an entity to come."""

Keys: TypeAlias = tuple[str, str]
"""The PartitionKey and the RowKey of a row."""


@dataclass(frozen=True)
class Change:
    """What happens to one logical entity of a set: created if `old` is None, deleted if `new` is."""

    key: Key
    """The key of the set's primary rows."""
    old: Fields | None = field(repr=False)
    new: Fields | None = field(repr=False)
    merged: frozenset[str] | None = None
    """The names that a merge gives; None where the whole entity is written."""
    is_written: bool = True
    """Whether it is written; False for an entity that others come to depend on, and that itself stays as it is."""

    @property
    def merges(self) -> bool:
        """Whether what is stored beyond the given names stays as it is."""
        return self.merged is not None

    @cached_property
    def row(self) -> Keys:
        """The keys of the primary row."""
        return self.key.keys_of(self.new or self.old or {})

    @cached_property
    def seen(self) -> dict[str, Looked]:
        """What was found out about the values; its rows hold most of the same."""
        return {}

    @cached_property
    def result(self) -> Primary:
        """The primary row once the change is written."""
        return Primary(self.key, self.row, self.new)


@dataclass(frozen=True)
class Primary:
    """A primary row as it is at some moment, with the properties as they are stored."""

    key: Key
    """The key of the set's primary rows."""
    row: Keys
    fields: Fields | None
    """Its properties and the fields of its key; None where there is no such row."""
    etag: str | None = None
    lineage: Lineage = ()
    _parts: dict[Derived, list[Keys]] = field(default_factory=dict["Derived", "list[Keys]"], repr=False, compare=False)

    def parts(self, derived: Derived) -> list[Keys]:
        """Return the keys of the rows of a kind that the entity has a part in; they are worked out once."""
        if self.fields is None:
            return []
        if derived not in self._parts:
            self._parts[derived] = derived.keys(self.key, self.fields)
        return self._parts[derived]


class Derived(ABC):
    """Something that follows from the entities of a set, and that the set keeps right.

    It declares and computes; it holds no account and no state, so one object may serve many sets and threads.
    """

    @property
    def is_eventual(self) -> bool:
        """Whether the rows lie outside the primary's partition, and follow it by intent, write, reconcile."""
        return False

    @property
    def shares_rows(self) -> bool:
        """Whether several entities may have a part in one row; a conflict on one begins the write anew."""
        return False

    @property
    def is_verifiable(self) -> bool:
        """Whether each entity tells what its part of a row must be, so that the rows can be verified and mended."""
        return True

    @property
    def reads(self) -> Collection[str]:
        """The names of the fields whose values it works with, which must therefore be stored as they are."""
        return ()

    @property
    def needs_primary_etag(self) -> bool:
        """Whether others rely on the ETag of the primary row alone, so that a write must be conditional on that one."""
        return False

    @property
    def adds(self) -> Collection[str]:
        """The names of properties of the primary rows that others write too, past the set."""
        return ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that errors and reports use."""

    @abstractmethod
    def join(self, key: Key) -> None:
        """Check that this can follow from entities with that primary key.

        :raises BadDesign: it cannot work, and why
        """

    def table(self, primary: str) -> str:
        """Return the name of the table that the rows are in, by that of the primary rows."""
        return primary

    def place(self, primary: str) -> StoreName:
        """Return what the rows lie in, by the name of the table of the primary rows."""
        return "table", self.table(primary).lower()

    def own_rows(self, key: Key) -> Key | None:
        """Return the key of the rows that are this kind's alone; None where it has no such rows.

        :param key: the key of the set's primary rows
        """
        return None

    def store(self, account: Account) -> RowStore | None:
        """Return what the rows are in where that is no table; None where it is one."""
        return None

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        """Return the keys of the rows that an entity with these stored fields has a part in, each once.

        :param key: the key of the set's primary rows
        """
        raise self._not_told()

    def mended(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        """Return the write that brings one entity's part of a row in line; None where nothing is to be done.

        A write of a row that exists is conditional on its ETag, and of one that does not an insert.

        :param keys: the row's keys, whether the entity shall have a part in it or not
        :param row: what is stored there
        :param primary: the entity as it is now
        """
        raise self._not_told()

    def owners(self, key: Key, row: Entity) -> list[Keys] | None:
        """Return the keys of the primary rows that a row says it follows from; None if it is not of this kind."""
        raise self._not_told()

    def touched(self, change: Change) -> list[Keys]:
        """Return the keys of the rows that a change may leave out of line, each once."""
        sides = [side for side in (change.old, change.new) if side is not None]
        return list(dict.fromkeys(keys for side in sides for keys in self.keys(change.key, side)))

    async def completed(self, change: Change, table: RowReader) -> tuple[Change, list[Operation]]:
        """Return a change with what this adds to the primary row itself, and the writes that guard what it relied on.

        A conflict with such a write begins the whole write anew, if the kind shares its rows.
        """
        return change, []

    async def operations(self, change: Change, table: RowReader) -> list[Operation]:
        """Return the writes in the primary's partition that bring this in line with the change.

        Unless a kind knows better, they are those of `mending`.
        """
        return await self.mending(change, table)

    async def mending(self, change: Change, table: RowReader) -> list[Operation]:
        """Return the writes that bring this in line with the change, whatever the rows hold now.

        Every row that may be out of line is read and mended; a row of another entity is not, so that an insert in its
        place is refused.
        """
        found: list[Operation | None] = []
        for keys in self.touched(change):
            row = await table.get(*keys)
            is_ours = row is not None and (self.shares_rows or self.owners(change.key, row) == [change.row])
            found.append(self.mended(keys, row if is_ours else None, change.result))
        return [operation for operation in found if operation is not None]

    def _not_told(self) -> BadDesign:
        rule = "it does not say which rows follow from which entities, so it cannot be checked, filled or mended"
        return BadDesign("derived", self.name, rule, "give it the methods keys, mended and owners")


class Index(Derived):
    """Derived rows of which there is one for each entity, so that an entity can be found and ordered by them."""

    @property
    def reads(self) -> Collection[str]:
        """The names of the fields that the keys of the rows are made of."""
        return self.key.fields

    @property
    @abstractmethod
    def key(self) -> Key:
        """The key of the index rows."""

    @abstractmethod
    def shape(self, primary: Key) -> RowLayout:
        """Return how the rows are keyed and what they hold, for entities with that primary key."""

    @property
    def is_unique(self) -> bool:
        """Whether a key is reserved before the primary row is written; of use where the rows lie elsewhere."""
        return False

    def own_rows(self, key: Key) -> Key | None:
        """Return the key of the copies."""
        return self.key

    def reservation(self, primary: Primary) -> dict[str, Any]:
        """Return the row that holds a key for an entity which is about to be written: both keys, and nothing else."""
        names = {*self.key.fields, *primary.key.fields}
        fields = primary.fields or {}
        return self.shape(primary.key).row({name: value for name, value in fields.items() if name in names})

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        """Return the keys of the one row that an entity has, if it has one."""
        shape = self.shape(key)
        return [shape.key.keys_of(fields)] if shape.has_row(fields) else []

    def mended(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        """Return the write that makes a row the entity's copy, or removes it where it shall have none there."""
        if primary.fields is None or keys not in primary.parts(self):
            return None if row is None else Operation.delete(*keys, row.etag or ANY)
        wanted = self.shape(primary.key).row(primary.fields, keys)
        if self.is_unique and INTENT_ID in wanted:
            raise BadProperty(
                INTENT_ID, wanted[INTENT_ID], "rows of a unique index use the name", "rename the property"
            )
        if row is None:
            return Operation.insert(wanted)
        return None if same_value(row, wanted) else Operation.replace(wanted, row.etag or ANY)

    def owners(self, key: Key, row: Entity) -> list[Keys] | None:
        """Return the primary key that a copy holds; None if the row is no copy of this index."""
        shape = self.shape(key)
        if not shape.fits(row):
            return None
        primary, held = RowLayout(key), shape.entity(row)
        return [key.format(primary.key_fields(held))] if primary.has_row(held) else None

    def touched(self, change: Change) -> list[Keys]:
        """Return the keys of the copies that differ before and after the change."""
        if change.old is None or change.new is None:
            return change.result.parts(self) if change.old is None else self.keys(change.key, change.old)
        shape = self.shape(change.key)
        rows = [shape.row(side) for side in (change.old, change.new) if shape.has_row(side)]
        return [] if len(rows) == 2 and same_value(*rows) else super().touched(change)


@dataclass(frozen=True)
class RowLayout:
    """How the rows of one kind are keyed, and which properties they hold; None means all.

    The fields of a key are not stored a second time as properties: the key is the one place that holds them.
    """

    key: Key
    include: frozenset[str] | None = None
    table: str | None = None
    """The table that the rows are in; None for that of the primary rows."""
    is_eventual: bool = False
    """Whether the rows lie outside the primary's partition, so that their ETags do not guard the entity."""
    hides: str | None = None
    """A property that rows have which are not to be handed out."""

    @property
    def is_complete(self) -> bool:
        """Whether a row holds everything there is to know about its entity."""
        return self.include is None

    def row(self, fields: Fields, keys: Keys | None = None) -> dict[str, Any]:
        """Return the physical entity for these fields, with its keys.

        :param keys: the keys, where they are known already
        """
        own, include = self.key.fields, self.include
        partition_key, row_key = keys or self.key.keys_of(fields)
        return {"PartitionKey": partition_key, "RowKey": row_key} | {
            name: value
            for name, value in fields.items()
            if value is not None and name not in own and (include is None or name in include)
        }

    def part(self, change: Change) -> dict[str, Any]:
        """Return what a merge sends to the row: its keys, and of the given names those that it holds."""
        row = self.row(change.new or {})
        given = change.merged or frozenset()
        return {name: value for name, value in row.items() if name in ("PartitionKey", "RowKey") or name in given}

    def key_fields(self, fields: Fields) -> dict[str, Any]:
        """Return the fields that the key is made of; one that is None is as if it were not there."""
        return {name: fields[name] for name in self.key.fields if fields.get(name) is not None}

    def holds(self, name: str) -> bool:
        """Whether a row holds the field as a property."""
        return name not in self.key.fields and (self.include is None or name in self.include)

    def has_row(self, fields: Fields | None) -> bool:
        """Whether there is a row at all: an entity that lacks a field of the key has none."""
        return fields is not None and None not in map(fields.get, self.key.fields)

    def selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the properties to ask the service for: the fields of the key come from the keys themselves."""
        if names is None:
            return None
        hiding = (self.hides,) if self.hides else ()
        return (*SYSTEM_PROPERTIES, *hiding, *(name for name in names if name not in self.key.fields))

    def fits(self, row: Entity) -> bool:
        """Whether a row of the table is of this kind; the partition may hold others."""
        return self.key.matches(row["PartitionKey"], row["RowKey"])

    def shown(self, row: Entity) -> Entity | None:
        """Return the logical entity of a row; None for a row of another kind, and for a reservation."""
        if self.hides is not None and self.hides in row:
            return None
        fields = self.key.found(row["PartitionKey"], row["RowKey"])
        return None if fields is None else _logical(row, fields)

    def entity(self, row: Entity) -> Entity:
        """Return the logical entity of a row of this kind: its properties and the fields of its key."""
        return _logical(row, self.key.parse(row["PartitionKey"], row["RowKey"]))


def _logical(row: Entity, key_fields: Fields) -> Entity:
    entity = Entity(row)
    del entity["PartitionKey"], entity["RowKey"]
    entity.update(key_fields)
    entity.be(row)
    return entity


def copy_operations(shape: RowLayout, change: Change) -> list[Operation]:
    """Return the writes that bring one copy per entity in line: none, one, or a delete and an insert.

    A new row is written with *insert*, never with an upsert, so that two entities cannot share it. Other rows must
    exist, whatever their ETag: the transaction is conditional on the row that the caller read.
    """
    old = shape.row(change.old) if change.old is not None and shape.has_row(change.old) else None
    new = shape.row(change.new) if change.new is not None and shape.has_row(change.new) else None
    if old is None and new is None:
        return []
    if old and new and _key(old) == _key(new):
        if old == new and same_value(old, new):
            return []
        if change.merges:
            return [Operation.merge(shape.part(change), ANY, becomes=new)]
        return [Operation.replace(new, ANY, seen=change.seen)]
    gone = [Operation.delete(*_key(old), ANY)] if old else []
    return gone + ([Operation.insert(new, seen=change.seen)] if new else [])


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["PartitionKey"], row["RowKey"]


def names_of(fields: Collection[str]) -> str:
    """Return names as an error lists them."""
    return ", ".join(sorted(fields)) or "none"
