"""Entity operations: conditional headers, writes, point queries, queries and continuation tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tablepatterns.errors import BadFilter
from tablepatterns.filters import Filter, FilterSyntaxError, QueryClass, UnsupportedFilter, key_bounds, parse
from tablepatterns.limits import MAX_PAGE_ENTITIES

from .. import errors
from ..errors import ServiceError
from ..http.address import Target
from ..http.headers import read_token, write_token
from ..http.message import Response
from ..http.permissions import Need, Permit
from ..http.supported import TABLE_SUPPORT
from .call import ADD, QUERY, REMOVE, UPDATE, UPSERT, TableCall
from .entities import Entity, Kind, Operation, etag_of
from .json import Level, Renderer, check_content_type, entity_path, negotiate, preference_of, read_body
from .query import Page

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
    """Return the requested write, after `X-HTTP-Method` is applied."""
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
_OPTIONS: Final = frozenset({"$filter", "$select", "$top", "$format"})
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
    """Return a page of the entities that `$filter` describes."""
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
    return Response(200, {"Content-Type": renderer.content_type, **_continuation(page)}, body)


def reject_unknown_options(query: Mapping[str, str]) -> None:
    """Reject OData options that the service does not support, such as `$orderby` and `$skip`."""
    if query and any(name.startswith("$") and name not in _OPTIONS for name in query):
        raise ServiceError(errors.NOT_IMPLEMENTED)


@lru_cache(maxsize=512)
def read_filter(text: str) -> Filter | None:
    """Parse a filter; None if it is blank."""
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


def _continuation(page: Page) -> dict[str, str]:
    if page.next is None:
        return {}
    partition, row = map(write_token, page.next)
    return {"x-ms-continuation-NextPartitionKey": partition, "x-ms-continuation-NextRowKey": row}
