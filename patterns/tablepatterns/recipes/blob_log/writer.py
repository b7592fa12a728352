"""Write log entries to append blobs: the buffer, the blobs of a writer, and the metadata of each."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...errors import BlobChanged
from ...sdk.container import Container
from .entry import LogEntry, moment_of, moment_text
from .names import HOUR, LogName, hour_of


class Line(NamedTuple):
    """An entry as it will be stored.

    :param content: its line in UTF-8, with its end
    :param since: since when it waits
    """

    at: datetime
    level: str
    content: bytes
    since: datetime

    @classmethod
    def of(cls, entry: LogEntry, now: datetime) -> Line:
        """Return the line of an entry."""
        return cls(entry.at, entry.level, f"{entry.line()}\n".encode(), now)


class Buffer:
    """Lines that wait; threads and tasks may share it.

    :param count: how many lines it holds
    :param size: how many bytes
    :param age: for how long a line waits, if there is somebody to ask
    """

    def __init__(self, count: int, size: int, age: timedelta) -> None:
        self._count = count
        self._size = size
        self._age = age
        self._lock = threading.Lock()
        self._lines: list[Line] = []
        self._bytes = 0

    def is_due(self, line: Line) -> bool:
        """Whether what is here must be written before one more line comes."""
        with self._lock:
            if not self._lines:
                return False
            return (
                len(self._lines) >= self._count
                or self._bytes + len(line.content) > self._size
                or line.since - self._lines[0].since >= self._age
            )

    def add(self, line: Line) -> None:
        """Take a line in."""
        with self._lock:
            self._lines.append(line)
            self._bytes += len(line.content)

    def take(self) -> list[Line]:
        """Return all lines, and be empty."""
        with self._lock:
            taken, self._lines, self._bytes = self._lines, [], 0
        return taken

    def put_back(self, lines: Iterable[Line]) -> None:
        """Have lines again that were taken and could not be written."""
        with self._lock:
            self._lines[:0] = lines
            self._bytes = sum(len(line.content) for line in self._lines)


_INSTANT: Final = timedelta(microseconds=1)
_LEVELS_LENGTH: Final = 1000


@dataclass(frozen=True)
class Coverage:
    """No entry of the blob is earlier than `first`, later than `last`, or of a level that is not among `levels`.

    :param first: when the first entry was logged
    :param last: when the last one was, or may be
    """

    first: datetime
    last: datetime
    levels: frozenset[str]

    @classmethod
    def ahead_of(cls, first: datetime, last: datetime, levels: Collection[str], ahead: timedelta) -> Coverage:
        """Return the coverage of such entries and of later ones: up to `ahead` later, in the same hour."""
        return cls(first, min(last + min(ahead, HOUR), hour_of(last) + HOUR - _INSTANT), frozenset(levels))

    def metadata(self) -> dict[str, str]:
        """Return it as the blob's metadata; so many levels that they get long are left out."""
        told = {"first": moment_text(self.first), "last": moment_text(self.last)}
        levels = ",".join(sorted(self.levels))
        return told | ({"levels": levels} if len(levels) <= _LEVELS_LENGTH else {})

    def widened(self, other: Coverage, last: datetime) -> Coverage:
        """Return what covers other entries too, and ends later only if `last`, the last of them, does."""
        reach = self.last if last <= self.last else other.last
        return Coverage(min(self.first, other.first), reach, self.levels | other.levels)

    def up_to(self, last: datetime) -> Coverage:
        """Return the coverage of a blob that gets no more entries."""
        return replace(self, last=last)


@dataclass(frozen=True)
class Wanted:
    """Which entries a reader asks for.

    :param levels: their levels; None for any
    """

    earliest: datetime
    latest: datetime
    levels: frozenset[str] | None

    def misses(self, metadata: Mapping[str, str]) -> bool:
        """Whether no entry of a blob can be asked for; one that does not say what it holds may hold anything."""
        first, last, levels = _told(metadata, "first"), _told(metadata, "last"), metadata.get("levels")
        return (
            (last is not None and last < self.earliest)
            or (first is not None and first > self.latest)
            or (self.levels is not None and levels is not None and self.levels.isdisjoint(levels.split(",")))
        )

    def takes(self, entry: LogEntry) -> bool:
        """Whether an entry is asked for."""
        return self.earliest <= entry.at <= self.latest and (self.levels is None or entry.level in self.levels)

    def opening(self, metadata: Mapping[str, str], hour: datetime) -> datetime:
        """Return an instant that no entry asked for of a blob of that hour is earlier than."""
        return max(_told(metadata, "first") or hour, self.earliest)


