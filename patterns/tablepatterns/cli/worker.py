"""Run the worker named on the command line until a signal arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from ..messages.stop_signal import ShouldStop
from ..recipe import is_sync
from ..recipes.worker import Report, Worker


def work(worker: Worker[Any], stopping: ShouldStop) -> Report:
    """Run a worker until it should stop, close its account, and report."""
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
