"""Entity operations: conditional headers, writes, point queries, queries and continuation tokens; and batches.

A batch is one entity group transaction, or one query. The service executes its first part, and rejects every other part
separately.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from uuid import uuid4

from tablepatterns.errors import BadFilter
from tablepatterns.filters import Filter, FilterSyntaxError, QueryClass, UnsupportedFilter, key_bounds, parse
from tablepatterns.limits import MAX_PAGE_ENTITIES

from .. import errors
from ..errors import ServiceError, TransactionError
from ..http.address import Target, absolute
from ..http.headers import read_token, write_token
from ..http.message import Request, Response
from ..http.multipart import InnerRequest, read_parts, read_requests, write_multipart, write_parts, write_response
from ..http.permissions import Need, Permit
from ..http.supported import TABLE_SUPPORT
from .call import ADD, QUERY, REMOVE, UPDATE, UPSERT, TableCall, json_error, locate, verb
from .entities import Entity, Kind, Operation, etag_of, map_operations
from .json import Level, Renderer, check_content_type, entity_path, negotiate, preference_of, read_body

_ETAG: Final = re.compile(r'W/"[^"]*"')


def if_match(headers: Mapping[str, str], verb: str) -> str | None:
    """Return the ETag of If-Match, which may be "*"; None if the header is absent."""
    if "if-none-match" in headers:
        raise ServiceError(errors.IF_NONE_MATCH.format(verb=verb))
    etag = headers.get("if-match")
    if etag is None or etag == "*" or _ETAG.fullmatch(etag):
        return etag
    raise ServiceError(errors.ETAG_INVALID.format(etag=etag))


@dataclass(slots=True, eq=False)
class Write:
    """A write as requested.

    :param name: the service's name of the operation
    :param preference: `return-content` or `return-no-content`, if the client states a preference
    """

    name: str
    need: Need
    operation: Operation
    target: Target
    level: Level
    preference: str | None = None

    def check(self, permit: Permit) -> None:
        permit.check(self.need, self.target.resource)
        permit.check_keys(self.operation.partition_key, self.operation.row_key)


_UPDATES: Final[dict[str, tuple[str, Kind]]] = {
    "PUT": ("UpdateEntity", "replace"),
    "MERGE": ("MergeEntity", "merge"),
    "PATCH": ("MergeEntity", "merge"),
}
_UPSERTS: Final[dict[str, tuple[str, Kind]]] = {
    "PUT": ("InsertOrReplaceEntity", "insert_or_replace"),
    "MERGE": ("InsertOrMergeEntity", "insert_or_merge"),
    "PATCH": ("InsertOrMergeEntity", "insert_or_merge"),
}


def read_write(method: str, target: Target, headers: Mapping[str, str], body: bytes) -> Write:
    query = target.address.query
    level = negotiate(headers.get("accept", ""), query.get("$format"))
    check_content_type(headers.get("content-type", ""))
    if target.kind == "entity" and method in _UPDATES:
        write = _update(method, target, level, headers, body)
    elif target.kind == "entity" and method == "DELETE":
        write = _delete(target, level, headers)
    elif target.kind == "table" and method == "POST":
        write = _insert(target, level, headers, body)
    else:
        raise ServiceError(errors.UNSUPPORTED_VERB)
    TABLE_SUPPORT[write.name].check(headers, query)
    reject_unknown_options(query, ONLY_FORMAT)
    return write


def _insert(target: Target, level: Level, headers: Mapping[str, str], body: bytes) -> Write:
    entity_body = read_body(body)
    operation = Operation(
        "insert", entity_body.key("PartitionKey"), entity_body.key("RowKey"), entity_body.properties()
    )
    return Write("InsertEntity", ADD, operation, target, level, preference_of(headers))


def _delete(target: Target, level: Level, headers: Mapping[str, str]) -> Write:
    etag = if_match(headers, "DELETE")
    if etag is None:
        raise ServiceError(errors.MISSING_HEADER)
    operation = Operation("delete", target.partition_key, target.row_key, etag=etag)
    return Write("DeleteEntity", REMOVE, operation, target, level)


def _update(method: str, target: Target, level: Level, headers: Mapping[str, str], body: bytes) -> Write:
    etag = if_match(headers, method)
    name, kind = (_UPSERTS if etag is None else _UPDATES)[method]
    # Only the keys in the URL count; the body may repeat them in any type
    operation = Operation(kind, target.partition_key, target.row_key, read_body(body).properties(), etag)
    return Write(name, UPSERT if etag is None else UPDATE, operation, target, level)


def answer_write(write: Write, entity: Entity | None, account: str) -> Response:
    """Return the response to a successful write, with the version that it created; None for a delete."""
    if entity is None:
        return Response(204, {})
    if write.operation.kind != "insert":
        return Response(204, {"ETag": entity.etag})
    base, table = write.target.address.base, write.target.resource
    location = f"{base}/{entity_path(table, entity.partition_key, entity.row_key)}"
    timestamp = entity.timestamp.iso()
    etag = etag_of(timestamp)
    applied = {"Preference-Applied": write.preference} if write.preference else {}
    if write.preference == "return-no-content":
        return Response(204, {**applied, "DataServiceId": location, "Location": location, "ETag": etag})
    headers = {**applied, "Content-Type": write.level.content_type, "Location": location, "ETag": etag}
    return Response(201, headers, Renderer(account, base, table, write.level).entity(entity, timestamp))


def write_entity(call: TableCall) -> Response:
    request, target, notes = call.request, call.target, call.notes
    write = read_write(call.method, target, request.headers, request.body)
    notes.operation, notes.partition = write.name, write.operation.partition_key
    write.check(call.permit)
    entity = call.state.apply(target.resource, write.operation)
    notes.written = 1
    return answer_write(write, entity, call.context.account_name)


_TOP: Final = re.compile(r"\d{1,4}", re.ASCII)
ONLY_FORMAT: Final = frozenset({"$format"})
"""The OData options of operations that query no list."""
_OPTIONS: Final = ONLY_FORMAT | {"$filter", "$select", "$top"}
_POINT_QUERY: Final = QueryClass.POINT.label


def get_entity(call: TableCall) -> Response:
    target, notes, query = call.target, call.notes, call.target.address.query
    notes.partition, notes.query_class = target.partition_key, _POINT_QUERY
    call.begin("QueryEntity", QUERY)
    renderer = call.renderer(target.resource)
    reject_unknown_options(query)
    call.permit.check_keys(target.partition_key, target.row_key)
    entity = call.state.get(target.resource, target.partition_key, target.row_key)
    notes.examined = notes.returned = 1
    timestamp = entity.timestamp.iso()
    body = renderer.entity(entity, timestamp, query.get("$select"))
    return Response(200, {"Content-Type": renderer.content_type, "ETag": etag_of(timestamp)}, body)


def query_entities(call: TableCall) -> Response:
    query, table, notes = call.address.query, call.target.resource, call.notes
    call.begin("QueryEntities", QUERY)
    renderer = call.renderer(table)
    reject_unknown_options(query)
    expression = read_filter(query.get("$filter", ""))
    notes.partition = _partition(expression)
    page = call.state.query(table, expression, limit=read_top(query), start=_start(query), scope=call.permit.scope)
    notes.query_class = page.query_class.label
    notes.examined, notes.returned = page.examined, len(page.entities)
    body = renderer.entities(page.entities, query.get("$select"))
    headers = {"Content-Type": renderer.content_type}
    if page.next is not None:
        partition, row = map(write_token, page.next)
        headers |= {"x-ms-continuation-NextPartitionKey": partition, "x-ms-continuation-NextRowKey": row}
    return Response(200, headers, body)


def reject_unknown_options(query: Mapping[str, str], known: Set[str] = _OPTIONS) -> None:
    """Reject OData options that an operation does not have, such as `$orderby` and `$skip`."""
    if query and any(name.lstrip().startswith("$") and name not in known for name in query):
        raise ServiceError(errors.NOT_IMPLEMENTED)


@lru_cache(maxsize=512)
def read_filter(text: str) -> Filter | None:
    if not text.strip():
        return None
    try:
        return parse(text)
    except UnsupportedFilter as error:
        raise ServiceError(errors.NOT_IMPLEMENTED) from error
    except FilterSyntaxError as error:
        raise ServiceError(errors.FILTER_SYNTAX.format(position=error.position, filter=text)) from error
    except BadFilter as error:
        raise ServiceError(errors.INVALID_INPUT) from error


def read_top(query: Mapping[str, str]) -> int:
    """Return the maximum number of entities of a page; 0 is allowed, more than 1,000 is not."""
    top = query.get("$top")
    if top is None:
        return MAX_PAGE_ENTITIES
    if not _TOP.fullmatch(top) or int(top) > MAX_PAGE_ENTITIES:
        raise ServiceError(errors.INVALID_INPUT)
    return int(top)


@lru_cache(maxsize=512)
def _partition(expression: Filter | None) -> str | None:
    return None if expression is None else key_bounds(expression).partition


def _start(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the keys at which the page starts; a token without a row starts with the partition."""
    partition, row = query.get("NextPartitionKey"), query.get("NextRowKey")
    if partition is None:
        if row is not None:
            raise ServiceError(errors.INVALID_INPUT)
        return None
    return read_token(partition), "" if row is None else read_token(row)


