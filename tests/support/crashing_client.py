"""A process that dies: transports to an engine that let no request through once so many were made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from tablepatterns.engine.account import Engine
from tablepatterns.engine.transport import AioEngineTransport, EngineTransport


class Died(BaseException):
    """The process is dead: no code of the library runs on that could have caught it."""


@dataclass
class Life:
    """When the process dies: at the request of that number, counted from 0, before or after it is carried out."""

    at: int
    after: bool
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        return self.requests > self.at

    def begin(self) -> int:
        """Count a request, and return its number."""
        with self._lock:
            number = self.requests
            if number > self.at or (number == self.at and not self.after):
                self.requests = self.at + 1
                raise Died
            self.requests += 1
            return number

    def end(self, number: int) -> None:
        if number == self.at:
            raise Died


class Mortal(EngineTransport):
    def __init__(self, engine: Engine, life: Life) -> None:
        super().__init__(engine)
        self._life = life

    def send(self, request: Any, **options: Any) -> Any:
        number = self._life.begin()
        response = super().send(request, **options)
        self._life.end(number)
        return response


class AioMortal(AioEngineTransport):
    def __init__(self, engine: Engine, life: Life) -> None:
        super().__init__(engine)
        self._life = life

    async def send(self, request: Any, **options: Any) -> Any:
        number = self._life.begin()
        response = await super().send(request, **options)
        self._life.end(number)
        return response


def mortal(backend: Any, engine: Engine, life: Life) -> Any:
    """Return a storage of the engine's account in a process with that life."""
    return backend.connect(engine, transport=(AioMortal if backend.aio else Mortal)(engine, life))
