"""Derived rows that several entities share, such as lists and summaries, and what one transaction does to them."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from ..batches import batches
from ..edm import entity_size, key_order, utf16_length
from ..entity import Entity, WriteIds, entity_of_row, write_ids_of
from ..errors import BadKey, DerivedDataMismatch, LimitExceeded
from ..key import Key
from ..key.formats import DATE
from ..limits import MAX_ENTITY_BYTES, MAX_STRING_UNITS
from ..retry import LOST_RACE, overtaken_by
from ..sdk.operation import ANY, Kind, Operation
from ..sdk.table import Table
from .derived import Derived, Fields, Keys, RowLayout, keys_of, with_dates
from .placement import InPartition, InTable, RowReader
from .range_query import one_pass, range_filter, rows_at_once

PART: Final = "ListPart"
"""The key field with the row's number, if a list or a group is spread over several rows."""
_OVERHEAD: Final = 256
"""An upper bound of the bytes that the system properties of a row take."""


@lru_cache
def spread_key(key: Key) -> Key:
    """Return the key of rows if each value is spread over several of them."""
    return Key(key.partition_template, f"{key.row_template}_{{{PART}:03d}}", max_units=key.max_units)


def part_of(primary: Keys, spread: int) -> int:
    """Return the number of the row that an entity contributes to, by a hash of its keys.

    It is SHA-256 of `PartitionKey#RowKey` in UTF-8, its first eight bytes as a big-endian number, modulo `spread`.
    """
    digest = sha256("#".join(primary).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % spread


def replacing(keys: Keys, row: Entity | None, properties: Mapping[str, Any]) -> Operation:
    """Return the write that makes a row, or a new one, hold exactly these properties."""
    new_row = with_keys(keys, properties)
    if row is None:
        return Operation.insert(new_row)
    return Operation.replace(new_row, row.etag or ANY, write_ids=write_ids_of(row))


def rewriting(keys: Keys, row: Entity | None, properties: Mapping[str, Any]) -> Operation | None:
    """Return the same write; without properties, the one that deletes the row."""
    if properties:
        return replacing(keys, row, properties)
    return None if row is None else Operation.delete(*keys, row.etag or ANY, write_ids=write_ids_of(row))


def merging(keys: Keys, row: Entity | None, properties: Mapping[str, Any]) -> Operation:
    new_row = with_keys(keys, properties)
    if row is None:
        return Operation.insert(new_row)
    return Operation.merge(new_row, row.etag or ANY, becomes={**row, **new_row}, write_ids=write_ids_of(row))


def with_keys(keys: Keys, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {**properties, "PartitionKey": keys[0], "RowKey": keys[1]}


def check_size(name: str, keys: Keys, properties: Mapping[str, Any], hint: str) -> None:
    size = entity_size(*keys, properties)
    if size + _OVERHEAD > MAX_ENTITY_BYTES:
        raise LimitExceeded(f"{name} {keys}, in bytes", size, "the entities that it lists fill a row (1 MiB)", hint)


class Pending:
    """The rows of a partition after a transaction that is still being planned; each stored row is read once.

    A transaction may write a row only once, but several of its changes may affect the same row, such as two employees
    in the list of their last name. So each change is planned on the result of the changes before it, and operations on
    the same row are combined.
    """

    def __init__(self, stored: RowReader) -> None:
        self._stored = stored
        self._rows: dict[Keys, Entity | None] = {}

    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Return a row after the planned writes, or None. Cost: 1 transaction for the first read of each row."""
        keys = partition_key, row_key
        if keys not in self._rows:
            self._rows[keys] = await self._stored.get(*keys)
        row = self._rows[keys]
        return None if row is None else row.copy()

    def put(self, keys: Keys, properties: Mapping[str, Any] | None, etag: str | None, write_ids: WriteIds = ()) -> None:
        """Set the planned content of a row, or None if it will be deleted, and the ETag for the write."""
        if properties is None:
            self._rows[keys] = None
            return
        row = {**properties, "PartitionKey": keys[0], "RowKey": keys[1]}
        self._rows[keys] = entity_of_row(row.items(), etag, None, write_ids)

    def take(self, operation: Operation) -> None:
        row = self._rows.get(operation.key)
        old_properties: Mapping[str, Any] = {} if row is None or operation.kind != "merge" else row
        properties = None if operation.kind == "delete" else {**old_properties, **operation.entity}
        etag, write_ids = (row.etag, write_ids_of(row)) if row is not None else (None, ())
        self.put(operation.key, properties, etag, write_ids)


def combine_operations(first: Operation, second: Operation) -> Operation | None:
    """Return one operation with the effect of two on a row; None if they cancel each other out.

    :param second: planned on the row as the first leaves it
    """
    guard = next((operation for operation in (first, second) if operation.etag not in (None, ANY)), None)
    etag, write_ids = (guard.etag, guard.write_ids) if guard else (ANY, ())
    if first.kind == "insert" and second.kind == "delete":
        return None
    content = {**first.entity, **second.entity} if second.kind == "merge" else second.entity
    has_room = second.has_room and (first.has_room or second.kind == "replace")
    joined = replace(first, entity=content, has_room=has_room, measured_size=None)
    if first.kind != "delete" and "insert" in (first.kind, second.kind):
        return replace(joined, kind="insert", etag=None)
    if second.kind == "delete":
        return replace(second, etag=etag, write_ids=write_ids)
    kind: Kind = "merge" if first.kind == second.kind == "merge" else "replace"
    return replace(joined, kind=kind, etag=etag, write_ids=write_ids, becomes=second.becomes)


_BETWEEN: Final = "/"
_INSIDE: Final = "#"
_NOTE: Final = "?"


@dataclass(frozen=True)
class KeyList:
    """How a list of keys is stored in the properties of a row.

    >>> names = KeyList("EmployeeIDs", local=True)
    >>> names.properties("Sales", {("Sales", "000223"): "", ("Sales", "000152"): ""})
    {'EmployeeIDs': '000152/000223'}

    :param name: the name of the property; further properties have a number appended
    :param local: whether all entities of a list share the partition of its row
    :param cut: whether a long list continues in further properties
    """

    name: str
    local: bool
    cut: bool = True

    def is_in(self, row: Mapping[str, Any]) -> bool:
        return isinstance(row.get(self.name), str)

    def entries(self, row: Mapping[str, Any]) -> dict[Keys, str]:
        texts = [text for part in self._parts(row) for text in part.split(_BETWEEN) if text]
        return dict(self._entry(row["PartitionKey"], text) for text in texts)

    def stored_entries(self, owner: str, keys: Keys, row: Mapping[str, Any] | None) -> dict[Keys, str]:
        """Return what a row lists, nothing if there is no row; reject one without a list."""
        if row is not None and not self.is_in(row):
            text = f"{owner}: the row {keys} has no list {self.name}, so it belongs to something else"
            raise DerivedDataMismatch(text)
        return {} if row is None else self.entries(row)

    def properties(self, partition_key: str, entries: Mapping[Keys, str]) -> dict[str, str]:
        """Return the properties of a row that lists these keys in key order."""
        texts = [self._text(partition_key, keys, entries[keys]) for keys in sorted(entries, key=key_order)]
        # Each text has a separator behind it, except the last of a property
        lists = batches(texts, lambda text: utf16_length(text) + 1, MAX_STRING_UNITS + 1) if self.cut else [texts]
        return {self._property(number): _BETWEEN.join(part) for number, part in enumerate(lists, 1) if part}

    def without(self, row: Mapping[str, Any]) -> dict[str, Any]:
        names = {self._property(number) for number, _ in enumerate(self._parts(row), 1)}
        return {name: value for name, value in row.items() if name not in names}

    def _parts(self, row: Mapping[str, Any]) -> Iterator[str]:
        number = 1
        while isinstance(part := row.get(self._property(number)), str):
            yield part
            number += 1

    def _property(self, number: int) -> str:
        return self.name if number == 1 else f"{self.name}{number}"

    def _text(self, partition_key: str, keys: Keys, note: str) -> str:
        entity_partition, row_key = keys
        is_short = self.local and row_key and entity_partition == partition_key
        key = row_key if is_short else f"{entity_partition}{_INSIDE}{row_key}"
        return f"{key}{_NOTE}{note}" if note else key

    def _entry(self, partition_key: str, text: str) -> tuple[Keys, str]:
        key, _, note = text.partition(_NOTE)
        first_part, inside, row_key = key.partition(_INSIDE)
        return ((first_part, row_key) if inside else (partition_key, first_part)), note


class SharedRows(Derived):
    """Derived rows that several entities contribute to, or that are entities of another set."""

    shares_rows = True
    spread: int = 1
    """The number of rows that each value is spread over."""

    def rows_of(self, layout: Key, key: Key, fields: Fields) -> list[Keys]:
        """Return the keys of the row that an entity contributes to; none if it lacks a field of the row's key."""
        values = {name: fields.get(name) for name in layout.fields if name != PART}
        if any(value is None for value in values.values()):
            return []
        if self.spread > 1:
            values[PART] = part_of(key.format({name: fields.get(name) for name in key.fields}), self.spread)
        row = layout.format(with_dates(layout, key, values) if DATE in layout.formats.values() else values)
        if layout.overlaps(key) and self.may_be_primary(row, key):
            raise BadKey(self.name, row, "a primary row may have these keys", "give the rows their own RowKey prefix")
        return [row]

    def _rows_from(self, key: Key, entities: Iterable[Fields]) -> Iterator[tuple[Keys, dict[str, Any]]]:
        groups: defaultdict[Keys, list[Fields]] = defaultdict(list)
        for fields in entities:
            for keys in self.keys(key, fields):
                groups[keys].append(fields)
        for keys, members in groups.items():
            if row := self._row_of(key, keys, members):
                yield keys, row

    def _row_of(self, key: Key, keys: Keys, members: Sequence[Fields]) -> dict[str, Any]:
        """Return the properties of the row that these entities share; none if the row belongs to another set."""
        return {}

    def may_be_primary(self, row: Keys, key: Key) -> bool:
        return self.placement in (InPartition(), InTable()) and key.matches(*row)

    async def _stored_rows(
        self, store: Any, layout: Key, fields: Fields, select: Sequence[str] | None = None
    ) -> list[Entity]:
        """Return the rows of one value: one, none, or all that the value is spread over.

        :param store: the table of the rows, or another store; rows that are spread are in a table
        :param select: the properties to read; the rows are then a snapshot, since totals add up only in one
        """
        if self.spread == 1:
            row = await store.get(*layout.format(fields))
            return [] if row is None else [row]
        where = range_filter(layout.range(fields))
        if select is None:
            rows, _ = await one_pass(store, where, None)
        else:
            rows = await rows_at_once(store, where, ("PartitionKey", "RowKey", *select))
        return [row for row in rows if layout.matches(row["PartitionKey"], row["RowKey"])]


class Lists(SharedRows):
    """Rows that each list the keys of the entities with one value: `IndexEntity`."""

    @abstractmethod
    def layout(self, primary: Key) -> Key:
        """Return the key of the rows, for entities with that primary key."""

    async def stored_keys(self, primary: Key, store: Any, fields: Fields) -> list[Keys]:
        """Return the keys of the entities that are listed for a value, in their order."""
        rows = await self._stored_rows(store, self.layout(primary), fields)
        unique_keys = {keys for row in rows for keys in self.primary_keys_of(primary, row) or ()}
        return sorted(unique_keys, key=key_order)

    def lists(self, primary: Key, entity: Fields, fields: Fields) -> bool:
        """Whether an entity still has the value for which it was listed."""
        layout = self.layout(primary)
        value_fields = {**fields, PART: 0} if self.spread > 1 else fields
        expected_values = layout.parse(*layout.format(value_fields))
        current_values = [layout.parse(*keys) for keys in self.keys(primary, dict(entity))]
        return any({**values, PART: 0} == {**expected_values, PART: 0} for values in current_values)


class Totals(SharedRows):
    """Rows that each hold the count of a group, and sums over it: `Summary`."""

    layout: Key
    """The key of the rows."""

    @property
    @abstractmethod
    def properties(self) -> Sequence[str]:
        """The names of the properties that hold totals."""

    @abstractmethod
    def part(self, key: Key, fields: Fields | None) -> dict[Keys, tuple[int, ...]]:
        """Return an entity's group row, and what it adds: 1, and each number; BadProperty if one is not whole."""

    @abstractmethod
    def totals_in(self, row: Mapping[str, Any] | None) -> tuple[int, ...]:
        """Return the totals in a row, the count first, 0 if missing; DerivedDataMismatch if one is not whole."""

    @abstractmethod
    def as_properties(self, totals: Sequence[int]) -> dict[str, Any]:
        """Return totals, given with the count first, as properties; LimitExceeded if a sum is beyond 64 bits."""

    async def stored_totals(self, store: Any, fields: Fields) -> Fields:
        rows = await self._stored_rows(store, self.layout, fields, self.properties)
        return self._sum_of([self.totals_in(None), *map(self.totals_in, rows)])

    def _sum_of(self, parts: Iterable[Sequence[int]]) -> dict[str, Any]:
        return self.as_properties([sum(column) for column in zip(*parts, strict=True)])


async def recount_totals(table: Table, key: Key, totals: Totals, partition: Mapping[str, object]) -> list[Keys]:
    """Correct the totals of a partition; return the keys of the rows that were wrong.

    The rows are read before the entities. A write that changes an entity's numbers changes its row in the same
    transaction, so if a row has not changed since it was read, the sum over the entities is correct.
    """
    rows: dict[Keys, Entity] = {}
    async for row in table.query(range_filter(totals.layout.range(partition))):
        keys = keys_of(row)
        if totals.layout.matches(*keys) and not key.matches(*keys):
            rows[keys] = row
    shape = RowLayout(key)
    parts_by_row: defaultdict[Keys, list[tuple[int, ...]]] = defaultdict(list)
    async for row in table.query(range_filter(key.range(partition))):
        if shape.fits(row):
            for keys, part in totals.part(key, shape.entity(row)).items():
                parts_by_row[keys].append(part)
    corrected_rows: list[Keys] = []
    for keys in {**rows, **parts_by_row}:
        total = tuple(map(sum, zip(*parts_by_row[keys], strict=True))) or (0,) * len(totals.totals_in(None))
        if total != totals.totals_in(rows.get(keys)):
            with overtaken_by(*LOST_RACE):
                await table.submit(merging(keys, rows.get(keys), totals.as_properties(total)))
            corrected_rows.append(keys)
    return corrected_rows
