"""Run the worker named on the command line until a signal arrives."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

from ..errors import BadInput
from ..messages.stop_signal import Stopping, on_signals
from ..recipe import is_sync
from ..recipes.worker import Report, Worker


def load(name: str) -> Worker[Any]:
    """Return the worker of a name such as `package.module:worker`: the worker itself, or a function that makes it.

    Modules are looked for in the folder that the command runs in, too.

    :raises BadInput: there is no such worker
    """
    module_name, _, attribute = name.partition(":")
    hint = "give package.module:worker, where worker is a Worker, or a function that returns one"
    if not module_name or not attribute:
        raise BadInput("worker", name, "it is no module and name", hint)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise BadInput("worker", name, f"there is no module {error.name!r}", hint) from error
    found: Any = getattr(module, attribute, None)
    made: Any = found() if callable(found) else found
    worker = cast("Worker[Any]", made)
    if not _is_worker(worker):
        raise BadInput("worker", name, f"{module_name} has no worker of that name", hint)
    return worker


def _is_worker(found: object) -> bool:
    return isinstance(found, Worker)


def work(worker: Worker[Any]) -> Report:
    """Run a worker until SIGINT or SIGTERM comes, close its account, and report."""
    with on_signals() as stopping:
        if not is_sync(worker.account):
            return asyncio.run(_work_on_loop(worker, stopping))
        run = cast("Callable[[Stopping], Report]", worker.run)
        try:
            return run(stopping)
        finally:
            cast("Any", worker.account).close()


async def _work_on_loop(worker: Worker[Any], stopping: Stopping) -> Report:
    run = cast("Callable[[Stopping], Coroutine[Any, Any, Report]]", worker.run)
    try:
        return await run(stopping)
    finally:
        await cast("Any", worker.account).close()
