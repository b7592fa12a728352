"""Leases of blobs and containers: one operation with five actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from ....edm import Ticks
from ...leases import Acquire, Action, Break, Change, Lease, Release, Renew
from ..message import Response
from .blob_headers import version_headers
from .call import BlobCall
from .header_values import guid, invalid, missing, number, required
from .needs import BREAK_CONTAINER_LEASE, BREAK_LEASE, WRITE, WRITE_CONTAINER
from .terms import read_conditions, read_container_conditions

_ACTION: Final = "x-ms-lease-action"
_ID: Final = "x-ms-lease-id"
_PROPOSED: Final = "x-ms-proposed-lease-id"
_DURATION: Final = "x-ms-lease-duration"
_PERIOD: Final = "x-ms-lease-break-period"
_STATUSES: Final[Mapping[str, int]] = {"acquire": 201, "break": 202}


def lease_blob(call: BlobCall) -> Response:
    """Carry out an action on the lease of a blob."""
    name, action = _read_action(call.request.headers)
    call.begin(f"{name.capitalize()}BlobLease", BREAK_LEASE if name == "break" else WRITE)
    blob, now = call.blobs.lease(*call.place, action, read_conditions(call.request.headers))
    return _answer(name, version_headers(blob.etag, blob.modified), blob.lease, now)


def lease_container(call: BlobCall) -> Response:
    """Carry out an action on the lease of a container."""
    name, action = _read_action(call.request.headers)
    call.begin(f"{name.capitalize()}ContainerLease", BREAK_CONTAINER_LEASE if name == "break" else WRITE_CONTAINER)
    terms = read_container_conditions(call.request.headers)
    container, now = call.containers.lease(call.target.container, action, terms)
    return _answer(name, version_headers(container.etag, container.modified), container.lease, now)


def _answer(name: str, headers: dict[str, str], lease: Lease, now: Ticks) -> Response:
    if name == "break":
        headers["x-ms-lease-time"] = str(lease.seconds_left(now))
    elif lease.id is not None:
        headers["x-ms-lease-id"] = str(lease.id)
    return Response(_STATUSES.get(name, 200), headers)


def _read_action(headers: Mapping[str, str]) -> tuple[str, Action]:
    """Return the action that a request asks for, and its name.

    :raises Refusal: MissingRequiredHeader, InvalidHeaderValue
    """
    name = required(headers, _ACTION)
    read = _ACTIONS.get(name.lower())
    if read is None:
        raise invalid(_ACTION, name)
    return name.lower(), read(headers)


def _acquire(headers: Mapping[str, str]) -> Action:
    duration = number(headers, _DURATION)
    if duration is None:
        raise missing(_DURATION)
    return Acquire(duration, guid(headers, _PROPOSED))


def _id(headers: Mapping[str, str], name: str = _ID) -> UUID:
    found = guid(headers, name)
    if found is None:
        raise missing(name)
    return found


_ACTIONS: Final[Mapping[str, Callable[[Mapping[str, str]], Action]]] = {
    "acquire": _acquire,
    "renew": lambda headers: Renew(_id(headers)),
    "change": lambda headers: Change(_id(headers), _id(headers, _PROPOSED)),
    "release": lambda headers: Release(_id(headers)),
    "break": lambda headers: Break(number(headers, _PERIOD)),
}