# -- Batches

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
        # The service answers an empty changeset with 400, which the SDK takes for success
        if not requests:
            raise ServiceError(errors.INVALID_INPUT)
        writes = _writes(call, requests)
        table = call.notes.table = writes[0].target.resource
        call.notes.partition = writes[0].operation.partition_key
        entities = call.state.transact(table, [write.operation for write in writes])
    except TransactionError as error:
        return [_error_part(call, error, requests[error.index])]
    except ServiceError as error:
        return [_error_part(call, error)]
    call.notes.written = len(writes)
    account = call.context.account_name
    return [
        _part(answer_write(write, entity, account), request)
        for request, write, entity in zip(requests, writes, entities, strict=True)
    ]


def _writes(call: TableCall, requests: Sequence[InnerRequest]) -> list[Write]:
    tables: set[str] = set()

    def read(request: InnerRequest) -> Write:
        method = verb(request.method, request.headers.get("x-http-method"))
        if method == "GET":
            raise ServiceError(errors.INVALID_INPUT)
        write = read_write(method, _target(call, request), request.headers, request.body)
        write.check(call.permit)
        tables.add(write.target.resource.lower())
        if len(tables) > 1:
            raise ServiceError(errors.DIFFERENT_PARTITIONS)
        return write

    return map_operations(requests, read)


def _target(call: TableCall, request: InnerRequest) -> Target:
    target = locate(absolute(request.url, call.target.address.base), call.context.account_name)
    target.address.check_options()
    return target


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
