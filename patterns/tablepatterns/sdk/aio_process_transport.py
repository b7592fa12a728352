"""The process transport of async clients, which needs aiohttp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from azure.core.pipeline.transport import AioHttpTransport

from .process_transport import PerProcess


class AioProcessTransport(AioHttpTransport):  # type: ignore[misc]
    """An async transport that sends each request over a connection of the current process.

    A forked process runs its own event loop. The class derives from `AioHttpTransport`, because the SDK then
    signs a path such as `/it's` in the form in which aiohttp sends it.

    :param options: those of the SDK's transport
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._own = PerProcess(lambda: AioHttpTransport(**options))

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and return its response."""
        return await self._own().send(request, **options)

    async def open(self) -> None:
        """Open the connections of this process."""
        await self._own().open()

    async def close(self) -> None:
        """Close the connections of this process."""
        await self._own().close()
