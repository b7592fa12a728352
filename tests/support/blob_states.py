"""Helpers for tests of the engine's blobs: content, leases, and the complete state of an account."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from uuid import UUID

from tablepatterns_engine.blobs.blob import Blob, ContentHeaders, Draft, Where
from tablepatterns_engine.blobs.conditions import Terms
from tablepatterns_engine.blobs.listing import Item, ListBlobsQuery
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.content import Content

HOME = "photos"
A, B, C = (UUID(int=n) for n in (0xA, 0xB, 0xC))
"""Three ids of leases."""
ONE, TWO, THREE = (b64encode(name).decode() for name in (b"one", b"two", b"3rd"))
"""Three ids of blocks."""
DRAFT = Draft(ContentHeaders("image/jpeg", language="en"), {"Owner": "Don"}, {"state": "raw"})


class Long(Content):
    """Content with a length only; it is never read."""

    def __init__(self, size: int) -> None:
        super().__init__([b"x"])
        self._size = size

    def __len__(self) -> int:
        return self._size


def of(text: str) -> Content:
    return Content([text.encode()])


def text_of(blob: Blob) -> str:
    return bytes(blob.content).decode()


def latest(*block_ids: str) -> list[tuple[Where, str]]:
    return [(Where.LATEST, each) for each in block_ids]


def under(lease: UUID | None) -> Terms:
    return Terms(lease=lease)


def put(blobs: Blobs, name: str, text: str = "", **options: Any) -> Blob:
    return blobs.put(HOME, name, of(text), **options)


def all_items(blobs: Blobs, container: str = HOME, **query: Any) -> list[Item]:
    """Return the items of all pages of a list."""
    page = blobs.page(container, ListBlobsQuery(**query))
    items = list(page.items)
    while page.next is not None:
        page = blobs.page(container, ListBlobsQuery(**{**query, "start": page.next}))
        items += page.items
    return items


def all_names(blobs: Blobs, container: str = HOME, **query: Any) -> list[str]:
    """Return the names of all items, with a mark after those of snapshots."""
    return [
        item.name + ("@" if item.snapshot else "") if isinstance(item, Blob) else str(item)
        for item in all_items(blobs, container, **query)
    ]


def everything_in(blobs: Blobs) -> Any:
    """Return the visible state of the account, for comparisons. Versions are immutable, so their ids are enough."""
    containers, _ = blobs.containers.page()
    content = {
        (each.name, name): (list(slot.earlier), slot.current, dict(slot.staged(slot._staged_at)))
        for each in containers
        for name, slot in blobs.containers.find(each.name).slots.items()
    }
    return containers, content, blobs.get_service_properties()
