"""Process transport: connections that a process does not share with the one that it was forked from.

A forked process has its parent's sockets. Two processes that send on one connection receive each other's responses, so
that a read returns another entity's row. Each process therefore gets a transport of its own when it sends its first
request; the parent's is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from azure.core.pipeline.transport import HttpTransport

STORAGE_DEFAULTS: Final[Mapping[str, Any]] = {
    "connection_timeout": 20,
    "read_timeout": 60,
    "connection_data_block_size": 256 * 1024,
}
"""What the SDK's queue and blob clients make their transports with, where nothing else is given."""


class ProcessTransport(HttpTransport[Any, Any]):
    """A sync transport that sends each request over a connection of the process that sends it.

    :param make: makes the SDK's transport
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._own = PerProcess(make)

    @property
    def connection_config(self) -> Any:
        """The timeouts, which the SDK's retry policy looks up."""
        return self._own().connection_config

    def send(self, request: Any, **options: Any) -> Any:
        """Send a request and return its response."""
        return self._own().send(request, **options)

    def sleep(self, duration: float) -> None:
        """Wait between two attempts."""
        self._own().sleep(duration)

    def open(self) -> None:
        """Open the connections of this process."""
        self._own().open()

    def close(self) -> None:
        """Close the connections of this process."""
        self._own().close()

    def __exit__(self, *error: object) -> None:
        self.close()


class PerProcess:
    """What each process makes for itself. Without a lock, which another thread might hold during a fork."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: dict[int, Any] = {}

    def __call__(self) -> Any:
        process = os.getpid()
        made = self._made.get(process)
        # Of two threads that come first, one keeps what the other made; neither has been used yet
        return self._made.setdefault(process, self._make()) if made is None else made


def with_process_transport(options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of a sync SDK client with a transport of this kind, unless they have a transport.

    :param defaults: options of the transport where nothing else is given
    """
    if "transport" in options:
        return dict(options)
    from azure.core.pipeline.transport import RequestsTransport

    given = {**(defaults or {}), **options}
    return {**options, "transport": ProcessTransport(lambda: RequestsTransport(**given))}
