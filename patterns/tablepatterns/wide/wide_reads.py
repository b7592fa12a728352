"""The reading half of a `WideEntity`: all parts of a value as they were at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .. import limits
from ..arguments import fields_of
from ..contention import RETRY_FOR, check_retry_for, contended
from ..entity import WRITE_ID, Entity
from ..filters import Filter
from ..key import Key
from ..mapping import Mappings, Place
from ..reading.at_once import rows_at_once
from ..reading.question import range_filter
from ..recipe import Account_co, Pattern, recipe
from ..set_identity import SetIdentity
from ..words.table import Table
from .parts import MAX_PARTS, PARTS, Fields, Layout, Part, Stored, stored

PART: Final = "WidePart"
"""The field of the rows' key that the entity's own key lacks."""


@dataclass(frozen=True)
class Seen:
    """What is remembered of an entity that was read or written: its rows, and the fields that were made of them."""

    stored: Stored
    fields: Fields = field(repr=False)
    of: SetIdentity


class WideReads(Pattern[Account_co]):
    """The reading half of a `WideEntity`."""

    key: Key
    layout: Layout
    mappings: Mappings
    rows: Key
    table: Table
    identity: SetIdentity

    @property
    def location(self) -> str:
        """The table and the set that errors name."""
        return self.key.location(self.table.name)

    @recipe
    async def get(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        select: Sequence[str] | None = None,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Entity | None:
        """Return the entity with this key, or None. Its `etag` is the head's.

        Cost: 1 transaction, a range query over the parts; where all of `select` belongs to one part by `properties`,
        a point query. Besides, 1 for each large value that is read from its blob.

        :param select: the properties to read; None for all, which a write of the entity needs
        :param retry_for: for how many seconds to read again while others write, if the value has several pages
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises DerivedDataMismatch: a part is missing

        Guide: wide entities pattern; server-side projection.
        """
        check_retry_for(retry_for)
        given = fields_of(key, fields)
        self.key.format(given)
        names = None if select is None else self.mappings.stored(select)
        found = await self._part_with(names or (), given) or await self._stored(given, retry_for, names)
        return self._handed(found, await self._decoded(found)) if found.parts else None

    async def _part_with(self, names: Sequence[str], fields: Mapping[str, Any]) -> Stored | None:
        """Read the one part that holds all the names, if `properties` tells which; None where it must be looked for."""
        numbers = {self.layout.place(name) for name in names if name not in self.key.fields}
        if len(numbers) != 1 or (number := numbers.pop()) is None:
            return None
        old = self._nothing(fields)
        row = await self.table.get(old.partition_key, old.row_key(number), select=self._selected(names))
        if row is None:
            return None
        part = Part(
            old.row_key(number), row.etag or "", row.lineage, {name: row[name] for name in names if name in row}
        )
        return Stored(old.partition_key, old.first, (part,), is_whole=False)

    async def _stored(self, fields: Mapping[str, Any], retry_for: float, select: Sequence[str] | None = None) -> Stored:
        old = self._nothing(fields)
        where = range_filter(old.range)

        async def attempt() -> list[Entity]:
            return await self._rows_at_once(where, self._selected(select))

        rows = await contended(self.account, attempt, retry_for)
        return stored(old.partition_key, old.first, rows, is_whole=select is None)

    async def _rows_at_once(self, where: Filter, select: Sequence[str] | None) -> list[Entity]:
        return await rows_at_once(self.table, where, select)

    async def _decoded(self, found: Stored) -> dict[str, Any]:
        """Return the fields that the caller sees of stored ones."""
        return await self.mappings.decode_at(self._place(found), found.fields) if self.mappings.each else found.fields

    def _place(self, found: Stored) -> Place:
        # The head's keys, whatever part a property is in, for it may move
        key = found.partition_key, found.first
        read = None if found.is_whole else ()
        return Place(self.account, self.table.name, key, room=MAX_PARTS * self.layout.part_bytes, read=read)

    def _key_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: fields[name] for name in self.key.fields if fields.get(name) is not None}

    def _nothing(self, fields: Mapping[str, Any]) -> Stored:
        return Stored(*self.rows.format(self._key_fields(fields) | {PART: 1}))

    def _selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        return (*limits.SYSTEM_PROPERTIES, PARTS, WRITE_ID, *(name for name in names if name not in self.key.fields))

    def _handed(self, found: Stored, fields: Fields, into: Entity | None = None) -> Entity:
        """Return the entity that the caller gets, which remembers what is stored of it."""
        entity = Entity() if into is None else into
        keys = self.rows.parse(found.partition_key, found.first)
        entity.clear()
        entity.update({name: keys[name] for name in self.key.fields} | dict(fields))
        head = found.parts[0]
        entity.partition_key, entity.row_key, entity.etag = found.partition_key, head.row_key, head.etag
        entity.reading = Seen(found, fields, self.identity)
        return entity
