"""Call a function at intervals while some work runs in the calling thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import copy_context


@contextmanager
def heartbeats(heartbeat: Callable[[], object], every: float) -> Generator[None, None, None]:
    """Call `heartbeat` every so many seconds in another thread until the block ends.

    A call in progress is awaited. A failed call is the last, and its error is raised at the end of the block.
    """
    ended = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            while not ended.wait(every):
                heartbeat()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread of the work
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="tablepatterns-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if errors:
            raise errors[0]
