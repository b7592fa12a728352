"""Container operations, leases of blobs and containers, and blob batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_PAGE_BLOBS

from .. import errors
from ..errors import ServiceError
from ..http.address import absolute
from ..http.headers import metadata_headers, parse_number, read_metadata, read_number, read_words
from ..http.message import Request, Response
from ..http.multipart import InnerRequest, read_parts, read_requests, write_parts, write_response
from ..http.permissions import OWNER_ONLY
from ..http.xml import XML, read_policies, storage_error, write_policies
from ..versions import drop_newer_headers
from .call import (
    BREAK_CONTAINER_LEASE,
    BREAK_LEASE,
    CREATE_CONTAINER,
    DELETE_CONTAINER,
    LIST_CONTAINERS,
    READ_CONTAINER,
    WRITE,
    WRITE_CONTAINER,
    BlobCall,
)
from .headers import (
    etag_headers,
    guid,
    lease_headers,
    number,
    parse_guid,
    read_container_terms,
    read_header,
    read_lease,
    read_marker,
    read_terms,
    required,
    write_marker,
)
from .leases import Acquire, Action, Break, Change, Lease, Release, Renew
from .state import ENCRYPTION_SCOPE, ContainerProperties, PublicAccess
from .write_api import delete_blob, set_tier
from .xml import write_containers

_ACCESS: Final = "x-ms-blob-public-access"
_INCLUDES: Final = frozenset({"metadata", "deleted", "system"})
"""The engine has no deleted and no system containers to list."""


def list_containers(call: BlobCall) -> Response:
    call.begin("ListContainers", LIST_CONTAINERS)
    query = call.address.query
    read_words(query, "include", _INCLUDES)
    start, _ = read_marker(query.get("marker", ""))
    limit = read_number(query, "maxresults", MAX_PAGE_BLOBS)
    containers, following = call.containers.page(query.get("prefix", ""), start, limit)
    call.notes.returned = len(containers)
    marker = "" if following is None else write_marker((following, 0))
    return Response(200, {**XML}, write_containers(containers, call.address.base, query, marker, call.now))


def create_container(call: BlobCall) -> Response:
    call.begin("CreateContainer", CREATE_CONTAINER)
    metadata, access = read_metadata(call.request), _read_access(call.request.headers)
    return Response(201, etag_headers(call.containers.create(call.resource, metadata, access)))


def delete_container(call: BlobCall) -> Response:
    call.begin("DeleteContainer", DELETE_CONTAINER)
    call.containers.delete(call.resource, read_container_terms(call.request.headers))
    return Response(202, {})


def get_properties(call: BlobCall) -> Response:
    call.begin("GetContainerProperties", READ_CONTAINER)
    container = call.containers.get(call.resource, read_lease(call.request.headers))
    headers = {
        **etag_headers(container),
        **metadata_headers(container.metadata),
        **lease_headers(container.lease, call.now),
        **_public(container),
        "x-ms-default-encryption-scope": ENCRYPTION_SCOPE,
        "x-ms-deny-encryption-scope-override": "false",
        "x-ms-has-immutability-policy": "false",
        "x-ms-has-legal-hold": "false",
        "x-ms-immutable-storage-with-versioning-enabled": "false",
    }
    drop_newer_headers(headers, call.version)
    return Response(200, headers)


def get_metadata(call: BlobCall) -> Response:
    call.begin("GetContainerMetadata", READ_CONTAINER)
    container = call.containers.get(call.resource, read_lease(call.request.headers))
    return Response(200, {**etag_headers(container), **metadata_headers(container.metadata)})


def set_metadata(call: BlobCall) -> Response:
    call.begin("SetContainerMetadata", WRITE_CONTAINER)
    terms = read_container_terms(call.request.headers)
    return Response(200, etag_headers(call.containers.set_metadata(call.resource, read_metadata(call.request), terms)))


def get_access(call: BlobCall) -> Response:
    call.begin("GetContainerACL", OWNER_ONLY)
    container = call.containers.get(call.resource, read_lease(call.request.headers))
    headers = {**etag_headers(container), **_public(container), **XML}
    return Response(200, headers, write_policies(container.policies))


def set_access(call: BlobCall) -> Response:
    call.begin("SetContainerACL", OWNER_ONLY)
    headers = call.request.headers
    policies, access = read_policies(call.request.body), _read_access(headers)
    return Response(
        200, etag_headers(call.containers.set_access(call.resource, access, policies, read_container_terms(headers)))
    )


def _public(container: ContainerProperties) -> Mapping[str, str]:
    return {_ACCESS: container.access.value} if container.access is not PublicAccess.NONE else {}


def _read_access(headers: Mapping[str, str]) -> PublicAccess:
    return read_header(headers, _ACCESS, PublicAccess) or PublicAccess.NONE


_ACTION: Final = "x-ms-lease-action"
_ID: Final = "x-ms-lease-id"
_PROPOSED: Final = "x-ms-proposed-lease-id"
_DURATION: Final = "x-ms-lease-duration"
_PERIOD: Final = "x-ms-lease-break-period"
_STATUSES: Final[Mapping[str, int]] = {"acquire": 201, "break": 202}


def lease_blob(call: BlobCall) -> Response:
    name, action = _read_action(call.request.headers)
    call.begin(f"{name.capitalize()}BlobLease", BREAK_LEASE if name == "break" else WRITE)
    blob, now = call.state.lease(*call.place, action, read_terms(call.request.headers, lease=None))
    return _answer(name, etag_headers(blob), blob.lease, now)


def lease_container(call: BlobCall) -> Response:
    name, action = _read_action(call.request.headers)
    call.begin(f"{name.capitalize()}ContainerLease", BREAK_CONTAINER_LEASE if name == "break" else WRITE_CONTAINER)
    terms = read_container_terms(call.request.headers, lease=None)
    container, now = call.containers.lease(call.resource, action, terms)
    return _answer(name, etag_headers(container), container.lease, now)


def _answer(name: str, headers: dict[str, str], lease: Lease, now: Ticks) -> Response:
    if name == "break":
        headers["x-ms-lease-time"] = str(lease.seconds_left(now))
    elif lease.id is not None:
        headers["x-ms-lease-id"] = str(lease.id)
    return Response(_STATUSES.get(name, 200), headers)


def _read_action(headers: Mapping[str, str]) -> tuple[str, Action]:
    read = required(headers, _ACTION, lambda name: _ACTIONS[name.lower()])
    return headers[_ACTION].lower(), read(headers)


_ACTIONS: Final[Mapping[str, Callable[[Mapping[str, str]], Action]]] = {
    "acquire": lambda headers: Acquire(required(headers, _DURATION, parse_number), guid(headers, _PROPOSED)),
    "renew": lambda headers: Renew(required(headers, _ID, parse_guid)),
    "change": lambda headers: Change(required(headers, _ID, parse_guid), required(headers, _PROPOSED, parse_guid)),
    "release": lambda headers: Release(required(headers, _ID, parse_guid)),
    "break": lambda headers: Break(number(headers, _PERIOD)),
}


MAX_REQUESTS: Final = 256
_OPERATIONS: Final[dict[tuple[str, str], Callable[[BlobCall], Response]]] = {
    ("blob", "DELETE"): delete_blob,
    ("tier", "PUT"): set_tier,
}


def run_batch(call: BlobCall) -> Response:
    """Execute the requests of a batch in order; a failed one does not affect the others."""
    call.notes.operation = "BlobBatch"
    call.check_support("BlobBatch")
    call.reach_state()
    try:
        requests = list(read_requests(read_parts(call.request.body, call.request.headers.get("content-type", ""))))
    except ValueError as error:
        raise ServiceError(errors.INVALID_INPUT) from error
    if not 0 < len(requests) <= MAX_REQUESTS:
        raise ServiceError(errors.INVALID_INPUT)
    parts = [_answer_part(call, request) for request in requests]
    call.notes.operation, call.notes.written = "BlobBatch", len(parts)
    boundary = f"batchresponse_{uuid4()}"
    content_ids = [
        number if request.content_id is None else request.content_id for number, request in enumerate(requests)
    ]
    written = [write_response(part, f"Content-ID: {name}") for part, name in zip(parts, content_ids, strict=True)]
    response = Response(202, {"Content-Type": f"multipart/mixed; boundary={boundary}"}, write_parts(boundary, written))
    response.parts = parts
    return response


def _answer_part(call: BlobCall, request: InnerRequest) -> Response:
    url = absolute(request.url, call.address.base)
    try:
        inner = call.inner(Request(request.method, url, request.headers, request.body))
        operation = _OPERATIONS.get((inner.kind, inner.method))
        if operation is None:
            raise ServiceError(errors.INVALID_INPUT)
        response = operation(inner)
    except ServiceError as error:
        response = storage_error(call, error)
    response.headers |= {"x-ms-request-id": call.id, "x-ms-version": call.version, "Server": "Windows-Azure-Blob/1.0"}
    if response.size:
        response.headers["Content-Length"] = str(response.size)
    return response
