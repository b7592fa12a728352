"""Keep requests that arrive late from restoring deleted entities: a deleted row becomes a tombstone.

A process that stalls may send an insert after its message was processed and another process has deleted the entity. An
insert fails if there is a row, and a tombstone is one. `EntitySet` hides tombstones from readers.
"""

# A fenced table is created from another table
# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, cast

from ...entity import Entity, entity_of_keys, write_ids_of
from ...entity_set.derived import TOMBSTONE, Keys, keys_of, unchanged
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import with_table
from ...entity_set.named_table import NamedTable
from ...entity_set.shared_rows import replacing, with_keys
from ...errors import EntityAlreadyExists, EntityChanged, EntityNotFound
from ...filters import prop
from ...key import Key
from ...limits import MAX_PAGE_ENTITIES
from ...messages.lease import Lease
from ...recipe import Account
from ...retry import LOST_RACE, overtaken_by
from ...sdk.operation import ANY, Operation
from ...sdk.page_token import EntityPage, PageQuery
from ...sdk.table import Table

_TOMBSTONE: Final = {TOMBSTONE: True}


class FencedTable(Table):
    """A table in which deleted primary rows become tombstones, which reads leave out."""

    _key: Key
    is_fenced: Callable[[], bool]
    """Whether a late insert could still arrive, so that a deleted row becomes a tombstone."""
    _lease: Lease | None = None
    """The lease that a process must have to insert an entity over a tombstone."""

    def under(self, lease: Lease) -> FencedTable:
        """Return this table for the writes of the process that has a lease."""
        view = copy.copy(self)
        view._lease = lease
        return view

    async def raw(self, partition_key: str, row_key: str) -> Entity | None:
        return await super().get(partition_key, row_key)

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        """Read one entity by its keys; None if there is none, or a tombstone. Cost: 1 transaction, a point query."""
        row = await super().get(partition_key, row_key, select and (*select, TOMBSTONE))
        return None if row is None or row.pop(TOMBSTONE, None) else row

    async def read_page(self, query: PageQuery) -> EntityPage:
        """Read one page of a query, without tombstones. Cost: 1 transaction."""
        page = await super().read_page(query._replace(select=query.select and (*query.select, TOMBSTONE)))
        return page._replace(entities=[row for row in page.entities if TOMBSTONE not in row])

    async def remove_tombstones(self) -> None:
        """Delete all tombstones that no concurrent insert replaces. Cost: a scan of the table, and 1 for each."""
        query = PageQuery(prop(TOMBSTONE) == True, MAX_PAGE_ENTITIES, None, None)  # noqa: E712 - a filter
        while True:
            page = await super().read_page(query)
            for row in page.entities:
                keys = keys_of(row)
                if self._is_primary(keys):
                    with suppress(EntityChanged, EntityNotFound):
                        await super().submit(Operation.delete(*keys, row.etag or ANY))
            if page.next is None:
                return
            query = query._replace(start=page.next)

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Submit the operations as one entity group transaction, in which primary rows become tombstones.

        An insert replaces a tombstone, on condition of its ETag. The process must still have its lease once it has read
        the tombstone: until it loses the lease, no other process bumps the row.
        """
        fenced = [*map(self._fenced, operations)]
        replaced_indexes: set[int] = set()
        while True:
            try:
                rows = await super().submit(*fenced)
            except LOST_RACE as error:
                index: int = error.index or 0
                if index in replaced_indexes:
                    text = f"another process inserted the entity {fenced[index].key} at the same time"
                    raise EntityAlreadyExists(text, error, index=index) from error
                tombstone = await self._tombstone(fenced[index])
                if tombstone is None or not isinstance(error, EntityAlreadyExists):
                    raise
                if self._lease is not None:
                    await self._lease.renew_if_due()
                replaced_indexes.add(index)
                ids = write_ids_of(tombstone)
                fenced[index] = replace(fenced[index], kind="replace", etag=tombstone.etag or ANY, write_ids=ids)
                continue
            return [
                entity_of_keys(*operation.key, None, ()) if operation.kind == "delete" else row
                for operation, row in zip(operations, rows, strict=True)
            ]

    def _fenced(self, operation: Operation) -> Operation:
        if operation.kind == "delete" and self.is_fenced() and self._is_primary(operation.key):
            tombstone = with_keys(operation.key, _TOMBSTONE)
            return Operation.replace(tombstone, operation.etag or ANY, write_ids=operation.write_ids)
        return operation

    async def _tombstone(self, operation: Operation) -> Entity | None:
        """Return the tombstone that prevents an insert; None if it is an entity, or the row is of another kind."""
        if operation.kind != "insert" or not self._is_primary(operation.key):
            return None
        row = await self.raw(*operation.key)
        return row if row is not None and TOMBSTONE in row else None

    def _is_primary(self, keys: Keys) -> bool:
        return self._key.matches(*keys)

    async def _rows(self, operations: Sequence[Operation]) -> list[Entity | None]:
        # The write is recognized by what was sent, which may be a tombstone
        return [await self.raw(*operation.key) for operation in operations]

    async def bump(self, keys: Keys) -> None:
        """Give a row a new ETag, or leave a tombstone, so that no earlier request can write it. Cost: 2."""
        row = await self.raw(*keys)
        operation = replacing(keys, row, _TOMBSTONE) if row is None or TOMBSTONE in row else unchanged(keys, row)
        with overtaken_by(*LOST_RACE):
            await super().submit(operation)


class _FencedNamedTable(FencedTable, NamedTable):
    """A fenced table of a model that stores fields under other names."""

    async def _rows(self, operations: Sequence[Operation]) -> list[Entity | None]:
        return await NamedTable._rows(self, operations)


def fenced(entity_set: EntitySet[Any, Any], is_fenced: Callable[[], bool]) -> EntitySet[Any]:
    """Return a view of a set, without its model, whose deletes leave tombstones while they must."""
    inner = entity_set.without_model()
    table: FencedTable
    if isinstance(inner.table, NamedTable):
        table = _FencedNamedTable(inner.table, inner.table._names)
    else:
        table = FencedTable(inner.table._client, inner.table._hook, inner.table._requests)
    table._key, table.is_fenced = inner.key, is_fenced
    return with_table(inner, table)


def fenced_table(entity_set: EntitySet[Any]) -> FencedTable:
    return cast("FencedTable", entity_set.table)


def under_lease(entity_set: EntitySet[Account], lease: Lease) -> EntitySet[Account]:
    """Return a view of what `fenced` returned, for the writes of the process that has a lease."""
    return with_table(entity_set, fenced_table(entity_set).under(lease))
