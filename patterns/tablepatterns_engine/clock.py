"""The account's virtual clock."""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from time import time_ns
from typing import Final

from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput

SECOND: Final = 10_000_000
"""In ticks."""
_UNIX_EPOCH: Final = int(Ticks.of(datetime(1970, 1, 1, tzinfo=timezone.utc)))


class Clock:
    """A clock that runs with real time plus an offset, or stands still until it is moved.

    >>> clock = Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))
    >>> clock.sleep(90)
    >>> clock.now()
    Ticks('2014-08-22T00:01:30Z')

    :param start: the time of a frozen clock, an aware datetime; None for a clock that runs
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._lock = threading.Lock()
        self._frozen = start is not None
        self._offset = 0 if start is None else int(Ticks.of(start))
        self._last_stamp = 0

    def now(self) -> Ticks:
        """Return the current time."""
        return Ticks(self._offset if self._frozen else _UNIX_EPOCH + time_ns() // 100 + self._offset)

    def stamp(self) -> Ticks:
        """Return a timestamp for a new version; timestamps are unique and increase, even if the clock is set back."""
        with self._lock:
            stamp = self.now()
            if stamp <= self._last_stamp:
                stamp = Ticks(self._last_stamp + 1)
            self._last_stamp = stamp
            return stamp

    def advance(self, seconds: float) -> None:
        """Move the clock forward; a negative step is rejected.

        :param seconds: how far, fractions down to 100 nanoseconds included
        :raises BadInput: the step is negative
        """
        if not seconds >= 0:
            raise BadInput("seconds", seconds, "a clock advances by zero seconds or more", "use set() to go back")
        with self._lock:
            self._offset += round(seconds * SECOND)

    def sleep(self, seconds: float) -> None:
        """Advance the clock without waiting, so that tests do not wait for the backoff of retries."""
        self.advance(seconds)

    def set(self, moment: datetime) -> None:
        """Set the clock to an aware datetime, earlier or later; a running clock continues from there."""
        with self._lock:
            self._offset += int(Ticks.of(moment)) - self.now()
