"""The transports of an account's clients, which open their own connections in each forked process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

STORAGE_DEFAULTS: Final[Mapping[str, Any]] = {
    "connection_timeout": 20,
    "read_timeout": 60,
    "connection_data_block_size": 256 * 1024,
}
"""The options with which the SDK's queue and blob clients create their transports."""


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


def _has_proxies_or_logins() -> bool:
    """Return whether requests depend on the environment, which aiohttp otherwise reads for each, in a thread."""
    from urllib.request import getproxies

    files = [os.environ["NETRC"]] if "NETRC" in os.environ else ["~/.netrc", "~/_netrc"]
    return bool(getproxies().keys() - {"no"}) or any(os.path.exists(os.path.expanduser(file)) for file in files)


def _aio_process_transport(options: Mapping[str, Any]) -> Any:
    # Imported here, since it needs aiohttp
    from azure.core.pipeline.transport import AioHttpTransport

    class AioProcessTransport(AioHttpTransport):  # type: ignore[misc]
        """An async transport that sends each request over a connection of the current process and its event loop.

        It derives from `AioHttpTransport`, because the SDK then signs a path such as `/it's` as aiohttp sends it.
        """

        def __init__(self) -> None:
            super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
            self._own = PerProcess(
                lambda: AioHttpTransport(**{"use_env_settings": _has_proxies_or_logins(), **options})
            )

        async def send(self, request: Any, **options: Any) -> Any:
            return await self._own().send(request, **options)

        async def open(self) -> None:
            await self._own().open()

        async def close(self) -> None:
            await self._own().close()

    return AioProcessTransport()


def with_process_transport(
    options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None, *, is_async: bool
) -> dict[str, Any]:
    """Return the options of an SDK client with such a transport, unless they have one."""
    if "transport" in options:
        return dict(options)
    transport_options = {**(defaults or {}), **options}
    if is_async:
        return {**options, "transport": _aio_process_transport(transport_options)}
    # Imported here, since it loads the requests package
    from .transport import Transport

    return {**options, "transport": Transport(**transport_options)}
