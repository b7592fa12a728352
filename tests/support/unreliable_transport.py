"""Transports between the SDK and an engine that lose chosen requests or responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from azure.core.exceptions import ServiceResponseError
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport

from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

Plan = Callable[[int], str | None]
"""The fault of the n-th write, counted from 0; None for no fault.

`response lost`: the connection breaks after the write. `request lost`: it breaks before. `timed out`: the write
succeeds, but the response is 500, which the SDK retries. `busy`: the write is rejected with 503.
"""


class _Faults:
    """Counts the writes and looks up the fault of each."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.writes = 0

    def of(self, request: Any) -> str | None:
        if request.method == "GET" or request.url.endswith("/Tables"):
            return None
        self.writes += 1
        return self.plan(self.writes - 1)


def _reaches_engine(fault: str | None) -> bool:
    return fault in (None, "response lost", "timed out")


def _apply(fault: str | None, response: Any) -> Any:
    if fault in ("response lost", "request lost"):
        raise ServiceResponseError(f"connection reset: {fault}")
    if fault is not None:
        response.status_code = {"timed out": 500, "busy": 503}[fault]
    return response


class UnreliableTransport(HttpTransport[Any, Any]):
    """A sync transport that fails as planned."""

    def __init__(self, engine: Engine, plan: Plan, between: Callable[[], None]) -> None:
        self._inner, self.faults, self._between = EngineTransport(engine), _Faults(plan), between
        self._nowhere = EngineTransport(Engine())

    def send(self, request: Any, **options: Any) -> Any:
        fault = self.faults.of(request)
        inner = self._inner if _reaches_engine(fault) else self._nowhere
        response = inner.send(request, **options)
        if fault:
            self._between()
        return _apply(fault, response)

    def sleep(self, duration: float) -> None:
        self._inner.sleep(duration)

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class AioUnreliableTransport(AsyncHttpTransport[Any, Any]):
    """The same for async clients."""

    def __init__(self, engine: Engine, plan: Plan, between: Callable[[], None]) -> None:
        self._inner, self.faults, self._between = AioEngineTransport(engine), _Faults(plan), between
        self._nowhere = AioEngineTransport(Engine())

    async def send(self, request: Any, **options: Any) -> Any:
        fault = self.faults.of(request)
        inner = self._inner if _reaches_engine(fault) else self._nowhere
        response = await inner.send(request, **options)
        if fault:
            self._between()
        return _apply(fault, response)

    async def sleep(self, duration: float) -> None:
        await self._inner.sleep(duration)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def __aexit__(self, *error: object) -> None: ...


def connect_unreliable(backend: Any, engine: Engine, plan: Plan, between: Callable[[], None] = lambda: None) -> Any:
    """Connect to the engine's account over a network that fails as planned.

    :param between: called after a request that fails, before its sender gets the response
    """
    transport: Any = (AioUnreliableTransport if backend.aio else UnreliableTransport)(engine, plan, between)
    return backend.connect(engine, transport=transport)