def _told(metadata: Mapping[str, str], name: str) -> datetime | None:
    try:
        return moment_of(metadata.get(name, ""))
    except ValueError:
        return None


BLOCK_BYTES: Final = 4 * 1024 * 1024
"""What every version of the service takes in one append."""
_MOST_IDLE: Final = 64
_MOST_HOURS: Final = 64


@dataclass(frozen=True)
class Block:
    """Lines of one hour, in order of time, that are appended by one request."""

    lines: Sequence[Line]

    @property
    def hour(self) -> datetime:
        """The hour that they are of."""
        return hour_of(self.first)

    @property
    def first(self) -> datetime:
        """When the first entry was logged."""
        return self.lines[0].at

    @property
    def last(self) -> datetime:
        """When the last entry was logged."""
        return self.lines[-1].at

    @property
    def levels(self) -> frozenset[str]:
        """The levels of the entries."""
        return frozenset(line.level for line in self.lines)

    @property
    def content(self) -> bytes:
        """What is appended."""
        return b"".join(line.content for line in self.lines)

    def coverage(self, ahead: timedelta) -> Coverage:
        """Return what a blob says that holds this block, and may hold entries up to `ahead` later."""
        return Coverage.ahead_of(self.first, self.last, self.levels, ahead)


def blocks(lines: Sequence[Line]) -> Iterator[Block]:
    """Cut lines into blocks, by the time of their entries; those of one instant stay in their order."""
    gathered: list[Line] = []
    size = 0
    for line in sorted(lines, key=lambda each: each.at):
        too_long = size + len(line.content) > BLOCK_BYTES
        if gathered and (too_long or hour_of(line.at) != hour_of(gathered[0].at)):
            yield Block(gathered)
            gathered, size = [], 0
        gathered.append(line)
        size += len(line.content)
    if gathered:
        yield Block(gathered)


@dataclass
class Segment:
    """A blob that is ours to append to.

    :param coverage: what its metadata says
    :param last: when its last entry was logged
    :param size: where it ends, in bytes
    """

    name: LogName
    coverage: Coverage
    last: datetime
    size: int = 0
    blocks: int = 0

    async def add(self, container: Container, block: Block, ahead: timedelta) -> bool:
        """Append a block; return False if the blob is not as we left it. Cost: 1 transaction, 2 to tell more of it.

        What is appended is covered before it is there, so that no reader passes over it.
        """
        name, content = str(self.name), block.content
        coverage = self.coverage.widened(block.coverage(ahead), block.last)
        try:
            if coverage != self.coverage:
                await container.describe(name, coverage.metadata())
                self.coverage = coverage
            await container.append(name, content, position=self.size)
        except BlobChanged:
            # The ids of the entries tell our own block, whose answer was lost, from any other
            if await container.download(name, offset=self.size, length=len(content)) != content:
                return False
        self.last = block.last
        self.size += len(content)
        self.blocks += 1
        return True


class Segments:
    """The idle blobs of a writer; threads and tasks may share it.

    :param size: when a blob gets no more blocks, in bytes
    :param blocks: when a blob gets no more blocks, in blocks
    """

    def __init__(self, size: int, blocks: int) -> None:
        self._size = size
        self._blocks = blocks
        self._lock = threading.Lock()
        self._idle: list[Segment] = []
        self._numbers: dict[datetime, int] = {}

    def take(self, block: Block) -> Segment | None:
        """Return a blob of which the block can be the end, and let nobody else have it; None if there is none.

        The entries of a blob are in order of time: of those that fit, it is the one that lags the least.
        """
        with self._lock:
            fitting = [each for each in self._idle if each.name.hour == block.hour and each.last <= block.first]
            if not fitting:
                return None
            found = max(fitting, key=lambda each: each.last)
            self._idle = [each for each in self._idle if each is not found]
        return found

    def give_back(self, segment: Segment) -> None:
        """Let others have a blob that was taken, or a new one, unless it is full."""
        if segment.size >= self._size or segment.blocks >= self._blocks:
            return
        with self._lock:
            self._idle = [*self._idle, segment][-_MOST_IDLE:]

    def take_all(self) -> list[Segment]:
        """Return all idle blobs, and know them no more."""
        with self._lock:
            taken, self._idle = self._idle, []
        return taken

    def next_number(self, hour: datetime) -> int:
        """Return the number after the last one that is known to be taken in an hour."""
        with self._lock:
            return self._numbers.get(hour, 0) + 1

    def note_number(self, hour: datetime, number: int) -> None:
        """Know that a number is taken."""
        with self._lock:
            known = self._numbers.pop(hour, 0)
            self._numbers[hour] = max(known, number)
            if len(self._numbers) > _MOST_HOURS:
                del self._numbers[next(iter(self._numbers))]
