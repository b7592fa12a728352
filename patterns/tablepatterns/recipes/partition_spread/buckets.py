"""Assign entities to buckets by a stable hash of their key, and store the bucket settings in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from string import Formatter

from ...argument_types import check_least
from ...entity import Entity
from ...errors import BadDesign, EntityAlreadyExists
from ...key import Key
from ...sdk.operation import Operation
from ...sdk.page_token import EntityPage, PageQuery
from ...sdk.table import Table


class SpreadTable(Table):
    """A table that can be read and written only with its own bucket settings.

    The settings are stored in one entity: read before the first request, and inserted before the first write. So no
    process looks for an entity, or stores one, in a bucket where others do not expect it.

    :param key: the PartitionKey and RowKey of the settings; no other entity may have them
    """

    def __init__(self, table: Table, key: tuple[str, str], settings: Mapping[str, int | str]) -> None:
        super().__init__(table._client, table._hook, table._requests)
        self._table = table
        self._key = key
        self._settings = settings
        self._is_checked = False

    async def check(self) -> bool:
        """Return whether the settings are stored. Cost: 1 transaction, until they are."""
        if not self._is_checked:
            self._is_checked = self._agrees(await self._table.get(*self._key))
        return self._is_checked

    async def declare(self) -> None:
        """Store the settings, if they are not stored yet. Cost: 1 transaction, or 2 the first time."""
        if await self.check():
            return
        keys = dict(zip(("PartitionKey", "RowKey"), self._key, strict=True))
        try:
            await self._table.submit(Operation.insert(keys | dict(self._settings)))
            self._is_checked = True
        except EntityAlreadyExists:
            self._is_checked = self._agrees(await self._table.get(*self._key))

    def _agrees(self, row: Entity | None) -> bool:
        if row is None:
            return False
        stored = {name: row.get(name) for name in self._settings}
        if stored != self._settings:
            rule = f"the table {self.name!r} has the settings {stored}, so entities would be in other buckets"
            raise BadDesign("spread", dict(self._settings), rule, "use those, or load the entities into another table")
        return True

    async def drop(self) -> None:
        """Delete the table with all its entities and settings. Cost: 1 transaction."""
        self._is_checked = False
        await super().drop()

    async def submit(self, *operations: Operation) -> list[Entity]:
        await self.declare()
        return await super().submit(*operations)

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        await self.check()
        return await super().get(partition_key, row_key, select)

    async def read_page(self, query: PageQuery) -> EntityPage:
        await self.check()
        return await super().read_page(query)


class Buckets:
    """Compute an entity's bucket from the values of some key fields.

    Programs in other languages can compute it too: format each value as in the key, join them with NUL, encode as
    UTF-8, and take SHA-256. The first eight bytes as a big-endian number, modulo the number of buckets, are the bucket.

    >>> key = Key("{Service}", "{At:ticks}_{EventId:06d}")
    >>> Buckets(key, 16, ["EventId"]).of({"EventId": 223})
    8
    """

    def __init__(self, key: Key, count: int, by: Sequence[str]) -> None:
        check_least("buckets", count, 1, BadDesign)
        if not by:
            raise BadDesign("by", by, "no field determines the bucket", "name fields of the key")
        formats = _formats(key)
        for name in by:
            if name not in formats:
                raise BadDesign("by", name, "it is not a field of the key", f"use some of {', '.join(key.fields)}")
        self.count = count
        self.by = tuple(by)
        self._texts = {name: Key(formats[name], "", max_units=key.max_units) for name in by}

    def of(self, fields: Mapping[str, object]) -> int:
        """Return the number of the bucket, from 0."""
        texts = (self._texts[name].format({name: fields.get(name)})[0] for name in self.by)
        digest = sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count


def _formats(key: Key) -> dict[str, str]:
    """Return a template for each field alone, with its width, which `Key.formats` leaves out."""
    pieces = chain.from_iterable(map(Formatter().parse, (key.partition_template, key.row_template)))
    return {name: f"{{{name}:{spec}}}" if spec else f"{{{name}}}" for _, name, spec, _ in pieces if name}
