"""Read the entries of many blobs in time order, holding one piece of each in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias
from uuid import UUID

from ...errors import BadInput
from ...sdk.container import BlobFacts, Container
from .entry import LogEntry
from .names import LogName
from .writer import EntryFilter

PIECE_BYTES: Final = 4 * 1024 * 1024


class _Blob:
    """Iterate over the matching entries of one blob.

    The blob is read up to its size at the time of listing. That never cuts an entry, since each append is atomic.
    """

    def __init__(self, container: Container, facts: BlobFacts, entry_filter: EntryFilter) -> None:
        self._container = container
        self._name = facts.name
        self._end = facts.size
        self._wanted = entry_filter
        self._read = 0
        self._rest = b""
        self._entries: deque[LogEntry] = deque()

    async def following(self) -> LogEntry | None:
        """Return the next entry, or None if there are no more."""
        while not self._entries and self._read < self._end:
            await self._read_piece()
        return self._entries.popleft() if self._entries else None

    async def _read_piece(self) -> None:
        length = min(PIECE_BYTES, self._end - self._read)
        piece = await self._container.download(self._name, offset=self._read, length=length)
        if not piece:
            # It was deleted since it was listed
            self._read = self._end
            return
        self._read += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if self._rest and self._read >= self._end:
            lines.append(self._rest)
        for line in lines:
            entry = LogEntry.parse(_text(line))
            if entry.at > self._wanted.latest:
                self._read = self._end
                return
            if self._wanted.matches(entry):
                self._entries.append(entry)


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        rule = f"it is not a line of a log ({error})"
        raise BadInput("line", line, rule, "keep other content out of the log's blobs") from error


_Head: TypeAlias = "tuple[datetime, int, _Blob, LogEntry | None]"


async def merge_entries(
    container: Container, blobs: Iterable[tuple[LogName, BlobFacts]], entry_filter: EntryFilter
) -> AsyncIterator[LogEntry]:
    """Yield the matching entries of one hour's blobs in time order, each of them once.

    Entries with the same instant are sorted by the number of their blob. A blob is opened when its first entry may be
    next. An entry that was written twice, because the first response was lost, has the same instant and id.
    """
    heads: list[_Head] = [
        (
            entry_filter.earliest_entry(facts.metadata, name.hour),
            name.number,
            _Blob(container, facts, entry_filter),
            None,
        )
        for name, facts in blobs
    ]
    heapify(heads)
    instant: datetime | None = None
    yielded_ids: set[UUID] = set()
    while heads:
        at, number, blob, entry = heappop(heads)
        if at != instant:
            instant, yielded_ids = at, set()
        if entry is not None and entry.id not in yielded_ids:
            yielded_ids.add(entry.id)
            yield entry
        following = await blob.following()
        if following is not None:
            heappush(heads, (following.at, number, blob, following))
