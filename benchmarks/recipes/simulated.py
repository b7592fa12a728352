"""Simulated time: an event loop whose clock jumps to the next event, so that nothing really waits.

The clock of an in-memory account advances when any caller sleeps, so ten writers that back off would not wait
concurrently. On this event loop, each waits for its own time.
"""

from __future__ import annotations

import asyncio
from asyncio import sleep
from collections.abc import Coroutine
from random import Random
from selectors import DefaultSelector, SelectorKey
from typing import Any, TypeVar

from tablepatterns.aio import Storage
from tablepatterns.connection import in_memory
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport

T = TypeVar("T")


class _Jumping(DefaultSelector):
    """A selector that jumps to the time instead of waiting for it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if not timeout:
            return super().select(timeout)
        self.now += timeout
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in simulated time."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class DistantStorage(Storage):
    """An in-memory account whose requests take time on the clock of the event loop.

    :param seconds: the minimum and maximum duration of a request
    """

    def __init__(self, engine: Engine, seconds: tuple[float, float]) -> None:
        random = Random(0)
        transport = AioEngineTransport(engine, lambda: sleep(random.uniform(*seconds)))
        super().__init__(in_memory(engine.account_name, engine.account_key), engine, {"transport": transport})

    async def sleep(self, seconds: float) -> None:
        await sleep(seconds)


def simulate(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Run a coroutine; return its result and its duration in simulated seconds."""
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(work), loop.time()
    finally:
        loop.close()
