"""Lookups: what an `EntitySet` answers by rows that several entities share: lists of keys, counts and sums."""

from __future__ import annotations

from typing import Any

from .derived import Keys
from .edm import ordinal
from .entity import Entity
from .errors import BadInput
from .question import range_filter
from .reads import Reads
from .recipe import Account_co, recipe
from .recipes.index_entities import PART, IndexEntities


class Lookups(Reads[Account_co]):
    """The part of an `EntitySet` that reads rows which several entities share."""

    @recipe
    async def keys_of(self, via: IndexEntities, /, **fields: Any) -> list[dict[str, Any]]:
        """Return the fields of the keys of all entities with a value, in their order; none for an unknown value.

        A list outside the primary's partition follows its entities a moment late. `get_many` takes what this returns.
        Cost: 1 transaction; for a list that is spread, 1 for each 1,000 rows.

        :param via: the index entities, one of the set's own
        :param fields: a value for every field of their key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises BadInput: the index entities are not this set's

        Guide: index entities pattern.
        """
        return [dict(self.key.parse(*keys)) for keys in await self._listed(via, fields)]

    @recipe
    async def find_all(self, via: IndexEntities, /, *, limit: int = 8, **fields: Any) -> list[Entity]:
        """Return all entities with a value, in the order of their keys; none for an unknown value.

        Where an entity has changed since the list was read, or the list is late, it is left out if it has another
        value by now. Cost: that of `keys_of`, and 1 transaction for each key, `limit` at a time.

        :param via: the index entities, one of the set's own
        :param limit: how many point queries at a time
        :param fields: a value for every field of their key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises BadInput: the index entities are not this set's

        Guide: index entities pattern.
        """
        listed = await self._listed(via, fields)
        rows = await self.account.together(*(self.table.get(*keys) for keys in listed), limit=limit)
        asked = {name: value for name, value in fields.items() if name != PART}
        return [await self._read(row, self.primary) for row in rows if row is not None and self._has(via, row, asked)]

    def _has(self, via: IndexEntities, row: Entity, asked: dict[str, Any]) -> bool:
        """Whether a row that was read after its list still has the values."""
        layout = via.layout(self.key)
        found = [layout.parse(*keys) for keys in via.keys(self.key, dict(self.primary.entity(row)))]
        wanted = layout.parse(*layout.format({**asked, **({PART: 0} if via.spread > 1 else {})}))
        return any({**each, PART: 0} == {**wanted, PART: 0} for each in found)

    async def _listed(self, via: IndexEntities, fields: dict[str, Any]) -> list[Keys]:
        if via not in self.derived:
            rule = f"the set keeps {[each.name for each in self.derived]}"
            raise BadInput("index entities", getattr(via, "name", via), rule, "give those of the set, or declare them")
        layout = via.layout(self.key)
        if via.spread > 1:
            where = range_filter(layout.range(fields))
            rows = [row async for row in self.rows.table(via.table(self.table.name)).query(where)]
        else:
            row = await self.rows.table_of(via).get(*layout.format(fields))
            rows = [] if row is None else [row]
        found = {keys for row in rows for keys in via.owners(self.key, row) or ()}
        return sorted(found, key=lambda keys: (ordinal(keys[0]), ordinal(keys[1])))
