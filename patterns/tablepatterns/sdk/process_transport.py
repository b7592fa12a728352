"""A transport that opens its own connections in each forked process.

A forked process inherits its parent's sockets. Two processes that use one connection receive each other's responses, so
a read may return another entity. Therefore each process creates its own transport for its first request, and does not
touch its parent's.
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
"""The options with which the SDK's queue and blob clients create their transports."""


class ProcessTransport(HttpTransport[Any, Any]):
    """A sync transport that sends each request over a connection of the current process.

    :param make: creates the SDK's transport
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
    """A value that each process creates for itself; without a lock, which another thread might hold during a fork."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: dict[int, Any] = {}

    def __call__(self) -> Any:
        process = os.getpid()
        value = self._made.get(process)
        # If two threads are first, both use the value of one of them; neither has been used yet
        return self._made.setdefault(process, self._make()) if value is None else value


def with_process_transport(options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of a sync SDK client with such a transport, unless they have one.

    :param defaults: options of the transport that `options` may override
    """
    if "transport" in options:
        return dict(options)
    from azure.core.pipeline.transport import RequestsTransport

    transport_options = {**(defaults or {}), **options}
    return {**options, "transport": ProcessTransport(lambda: RequestsTransport(**transport_options))}
