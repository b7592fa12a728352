"""SpreadTable: a table whose entities are spread over buckets, and in which it is written down over how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..entity import Entity
from ..errors import BadDesign, EntityAlreadyExists
from ..filters import Filter
from ..words.operation import Operation
from ..words.table import Page, Table


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
