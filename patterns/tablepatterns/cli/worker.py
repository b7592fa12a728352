"""Run the worker named on the command line until a signal arrives."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

from ..errors import BadInput
from ..messages.stop_signal import ShouldStop, stop_on_signals
from ..recipe import is_sync
from ..recipes.worker import Report, Worker


def load(name: str) -> Worker[Any]:
    """Return the worker that a name such as `package.module:worker` refers to, or that the function it names returns.

    Modules are also imported from the current folder.

    :raises BadInput: the name does not refer to a worker
    """
    module_name, _, attribute = name.partition(":")
    hint = "give package.module:worker, where worker is a Worker, or a function that returns one"
    if not module_name or not attribute:
        raise BadInput("worker", name, "it is not a module and a name", hint)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise BadInput("worker", name, f"module {error.name!r} was not found", hint) from error
    found: Any = getattr(module, attribute, None)
    worker: object = found() if callable(found) else found
    if not isinstance(worker, Worker):
        raise BadInput("worker", name, f"{module_name} has no worker with that name", hint)
    return cast("Worker[Any]", worker)


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
