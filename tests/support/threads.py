"""Run calls in threads that take turns far more often than usual."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from support.table_states import service_error_of


def run_together(*calls: Callable[[], object]) -> None:
    """Start all calls at the same moment, each in its own thread, and wait for them."""
    start = Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        start.wait()
        call()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(calls)) as pool:
            list(pool.map(run, calls))
    finally:
        sys.setswitchinterval(interval)


def succeeds(call: Callable[[], object], unless: str) -> bool:
    """Return whether a call succeeded; the only error that it may raise has the code `unless`."""
    error = service_error_of(call)
    assert error is None or error.code == unless
    return error is None
