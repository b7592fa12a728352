"""Reading a log: the entries of many blobs, in order of time, never holding more than a piece of each."""

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
from .writer import Wanted

PIECE_BYTES: Final = 4 * 1024 * 1024


class _Blob:
    """The entries of one blob that are asked for, one after another.

    It is read up to the size that it had when it was listed: nothing is cut off there, since each append is whole.
    """

    def __init__(self, container: Container, facts: BlobFacts, wanted: Wanted) -> None:
        self._container = container
        self._name = facts.name
        self._end = facts.size
        self._wanted = wanted
        self._read = 0
        self._rest = b""
        self._entries: deque[LogEntry] = deque()

    async def following(self) -> LogEntry | None:
        """Return the next entry, or None if there are no more."""
        while not self._entries and self._read < self._end:
            await self._read_on()
        return self._entries.popleft() if self._entries else None

    async def _read_on(self) -> None:
        length = min(PIECE_BYTES, self._end - self._read)
        piece = await self._container.download(self._name, offset=self._read, length=length)
        if not piece:
            # It was dropped since it was listed
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
            if self._wanted.takes(entry):
                self._entries.append(entry)


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        rule = f"it is no line of a log ({error})"
        raise BadInput("line", line, rule, "keep other content out of the log's blobs") from error


_Head: TypeAlias = "tuple[datetime, int, _Blob, LogEntry | None]"


async def merged(
    container: Container, blobs: Iterable[tuple[LogName, BlobFacts]], wanted: Wanted
) -> AsyncIterator[LogEntry]:
    """Hand out the entries asked for of the blobs of one hour, in order of time, each of them once.

    Those of one instant come in the order of their blobs' numbers. A blob is opened when its first entry can be next.
    An entry that a writer wrote again, not knowing that it was written, has the same instant and id.
    """
    heads: list[_Head] = [
        (wanted.opening(facts.metadata, name.hour), name.number, _Blob(container, facts, wanted), None)
        for name, facts in blobs
    ]
    heapify(heads)
    instant: datetime | None = None
    seen: set[UUID] = set()
    while heads:
        at, number, blob, entry = heappop(heads)
        if at != instant:
            instant, seen = at, set()
        if entry is not None and entry.id not in seen:
            seen.add(entry.id)
            yield entry
        following = await blob.following()
        if following is not None:
            heappush(heads, (following.at, number, blob, following))
