"""One page of the blobs in a container."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_PAGE_BLOBS

from ..collections import OrderedMap
from ..key_range import after
from ..resources import check_range
from .blob import Blob
from .state import Slot

Mark: TypeAlias = tuple[str, int]


class Prefix(str):
    """A common prefix of names, up to and including a delimiter."""

    __slots__ = ()


class Uncommitted(str):
    """The name of a blob that has only uncommitted blocks."""

    __slots__ = ()


class VersionsOnly(NamedTuple):
    """A deleted blob that has versions: the newest one."""

    blob: Blob


Item: TypeAlias = Blob | Prefix | Uncommitted | VersionsOnly


@dataclass(frozen=True, slots=True)
class ListBlobsQuery:
    """Which blobs to list.

    :param delimiter: names that contain it after the prefix are grouped
    :param start: where the page starts: `next` of the previous page
    :param versions: whether previous versions are listed
    :param versions_only: whether deleted blobs that have versions are listed
    :param uncommitted: whether names with only uncommitted blocks are listed
    """

    prefix: str = ""
    delimiter: str = ""
    start: Mark = ("", 0)
    limit: int = MAX_PAGE_BLOBS
    snapshots: bool = False
    versions: bool = False
    versions_only: bool = False
    uncommitted: bool = False


class Page(NamedTuple):
    """The items of a page, and the position of the next page; None on the last."""

    items: Sequence[Item]
    next: Mark | None


def checked_page_limit(limit: int) -> int:
    """Return the maximum number of items of a page; limits above 5,000 are allowed, and have no effect."""
    limit = min(limit, MAX_PAGE_BLOBS)
    check_range("maxresults", limit, 1, MAX_PAGE_BLOBS)
    return limit


def list_page(slots: OrderedMap[Slot], query: ListBlobsQuery, now: Ticks) -> Page:
    limit = checked_page_limit(query.limit)
    items: list[Item] = []
    mark = query.start
    for item, behind in _walk(slots, query, now):
        if len(items) == limit:
            return Page(items, mark)
        items.append(item)
        mark = behind
    return Page(items, None)


def _walk(slots: OrderedMap[Slot], query: ListBlobsQuery, now: Ticks) -> Iterator[tuple[Item, Mark]]:
    """Yield the items, each with the position after it; a group is skipped with a new search."""
    name, moment = query.start
    lower: str | None = max(name, query.prefix)
    while lower is not None:
        first, lower = lower, None
        for slot in slots.walk(first, beyond(query.prefix)):
            entries = list(_states(slot, query, now, moment if slot.name == name else 0))
            group = _group(slot.name, query)
            if entries and group is not None:
                lower = beyond(group)
                yield Prefix(group), (lower or after(group), 0)
                break
            yield from entries


def _states(slot: Slot, query: ListBlobsQuery, now: Ticks, moment: int) -> Iterator[tuple[Item, Mark]]:
    """Yield the states of a name, starting at a snapshot or a version."""
    for blob in slot.earlier:
        time = blob.snapshot or blob.version or Ticks(0)
        if time >= moment and (query.versions if blob.snapshot is None else query.snapshots):
            yield blob, (slot.name, time + 1)
    versions = [blob for blob in slot.earlier if blob.snapshot is None]
    if slot.current is not None:
        yield slot.current, (after(slot.name), 0)
    elif versions and query.versions_only and not query.versions:
        yield VersionsOnly(versions[-1]), (after(slot.name), 0)
    elif query.uncommitted and slot.staged(now):
        yield Uncommitted(slot.name), (after(slot.name), 0)


def _group(name: str, query: ListBlobsQuery) -> str | None:
    position = name.find(query.delimiter, len(query.prefix)) if query.delimiter else -1
    return None if position < 0 else name[: position + len(query.delimiter)]


def beyond(prefix: str) -> str | None:
    r"""Return the first string after all strings with a prefix, or None.

    >>> beyond("logs/"), beyond("\U0010ffff"), beyond("")
    ('logs0', None, None)
    """
    stem = prefix.rstrip(chr(sys.maxunicode))
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None
