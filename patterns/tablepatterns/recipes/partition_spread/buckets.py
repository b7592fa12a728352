"""Spread the entities of a partition over buckets, by a hash of their key that never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from string import Formatter

from ...entity import Entity
from ...errors import BadDesign, EntityAlreadyExists
from ...filters import Filter
from ...key import Key
from ...sdk.operation import Operation
from ...sdk.table import Page, Table


class SpreadTable(Table):
    """A table that is read and written only by those who spread its entities alike.

    How they are spread is kept in one entity. It is read before the first request, and made before the first write;
    from then on it is known. So nobody looks for an entity, or puts one, in another bucket than the others do.

    :param table: the table
    :param key: the keys of the entity in which it is kept; it must be none of the entities that are spread
    :param layout: how entities are spread, as properties
    """

    def __init__(self, table: Table, key: tuple[str, str], layout: Mapping[str, int | str]) -> None:
        super().__init__(table._client, table._hook)
        self._table = table
        self._key = key
        self._layout = layout
        self._is_known = False

    async def check(self) -> bool:
        """Return whether it is written down how entities are spread. Cost: 1 transaction, until it is.

        :raises BadDesign: it says that they are spread otherwise
        """
        if not self._is_known:
            self._is_known = self._agrees(await self._table.get(*self._key))
        return self._is_known

    async def declare(self) -> None:
        """Write down how entities are spread, if it is not yet. Cost: 1 transaction, or 2 the first time.

        :raises BadDesign: it says that they are spread otherwise
        """
        if await self.check():
            return
        keys = dict(zip(("PartitionKey", "RowKey"), self._key, strict=True))
        try:
            await self._table.submit(Operation.insert(keys | dict(self._layout)))
            self._is_known = True
        except EntityAlreadyExists:
            self._is_known = self._agrees(await self._table.get(*self._key))

    def _agrees(self, found: Entity | None) -> bool:
        if found is None:
            return False
        there = {name: found.get(name) for name in self._layout}
        if there != self._layout:
            rule = f"the entities of the table {self.name!r} are spread by {there}, and would not be found"
            raise BadDesign("spread", dict(self._layout), rule, "use that, or load them into a table of their own")
        return True

    async def drop(self) -> None:
        """Delete the table with everything in it, how its entities are spread included. Cost: 1 transaction."""
        self._is_known = False
        await super().drop()

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Carry out all operations in one entity group transaction, as for any table.

        :raises BadDesign: the entities of the table are spread otherwise
        """
        await self.declare()
        return await super().submit(*operations)

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        """Read one entity by its keys, or None. Cost: 1 transaction, a point query."""
        await self.check()
        return await super().get(partition_key, row_key, select)

    async def page(
        self, where: Filter | None, *, size: int, token: str | None = None, select: Sequence[str] | None = None
    ) -> Page[Entity]:
        """Read one page of a query. Cost: 1 transaction."""
        await self.check()
        return await super().page(where, size=size, token=token, select=select)


class Buckets:
    """So many buckets, and the fields of the key whose values say in which one an entity is.

    The number of the bucket is SHA-256 of the values' texts, as they are in the key, in UTF-8 with a NUL between them;
    of which the first eight bytes, as a big-endian number, modulo the number of buckets. Programs in other languages
    can work it out.

    >>> key = Key("{Service}", "{At:ticks}_{EventId:06d}")
    >>> Buckets(key, 16, ["EventId"]).of({"EventId": 223})
    8

    :param key: the key of the entities
    :param count: how many buckets
    :param by: the fields
    :raises BadDesign: there is no bucket, or a field is none of the key's
    """

    def __init__(self, key: Key, count: int, by: Sequence[str]) -> None:
        if count < 1:
            raise BadDesign("buckets", count, "there must be at least one", "give 2 or more")
        if not by:
            raise BadDesign("by", by, "nothing says in which bucket an entity is", "name fields of the key")
        formats = _formats(key)
        for name in by:
            if name not in formats:
                rule = f"only fields of the key tell where an entity is: {', '.join(key.fields)}"
                raise BadDesign("by", name, rule, "name some of them")
        self.count = count
        self.by = tuple(by)
        self._texts = {name: Key(formats[name], "", max_units=key.max_units) for name in by}

    def of(self, fields: Mapping[str, object]) -> int:
        """Return the number of the bucket, from 0.

        :raises BadKey: a field is missing, or has a value that cannot be a part of the key
        """
        texts = (self._texts[name].format({name: fields.get(name)})[0] for name in self.by)
        digest = sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count


def _formats(key: Key) -> dict[str, str]:
    """Return the template of each field by itself."""
    pieces = chain.from_iterable(map(Formatter().parse, (key.partition_template, key.row_template)))
    return {name: f"{{{name}:{spec}}}" if spec else f"{{{name}}}" for _, name, spec, _ in pieces if name}
