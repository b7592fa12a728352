"""Batches: one entity group transaction, or one query.

The service executes the first part of a batch, and rejects every other part separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from .. import errors
from ..errors import ServiceError, TransactionError
from ..http.address import Target, absolute
from ..http.message import Request, Response
from ..http.multipart import InnerRequest, read_parts, read_requests, write_multipart, write_parts, write_response
from .call import TableCall, locate, verb
from .entity_api import Write, answer_write, get_entity, query_entities, read_write
from .errors import json_error

_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "DataServiceVersion": "3.0;"}
_UPDATE_HEADERS: Final = {**_HEADERS, "DataServiceVersion": "1.0;"}
_NO_REQUEST: Final = InnerRequest("", "", {}, b"", None)
_MULTIPART: Final = "multipart/mixed"
_QUERIES: Final = {"entity": get_entity, "table": query_entities}


def run_batch(call: TableCall) -> Response:
    """Execute a batch. Errors inside it are in the body of the response, whose own status is 202."""
    call.notes.operation = "Transaction"
    call.check_support("Transaction")
    content_type = call.request.headers.get("content-type", "")
    if not content_type.lower().startswith(_MULTIPART):
        raise ServiceError(errors.MEDIA_TYPE_NOT_SUPPORTED)
    first, other_parts = _read_batch(call.request.body, content_type)
    if isinstance(first, InnerRequest):
        responses = [_query(call, first)]
        written = write_response(responses[0])
    else:
        responses = _changeset(call, first)
        written = write_multipart(f"changesetresponse_{uuid4()}", list(map(write_response, responses)))
    rejected = [_error_part(call, ServiceError(errors.INVALID_INPUT)) for _ in range(other_parts)]
    boundary = f"batchresponse_{uuid4()}"
    body = write_parts(boundary, [written, *map(write_response, rejected)])
    response = Response(202, {"Content-Type": f"{_MULTIPART}; boundary={boundary}"}, body)
    response.parts = [*responses, *rejected]
    return response


def _read_batch(body: bytes, content_type: str) -> tuple[InnerRequest | list[InnerRequest], int]:
    """Return the query or the operations of the first part, and how many parts follow it."""
    try:
        first, *other_parts = read_parts(body, content_type)
        if not first.content_type.startswith(_MULTIPART):
            return next(read_requests([first])), len(other_parts)
        return list(read_requests(read_parts(first.content, first.headers["content-type"]))), len(other_parts)
    except ValueError as error:
        raise ServiceError(errors.INVALID_INPUT) from error


def _query(call: TableCall, request: InnerRequest) -> Response:
    """Return the response to a query outside a changeset."""
    try:
        target = _target(call, request)
        run = _QUERIES.get(target.kind)
        if run is None or request.method != "GET":
            raise ServiceError(errors.INVALID_INPUT)
        call.notes.table = target.resource
        inner = Request(request.method, request.url, request.headers, request.body)
        return _part(run(call.inner(inner, target)), request)
    except ServiceError as error:
        return _error_part(call, TransactionError(error.error_message, index=0, operations=1), request)


def _changeset(call: TableCall, requests: Sequence[InnerRequest]) -> list[Response]:
    """Return the responses to a transaction: one for each operation, or one with the error."""
    try:
        return _transaction(call, requests)
    except TransactionError as error:
        return [_error_part(call, error, requests[error.index])]
    except ServiceError as error:
        return [_error_part(call, error)]


def _transaction(call: TableCall, requests: Sequence[InnerRequest]) -> list[Response]:
    # The service answers an empty changeset with 400, which the SDK takes for success
    if not requests:
        raise ServiceError(errors.INVALID_INPUT)
    writes = _writes(call, requests)
    table = call.notes.table = writes[0].target.resource
    call.notes.partition = writes[0].operation.partition_key
    entities = call.state.transact(table, [write.operation for write in writes])
    call.notes.written = len(writes)
    account = call.context.account_name
    return [
        _part(answer_write(write, entity, account), request)
        for request, write, entity in zip(requests, writes, entities, strict=True)
    ]


def _writes(call: TableCall, requests: Sequence[InnerRequest]) -> list[Write]:
    writes: list[Write] = []
    try:
        for request in requests:
            write = _write(call, request)
            if writes and write.target.resource.lower() != writes[0].target.resource.lower():
                raise ServiceError(errors.DIFFERENT_PARTITIONS)
            writes.append(write)
    except ServiceError as error:
        raise TransactionError(error.error_message, index=len(writes), operations=len(requests)) from error
    return writes


def _write(call: TableCall, request: InnerRequest) -> Write:
    method = verb(request.method, request.headers.get("x-http-method"))
    if method == "GET":
        raise ServiceError(errors.INVALID_INPUT)
    write = read_write(method, _target(call, request), request.headers, request.body)
    write.check(call.permit)
    return write


def _target(call: TableCall, request: InnerRequest) -> Target:
    return locate(absolute(request.url, call.target.address.base), call.context.account_name)


def _part(response: Response, request: InnerRequest) -> Response:
    """Return a response with the headers that it has inside a batch."""
    is_update = not response.size and "Location" not in response.headers
    response.headers = (_UPDATE_HEADERS if is_update else _HEADERS) | response.headers
    content_id = request.headers.get("content-id")
    if content_id is not None:
        response.headers["Content-ID"] = content_id
    return response


def _error_part(call: TableCall, error: ServiceError, request: InnerRequest = _NO_REQUEST) -> Response:
    call.notes.error = error.code
    return _part(json_error(error, call, request.headers), request)
