"""Buffer: entries of a log that are not written yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from .entry import LogEntry


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
