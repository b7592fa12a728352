"""Blob logs for tests: entries of minutes, and the contents of the blobs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from tablepatterns import BlobLog, LogEntry

THREE = datetime(2014, 7, 31, 15, tzinfo=timezone.utc)


def minute(number: float) -> datetime:
    """Return the time this many minutes after three o'clock."""
    return THREE + timedelta(minutes=number)


def log_of(storage: Any, container: str, **options: Any) -> Any:
    """Return a log that keeps its metadata exact by default."""
    return BlobLog(storage, container, "queue", **({"ahead": timedelta(0)} | options))


async def fill(log: Any, *minutes: float, level: str = "INFO") -> None:
    """Append an entry for each of the minutes, with its number as the message."""
    for number in minutes:
        await log.append(level, f"{number:g}", at=minute(number))


async def messages(log: Any, earliest: float = 0, latest: float = 60, **options: Any) -> list[str]:
    return [entry.message async for entry in log.between(minute(earliest), minute(latest), **options)]


async def blobs_of(log: Any) -> dict[str, dict[str, str]]:
    """Return the metadata of the log's blobs, by their names without the service and the day."""
    return {each.name.removeprefix("queue/2014/07/31/"): dict(each.metadata) async for each in log.container.blobs()}


async def entries_in(log: Any, name: str) -> list[LogEntry]:
    """Return the entries of one blob, as any program would read them."""
    content = await log.container.download(f"queue/2014/07/31/{name}")
    return [LogEntry.parse(line) for line in content.decode().splitlines()]


async def messages_in(log: Any, name: str) -> list[str]:
    """Return the messages of one blob."""
    return [entry.message for entry in await entries_in(log, name)]
