"""Backends: the accounts that one test body runs on, through the sync and the async SDK.

A body is an `async def`. It awaits recipes and SDK clients; on a sync backend nothing it awaits ever waits, and
`finish` runs it without an event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import tablepatterns
import tablepatterns.aio
from tablepatterns.recipe import as_async, finish
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

T = TypeVar("T")

KINDS = ("memory", "azurite", "live")
"""Each runs with the sync SDK, under this name, and with the async SDK, under the name with `-aio` appended."""


class Backend:
    """One account and one way to reach it. It closes every client that it returned.

    :param name: one of KINDS, with or without `-aio`
    :param target: the argument of `connect`
    :param options: the other arguments of `connect`
    :param run: runs a coroutine to its end
    """

    def __init__(self, name: str, target: Any, options: dict[str, Any], run: Callable[..., Any]) -> None:
        self.name = name
        self.kind, _, style = name.partition("-")
        self.aio = bool(style)
        self.run = run
        self._target = target
        self._options = options
        self._open: list[Any] = []

    def connect(self, target: Any = None, **options: Any) -> Any:
        """Return a storage on which recipes are awaited: of this account or another target, with the same SDK."""
        module: Any = tablepatterns.aio if self.aio else tablepatterns
        storage = module.connect(target or self._target, **(self._options | options))
        self._open.append(storage)
        return as_async(storage)

    def service(self, credential: Any, of: str = "table", **options: Any) -> Any:
        """Return the SDK's client of one of the account's services with another credential, to be awaited.

        :param of: table, queue or blob
        """
        storage = self.connect()
        if storage.engine:
            options["transport"] = (AioEngineTransport if self.aio else EngineTransport)(storage.engine)
        kind = type(getattr(storage, f"{of}s"))
        client = kind(storage.target.urls[of], credential=credential, **(self._options | options))
        self._open.append(client)
        return awaited(client)

    def close(self) -> None:
        """Close every client that was returned."""
        for opened in self._open:
            closing = opened.close()
            if self.aio:
                self.run(closing)


@contextmanager
def opened(name: str, target: Any, **options: Any) -> Iterator[Backend]:
    """Yield the backend of this name, with its own event loop if it is async."""
    with _event_loop() if name.endswith("-aio") else _no_loop() as run:
        backend = Backend(name, target, options, run)
        try:
            yield backend
        finally:
            backend.close()


@contextmanager
def _no_loop() -> Iterator[Callable[..., Any]]:
    yield finish


@contextmanager
def _event_loop() -> Iterator[Callable[..., Any]]:
    loop = asyncio.new_event_loop()
    try:
        yield loop.run_until_complete
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


class Awaited:
    """A sync SDK client to be used like its async twin: awaited, and iterated with `async for`.

    What it returns is wrapped in turn where the async SDK would return a client, a pager or a page.
    """

    def __init__(self, subject: Any) -> None:
        self._subject = subject

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._subject, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: _answer(found(*args, **kwargs))

    def __await__(self) -> Generator[None, None, Awaited]:
        return self
        yield

    def __aiter__(self) -> Awaited:
        return self

    async def __anext__(self) -> Any:
        try:
            found = next(self._subject)
        except StopIteration:
            raise StopAsyncIteration from None
        return Awaited(found) if isinstance(found, Iterator) else found

    async def __aenter__(self) -> Awaited:
        self._subject.__enter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._subject.__exit__(*error)


def awaited(client: Any) -> Any:
    """Return an SDK client, sync or async, that can be awaited."""
    return client if ".aio." in type(client).__module__ else Awaited(client)


def _answer(result: Any) -> Any:
    if isinstance(result, Iterator) or type(result).__name__.endswith(("Client", "Downloader")):
        return Awaited(result)
    return _given(result)


async def _given(result: T) -> T:
    return result
