"""Run the worker named on the command line until a signal arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from ..messages.stop_signal import ShouldStop, stop_on_signals
from ..recipe import is_sync
from ..recipes.worker import Report, Worker


def work(worker: Worker[Any]) -> Report:
    """Run a worker until SIGINT or SIGTERM, close its account, and report."""
    with stop_on_signals() as stopping:
        if not is_sync(worker.account):
            return asyncio.run(_work_on_loop(worker, stopping))
        run = cast("Callable[[ShouldStop], Report]", worker.run)
        try:
            return run(stopping)
        finally:
            cast("Any", worker.account).close()


async def _work_on_loop(worker: Worker[Any], stopping: ShouldStop) -> Report:
    run = cast("Callable[[ShouldStop], Coroutine[Any, Any, Report]]", worker.run)
    try:
        return await run(stopping)
    finally:
        await cast("Any", worker.account).close()
