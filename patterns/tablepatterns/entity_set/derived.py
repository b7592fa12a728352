"""Derived data: rows that an `EntitySet` maintains along with its entities, such as the copies of an index.

A write of an entity is a `Change`: the fields before and after. Derived rows in the entity's partition change in the
same entity group transaction. Rows elsewhere are updated after it, see docs/protocols/intents.md.

To add a kind of derived data, extend `Derived` and say

- `keys`: which rows an entity contributes to;
- `repair_operation`: the write that corrects the entity's part of one such row, whatever the row holds;
- `primary_keys_of`: which entities a row is derived from, or None for a row of another kind.

`repair_operation` depends only on the current entity and row, so it may be applied repeatedly, late and in any order.
If entities share a row (`shares_rows`), it changes the part of one of them, conditional on the row's ETag.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ..entity import Entity, WriteIds, same_value, write_ids_of
from ..errors import BadDesign, BadProperty, short_repr
from ..key import Key
from ..key.formats import DATE, date_of
from ..limits import SYSTEM_PROPERTIES
from ..sdk.operation import ANY, Operation
from .placement import InPartition, InTable, Placement, RowReader, RowStore

if TYPE_CHECKING:
    from ..recipe import Account

Fields = Mapping[str, Any]
INTENT_ID: Final = "IntentId"
"""The property that marks an index row as a reservation: its key is taken by an entity that is about to be written."""

TOMBSTONE: Final = "RekeyTombstone"
"""The property that marks the row of an entity that was deleted during a move to new keys; readers do not see it."""

Keys: TypeAlias = tuple[str, str]
"""The PartitionKey and the RowKey of a row."""


@dataclass(frozen=True)
class Change:
    """A write of one entity of a set: an insert if `old` is None, a delete if `new` is."""

    key: Key
    """The key of the set's primary rows."""
    old: Fields | None = field(repr=False)
    new: Fields | None = field(repr=False)
    merged: frozenset[str] | None = None
    """The names of the fields that a merge writes; None if the whole entity is written."""
    is_written: bool = True
    """Whether the entity is written; False if only derived rows change, because an entity that it refers to changed."""
    known_row: Keys | None = field(default=None, repr=False, compare=False)
    """The keys of the primary row, if it was read and its key does not change."""

    @cached_property
    def row(self) -> Keys:
        return self.known_row or self.key.keys_of(self.new or self.old or {})

    @cached_property
    def result(self) -> Primary:
        return Primary(self.key, self.row, self.new)


@dataclass(frozen=True)
class Primary:
    """A primary row as it was read or will be written, with its stored properties."""

    key: Key
    """The key of the set's primary rows."""
    row: Keys
    fields: Fields | None
    """Its properties and the fields of its key; None if there is no such row."""
    etag: str | None = None
    write_ids: WriteIds = ()
    _parts: dict[Derived, list[Keys]] = field(default_factory=dict["Derived", "list[Keys]"], repr=False, compare=False)

    def parts(self, derived: Derived) -> list[Keys]:
        """Return the keys of the derived rows that the entity contributes to, computed once."""
        if self.fields is None:
            return []
        if derived not in self._parts:
            self._parts[derived] = derived.keys(self.key, self.fields)
        return self._parts[derived]


Finder: TypeAlias = Literal["find", "find_all", "totals"]
"""The method of `EntitySet` that reads derived rows by their key."""


@dataclass(frozen=True)
class RowProfile:
    """A description of one kind of derived rows, for a design review; see `profile_of`."""

    pattern: str
    """The name of the pattern in the catalog."""
    called: Literal["copies", "lists", "totals"]
    """What reports call the rows."""
    finder: Finder | None
    """The method that reads the rows by their key; None if there is none."""
    key: Key | None = None
    """The key of the rows; None if the data is in entities of a set."""
    layout: RowLayout | None = None
    """The layout of the rows, if each entity has its own."""
    groups: tuple[str, ...] = ()
    """The fields whose values determine the row that an entity contributes to, if entities share rows."""
    lists_keys: bool = False
    """Whether a shared row lists the keys of the entities that contribute to it."""
    numbers: int = 0
    """How many numbers a list keeps for each entity."""
    totals: tuple[str, ...] = ()
    spread: int = 1
    """The number of rows that each group is spread over."""
    copied: tuple[str, ...] = ()
    """The properties of another set's entities that hold copies."""
    filled_from: Derived | None = None
    """The copies that this declaration fills in; their set must exist first."""
    refers: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each field of the copied entity's key, the field that refers to it."""
    in_table: bool = True
    """Whether the rows are in a table, and not in blobs."""

    @property
    def table_key(self) -> Key | None:
        return self.key if self.in_table else None

    @property
    def is_shared(self) -> bool:
        """Whether entities share rows that the set keeps for its own queries, such as lists."""
        return bool(self.groups)


