"""Blob rows: rows of one text each, in the blobs of a container, written on condition of their ETags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tablepatterns.errors import BadInput, EntityChanged
from tablepatterns.filters import prop
from tablepatterns.recipes.index_entities import BlobRows
from tablepatterns.sdk.operation import ANY, Operation

KEYS = ("lastname_O'Neil, Ünal", "ids")


@pytest.fixture
def rows(backend: Any, storage: Any) -> Iterator[BlobRows]:
    container = f"c{uuid4().hex}"
    yield BlobRows(storage, container, "Ids")
    if backend.kind != "memory":
        backend.run(storage.container(container).drop())


def listing(kind: Any, text: str, etag: str | None = None, keys: tuple[str, str] = KEYS) -> Operation:
    return Operation(kind, *keys, etag, {"Ids": text})


async def test_a_row_is_written_and_read_back(rows: BlobRows) -> None:
    assert await rows.get(*KEYS) is None
    (written,) = await rows.submit(listing("insert", "Sales#1/Sales#2"))
    row = await rows.get(*KEYS)
    assert row is not None
    assert dict(row) == {"PartitionKey": KEYS[0], "RowKey": KEYS[1], "Ids": "Sales#1/Sales#2"}
    assert row.etag == written.etag
    await rows.submit(listing("replace", "Sales#1", row.etag))
    await rows.submit(Operation.delete(*KEYS, ANY))
    assert await rows.get(*KEYS) is None


async def test_a_write_of_what_has_changed_is_rejected_and_changes_nothing(rows: BlobRows) -> None:
    (first,) = await rows.submit(listing("insert", "Sales#1"))
    (second,) = await rows.submit(listing("replace", "Sales#2", first.etag))
    for stale in (
        listing("insert", "Sales#3"),
        listing("replace", "Sales#3", first.etag),
        Operation.delete(*KEYS, first.etag or ANY),
    ):
        with pytest.raises(EntityChanged, match="read it again and retry"):
            await rows.submit(stale)
    row = await rows.get(*KEYS)
    assert row is not None
    assert (row["Ids"], row.etag) == ("Sales#2", second.etag)


async def test_rows_come_in_pages_in_the_order_of_their_names(rows: BlobRows) -> None:
    for number in (3, 1, 2):
        await rows.submit(listing("insert", "Sales#1", keys=(f"p{number}", "ids")))
    first = await rows.page(None, size=2)
    assert [row["PartitionKey"] for row in first.items] == ["p1", "p2"]
    rest = await rows.page(None, size=2, token=first.token)
    assert ([row["PartitionKey"] for row in rest.items], rest.token) == (["p3"], None)
    with pytest.raises(BadInput, match="no filters"):
        await rows.page(prop("PartitionKey") == "p1", size=1)
