"""The reading half of a `WideEntity`: all parts of a value as they were at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .. import limits
from ..contention import DEFAULT_ATTEMPTS, Overtaken, contended
from ..entity import WRITE_ID, Entity
from ..filters import Filter
from ..key import Key, KeyRange, after_prefix
from ..reading.question import range_filter
from ..recipe import Account_co, Pattern, recipe
from ..words.table import Table
from .parts import PARTS, Layout, Part, Stored, stored

PART: Final = "WidePart"
"""The field of the rows' key that the entity's own key lacks."""


class WideReads(Pattern[Account_co]):
    """The reading half of a `WideEntity`."""

    key: Key
    layout: Layout
    rows: Key
    table: Table

    @recipe
    async def get(self, /, *, select: Sequence[str] | None = None, **fields: Any) -> Entity | None:
        """Return the entity with this key, or None. Its `etag` is the head's.

        Cost: 1 transaction, a range query over the parts; where all of `select` belongs to one part by `properties`,
        a point query.

        :param select: the properties to read; None for all, which a write of the entity needs
        :param fields: a value for every field of the key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises DerivedDataMismatch: a part is missing

        Guide: wide entities pattern; server-side projection.
        """
        self.key.format(fields)
        found = await self._part_with(select or (), fields) or await self._stored(fields, select)
        return self._entity(found) if found.parts else None

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

    async def _stored(self, fields: Mapping[str, Any], select: Sequence[str] | None = None) -> Stored:
        old = self._nothing(fields)
        behind = after_prefix(old.row_key(98, ""))
        where = range_filter(KeyRange(old.partition_key, old.first, True, behind, False))

        async def attempt() -> list[Entity]:
            return await self._rows_at_once(where, self._selected(select))

        rows = await contended(self.account, attempt, DEFAULT_ATTEMPTS)
        return stored(old.partition_key, old.first, rows, is_whole=select is None)

    async def _rows_at_once(self, where: Filter, select: Sequence[str] | None) -> list[Entity]:
        """Read all rows as they were at one instant.

        One page is. Of several pages each is of its own instant: they are read twice, and what has the same ETags
        both times did not change in between.
        """
        rows, pages = await self._pass(where, select)
        if pages == 1:
            return rows
        again, pages = await self._pass(where, select)
        # Not in the order that they came in, which is none on the Cosmos DB Table API
        if pages > 1 and {row.key: row.etag for row in rows} != {row.key: row.etag for row in again}:
            raise Overtaken
        return again

    async def _pass(self, where: Filter, select: Sequence[str] | None) -> tuple[list[Entity], int]:
        page = await self.table.page(where, size=limits.MAX_PAGE_ENTITIES, select=select)
        rows, pages = list(page.items), 1
        while page.token is not None:
            page = await self.table.page(where, size=limits.MAX_PAGE_ENTITIES, token=page.token, select=select)
            rows.extend(page.items)
            pages += 1
        return rows, pages

    def _key_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: fields.get(name) for name in self.key.fields}

    def _nothing(self, fields: Mapping[str, Any]) -> Stored:
        return Stored(*self.rows.format(self._key_fields(fields) | {PART: 1}))

    def _selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        return (*limits.SYSTEM_PROPERTIES, PARTS, WRITE_ID, *(name for name in names if name not in self.key.fields))

    def _entity(self, found: Stored, into: Entity | None = None) -> Entity:
        entity = Entity() if into is None else into
        keys = self.rows.parse(found.partition_key, found.first)
        entity.clear()
        entity.update({name: keys[name] for name in self.key.fields} | found.fields)
        head = found.parts[0]
        entity.partition_key, entity.row_key, entity.etag = found.partition_key, head.row_key, head.etag
        entity.reading = found
        return entity
