"""Lookups: what an `EntitySet` answers by rows that several entities share: lists of keys, counts and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..argument_types import check_least
from ..arguments import fields_of
from ..contention import RETRY_FOR, check_retry_for, contended
from ..deriving.derived import Keys
from ..deriving.recounting import recounted
from ..deriving.shared_kinds import Lists, Totals
from ..deriving.shared_rows import PART
from ..edm import ordinal
from ..entity import Entity
from ..errors import BadInput, BadKey
from ..key import Key
from ..recipe import Account_co, recipe
from .at_once import one_pass, rows_at_once
from .question import range_filter
from .reads import Reads


class Lookups(Reads[Account_co]):
    """The part of an `EntitySet` that reads rows which several entities share."""

    @recipe
    async def keys_of(self, via: Lists, key: Mapping[str, Any] | None = None, /, **fields: Any) -> list[dict[str, Any]]:
        """Return the fields of the keys of all entities with a value, in their order; none for an unknown value.

        A list outside the primary's partition follows its entities a moment late. `get_many` takes what this returns.
        Cost: 1 transaction; for a list that is spread, 1 for each 1,000 rows.

        :param via: the index entities, one of the set's own
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of their key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises BadInput: the index entities are not this set's

        Guide: index entities pattern.
        """
        return [dict(self.key.parse(*keys)) for keys in await self._listed(via, fields_of(key, fields))]

    @recipe
    async def find_all(
        self, via: Lists, key: Mapping[str, Any] | None = None, /, *, limit: int = 8, **fields: Any
    ) -> list[Entity]:
        """Return all entities with a value, in the order of their keys; none for an unknown value.

        Where an entity has changed since the list was read, or the list is late, it is left out if it has another
        value by now. Cost: that of `keys_of`, and 1 transaction for each key, `limit` at a time.

        :param via: the index entities, one of the set's own
        :param limit: how many point queries at a time
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of their key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises BadInput: the index entities are not this set's

        Guide: index entities pattern.
        """
        check_least("limit", limit, 1)
        given = fields_of(key, fields)
        listed = await self._listed(via, given)
        rows = await self.account.together(*(self.table.get(*keys) for keys in listed), limit=limit)
        asked = {name: value for name, value in given.items() if name != PART}
        return [await self._read(row, self.primary) for row in rows if row is not None and self._has(via, row, asked)]

    @recipe
    async def totals(
        self, via: Totals, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> dict[str, Any]:
        """Return the count and the sums of a group, by the names of their properties; 0 for an unknown group.

        Totals in the primary's partition are exact, also where they are spread over several rows. Those outside it
        are eventually consistent. Cost: 1 transaction; if the service answers in several pages, 2 for each.

        :param via: the summary, one of the set's own
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param retry_for: for how many seconds to read again while others write, if there are several pages
        :param fields: a value for every field of its key
        :raises BadKey: a field is missing, or has a value that cannot be a key
        :raises BadInput: the summary is not this set's
        :raises TooMuchContention: others changed the totals between the pages at every attempt

        Guide: denormalization pattern; one-to-many relationships.
        """
        check_retry_for(retry_for)
        self._check_own(via)
        given = fields_of(key, fields)

        async def attempt() -> list[Entity]:
            return await self._spread_rows(via, via.layout, given, via.properties)

        found = await contended(self.account, attempt, retry_for)
        rows = [via.held(row) for row in found]
        return via.named([sum(each) for each in zip(via.held(None), *rows, strict=True)])

    @recipe
    async def recount(
        self, via: Totals, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> list[Keys]:
        """Add up anew the entities of a partition, and mend the totals that it holds; writers may go on meanwhile.

        For a summary that is younger than the entities, or after other programs wrote past the set. Returns the keys
        of the rows that were out of line. Cost: 1 transaction per 1,000 entities, 1 for each 1,000 rows of totals, 1
        for each row to mend; all of it again where a writer changed a row meanwhile.

        :param via: a summary in the partition, one of the set's own
        :param retry_for: for how many seconds to retry while others write the totals
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the PartitionKey
        :raises BadInput: the summary is not this set's, or lies elsewhere
        :raises BadKey: a field is missing, or is none of the PartitionKey
        :raises TooMuchContention: writers changed the totals at every attempt

        Guide: denormalization pattern.
        """
        self._check_own(via)
        if via.is_elsewhere:
            rule = "its rows list their entities, so that each can be checked by itself"
            raise BadInput("summary", via.name, rule, "use verify, and repair")
        partition = fields_of(key, fields)
        for name in partition:
            if name not in self.key.partition_fields:
                rule = f"a partition is counted as a whole, by {', '.join(self.key.partition_fields)}"
                raise BadKey(name, partition[name], rule, "leave it out")

        async def attempt() -> list[Keys]:
            return await recounted(self.table, self.key, via, partition)

        return await contended(self.account, attempt, retry_for)

    def _has(self, via: Lists, row: Entity, asked: dict[str, Any]) -> bool:
        """Whether a row that was read after its list still has the values."""
        layout = via.layout(self.key)
        found = [layout.parse(*keys) for keys in via.keys(self.key, dict(self.primary.entity(row)))]
        wanted = layout.parse(*layout.format({**asked, **({PART: 0} if via.spread > 1 else {})}))
        return any({**each, PART: 0} == {**wanted, PART: 0} for each in found)

    async def _listed(self, via: Lists, fields: Mapping[str, Any]) -> list[Keys]:
        self._check_own(via)
        rows = await self._spread_rows(via, via.layout(self.key), fields)
        found = {keys for row in rows for keys in via.owners(self.key, row) or ()}
        return sorted(found, key=lambda keys: (ordinal(keys[0]), ordinal(keys[1])))

    async def _spread_rows(
        self, via: Lists | Totals, layout: Key, fields: Mapping[str, Any], select: Sequence[str] | None = None
    ) -> list[Entity]:
        """Return the rows of one value: a row, none, or all that it is spread over."""
        if via.spread == 1:
            row = await self.rows.table_of(via).get(*layout.format(fields))
            return [] if row is None else [row]
        table = self.rows.table(via.table(self.table.name))
        names = None if select is None else ("PartitionKey", "RowKey", *select)
        where = range_filter(layout.range(fields))
        if isinstance(via, Totals):
            # Added up from pages of several instants, they would be totals that never were
            rows = await rows_at_once(table, where, names)
        else:
            rows, _ = await one_pass(table, where, names)
        return [row for row in rows if layout.matches(row["PartitionKey"], row["RowKey"])]
