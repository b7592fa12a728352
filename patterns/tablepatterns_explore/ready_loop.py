"""An event loop that runs only what is ready, also inside a running loop: no socket, no timer, no thread."""

# What asyncio documents for event loops, under "Extending", begins with an underscore; at run time, a loop may leave
# methods out
# pyright: reportPrivateUsage=false, reportAbstractUsage=false

from __future__ import annotations

import asyncio
import sys
from asyncio.tasks import _enter_task, _leave_task
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class ReadyLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in the order in which they were scheduled, until a future has its result."""

    def __init__(self) -> None:
        self._ready: deque[Callable[[], object]] = deque()

    def get_debug(self) -> bool:
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:  # type: ignore[override]
        return asyncio.Task(coro, loop=self, **options)

    def call_soon(  # type: ignore[override]  # the loop's own type takes variadic generics, which are Python 3.11's
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        context = context or copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(lambda: handle.cancelled() or context.run(callback, *args))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore an error: the code that waits for the result receives it."""

    def run_until_complete(self, future: Any) -> Any:
        """Run what is ready until the future has its result, and return it."""
        asyncio._set_running_loop(self)
        try:
            while self._ready and not future.done():
                self._ready.popleft()()
        finally:
            asyncio._set_running_loop(None)
        return future.result()


@contextmanager
def ready_loop() -> Generator[None, None, None]:
    """Make a `ReadyLoop` the current event loop, with no loop running, even if the caller runs in one."""
    try:
        running, task = asyncio.get_running_loop(), asyncio.current_task()
    except RuntimeError:
        running, task = None, None
    if running is not None and task is not None:
        _leave_task(running, task)
    # A running loop closes all generators at its end, and Python 3.10 cannot close those of actors that crashed
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    asyncio._set_running_loop(None)
    asyncio.set_event_loop(ReadyLoop())  # type: ignore[abstract]
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(*hooks)
        asyncio.set_event_loop(running)
        asyncio._set_running_loop(running)
        if running is not None and task is not None:
            _enter_task(running, task)
