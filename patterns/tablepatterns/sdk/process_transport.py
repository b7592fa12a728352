"""The transports of an account's clients, which open their own connections in each forked process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STORAGE_DEFAULTS: Final[Mapping[str, Any]] = {
    "connection_timeout": 20,
    "read_timeout": 60,
    "connection_data_block_size": 256 * 1024,
}
"""The options with which the SDK's queue and blob clients create their transports."""


def with_process_transport(
    options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None, *, is_async: bool
) -> dict[str, Any]:
    """Return the options of an SDK client with such a transport, unless they have one."""
    if "transport" in options:
        return dict(options)
    transport_options = {**(defaults or {}), **options}
    # Imported here, since one needs aiohttp and the other loads the requests package
    if is_async:
        from .aio_transport import AioTransport

        return {**options, "transport": AioTransport(**transport_options)}
    from .transport import Transport

    return {**options, "transport": Transport(**transport_options)}
