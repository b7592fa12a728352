"""Transports between the SDK and an engine that lose answers, or requests, at chosen calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from azure.core.exceptions import ServiceResponseError
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport

from tablepatterns.engine.account import Engine
from tablepatterns.engine.transport import AioEngineTransport, EngineTransport

Plan = Callable[[int], str | None]
"""What happens to the n-th write, counted from 0: None, or one of the words below.

`answer lost`: carried out, then the connection breaks. `request lost`: it breaks before. `timed out`: carried out, and
answered 500, which the SDK sends again by itself. `busy`: not carried out, and answered 503.
"""


class _Fate:
    """Counts the writes and says what becomes of each."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.writes = 0

    def of(self, request: Any) -> str | None:
        if request.method == "GET" or request.url.endswith("/Tables"):
            return None
        self.writes += 1
        return self.plan(self.writes - 1)


def _is_carried_out(fate: str | None) -> bool:
    return fate in (None, "answer lost", "timed out")


def _settle(fate: str | None, response: Any) -> Any:
    if fate in ("answer lost", "request lost"):
        raise ServiceResponseError(f"connection reset: {fate}")
    if fate is not None:
        response.status_code = {"timed out": 500, "busy": 503}[fate]
    return response


class Unreliable(HttpTransport[Any, Any]):
    """A sync transport to an engine, over an unreliable network."""

    def __init__(self, engine: Engine, plan: Plan, between: Callable[[], None]) -> None:
        self._inner, self.fate, self._between = EngineTransport(engine), _Fate(plan), between
        self._nowhere = EngineTransport(Engine())

    def send(self, request: Any, **options: Any) -> Any:
        fate = self.fate.of(request)
        inner = self._inner if _is_carried_out(fate) else self._nowhere
        response = inner.send(request, **options)
        if fate:
            self._between()
        return _settle(fate, response)

    def sleep(self, duration: float) -> None:
        self._inner.sleep(duration)

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class AioUnreliable(AsyncHttpTransport[Any, Any]):
    """The same for aio clients."""

    def __init__(self, engine: Engine, plan: Plan, between: Callable[[], None]) -> None:
        self._inner, self.fate, self._between = AioEngineTransport(engine), _Fate(plan), between
        self._nowhere = AioEngineTransport(Engine())

    async def send(self, request: Any, **options: Any) -> Any:
        fate = self.fate.of(request)
        inner = self._inner if _is_carried_out(fate) else self._nowhere
        response = await inner.send(request, **options)
        if fate:
            self._between()
        return _settle(fate, response)

    async def sleep(self, duration: float) -> None:
        await self._inner.sleep(duration)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def __aexit__(self, *error: object) -> None: ...


def unreliable(backend: Any, engine: Engine, plan: Plan, between: Callable[[], None] = lambda: None) -> Any:
    """Return a storage of the engine's account whose network behaves as planned.

    :param between: what happens after a request that goes wrong, before its sender hears of it
    """
    transport: Any = (AioUnreliable if backend.aio else Unreliable)(engine, plan, between)
    return backend.connect(engine, transport=transport)