def profile_of(derived: Derived, key: Key) -> RowProfile:
    return derived._profile(key)  # pyright: ignore[reportPrivateUsage]


def rows_from(derived: Derived, key: Key, entities: Iterable[Fields]) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """Yield the keys and the properties of the derived rows that a table with exactly these entities has."""
    return derived._rows_from(key, entities)  # pyright: ignore[reportPrivateUsage]


class Derived(ABC):
    """A kind of derived rows that an `EntitySet` maintains for its entities.

    It is a declaration without an account or state, so sets and threads may share one object. The `key` that its
    methods take is that of the set's primary rows.
    """

    name: str
    """The name that errors, reports and messages use."""
    placement: Placement = InPartition()
    """Where the rows are."""
    shares_rows: bool = False
    """Whether several entities may contribute to one row; a write is retried if such a row has changed."""
    _guards_primary: bool = False
    """Whether writes of an entity must be conditional on its primary row, even if it was read from another row."""
    is_verifiable: bool = True
    """Whether an entity's part of a row follows from the entity alone, so that rows can be verified and repaired."""

    @property
    def is_eventual(self) -> bool:
        """Whether the rows are outside the entity's partition, and therefore eventually consistent."""
        return self.placement.is_eventual

    @property
    def reads(self) -> Collection[str]:
        """The names of the fields it reads; no mapping may encode them."""
        return ()

    @property
    def _shared_names(self) -> Collection[str]:
        """The names of properties that it also reads or writes in another set's rows; no model may rename them."""
        return ()

    @abstractmethod
    def check_key(self, key: Key, table: str) -> None:
        """Reject a primary key from whose entities the rows cannot be derived."""

    def table(self, primary: str) -> str:
        return self.placement.table(primary)

    def row_store(self, account: Account) -> RowStore | None:
        """Return the store of the rows, or None if it is a table."""
        return None

    def row_key_pattern(self, key: Key) -> Key | None:
        """Return the key that identifies rows of this kind; None if other rows may have the same keys."""
        return None

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        """Return the keys of the rows that an entity contributes to, each once."""
        raise self._unknown_rows()

    def affected_keys(self, change: Change) -> list[Keys]:
        """Return the keys of the rows that a change may make stale, each once."""
        sides = [side for side in (change.old, change.new) if side is not None]
        return list(dict.fromkeys(keys for side in sides for keys in self.keys(change.key, side)))

    def repair_operation(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        """Return the write that corrects one entity's part of a row; None if it is correct.

        The write is conditional on the row's ETag, or is an insert if there is no row.

        :param keys: the row's keys, whether or not the entity should contribute to it
        """
        raise self._unknown_rows()

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        """Return the primary keys of the entities that a row is derived from; None for a row of another kind."""
        raise self._unknown_rows()

    async def operations(self, change: Change, rows: RowReader) -> list[Operation]:
        """Return the writes in the entity's partition that keep the rows consistent with a change.

        By default every affected row is read. Override this if the change alone determines the writes.
        """
        return await repair_operations(self, change, rows)

    def _profile(self, key: Key) -> RowProfile:
        raise BadDesign("derived", self.name, "it does not describe its rows", "review the design without it")

    def _rows_from(self, key: Key, entities: Iterable[Fields]) -> Iterator[tuple[Keys, dict[str, Any]]]:
        yield from ()

    def _unknown_rows(self) -> BadDesign:
        rule = "it does not say which rows are derived from which entities"
        return BadDesign("derived", self.name, rule, "define keys, repair_operation and primary_keys_of")


async def repair_operations(derived: Derived, change: Change, rows: RowReader) -> list[Operation]:
    """A row that belongs to another entity is treated as absent, so that the insert fails and reports the conflict."""
    operations: list[Operation | None] = []
    for keys in derived.affected_keys(change):
        row = await rows.get(*keys)
        is_ours = row is not None and (derived.shares_rows or derived.primary_keys_of(change.key, row) == [change.row])
        operation = derived.repair_operation(keys, row if is_ours else None, change.result)
        if operation is None and row is not None and change.old is None:
            # The row is right for an entity with the same key, and its deletion before this insert would change it
            operation = unchanged(keys, row)
        operations.append(operation)
    return [operation for operation in operations if operation is not None]


def unchanged(keys: Keys, row: Entity) -> Operation:
    """Return a write that changes nothing, and fails if the row has changed."""
    keys_alone = {"PartitionKey": keys[0], "RowKey": keys[1]}
    return Operation.merge(keys_alone, row.etag or ANY, becomes=row, write_ids=write_ids_of(row))


class Index(Derived):
    """One row for each entity under a second key, to look up and sort entities by that key."""

    key: Key[Any]
    """The key of the index rows."""
    include: frozenset[str] | None = None
    """The fields that the rows hold; None for all. Fields of the keys are always included."""
    is_unique: bool = False
    """Whether the key is reserved before the entity is written, as uniqueness outside its partition requires."""

    @property
    def reads(self) -> Collection[str]:
        return self.key.fields

    def shape(self, primary: Key) -> RowLayout:
        return RowLayout(
            self.key,
            None if self.include is None else self.include | set(primary.fields),
            self.placement.name if isinstance(self.placement, InTable) else None,
            is_eventual=self.is_eventual,
            hides=INTENT_ID if self.is_unique else None,
            texts=_texts(self.key, primary) if DATE in self.key.formats.values() else (),
        )

    def row_key_pattern(self, key: Key) -> Key | None:
        return self.key

    def reservation(self, primary: Primary) -> dict[str, Any]:
        """Return the row that reserves a key for an entity about to be written. It holds only key fields."""
        names = {*self.key.fields, *primary.key.fields}
        fields = primary.fields or {}
        return self.shape(primary.key).row({name: value for name, value in fields.items() if name in names})

    def keys(self, key: Key, fields: Fields) -> list[Keys]:
        if DATE in self.key.formats.values():
            fields = with_dates(self.key, key, fields)
        return [self.key.keys_of(fields)] if has_fields(self.key, fields) else []

    def repair_operation(self, keys: Keys, row: Entity | None, primary: Primary) -> Operation | None:
        if primary.fields is None or keys not in primary.parts(self):
            return None if row is None else Operation.delete(*keys, row.etag or ANY)
        expected_row = self.shape(primary.key).row(primary.fields, keys)
        if self.is_unique and INTENT_ID in expected_row:
            rule = "rows of a unique index use the name"
            raise BadProperty(INTENT_ID, expected_row[INTENT_ID], rule, "rename the property")
        if row is None:
            return Operation.insert(expected_row)
        return None if same_value(row, expected_row) else Operation.replace(expected_row, row.etag or ANY)

    def primary_keys_of(self, key: Key, row: Entity) -> list[Keys] | None:
        shape = self.shape(key)
        if not shape.fits(row):
            return None
        primary, copied_fields = RowLayout(key), shape.entity(row)
        return [key.format(primary.key_fields(copied_fields))] if primary.has_row(copied_fields) else None

    def affected_keys(self, change: Change) -> list[Keys]:
        if change.old is None or change.new is None:
            return change.result.parts(self) if change.old is None else self.keys(change.key, change.old)
        shape = self.shape(change.key)
        rows = [shape.row(side) for side in (change.old, change.new) if shape.has_row(side)]
        return [] if len(rows) == 2 and same_value(*rows) else super().affected_keys(change)

    def _profile(self, key: Key) -> RowProfile:
        pattern = "inter_partition_index" if self.is_eventual else "intra_partition_index"
        return RowProfile(pattern, "copies", "find", self.key, self.shape(key))

    def _rows_from(self, key: Key, entities: Iterable[Fields]) -> Iterator[tuple[Keys, dict[str, Any]]]:
        shape = self.shape(key)
        for fields in entities:
            if shape.has_row(fields):
                row = shape.row(fields)
                yield (row.pop("PartitionKey"), row.pop("RowKey")), row

    def __repr__(self) -> str:
        include_text = "all" if self.include is None else ", ".join(sorted(self.include)) or "none"
        return f"<{type(self).__name__} {self.name} include={include_text}{' unique' if self.is_unique else ''}>"


def duplicate(index: Index, primary: Key, keys: Keys) -> str:
    """Return the message of the error for a second entity with the same key in an index."""
    index_key = index.key
    values = index_key.parse(*keys)
    names = [name for name in index_key.fields if name not in primary.partition_fields] or index_key.fields
    key_text = " with ".join(f"{name} {short_repr(values[name])}" for name in names)
    place = "" if set(names).intersection(index_key.partition_fields) else f" in partition {short_repr(keys[0])}"
    rule = f"{key_text} is already used by another entity{place} (unique index {index.name})"
    return f"{rule}. Nothing was written; choose another value."


class RowLayout(NamedTuple):
    """The key and the properties of the rows of one kind.

    Key fields are stored only in PartitionKey and RowKey, not as properties.
    """

    key: Key
    include: frozenset[str] | None = None
    """The fields that rows hold; None for all."""
    table: str | None = None
    """The table of the rows; None for that of the primary rows."""
    is_eventual: bool = False
    """Whether the rows are outside the entity's partition, so that their ETags do not guard the entity."""
    hides: str | None = None
    """The property that marks a row as a reservation, which is hidden from readers."""
    texts: tuple[str, ...] = ()
    """The dates in the key that the primary row holds as ISO text."""

    def row(self, fields: Fields, keys: Keys | None = None) -> dict[str, Any]:
        key_fields, include = self.key.fields, self.include
        if fields.get(TOMBSTONE) is not None:
            rule = "rows with this property are those of deleted entities, which no read returns"
            raise BadProperty(TOMBSTONE, fields[TOMBSTONE], rule, "rename the property")
        partition_key, row_key = keys or self.key.keys_of(
            _fields_with_dates(self.texts, fields) if self.texts else fields
        )
        return {"PartitionKey": partition_key, "RowKey": row_key} | {
            name: value
            for name, value in fields.items()
            if value is not None and name not in key_fields and (include is None or name in include)
        }

    def part(self, change: Change, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a merge writes of the whole row after it: the keys, and the merged fields that the row holds."""
        names = {"PartitionKey", "RowKey", *(change.merged or ())}
        return {name: value for name, value in row.items() if name in names}

    def key_fields(self, fields: Fields) -> dict[str, Any]:
        return {name: fields[name] for name in self.key.fields if fields.get(name) is not None}

    def holds(self, name: str) -> bool:
        return name not in self.key.fields and (self.include is None or name in self.include)

    def has_row(self, fields: Fields | None) -> bool:
        """Whether the entity has a row, which needs every field of the key."""
        return fields is not None and has_fields(self.key, fields)

    def selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the properties to select for these fields; None for all."""
        if names is None:
            return None
        is_primary = self.include is None and self.table is None and not self.is_eventual
        hiding = (self.hides,) if self.hides else (TOMBSTONE,) if is_primary else ()
        return (*SYSTEM_PROPERTIES, *hiding, *(name for name in names if name not in self.key.fields))

    def fits(self, row: Entity) -> bool:
        """Whether a row is of this kind: its keys match the key of this layout, and it is no tombstone."""
        return TOMBSTONE not in row and self.key.matches(row["PartitionKey"], row["RowKey"])

    def decode_copy(self, row: Entity) -> Entity | None:
        """Return the entity in a row; None for a row of another kind, a reservation and a tombstone."""
        return self.decode(row.copy())

    def decode(self, row: Entity) -> Entity | None:
        """Return the same as `decode_copy`, reusing the row; the caller must not use the row afterwards."""
        if TOMBSTONE in row or (self.hides is not None and self.hides in row):
            return None
        fields = self.key.parse_or_none(row["PartitionKey"], row["RowKey"])
        if fields is None:
            return None
        del row["PartitionKey"], row["RowKey"]
        row.update(self._as_stored(fields) if self.texts else fields)
        return row

    def entity(self, row: Entity) -> Entity:
        """Return the entity in a row of this kind: its properties and the fields of its key."""
        fields = self.key.parse(row["PartitionKey"], row["RowKey"])
        entity = row.copy()
        del entity["PartitionKey"], entity["RowKey"]
        entity.update(self._as_stored(fields) if self.texts else fields)
        return entity

    def _as_stored(self, fields: Fields) -> Fields:
        """Return the fields of the key in the form in which the primary row holds them."""
        return {**fields, **{name: str(fields[name]) for name in self.texts}}


def with_dates(layout: Key, primary: Key, fields: Fields) -> Fields:
    """Return the fields of an entity with dates for the key of a derived row that it holds as text."""
    return _fields_with_dates(_texts(layout, primary), fields)


def _texts(layout: Key, primary: Key) -> tuple[str, ...]:
    """Return the dates in a key that primary rows hold as text, since a property cannot be a date."""
    return tuple(name for name, spec in layout.formats.items() if spec == DATE != primary.formats.get(name))


def _fields_with_dates(names: Sequence[str], fields: Fields) -> Fields:
    return {**fields, **{name: date_of(fields[name]) for name in names if name in fields}}


def has_fields(key: Key, fields: Fields) -> bool:
    return None not in map(fields.get, key.fields)


def keys_of(row: Mapping[str, Any]) -> Keys:
    return row["PartitionKey"], row["RowKey"]
