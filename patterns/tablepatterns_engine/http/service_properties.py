"""Access policies of a table or a queue, properties of the service, statistics of its replication."""

from __future__ import annotations

from collections.abc import Set

from .. import errors
from ..errors import ServiceError
from .call import AnyCall
from .message import Response
from .permissions import OWNER_ONLY, READ_SERVICE, WRITE_SERVICE
from .xml import read_policies, read_properties, write_policies, write_properties, write_statistics

_XML = {"Content-Type": "application/xml"}


def get_policies(call: AnyCall) -> Response:
    call.begin(f"Get{call.service}ACL", OWNER_ONLY)
    return Response(200, {**_XML}, write_policies(call.state.get_policies(call.resource)))


def set_policies(call: AnyCall) -> Response:
    call.begin(f"Set{call.service}ACL", OWNER_ONLY)
    call.state.set_policies(call.resource, read_policies(call.request.body))
    return Response(204, {})


def get_properties(call: AnyCall, *elements: str) -> Response:
    """Return the properties, with elements that only one service has."""
    call.begin(f"Get{call.service}ServiceProperties", READ_SERVICE)
    return Response(200, {**_XML}, write_properties(call.state.get_service_properties(), *elements))


def set_properties(call: AnyCall, own: Set[str] = frozenset()) -> Response:
    """Replace the properties that the request names; `own` are those that only one service has."""
    call.begin(f"Set{call.service}ServiceProperties", WRITE_SERVICE)
    settings = call.state
    settings.set_service_properties(read_properties(call.request.body, settings.get_service_properties(), own))
    return Response(202, {})


def get_statistics(call: AnyCall) -> Response:
    """Return the state of the geo-replication, which only the secondary reports; the engine's is always up to date."""
    call.begin(f"Get{call.service}ServiceStats", READ_SERVICE)
    call.reach_state()
    if not call.address.secondary:
        raise ServiceError(errors.INVALID_QUERY_PARAMETER_VALUE)
    return Response(200, {**_XML}, write_statistics(call.now))


def reject_table_properties(call: AnyCall) -> Response:
    """Reject a request of a client whose account URL ends with the name of a table."""
    call.allow(OWNER_ONLY)
    raise ServiceError(errors.INVALID_QUERY_PARAMETER_VALUE)


def reject_unsupported(call: AnyCall) -> Response:
    """Reject an operation of the service that the engine does not have."""
    call.allow(OWNER_ONLY)
    raise ServiceError(errors.NOT_IMPLEMENTED)
