"""Ask something that runs for long to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from ..errors import BadInput

Stopping: TypeAlias = Callable[[], bool]
"""Says whether it is time to stop; `threading.Event().is_set` is one."""


class Ending:
    """Whether to stop: because somebody asked for it, or because a part failed and the others are to end with it."""

    def __init__(self, asked: Stopping) -> None:
        self._asked = asked
        self._failed = False

    def fail(self) -> None:
        """Let all parts end."""
        self._failed = True

    def __call__(self) -> bool:
        """Tell whether it is time to stop."""
        return self._failed or self._asked()


@contextmanager
def on_signals() -> Generator[Stopping, None, None]:
    """Say that it is time to stop once SIGINT or SIGTERM has come; the next one of either does what it did before.

    :raises BadInput: this is not the main thread, the only one that hears of signals
    """
    if threading.current_thread() is not threading.main_thread():
        rule = "only the main thread hears of signals, so that nothing could stop this one"
        raise BadInput("stopping", None, rule, "give what says when to stop, such as threading.Event().is_set")
    asked = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(*_: object) -> None:
        asked.set()
        restore()

    for number in before:
        signal.signal(number, stop)
    try:
        yield asked.is_set
    finally:
        restore()
