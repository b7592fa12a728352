"""Store rows as block blobs, for lists that are too long for an entity.

Each row is one blob, named `PartitionKey/RowKey`: keys cannot contain a `/`. The blob has one line of text per entry.
"""

from __future__ import annotations

from typing import Final

from ..entity import Entity
from ..errors import BadInput, BlobChanged, EntityChanged
from ..filters import Filter
from ..recipe import Account
from ..sdk.container import ABSENT, Container
from ..sdk.operation import Operation
from ..sdk.table import Page

_TYPE: Final = "text/plain; charset=utf-8"


class BlobRows:
    """A row store in a blob container; the property `text` holds the entries, separated by `/`."""

    is_unfiltered: Final = True

    def __init__(self, account: Account, container: str, text: str) -> None:
        self._account = account
        self.name = container
        self._blobs: Container = account.container(container)
        self._text = text

    async def get(self, partition_key: str, row_key: str) -> Entity | None:
        """Read one row by its keys, or None. Cost: 1 transaction."""
        try:
            blob = await self._blobs.read(_name(partition_key, row_key))
        except BlobChanged as error:
            raise _changed_error((partition_key, row_key), error) from error
        if blob is None:
            return None
        content, etag = blob
        text = content.decode("utf-8").strip("\n").replace("\n", "/")
        row = Entity({"PartitionKey": partition_key, "RowKey": row_key, self._text: text})
        row.etag = etag
        return row

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]:
        """Read one page of rows, ordered by blob name. Cost: 1 transaction per row, and those that list the blobs.

        :param token: the name of the last blob of the previous page
        """
        if where is not None:
            raise BadInput("where", where, "blobs have no filters", "leave it out")
        names: list[str] = []
        more = False
        async for blob in self._blobs.blobs():
            if "/" not in blob.name or (token is not None and blob.name <= token):
                continue
            if len(names) == size:
                more = True
                break
            names.append(blob.name)
        rows = await self._account.gather(*(self.get(*_keys(name)) for name in names), independent=True)
        return Page(tuple(row for row in rows if row is not None), names[-1] if more else None)

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Write one row if its ETag matches, and return it with its new ETag. Cost: 1 transaction."""
        (operation,) = operations
        row = Entity({"PartitionKey": operation.partition_key, "RowKey": operation.row_key})
        try:
            if operation.kind == "delete":
                await self._blobs.delete(_name(*operation.key), etag=operation.etag)
                return [row]
            content = str(operation.entity[self._text]).replace("/", "\n") + "\n"
            etag = ABSENT if operation.kind == "insert" else operation.etag
            name, data = _name(*operation.key), content.encode("utf-8")
            row.etag = await self._blobs.upload(name, data, etag=etag, content_type=_TYPE)
        except BlobChanged as error:
            raise _changed_error(operation.key, error) from error
        return [row]


def _changed_error(keys: tuple[str, str], error: BlobChanged) -> EntityChanged:
    return EntityChanged(f"the blob of the row {keys} changed since it was read; read it again and retry", error)


def _name(partition_key: str, row_key: str) -> str:
    return f"{partition_key}/{row_key}"


def _keys(name: str) -> tuple[str, str]:
    partition_key, _, row_key = name.partition("/")
    return partition_key, row_key
