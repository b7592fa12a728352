"""Compute how often the writers of a blob log flush, and which blobs and pieces of them a read takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Final
from uuid import UUID

from tablepatterns.limits import MAX_PAGE_BLOBS
from tablepatterns.recipes.blob_log.blob_log import BLOCK_BYTES, PIECE_BYTES, prefixes
from tablepatterns.recipes.blob_log.entry import LogEntry

from ..design.model import DAY, YEAR, DeclaredLog, LogWrite

HOUR: Final = 3_600.0
LEVEL: Final = "INFO"
_AT: Final = datetime(2014, 8, 20, tzinfo=timezone.utc)
_PHASES: Final = 120
_HOURS_OF: Final = (math.inf, 8_766.0, 730.5, 24.0, 1.0)
"""The hours whose blobs a prefix lists, by how much of the date it has: nothing, the year, the month, the day, all."""


def line_bytes(log: DeclaredLog) -> int:
    """Return the size of an entry as it is stored."""
    return len(LogEntry(_AT, LEVEL, "", {}, UUID(int=0)).line()) + 1 + log.size


def entries_of(log: DeclaredLog, years: float) -> float:
    """Return how many entries there are after so many years."""
    if log.retention_days is None:
        return (log.count or 0) + log.rate * years * YEAR
    kept_seconds = log.rate * log.retention_days * DAY
    return kept_seconds if years or log.count is None else float(log.count)


@dataclass(frozen=True)
class Pace:
    """What one writer of a blob log does, on average, if its entries come evenly.

    :param entries: its entries in an hour
    :param buffered: the entries of a flush
    :param blocks: the blocks that it appends in an hour; a flush has one for each hour and 4 MiB
    :param blobs: the blobs that it creates in an hour
    :param widened: how often in an hour it widens the metadata of a blob
    """

    entries: float
    buffered: int
    blocks: float
    blobs: float
    widened: float

    @property
    def seconds(self) -> float:
        """The seconds between two flushes."""
        return self.buffered / self.entries * HOUR if self.entries else 0.0


@lru_cache(maxsize=1024)
def pace_of(log: DeclaredLog, write: LogWrite) -> Pace:
    """Return what one of the writers of an access pattern does.

    An access pattern without a rate is that of a writer with one entry.
    """
    entries = write.rate / write.writers * HOUR
    if not entries:
        return Pace(0.0, 1, 0.0, 0.0, 0.0)
    size, buffered = line_bytes(log), 1
    if not log.write_through:
        until_old = math.ceil(log.flush_seconds * entries / HOUR - 1e-9)
        buffered = max(1, min(log.flush_count, log.flush_bytes // size, until_old))
    # A flush has a block for each hour that it begins, and for each 4 MiB
    pieces = 1 + (buffered - 1) / entries
    pieces = max(pieces, math.ceil(buffered / max(1, BLOCK_BYTES // size)))
    blocks = entries / buffered * pieces
    fit = min(log.blob_blocks, math.ceil(log.blob_bytes / (buffered * size / pieces)))
    # An hour has a whole number of blocks, of which this is the mean
    blobs = min(blocks, -_mean_floor(-blocks, fit))
    return Pace(entries, buffered, blocks, blobs, _widened(log, buffered / entries * HOUR, blocks, fit, blobs))


def _widened(log: DeclaredLog, every: float, blocks: float, fit: int, blobs: float) -> float:
    """Return how often in an hour the metadata of blobs is widened, because `last` is passed."""
    if blobs < 1:
        return 0.0
    passed = math.floor(log.ahead_seconds / every + 1e-9) + 1
    number = math.ceil(blobs)
    # Blobs of an hour are alike, but for the last one
    found = 0.0
    for blob, times in ((0, number - 1), (number - 1, 1)):
        # Not every hour has the last blob
        inside = max(0.0, min(fit, blocks - blob * fit) - 1)
        left = HOUR - min(every, HOUR) / 2 - blob * fit * every - log.ahead_seconds
        found += times * min(_mean_floor(inside, passed), max(0, math.ceil(left / (passed * every) - 1e-9)))
    return found


def _mean_floor(value: float, divisor: int) -> float:
    """Return the mean of the quotients, without remainders, of whole numbers with this mean."""
    low = math.floor(value)
    return low // divisor + (value - low) * ((low + 1) // divisor - low // divisor)


def blobs_an_hour(log: DeclaredLog) -> float:
    """Return how many blobs all writers create in an hour."""
    return sum(pace_of(log, log_write).blobs * log_write.writers for log_write in log.writes)


def taken_share(log: DeclaredLog) -> float:
    """Return how many of the new blobs do not get the first number that their writer tries, from 0 to 1.

    A single writer knows its numbers; of several, only one is the first in an hour.
    """
    blobs = blobs_an_hour(log)
    alone = sum(log_write.writers for log_write in log.writes if log_write.rate) <= 1
    return 0.0 if alone or blobs <= 1 else (blobs - 1) / blobs


@dataclass(frozen=True)
class Reading:
    """What a read of a time span takes.

    :param lists: pages of lists of blobs
    :param pieces: pieces of blobs that are read, of 4 MiB or less
    :param size: bytes of these
    :param listed: blobs in the lists
    """

    lists: float = 0.0
    pieces: float = 0.0
    size: float = 0.0
    listed: float = 0.0

    def times(self, number: float) -> Reading:
        """Return what so many of these take."""
        return Reading(self.lists * number, self.pieces * number, self.size * number, self.listed * number)

    def __add__(self, other_reading: Reading) -> Reading:
        return Reading(
            self.lists + other_reading.lists,
            self.pieces + other_reading.pieces,
            self.size + other_reading.size,
            self.listed + other_reading.listed,
        )


def reading(log: DeclaredLog, seconds: float) -> Reading:
    """Return what a read of a time span takes, on average over when the span begins."""
    # Whole days, months and years have a list of their own, which a span of less than a day has not
    begins = HOUR * 12 if seconds < DAY else 0.0
    step = (HOUR if seconds < DAY else DAY) / _PHASES
    return sum((_read(log, begins + step * (at + 0.5), seconds) for at in range(_PHASES)), Reading()).times(1 / _PHASES)


def _read(log: DeclaredLog, begins: float, seconds: float) -> Reading:
    earliest = _AT + timedelta(seconds=begins)
    kept_hours = math.inf if log.retention_days is None else log.retention_days * DAY / HOUR
    reading = Reading()
    for prefix in prefixes(log.prefix, earliest, earliest + timedelta(seconds=seconds)):
        parts = [part for part in prefix.split("/")[1:] if part]
        listed = min(_HOURS_OF[len(parts)], kept_hours, seconds / HOUR + 1) * blobs_an_hour(log)
        reading += Reading(max(1, math.ceil(listed / MAX_PAGE_BLOBS)), listed=listed)
    for start, end, times in _hours(begins / HOUR, (begins + seconds) / HOUR, kept_hours):
        for write in log.writes:
            reading += _opened(log, write, start, end).times(times * write.writers)
    return reading


def _hours(begin: float, end: float, kept_hours: float) -> Iterator[tuple[float, float, float]]:
    """Yield the parts of hours within a span, each from 0 to 1, and how many hours there are of each."""
    first, last = math.floor(begin), math.floor(end)
    if first == last:
        yield begin - first, end - first, 1.0
        return
    yield begin - first, 1.0, 1.0
    if last - first > 1:
        yield 0.0, 1.0, max(0.0, min(last - first - 1.0, kept_hours - 1.0))
    yield 0.0, end - last, 1.0


def _opened(log: DeclaredLog, write: LogWrite, start: float, end: float) -> Reading:
    """Return what a part of an hour takes of the blobs of one writer."""
    pace = pace_of(log, write)
    # A blob is opened if its metadata says that it may hold entries of the part
    reach = log.ahead_seconds / HOUR
    if pace.blobs <= 1:
        held = max(0.0, pace.entries - 1) / pace.entries if pace.entries else 0.0
        share = min(1.0, end - start + held + reach)
        return _pieces(max(1.0, pace.entries) * line_bytes(log), end).times(pace.blobs * share)
    count = math.ceil(pace.blobs)
    size = pace.entries * line_bytes(log) / count
    first = max(0, math.floor(max(0.0, start - min(1.0, reach / 2)) * count))
    last = min(count - 1, math.floor(end * count))
    return _pieces(size, 1.0).times(last - first) + _pieces(size, end * count - last)


def _pieces(size: float, end: float) -> Reading:
    """Return what is read of a blob, up to a part of it."""
    all_of_it = max(1, math.ceil(size / PIECE_BYTES))
    pieces = min(all_of_it, math.floor(min(1.0, end) * size / PIECE_BYTES) + 1)
    return Reading(pieces=pieces, size=min(size, pieces * PIECE_BYTES))
