"""Serve the in-memory account over HTTP, for SDKs in other languages and other processes; needs the extra `serve`.

See "The account in memory as a server" in the documentation.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Final

from tablepatterns.extras import importing

from .account import Engine
from .server.listeners import Listeners

with importing("the server needs", extra="serve"):
    from .server.connection import Application, Connection

__all__ = ["Listeners", "serve", "serving"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SECONDS_TO_STOP: Final = 5
_SWITCH_SECONDS: Final = 0.001
"""After how long a thread with a long query yields to short requests; Python's own 5 ms would double their time."""


def serve(engine: Engine, listeners: Listeners) -> None:
    """Answer requests until SIGINT or SIGTERM comes; those on their way are answered first, and the ports closed.

    Only the main thread can do this, as signals come to no other.
    """
    server = _Server(engine, listeners)

    def stop(number: int, frame: FrameType | None) -> None:
        server.stop()

    former = {number: signal.signal(number, stop) for number in _SIGNALS}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server.run()
    finally:
        listeners.close()
        sys.setswitchinterval(interval)
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def serving(engine: Engine, listeners: Listeners | None = None) -> Generator[str, None, None]:
    """Answer requests in a thread of their own, by default on any free ports, and give the connection string."""
    listeners = listeners or Listeners(ports=dict.fromkeys(("blob", "queue", "table"), 0))
    server = _Server(engine, listeners)
    thread = threading.Thread(target=server.run, name="tablepatterns serve", daemon=True)
    thread.start()
    try:
        yield listeners.connection_string(engine)
    finally:
        server.stop()
        thread.join()
        listeners.close()


class _Server:
    """An event loop that answers the requests to one account until it is stopped."""

    def __init__(self, engine: Engine, listeners: Listeners) -> None:
        self._application = Application(engine, listeners.services, listeners.hosts)
        self._sockets = listeners.sockets
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._answer())
        finally:
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def stop(self) -> None:
        """Answer the requests in progress, and return from `run`; any thread and any signal handler may call it."""
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _answer(self) -> None:
        connections: set[Connection] = set()
        new_connection: Callable[[], Connection] = partial(Connection, self._application, connections)
        servers = [await self._loop.create_server(new_connection, sock=listener) for listener in self._sockets]
        await self._stopped.wait()
        for server in servers:
            server.close()
        if connections:
            await asyncio.wait(
                [self._loop.create_task(connection.close()) for connection in connections], timeout=_SECONDS_TO_STOP
            )
        for connection in [*connections]:
            connection.abort()
