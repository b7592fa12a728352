"""Clients of a process that crashes at a chosen request, before or after the engine carries it out."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport


class Crashed(BaseException):
    """The process has crashed. Not an `Exception`, so that no code of the library handles it."""


@dataclass
class Crash:
    """The number of the request that crashes the process, from 0, and whether the engine carries it out first."""

    at: int
    after: bool
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> int:
        """Count a request and return its number."""
        with self._lock:
            number = self.requests
            if number > self.at or (number == self.at and not self.after):
                self.requests = self.at + 1
                raise Crashed
            self.requests += 1
            return number

    def end(self, number: int) -> None:
        if number == self.at:
            raise Crashed


class CrashingTransport(EngineTransport):
    def __init__(self, engine: Engine, crash: Crash) -> None:
        super().__init__(engine)
        self._life = crash

    def send(self, request: Any, **options: Any) -> Any:
        number = self._life.begin()
        response = super().send(request, **options)
        self._life.end(number)
        return response


class AioCrashingTransport(AioEngineTransport):
    def __init__(self, engine: Engine, crash: Crash) -> None:
        super().__init__(engine)
        self._life = crash

    async def send(self, request: Any, **options: Any) -> Any:
        number = self._life.begin()
        response = await super().send(request, **options)
        self._life.end(number)
        return response


def connect_crashing(backend: Any, engine: Engine, crash: Crash) -> Any:
    """Connect to the engine's account from a process that crashes."""
    return backend.connect(
        engine, transport=(AioCrashingTransport if backend.aio else CrashingTransport)(engine, crash)
    )
