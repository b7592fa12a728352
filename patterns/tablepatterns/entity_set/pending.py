"""The rows of a partition after a transaction that is still being planned.

A transaction may write a row only once, but several of its changes may affect the same row, such as two employees in
the list of their last name. So each change is planned on the result of the changes before it, and operations on the
same row are combined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..entity import Entity, WriteIds, entity_of_row, write_ids_of
from ..sdk.operation import ANY, Kind, Operation
from .derived import Keys
from .placement import RowReader


class Pending:
    """Stored rows, each read once, with writes that have not been sent."""

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
