"""One page of the blobs in a container."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...edm import Ticks
from ...limits import MAX_PAGE_BLOBS
from ..collections import OrderedMap
from ..key_range import after
from ..resources import check_range
from .blob import Blob
from .state import Slot

Mark: TypeAlias = tuple[str, int]


class Prefix(str):
    """The names that begin alike up to a delimiter, which it ends with."""

    __slots__ = ()


class Uncommitted(str):
    """The name of a blob of which only blocks are there."""

    __slots__ = ()


Item: TypeAlias = Blob | Prefix | Uncommitted


@dataclass(frozen=True, slots=True)
class ListBlobsQuery:
    """Which blobs to list.

    :param delimiter: names that have it behind the prefix are listed as groups
    :param start: where the page begins: `next` of the page before
    :param limit: at most so many items; never more than 5,000
    :param snapshots: whether snapshots are listed too
    :param uncommitted: whether names are listed under which nothing is committed
    """

    prefix: str = ""
    delimiter: str = ""
    start: Mark = ("", 0)
    limit: int = MAX_PAGE_BLOBS
    snapshots: bool = False
    uncommitted: bool = False


class Page(NamedTuple):
    """What a page shows, and the mark at which the next one begins, None on the last."""

    items: Sequence[Item]
    next: Mark | None


def checked_page_limit(limit: int) -> int:
    """Return how many items a page may show; more than 5,000 is no mistake, but changes nothing.

    :raises ServiceError: OutOfRangeQueryParameterValue for a limit below 1
    """
    limit = min(limit, MAX_PAGE_BLOBS)
    check_range("maxresults", limit, 1, MAX_PAGE_BLOBS)
    return limit


def list_page(slots: OrderedMap[Slot], query: ListBlobsQuery, now: Ticks) -> Page:
    """Return a page.

    :raises ServiceError: OutOfRangeQueryParameterValue for a limit below 1
    """
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
    """Yield the items, each with the mark behind it; behind a group the walk goes on with another search."""
    name, rest = query.start
    lower: str | None = max(name, query.prefix)
    while lower is not None:
        first, lower = lower, None
        for slot in slots.walk(first, beyond(query.prefix)):
            shown = list(_versions(slot, query, now, rest if slot.name == name else 0))
            group = _group(slot.name, query)
            if shown and group is not None:
                lower = beyond(group)
                yield Prefix(group), (lower or after(group), 0)
                break
            yield from shown


def _versions(slot: Slot, query: ListBlobsQuery, now: Ticks, rest: int) -> Iterator[tuple[Item, Mark]]:
    """Yield what is listed under a name, from a snapshot on."""
    if query.snapshots:
        for blob in slot.snapshots:
            if blob.snapshot is not None and blob.snapshot >= rest:
                yield blob, (slot.name, blob.snapshot + 1)
    if slot.current is not None:
        yield slot.current, (after(slot.name), 0)
    elif query.uncommitted and slot.staged(now):
        yield Uncommitted(slot.name), (after(slot.name), 0)


def _group(name: str, query: ListBlobsQuery) -> str | None:
    found = name.find(query.delimiter, len(query.prefix)) if query.delimiter else -1
    return None if found < 0 else name[: found + len(query.delimiter)]


def beyond(prefix: str) -> str | None:
    r"""Return the first string behind all that begin with a prefix, None where nothing is.

    >>> beyond("logs/"), beyond("\U0010ffff"), beyond("")
    ('logs0', None, None)
    """
    stem = prefix.rstrip(chr(sys.maxunicode))
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None
