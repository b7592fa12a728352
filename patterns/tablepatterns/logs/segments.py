"""Segments: the blobs that a writer has begun, each of them its own, and what it knows of their ends.

Nobody else appends to a blob of ours, so its end is known, and whoever appends there again after a lost answer is told.
A blob whose state is in doubt is never written again. Whoever appends takes a blob out of the idle ones meanwhile: two
threads or tasks never wait for each other, they write to two blobs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ..errors import BlobChanged
from ..words.container import Container
from .buffer import Line
from .coverage import Coverage
from .names import LogName, hour_of

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
