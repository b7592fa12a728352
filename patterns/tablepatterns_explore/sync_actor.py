"""Step a plain function from one request to the next, as a coroutine is stepped.

The function runs in a thread of its own. Only one thread runs at a time: it goes on when the search resumes it, and
the search goes on when it waits or ends. So a schedule of threads is as repeatable as one of coroutines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from tablepatterns.argument_types import check_has_run
from tablepatterns.errors import BadInput

from .request_points import Crashed, Point

_local: Final = threading.local()
_LONGEST_STEP: Final = 30.0
"""The seconds after which a function that neither sends a request nor ends is assumed to wait forever."""


_stepped: Final[list[SyncActor]] = []
"""The function that the search steps now."""


class SyncActor(Coroutine[Any, Any, Any]):
    """A plain function as a coroutine, whose points are those of its requests and sleeps."""

    def __init__(self, function: Callable[[], object], threads: set[int]) -> None:
        self.function = function
        self._threads = threads
        self._thread: threading.Thread | None = None
        self._resumed = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._point: Point | None = None
        self._result: object = None
        self._error: BaseException | None = None
        self._is_closing = False
        self.rejection: BadInput | None = None

    def send(self, value: object) -> tuple[Point, ...]:
        """Run the function until it waits, and return where; `StopIteration` has its result."""
        self._point = None
        _stepped[:] = [self]
        if self._thread is None:
            self._start()
        else:
            self._resumed.release()
        if not self._stopped.acquire(timeout=_LONGEST_STEP):
            rule = f"it has run for {_LONGEST_STEP:g} seconds without a request, perhaps for another actor's lock"
            raise BadInput("actor", self.function, rule, "share state of the storage only; the actors run in turns")
        _stepped.clear()
        if self.rejection is not None:
            raise self.rejection
        if self._point is not None:
            return (self._point,)
        if self._error is not None:
            raise self._error
        raise StopIteration(self._result)

    def throw(self, *error: Any) -> Any:
        self.close()
        raise error[0]

    def close(self) -> None:
        """End the function where it waits: it gets `Crashed` there, and at each request that it still makes."""
        self._is_closing = True
        while self._thread is not None and self._thread.is_alive() and self._point is not None:
            self._point = None
            self._resumed.release()
            self._stopped.acquire(timeout=_LONGEST_STEP)

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("the function of an actor is stepped, and not awaited")

    def wait(self, point: Point) -> None:
        """Wait in this actor's thread until a point is settled."""
        if self._is_closing:
            raise Crashed
        self._point = point
        self._stopped.release()
        self._resumed.acquire()
        if self._is_closing:
            raise Crashed

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._thread = None
            rule = "a plain function runs in a thread, and no thread can start here"
            raise BadInput("actor", self.function, rule, "write it with `async def`, on an async account") from error

    def _run(self) -> None:
        _local.actor = self
        self._threads.add(threading.get_ident())
        try:
            self._result = self.function()
            check_has_run("actor", self._result)
        except BaseException as error:  # noqa: BLE001 - the search raises it
            self._error = error
        self._threads.discard(threading.get_ident())
        self._stopped.release()


def reject_thread() -> BadInput:
    """Return the error of a request in a thread that a function started, and let the function end with it.

    Python prints the error of a thread and goes on, so the search would not see it.
    """
    rule = "it is made in a thread of its own, which the schedule cannot step"
    error = BadInput("request", "in a thread", rule, "make requests one after another, or use `gather`")
    for actor in _stepped:
        actor.rejection = error
    return error


def running_actor() -> SyncActor | None:
    """Return the actor in whose thread the caller runs; None for other threads."""
    return getattr(_local, "actor", None)
