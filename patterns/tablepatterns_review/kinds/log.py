"""The blob log: how often its writers flush, what its calls take, its sample blobs, and its code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from functools import lru_cache, partial
from typing import Any, Final, TypeVar
from uuid import UUID

from tablepatterns.figures import counted, span
from tablepatterns.limits import MAX_PAGE_BLOBS
from tablepatterns.recipes.blob_log.blob_log import BLOCK_BYTES, PIECE_BYTES, BlobLog, prefixes
from tablepatterns.recipes.blob_log.entry import LogEntry
from tablepatterns.storage import Storage, connect
from tablepatterns_engine import Clock, Engine

from ..design.model import DAY, YEAR, DeclaredLog, LogWrite, Query, Write
from ..measure.account import rejection
from ..measure.sample import NOW
from ..measure.scaling import CallCost, metered
from ..model import Measured, Place
from ..python_source import array, call, declaration, literal, text
from ..simulation.recorder import Contents

# -- How often its writers flush, and what a read opens

HOUR: Final = 3_600.0
LEVEL: Final = "INFO"
_MIDNIGHT: Final = datetime(2014, 8, 20, tzinfo=timezone.utc)
_PHASES: Final = 120
_HOURS_OF: Final = (math.inf, 8_766.0, 730.5, 24.0, 1.0)
"""The hours whose blobs a prefix lists, by how much of the date it has: nothing, the year, the month, the day, all."""


def line_bytes(log: DeclaredLog) -> int:
    return len(LogEntry(_MIDNIGHT, LEVEL, "", {}, UUID(int=0)).line()) + 1 + log.size


def entries_of(log: DeclaredLog, years: float) -> float:
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


Sum = TypeVar("Sum", "Reading", CallCost)


def _combined(kind: type[Sum], parts: Iterable[tuple[Sum, float]]) -> Sum:
    """Return the sums of all figures, each part so many times."""
    sums: dict[str, Any] = {figure.name: 0.0 for figure in fields(kind) if figure.default == 0}
    for part, times in parts:
        for name in sums:
            sums[name] += getattr(part, name) * times
    return kind(**sums)


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


def reading(log: DeclaredLog, seconds: float) -> Reading:
    """Return what a read of a time span takes, on average over when the span begins."""
    # Whole days, months and years have a list of their own, which a span of less than a day has not
    begins = HOUR * 12 if seconds < DAY else 0.0
    step = (HOUR if seconds < DAY else DAY) / _PHASES
    return _combined(
        Reading, ((_read_from(log, begins + step * (at + 0.5), seconds), 1 / _PHASES) for at in range(_PHASES))
    )


def _read_from(log: DeclaredLog, begins: float, seconds: float) -> Reading:
    earliest = _MIDNIGHT + timedelta(seconds=begins)
    kept_hours = math.inf if log.retention_days is None else log.retention_days * DAY / HOUR
    parts, blobs = list[tuple[Reading, float]](), blobs_an_hour(log)
    for prefix in prefixes(log.prefix, earliest, earliest + timedelta(seconds=seconds)):
        hours = _HOURS_OF[len(prefix.strip("/").split("/")) - 1]
        listed = min(hours, kept_hours, seconds / HOUR + 1) * blobs
        parts.append((Reading(max(1, math.ceil(listed / MAX_PAGE_BLOBS)), listed=listed), 1.0))
    for start, end, times in _hours(begins / HOUR, (begins + seconds) / HOUR, kept_hours):
        parts += ((_opened(log, write, start, end), times * write.writers) for write in log.writes)
    return _combined(Reading, parts)


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
        return _pieces(max(1.0, pace.entries) * line_bytes(log), end, pace.blobs * share)
    count = math.ceil(pace.blobs)
    size = pace.entries * line_bytes(log) / count
    first = max(0, math.floor(max(0.0, start - min(1.0, reach / 2)) * count))
    last = min(count - 1, math.floor(end * count))
    return _combined(Reading, [(_pieces(size, 1.0), last - first), (_pieces(size, end * count - last), 1.0)])


def _pieces(size: float, end: float, blobs: float = 1.0) -> Reading:
    all_of_it = max(1, math.ceil(size / PIECE_BYTES))
    pieces = min(all_of_it, math.floor(min(1.0, end) * size / PIECE_BYTES) + 1)
    return Reading(pieces=blobs * pieces, size=blobs * min(size, pieces * PIECE_BYTES))


# -- Its calls, measured with the recipe

_AT: Final = datetime(2014, 8, 22, 10, 5, tzinfo=timezone.utc)
_HOURS_OF_A_DAY: Final = 24


OPTIONS: Final = ("write_through", "flush_count", "flush_bytes", "blob_bytes", "blob_blocks")
"""The options of a log that the recipe has, too."""
SECONDS: Final = {"flush_seconds": "flush_age", "ahead_seconds": "ahead"}
"""The options in seconds that are time spans of the recipe, with their names there."""


def log_of(account: Storage, log: DeclaredLog) -> BlobLog[Storage]:
    return BlobLog(account, log.container, log.prefix, **recipe_options(log))


def recipe_options(log: DeclaredLog) -> dict[str, Any]:
    """Return the arguments of the recipe by their names there, such as `flush_age` for `flush_seconds`."""
    seconds = {recipe_name: timedelta(seconds=getattr(log, name)) for name, recipe_name in SECONDS.items()}
    return {**{name: getattr(log, name) for name in OPTIONS}, **seconds}


class SampleLog:
    def __init__(self, account: Storage, log: DeclaredLog) -> None:
        self.log = log_of(account, log)
        self._message = "x" * min(log.size, BLOCK_BYTES)

    def flush(self, at: datetime, entries: int = 1, message: str | None = None) -> None:
        """Append entries at an instant, and write them, as a full buffer is."""
        for _ in range(entries):
            self.log.append(LEVEL, self._message if message is None else message, at=at)
        self.log.flush()

    def read(self, at: datetime) -> int:
        return sum(1 for _ in self.log.between(at, at + timedelta(minutes=1)))


@lru_cache(maxsize=64)
def _units(container: str, service: str, size: int) -> tuple[Mapping[str, CallCost], str | None]:
    """Measure each kind of request with the recipe; return what it takes, and why an entry is rejected, if it is."""
    storage = connect(Engine(clock=Clock(_AT)))
    declared = DeclaredLog(name=container, container=container, service=service, size=size)
    log, other_log, short = (SampleLog(storage, declared) for _ in range(3))
    rejected: list[str | None] = []

    def cost_of(call: Callable[[], object]) -> CallCost:
        with metered(storage) as metering:
            rejected.append(rejection(call))
        return metering.taken

    # Another writer finds the first number of a blob used; a later entry widens the metadata of its blob
    first, used, following = (cost_of(partial(of.flush, _AT)) for of in (log, other_log, log))
    widened = cost_of(partial(log.flush, _AT + timedelta(minutes=5)))
    earlier = _AT - timedelta(days=1)
    short.flush(earlier, message="")
    whole, passed, empty = (
        cost_of(partial(short.read, earlier + timedelta(minutes=minutes))) for minutes in (0, 30, -120)
    )
    dropped = cost_of(partial(short.log.drop_before, earlier + timedelta(hours=2)))
    listed, piece, deletion = (
        _combined(CallCost, [(cost, 1.0), (other_cost, -1.0)])
        for cost, other_cost in ((passed, empty), (whole, passed), (dropped, passed))
    )
    flushes = {"first": first, "used": used, "following": following, "widened": widened}
    return {**flushes, "page": empty, "listed": listed, "piece": piece, "deletion": deletion}, next(
        filter(None, rejected), None
    )


def measured_log(log: DeclaredLog) -> Iterator[Measured]:
    """Yield what one call of each access pattern of a log takes; of a write, one entry.

    Each kind of request is measured with the recipe. How often each is sent follows from the pace of the writers.
    """
    units, rejected = _units(log.container, log.prefix, log.size)
    for access in log.calls:
        how, counts, more = _requests(log, access)
        cost = _combined(CallCost, ((units[name], times) for name, times in counts.items()))
        is_read, is_entry = isinstance(access, Query), isinstance(access, Write) and access.operation == "insert"
        yield Measured(
            of=log,
            access=access,
            how=how,
            via=None,
            query_class=None,
            follows=is_read and not log.write_through,
            sample=1,
            is_implied=not is_read and not is_entry,
            rejected=rejected if is_entry else None,
            **{**cost.figures, **{name: getattr(cost, name) + size for name, size in more.items()}},
        )


def _requests(log: DeclaredLog, access: Query | Write) -> tuple[str, Mapping[str, float], Mapping[str, float]]:
    """Return a call, how many requests of each kind it takes on average, and the bytes besides those of the sample."""
    if isinstance(access, Query):
        seconds = log.read(access).seconds
        found = reading(log, seconds)
        counts = {"page": found.lists, "listed": found.listed, "piece": found.pieces}
        return f"between(...), {span(seconds)}", counts, {"bytes_out": found.size}
    if access.operation == "delete":
        # A list of the blobs of a day, and a delete of each
        blobs = _HOURS_OF_A_DAY * blobs_an_hour(log)
        pages = max(1, math.ceil(blobs / MAX_PAGE_BLOBS))
        return "drop_before(...)", {"page": pages, "listed": blobs, "deletion": blobs}, {}
    pace, used = pace_of(log, log.write(access)), taken_share(log)
    if not pace.entries:
        # It is alone in its hour
        return "append(...)", {"first": 1.0}, {}
    flush = f"append(...), flush() of {counted(pace.buffered, 'entry')} each {span(pace.seconds)}"
    requests = {
        "first": pace.blobs * (1 - used),
        "used": pace.blobs * used,
        "following": pace.blocks - pace.blobs - pace.widened,
        "widened": pace.widened,
    }
    counts = {name: number / pace.entries for name, number in requests.items()}
    # Of the sample, each flush has one entry
    more = line_bytes(log) * (1 - pace.blocks / pace.entries)
    return "append(...)" if log.write_through else flush, counts, {"bytes_in": more}


# -- A few blobs, for the simulation

HOURS: Final = 2
"""The hours before the current one that have a blob."""
_ENTRIES: Final = 3
"""The entries of a flush."""
_MESSAGE: Final = "message"
_THIS_HOUR: Final = NOW.replace(minute=0, second=0, microsecond=0)


def fill(storage: Storage, log: DeclaredLog) -> None:
    for hours in range(HOURS, 0, -1):
        SampleLog(storage, log).flush(_THIS_HOUR - timedelta(hours=hours), _ENTRIES, _MESSAGE)


def call_of(storage: Storage, log: DeclaredLog, access: Query | Write) -> Callable[[], object]:
    """Return a call of an access pattern by a process that has just started."""
    sample = SampleLog(storage, log)
    if isinstance(access, Query):
        read = log.read(access)
        hour = timedelta(hours=1)
        span = min(timedelta(seconds=read.seconds), HOURS * hour)
        begin = _THIS_HOUR - max(hour, span)
        return lambda: list(sample.log.between(begin, begin + span))
    if access.operation == "delete":
        return partial(sample.log.drop_before, _THIS_HOUR)
    return partial(sample.flush, _THIS_HOUR, 1 if log.write_through else _ENTRIES, _MESSAGE)


def state_after_crash(
    storage: Storage, log: DeclaredLog, access: Write, before: Contents, remaining_contents: Contents
) -> str:
    if access.operation == "delete":
        deleted = len(before.blobs - remaining_contents.blobs)
        return (
            f"{deleted} of {counted(HOURS, 'expired blob')} {'is' if deleted == 1 else 'are'} deleted; the next "
            "drop_before deletes the others."
        )
    lost = _ENTRIES - sum(1 for _ in SampleLog(storage, log).log.between(_THIS_HOUR, _THIS_HOUR))
    new = len(remaining_contents.blobs - before.blobs)
    blobs = f" {counted(new, 'blob')} without entries stays until it expires." if new else ""
    return f"{counted(lost, 'entry')} of the buffer {'is' if lost == 1 else 'are'} lost.{blobs}"


def place_of(log: DeclaredLog) -> Place:
    return Place("log", log.name, log.name, log.container, f"{log.prefix}/{{date}}/{{hour}}/{{number}}.log", False)


# -- What `review --code` writes

_AN_HOUR_AGO: Final = "NOW - timedelta(hours=1)"


def log_call(log: DeclaredLog) -> str:
    default = recipe_options(DeclaredLog(name=log.name, container=log.container, size=log.size))
    options = {name: literal(value) for name, value in recipe_options(log).items() if value != default[name]}
    return call("BlobLog", "storage", text(log.container), text(log.prefix), **options)


def declaration_of(log: DeclaredLog, attribute: str) -> str:
    numbers = {"count": log.count, "retention_days": log.retention_days}
    options = {name: repr(value) for name, value in numbers.items() if value is not None}
    accesses = {"writes": log.writes, "reads": log.reads}
    options |= {name: array(map(declaration, values)) for name, values in accesses.items() if values}
    return call("declare_log", f"sets.{attribute}", name=text(log.name), size=str(log.size), **options)


def stored_code(attribute: str) -> list[str]:
    """Return the lines that store an entry, an hour ago."""
    entry = call(f"sets.{attribute}.append", text("INFO"), text("an hour ago"), at=_AN_HOUR_AGO)
    return [entry, f"sets.{attribute}.flush()"]


def calls_of_test(log: DeclaredLog, access: Query | Write, attribute: str) -> tuple[list[str], int]:
    """Return the lines that make a call of an access pattern, and how many transactions it takes."""
    if isinstance(access, Query):
        seconds, begin = log.read(access).seconds, NOW - timedelta(hours=1)
        lists = len(list(prefixes(log.prefix, begin, begin + timedelta(seconds=seconds))))
        ends = (_AN_HOUR_AGO, f"{_AN_HOUR_AGO} + timedelta(seconds={seconds!r})")
        return [f"found = {call('list', call(f'sets.{attribute}.between', *ends))}"], lists + 1
    buffered = pace_of(log, log.write(access)).buffered
    # The first flush of an hour creates a blob
    blocks = math.ceil(buffered / max(1, BLOCK_BYTES // line_bytes(log)))
    entry = f'sets.{attribute}.append("INFO", "x" * {log.size})'
    entries = [entry] if buffered == 1 else [f"for _ in range({buffered}):", f"    {entry}"]
    return [*entries, f"sets.{attribute}.flush()"], 2 * blocks
