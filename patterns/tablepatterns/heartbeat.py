"""Call a function at intervals while some work runs in the calling thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Final

_IDLE_SECONDS: Final = 5.0
"""How long an unused thread waits for the next work before it ends."""


class Heartbeats:
    """Threads that call heartbeats. They are reused, since starting one costs more than a small message."""

    def __init__(self) -> None:
        self._idle: list[_HeartbeatThread] = []

    @contextmanager
    def running(self, heartbeat: Callable[[], object], every: float) -> Generator[None, None, None]:
        """Call `heartbeat` every so many seconds until the block ends.

        A call in progress is awaited. A failed call is the last, and its error is raised at the end of the block.
        """
        beats = _Beats(heartbeat, every)
        thread = self._begin(beats)
        try:
            yield
        finally:
            thread.end()
            self._idle.append(thread)
            if beats.error is not None:
                raise beats.error

    def _begin(self, beats: _Beats) -> _HeartbeatThread:
        while True:
            try:
                thread = self._idle.pop()
            except IndexError:
                thread = _HeartbeatThread()
            if thread.begin(beats):
                return thread


class _Beats:
    """The heartbeats of one piece of work."""

    def __init__(self, heartbeat: Callable[[], object], every: float) -> None:
        self.heartbeat = heartbeat
        self.every = every
        self.context: Context = copy_context()
        self.due = time.monotonic() + every
        self.error: BaseException | None = None


class _HeartbeatThread:
    """A thread that serves one piece of work at a time.

    Work does not wake it: it wakes when the first heartbeat would be due, and then looks for the next one. It continues
    between two pieces of work, so that the second does not have to wake it either.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition(threading.Lock())
        self._beats: _Beats | None = None
        self._every = _IDLE_SECONDS
        self._wakes_at = 0.0
        self._ends_at = time.monotonic() + _IDLE_SECONDS
        self._is_beating = False
        self._has_ended = False
        threading.Thread(target=self._run, name="tablepatterns-heartbeat", daemon=True).start()

    def begin(self, beats: _Beats) -> bool:
        """Serve these heartbeats; return False if the thread has ended."""
        if self._process != os.getpid():
            # A fork copies the object without its thread, and its lock may be locked
            return False
        with self._changed:
            if self._has_ended:
                return False
            self._beats, self._every = beats, beats.every
            if beats.due < self._wakes_at:
                self._changed.notify()
        return True

    def end(self) -> None:
        """Stop calling the heartbeats, and wait for one in progress."""
        with self._changed:
            self._beats = None
            self._ends_at = time.monotonic() + _IDLE_SECONDS
            while self._is_beating:
                self._changed.wait()

    def _run(self) -> None:
        with self._changed:
            while (seconds := self._seconds_to_wait()) is not None:
                self._wakes_at = time.monotonic() + seconds
                self._changed.wait(seconds)
                self._beat_if_due()
            self._has_ended = True

    def _seconds_to_wait(self) -> float | None:
        now = time.monotonic()
        if self._beats is not None:
            return max(0.0, self._beats.due - now)
        return min(self._every, self._ends_at - now) if now < self._ends_at else None

    def _beat_if_due(self) -> None:
        beats = self._beats
        if beats is None or time.monotonic() < beats.due:
            return
        self._is_beating = True
        self._changed.release()
        try:
            beats.context.run(beats.heartbeat)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread of the work
            beats.error = error
        finally:
            self._changed.acquire()
            self._is_beating = False
            beats.due = time.monotonic() + beats.every
            if beats.error is not None:
                self._beats = None
            self._changed.notify_all()
