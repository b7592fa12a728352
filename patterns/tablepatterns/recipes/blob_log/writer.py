"""Write log entries to append blobs: the buffer, the writer's blobs, and their metadata."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final, NamedTuple

from ...batches import batches
from ...errors import BlobChanged
from ...sdk.container import Container
from .entry import HOUR, LogName, hour_of, moment_text


class Line(NamedTuple):
    """A formatted entry: its line in UTF-8 with its line end, and since when it waits to be written."""

    at: datetime
    level: str
    content: bytes
    since: datetime


class Buffer:
    """Lines that wait to be written; threads and tasks may share it."""

    def __init__(self, count: int, size: int, age: timedelta) -> None:
        self._count = count
        self._size = size
        self._age = age
        self._lock = threading.Lock()
        self._lines: list[Line] = []
        self._bytes = 0

    def is_due(self, line: Line) -> bool:
        """Return whether the buffer must be written before another line is added."""
        with self._lock:
            if not self._lines:
                return False
            return (
                len(self._lines) >= self._count
                or self._bytes + len(line.content) > self._size
                or line.since - self._lines[0].since >= self._age
            )

    def add(self, line: Line) -> None:
        with self._lock:
            self._lines.append(line)
            self._bytes += len(line.content)

    def take(self) -> list[Line]:
        with self._lock:
            lines, self._lines, self._bytes = self._lines, [], 0
        return lines

    def put_back(self, lines: Iterable[Line]) -> None:
        with self._lock:
            self._lines[:0] = lines
            self._bytes = sum(len(line.content) for line in self._lines)


_INSTANT: Final = timedelta(microseconds=1)
_LEVELS_LENGTH: Final = 1000


@dataclass(frozen=True)
class Coverage:
    """State that no entry of a blob is before `first`, after `last`, or of a level outside `levels`."""

    first: datetime
    last: datetime
    levels: frozenset[str]

    def metadata(self) -> dict[str, str]:
        """Return the coverage as blob metadata, without levels if they are too long."""
        metadata = {"first": moment_text(self.first), "last": moment_text(self.last)}
        levels = ",".join(sorted(self.levels))
        return metadata | ({"levels": levels} if len(levels) <= _LEVELS_LENGTH else {})

    def widened(self, coverage: Coverage, last: datetime) -> Coverage:
        """Return a coverage that includes other entries; it ends later only if `last`, the last of them, does."""
        reach = self.last if last <= self.last else coverage.last
        return Coverage(min(self.first, coverage.first), reach, self.levels | coverage.levels)


BLOCK_BYTES: Final = 4 * 1024 * 1024
"""The largest append that every version of the service accepts."""
_MOST_IDLE: Final = 64
_MOST_HOURS: Final = 64


@dataclass(frozen=True)
class Block:
    """Lines of one hour, in time order, that one request appends."""

    lines: Sequence[Line]

    @property
    def hour(self) -> datetime:
        return hour_of(self.first)

    @property
    def first(self) -> datetime:
        return self.lines[0].at

    @property
    def last(self) -> datetime:
        return self.lines[-1].at

    @property
    def content(self) -> bytes:
        return b"".join(line.content for line in self.lines)

    def coverage(self, ahead: timedelta) -> Coverage:
        """Return the coverage of a blob that holds this block, and may get entries of the hour up to `ahead` later."""
        reach = min(self.last + min(ahead, HOUR), self.hour + HOUR - _INSTANT)
        return Coverage(self.first, reach, frozenset(line.level for line in self.lines))


def blocks(lines: Sequence[Line]) -> Iterator[Block]:
    """Split lines into blocks in time order; entries with the same instant keep their order."""
    for _, lines_of_hour in groupby(sorted(lines, key=lambda line: line.at), lambda line: hour_of(line.at)):
        yield from map(Block, batches(lines_of_hour, lambda line: len(line.content), BLOCK_BYTES))


@dataclass
class Segment:
    """A blob that this writer created and appends to; `coverage` is what its metadata says."""

    name: LogName
    coverage: Coverage
    last: datetime
    size: int = 0
    blocks: int = 0

    async def add(self, container: Container, block: Block, ahead: timedelta) -> bool:
        """Append a block; return False if the blob has changed. Cost: 1 transaction, 2 to widen its metadata.

        The metadata is widened before the append, so that no reader skips the block.
        """
        name, content = str(self.name), block.content
        coverage = self.coverage.widened(block.coverage(ahead), block.last)
        try:
            if coverage != self.coverage:
                await container.describe(name, coverage.metadata())
                self.coverage = coverage
            await container.append(name, content, position=self.size)
        except BlobChanged:
            # The entry ids identify this writer's own block if the response was lost
            if await container.download(name, offset=self.size, length=len(content)) != content:
                return False
        self.last = block.last
        self.size += len(content)
        self.blocks += 1
        return True


class Segments:
    """The idle blobs of a writer; threads and tasks may share it."""

    def __init__(self, size: int, blocks: int) -> None:
        self._size = size
        self._blocks = blocks
        self._lock = threading.Lock()
        self._idle: list[Segment] = []
        self._numbers: dict[datetime, int] = {}

    def take(self, block: Block) -> Segment | None:
        """Reserve a blob for the block; None if there is none. Of those that fit, its last entry is the latest."""
        with self._lock:
            fitting = [idle for idle in self._idle if idle.name.hour == block.hour and idle.last <= block.first]
            segment = max(fitting, key=lambda idle: idle.last, default=None)
            self._idle = [idle for idle in self._idle if idle is not segment]
        return segment

    def give_back(self, segment: Segment) -> None:
        """Release a reserved or new blob, unless it is full."""
        if segment.size >= self._size or segment.blocks >= self._blocks:
            return
        with self._lock:
            self._idle = [*self._idle, segment][-_MOST_IDLE:]

    def take_all(self) -> list[Segment]:
        with self._lock:
            segments, self._idle = self._idle, []
        return segments

    def next_number(self, hour: datetime) -> int:
        """Return the number after the highest known number of an hour."""
        with self._lock:
            return self._numbers.get(hour, 0) + 1

    def note_number(self, hour: datetime, number: int) -> None:
        with self._lock:
            self._numbers[hour] = max(self._numbers.pop(hour, 0), number)
            if len(self._numbers) > _MOST_HOURS:
                del self._numbers[next(iter(self._numbers))]
