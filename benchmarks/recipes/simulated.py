"""Simulated time: an event loop whose clock jumps to whatever happens next, so that nothing waits and all is counted.

An in-memory account has its own clock, which moves immediately when a caller sleeps. On it, ten writers that back off
do not wait beside each other. Here they do, each for its own time.
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
from tablepatterns.engine.account import Engine
from tablepatterns.engine.transport import AioEngineTransport

T = TypeVar("T")


class _Jumping(DefaultSelector):
    """A selector that does not wait for a time, but moves on to it."""

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
    """An account in memory to which every request takes its time, by the clock of the event loop.

    :param seconds: how long at least and at most
    """

    def __init__(self, engine: Engine, seconds: tuple[float, float]) -> None:
        random = Random(0)
        transport = AioEngineTransport(engine, lambda: sleep(random.uniform(*seconds)))
        super().__init__(in_memory(engine.account_name, engine.account_key), engine, {"transport": transport})

    async def sleep(self, seconds: float) -> None:
        await sleep(seconds)


def simulate(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Run to the end, and return the result and the simulated seconds that it took."""
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(work), loop.time()
    finally:
        loop.close()
