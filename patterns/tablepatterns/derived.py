"""Derived data: what an `EntitySet` keeps right along with each entity, and how rows are made from entities.

One logical change (old entity, new entity) becomes physical operations. Each derived object answers with its own;
those that fall in the partition of the primary row go into one entity group transaction with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .entity import Entity
from .limits import SYSTEM_PROPERTIES
from .operation import ANY, Operation

if TYPE_CHECKING:
    from .key import Key
    from .table import Table

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """What happens to one logical entity of a set: created if `old` is None, deleted if `new` is."""

    key: Key
    """The key of the set's primary rows."""
    old: Fields | None
    new: Fields | None
    merged: frozenset[str] | None = None
    """The names that a merge gives; None where the whole entity is written."""

    @property
    def merges(self) -> bool:
        """Whether what is stored beyond the given names stays as it is."""
        return self.merged is not None


class Derived(ABC):
    """Something that follows from the entities of a set, and that the set keeps right.

    It declares and computes; it holds no account and no state, so one object may serve many sets and threads.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that errors and reports use."""

    @abstractmethod
    def join(self, key: Key) -> None:
        """Check that this can follow from entities with that primary key.

        :raises BadDesign: it cannot work, and why
        """

    @abstractmethod
    async def operations(self, change: Change, table: Table) -> list[Operation]:
        """Return the writes in the primary's partition that bring this in line with the change."""


class Index(Derived):
    """Derived rows of which there is one for each entity, so that an entity can be found and ordered by them."""

    @property
    @abstractmethod
    def key(self) -> Key:
        """The key of the index rows."""

    @abstractmethod
    def shape(self, primary: Key) -> Shape:
        """Return how the rows are keyed and what they hold, for entities with that primary key."""


@dataclass(frozen=True)
class Shape:
    """How the rows of one kind are keyed, and which properties they hold; None means all.

    The fields of a key are not stored a second time as properties: the key is the one place that holds them.
    """

    key: Key
    include: frozenset[str] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether a row holds everything there is to know about its entity."""
        return self.include is None

    def row(self, fields: Fields) -> dict[str, Any]:
        """Return the physical entity for these fields, with its keys."""
        partition_key, row_key = self.key.format(self.key_fields(fields))
        return {"PartitionKey": partition_key, "RowKey": row_key} | self.properties(fields)

    def properties(self, fields: Fields) -> dict[str, Any]:
        """Return the properties that a row holds besides its keys."""
        return {name: value for name, value in fields.items() if value is not None and self.holds(name)}

    def part(self, change: Change) -> dict[str, Any]:
        """Return what a merge sends to the row: its keys, and of the given names those that it holds."""
        row = self.row(change.new or {})
        given = change.merged or frozenset()
        return {name: value for name, value in row.items() if name in ("PartitionKey", "RowKey") or name in given}

    def key_fields(self, fields: Fields) -> dict[str, Any]:
        """Return the fields that the key is made of."""
        return {name: fields.get(name) for name in self.key.fields}

    def holds(self, name: str) -> bool:
        """Whether a row holds the field as a property."""
        return name not in self.key.fields and (self.include is None or name in self.include)

    def has_row(self, fields: Fields | None) -> bool:
        """Whether there is a row at all: an entity that lacks a field of the key has none."""
        return fields is not None and all(fields.get(name) is not None for name in self.key.fields)

    def selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the properties to ask the service for: the fields of the key come from the keys themselves."""
        if names is None:
            return None
        return (*SYSTEM_PROPERTIES, *(name for name in names if name not in self.key.fields))

    def fits(self, row: Entity) -> bool:
        """Whether a row of the table is of this kind; the partition may hold others."""
        return self.key.matches(row["PartitionKey"], row["RowKey"])

    def entity(self, row: Entity) -> Entity:
        """Return the logical entity of a row: its properties and the fields of its key."""
        fields = {name: value for name, value in row.items() if name not in ("PartitionKey", "RowKey")}
        entity = Entity(fields | self.key.parse(row["PartitionKey"], row["RowKey"]))
        entity.be(row)
        return entity


def copy_operations(shape: Shape, change: Change) -> list[Operation]:
    """Return the writes that bring one copy per entity in line: none, one, or a delete and an insert.

    A new row is written with *insert*, never with an upsert, so that two entities cannot share it. Other rows must
    exist, whatever their ETag: the transaction is conditional on the row that the caller read.
    """
    old = shape.row(change.old) if change.old is not None and shape.has_row(change.old) else None
    new = shape.row(change.new) if change.new is not None and shape.has_row(change.new) else None
    if old == new:
        return []
    if old and new and _key(old) == _key(new):
        return [Operation.merge(shape.part(change), ANY) if change.merges else Operation.replace(new, ANY)]
    gone = [Operation.delete(*_key(old), ANY)] if old else []
    return gone + ([Operation.insert(new)] if new else [])


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["PartitionKey"], row["RowKey"]


def names_of(fields: Collection[str]) -> str:
    """Return names as an error lists them."""
    return ", ".join(sorted(fields)) or "none"
