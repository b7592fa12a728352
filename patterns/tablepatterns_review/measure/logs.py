"""Measure the blob logs of a design: flushes, reads and deletes of the real recipe, at the pace of their writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import lru_cache, partial
from math import ceil
from typing import Any, Final

from tablepatterns.figures import counted, span
from tablepatterns.limits import MAX_PAGE_BLOBS
from tablepatterns.recipes.blob_log.blob_log import BLOCK_BYTES, BlobLog
from tablepatterns.storage import Storage, connect
from tablepatterns_engine import Clock, Engine

from ..design.model import DeclaredLog, LogRead, Query, Write
from ..model import Measured
from .account import rejection
from .log_pace import LEVEL, Pace, blobs_an_hour, line_bytes, pace_of, reading, taken_share
from .scaling import CallCost, metered

_AT: Final = datetime(2014, 8, 22, 10, 5, tzinfo=timezone.utc)
_HOURS_OF_A_DAY: Final = 24


def log_of(account: Storage, log: DeclaredLog) -> BlobLog[Storage]:
    """Return the recipe of a declared log.

    :raises BadInput: a name or a number is out of range
    """
    return BlobLog(
        account,
        log.container,
        log.prefix,
        write_through=log.write_through,
        flush_count=log.flush_count,
        flush_bytes=log.flush_bytes,
        flush_age=timedelta(seconds=log.flush_seconds),
        ahead=timedelta(seconds=log.ahead_seconds),
        blob_bytes=log.blob_bytes,
        blob_blocks=log.blob_blocks,
    )


class SampleLog:
    """A declared log on an account."""

    def __init__(self, account: Storage, log: DeclaredLog) -> None:
        self.log = log_of(account, log)
        self._message = "x" * min(log.size, BLOCK_BYTES)

    def flush(self, at: datetime, entries: int = 1, message: str | None = None) -> None:
        """Append entries at an instant, and write them, as a full buffer is."""
        for _ in range(entries):
            self.log.append(LEVEL, self._message if message is None else message, at=at)
        self.log.flush()

    def read(self, at: datetime) -> int:
        """Read the entries of a minute, and return their number."""
        return sum(1 for _ in self.log.between(at, at + timedelta(minutes=1)))


@dataclass(frozen=True)
class _Units:
    """What the requests of a log take.

    :param first: the first flush of an hour
    :param taken: the same, where another writer has the number of the blob
    :param following: a flush after it
    :param widened: a flush that widens the metadata of its blob
    :param page: a page of a list of blobs
    :param listed: a blob in a list
    :param piece: a piece of a blob that is read
    :param deletion: the deletion of a blob
    :param rejected: why an entry is rejected; None if it is not
    """

    first: CallCost
    taken: CallCost
    following: CallCost
    widened: CallCost
    page: CallCost
    listed: CallCost
    piece: CallCost
    deletion: CallCost
    rejected: str | None


@lru_cache(maxsize=64)
def _units(container: str, service: str, size: int) -> _Units:
    """Measure each kind of request with the recipe, on an account of its own."""
    storage = connect(Engine(clock=Clock(_AT)))
    declared = DeclaredLog(name=container, container=container, service=service, size=size)
    log, other_sample_log, short = (SampleLog(storage, declared) for _ in range(3))
    rejected: list[str | None] = []

    def took(call: Callable[[], object]) -> CallCost:
        with metered(storage) as found:
            rejected.append(rejection(call))
        return found.taken

    first, call_cost, following, widened = (
        took(partial(sample_log.flush, at))
        for sample_log, at in ((log, _AT), (other_sample_log, _AT), (log, _AT), (log, _AT + timedelta(minutes=5)))
    )
    earlier = _AT - timedelta(days=1)
    short.flush(earlier, message="")
    whole, passed, empty = (
        took(partial(short.read, earlier + timedelta(minutes=minutes))) for minutes in (0, 30, -120)
    )
    dropped = took(partial(short.log.drop_before, earlier + timedelta(hours=2)))
    listed, piece, deletion = (
        _combined([(one, 1.0), (other_call_cost, -1.0)])
        for one, other_call_cost in ((passed, empty), (whole, passed), (dropped, passed))
    )
    return _Units(
        first, call_cost, following, widened, empty, listed, piece, deletion, next(filter(None, rejected), None)
    )


def _combined(parts: Sequence[tuple[CallCost, float]]) -> CallCost:
    names = CallCost().figures
    sums: dict[str, Any] = {name: sum(getattr(call_cost, name) * times for call_cost, times in parts) for name in names}
    return CallCost(**sums)


def measured_log(log: DeclaredLog) -> Iterator[Measured]:
    """Yield what one call of each access pattern of a log takes; of a write, one entry.

    Each kind of request is measured with the recipe. How often each is sent follows from the pace of the writers.

    :raises BadInput: a name or a number is out of range
    """
    units = _units(log.container, log.prefix, log.size)
    for access in log.calls:
        if isinstance(access, Query):
            read = log.read(access)
            call_cost, how = _read(log, units, read), f"between(...), {span(read.seconds)}"
        elif access.operation == "insert":
            pace = pace_of(log, log.write(access))
            call_cost, how = _entry(log, units, pace), _how(log, pace)
        else:
            call_cost, how = _expired(log, units), "drop_before(...)"
        yield Measured(
            of=log,
            access=access,
            how=how,
            via=None,
            query_class=None,
            follows=isinstance(access, Query) and not log.write_through,
            sample=1,
            is_implied=isinstance(access, Write) and access.operation == "delete",
            rejected=units.rejected if isinstance(access, Write) and access.operation == "insert" else None,
            **call_cost.figures,
        )


def _how(log: DeclaredLog, pace: Pace) -> str:
    if log.write_through or not pace.entries:
        return "append(...)"
    return f"append(...), flush() of {counted(pace.buffered, 'entry')} each {span(pace.seconds)}"


def _entry(log: DeclaredLog, units: _Units, pace: Pace) -> CallCost:
    """Return what one entry takes, on average."""
    if not pace.entries:
        # It is alone in its hour
        return units.first
    taken, began = taken_share(log), pace.blobs / pace.entries
    followed = (pace.blocks - pace.blobs - pace.widened) / pace.entries
    call_cost = _combined(
        [
            (units.first, began * (1 - taken)),
            (units.taken, began * taken),
            (units.following, followed),
            (units.widened, pace.widened / pace.entries),
        ]
    )
    # Of the sample, each flush has one entry
    more = line_bytes(log) * (1 - pace.blocks / pace.entries)
    return replace(call_cost, bytes_in=call_cost.bytes_in + more)


def _read(log: DeclaredLog, units: _Units, read: LogRead) -> CallCost:
    """Return what a read of a time span takes: as many lists and pieces of blobs as its hours have."""
    found = reading(log, read.seconds)
    call_cost = _combined([(units.page, found.lists), (units.listed, found.listed), (units.piece, found.pieces)])
    return replace(call_cost, bytes_out=call_cost.bytes_out + found.size)


def _expired(log: DeclaredLog, units: _Units) -> CallCost:
    """Return what the deletes of a day take: a list, and a delete of each blob."""
    blobs = _HOURS_OF_A_DAY * blobs_an_hour(log)
    pages = max(1, ceil(blobs / MAX_PAGE_BLOBS))
    return _combined([(units.page, pages), (units.listed, blobs), (units.deletion, blobs)])
