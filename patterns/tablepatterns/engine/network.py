"""What the network does to an answer on its way to a client of azure-core, where it meets a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from azure.core.configuration import ConnectionConfiguration
from azure.core.exceptions import (
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)

from .clock import Clock
from .fault import Fault

READ_TIMEOUT: Final[float] = ConnectionConfiguration().read_timeout
"""In seconds: how long azure-core's own transports wait that are not told otherwise."""


def suffer(fault: Fault, size: int, clock: Clock, options: Mapping[str, Any], *, aio: bool = False) -> None:
    """Let an answer come late, in part or not at all.

    :param size: the length of the answer's body
    :param options: those of the request, as azure-core gives them to its transport, `read_timeout` among them
    :param aio: whether the client is an aio one
    :raises AzureError: the one that azure-core's own transport raises then
    """
    if fault.loses == "connection":
        raise ServiceRequestError("no connection: refused by a fault of the engine")
    if fault.loses:
        # Over aiohttp, azure-core takes a reset for an error of the request, although it may have been carried out
        reset = ServiceRequestError if aio else ServiceResponseError
        raise reset("the connection was reset by a fault of the engine before an answer came")
    patience: float = options["read_timeout"]
    clock.sleep(min(fault.seconds, patience))
    if fault.seconds >= patience:
        raise ServiceResponseTimeoutError(f"no answer came within {patience} seconds: delayed by a fault of the engine")
    if not options.get("stream"):
        check_whole(size, fault.cut_at)


def check_whole(size: int, cut_at: int | None) -> None:
    """Refuse a body that has come in part only.

    :param size: its length
    :raises IncompleteReadError: the connection broke before its end
    """
    if cut_at is not None and cut_at < size:
        text = f"{cut_at} of {size} bytes came: the connection was broken by a fault of the engine"
        raise IncompleteReadError(text)
