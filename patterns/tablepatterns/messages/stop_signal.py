"""Stop a running worker, by a function or by a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeAlias

from ..argument_types import check_has_run
from ..errors import BadInput

ShouldStop: TypeAlias = Callable[[], bool]
"""Returns whether to stop; `threading.Event().is_set` is one."""


class StopSignal:
    """Whether the queues of a worker should stop: the caller asked for it, or one of them failed."""

    def __init__(self, should_stop: ShouldStop) -> None:
        self._should_stop = should_stop
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def __call__(self) -> bool:
        if self._is_set:
            return True
        answer = self._should_stop()
        check_has_run("stopping", answer)
        return answer


@contextmanager
def stop_on_signals() -> Generator[ShouldStop, None, None]:
    """Return a function that is true after the first SIGINT or SIGTERM; the second has its previous effect."""
    if threading.current_thread() is not threading.main_thread():
        rule = "without it the worker stops on signals, which only the main thread receives"
        raise BadInput("stopping", None, rule, "pass a function, such as threading.Event().is_set")
    signal_received = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(*_: object) -> None:
        signal_received.set()
        restore()

    for number in before:
        signal.signal(number, stop)
    try:
        yield signal_received.is_set
    finally:
        restore()
