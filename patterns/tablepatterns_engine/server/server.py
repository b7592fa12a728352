"""The engine as a server: the services' own protocol over HTTP, for SDKs in other languages and other processes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from tablepatterns.extras import how_to_install

try:
    import uvicorn
except ModuleNotFoundError as error:
    text = f"the server needs uvicorn: {how_to_install('serve')}"
    raise ModuleNotFoundError(text, name=error.name) from error

from ..account import Engine
from .asgi import Application
from .connection import Connection
from .listeners import Listeners

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_IDLE_SECONDS: Final = 600
"""SDKs keep connections for their next request, and some fail that request if it meets the end of one."""
_SECONDS_TO_STOP: Final = 5
_SWITCH_SECONDS: Final = 0.001
"""After how long a thread with a long query yields to short requests; Python's own 5 ms would double their time."""


def serve(engine: Engine, listeners: Listeners) -> None:
    """Answer requests until SIGINT or SIGTERM comes; requests on their way are answered first.

    Only the main thread can do this, as signals come to no other.

    :param engine: the account
    :param listeners: the ports to answer on; they are closed at the end
    """
    server = _server(engine, listeners)

    def stop(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn raises its signal again when it is done; with these handlers that ends nothing
    former = {number: signal.signal(number, stop) for number in _SIGNALS}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server.run(listeners.sockets)
    finally:
        listeners.close()
        sys.setswitchinterval(interval)
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def serving(engine: Engine, listeners: Listeners | None = None) -> Generator[str, None, None]:
    """Answer requests in a thread of their own, and give the connection string.

    >>> from azure.data.tables import TableServiceClient
    >>> with serving(Engine()) as connection_string:
    ...     with TableServiceClient.from_connection_string(connection_string) as client:
    ...         client.create_table("Employees").table_name
    'Employees'

    :param engine: the account
    :param listeners: the ports to answer on, by default any that are free; they are closed at the end
    """
    listeners = listeners or Listeners(ports=dict.fromkeys(("blob", "queue", "table"), 0))
    server = _server(engine, listeners)
    thread = threading.Thread(target=server.run, args=(listeners.sockets,), name="tablepatterns serve", daemon=True)
    thread.start()
    try:
        yield listeners.connection_string(engine)
    finally:
        server.should_exit = True
        thread.join()
        listeners.close()


def _server(engine: Engine, listeners: Listeners) -> uvicorn.Server:
    config = uvicorn.Config(
        Application(engine, listeners.services, listeners.hosts),
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        # A client could say that it comes from elsewhere, and a shared access signature may be for one address
        proxy_headers=False,
        # The service's own answers have both
        server_header=False,
        date_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_SECONDS_TO_STOP,
    )
    return uvicorn.Server(config)
