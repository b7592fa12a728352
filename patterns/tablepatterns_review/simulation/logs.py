"""Carry out the access patterns of a blob log on a few of its blobs, and describe what a crash leaves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

from tablepatterns.figures import counted
from tablepatterns.storage import Storage

from ..design.model import DeclaredLog, Query, Write
from ..measure.logs import SampleLog
from ..measure.sample import NOW
from ..model import Place
from .recorder import Contents

HOURS: Final = 2
"""The hours before the current one that have a blob."""
_ENTRIES: Final = 3
"""The entries of a flush."""
_MESSAGE: Final = "message"
_NOW: Final = NOW.replace(minute=0, second=0, microsecond=0)


def fill(storage: Storage, log: DeclaredLog) -> None:
    """Write a few entries in some hours."""
    for hours in range(HOURS, 0, -1):
        SampleLog(storage, log).flush(_NOW - timedelta(hours=hours), _ENTRIES, _MESSAGE)


def call_of(storage: Storage, log: DeclaredLog, access: Query | Write) -> Callable[[], object]:
    """Return a call of an access pattern by a process that has just started."""
    sample = SampleLog(storage, log)
    if isinstance(access, Query):
        read = log.read(access)
        hour = timedelta(hours=1)
        span = min(timedelta(seconds=read.seconds), HOURS * hour)
        begin = _NOW - max(hour, span)
        return lambda: list(sample.log.between(begin, begin + span))
    if access.operation == "delete":
        return partial(sample.log.drop_before, _NOW)
    return partial(sample.flush, _NOW, 1 if log.write_through else _ENTRIES, _MESSAGE)


def state_after_crash(
    storage: Storage, log: DeclaredLog, access: Write, before: Contents, remaining_contents: Contents
) -> str:
    """Return a sentence on what a crash leaves."""
    if access.operation == "delete":
        deleted = len(before.blobs - remaining_contents.blobs)
        return (
            f"{deleted} of {counted(HOURS, 'expired blob')} {'is' if deleted == 1 else 'are'} deleted; the next "
            "drop_before deletes the others."
        )
    lost = _ENTRIES - sum(1 for _ in SampleLog(storage, log).log.between(_NOW, _NOW))
    new = len(remaining_contents.blobs - before.blobs)
    blobs = f" {counted(new, 'blob')} without entries stays until it expires." if new else ""
    return f"{counted(lost, 'entry')} of the buffer {'is' if lost == 1 else 'are'} lost.{blobs}"


def place_of(log: DeclaredLog) -> Place:
    """Return where a log is, for the map."""
    return Place("log", log.name, log.name, log.container, f"{log.prefix}/{{date}}/{{hour}}/{{number}}.log", False)
