"""Inserts, updates, merges and deletes of entities: from a request to one write, and from its result to an answer.

A transaction reads its operations and writes its answers with the same two functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..entities import Entity
from ..refusal import Refusal
from ..writes import Kind, Operation
from .access import ADD, REMOVE, UPDATE, UPSERT, Need, Permit
from .conditions import if_match, refuse_if_none_match
from .decode import read_body
from .formats import Level, negotiate, refuse_atom
from .message import Response
from .render import Renderer, entity_path
from .routing import Target
from .supported import TABLE_SUPPORT
from .table_call import TableCall
from .texts import MISSING_CONDITION, UNSUPPORTED_VERB


class Write(NamedTuple):
    """One write as a request asks for it.

    :param name: the service's name of the operation
    :param need: what it takes to be allowed
    :param level: the format of an echo
    :param preference: `return-content` or `return-no-content` where the client says which it prefers
    """

    name: str
    need: Need
    operation: Operation
    target: Target
    level: Level
    preference: str | None = None

    def check(self, permit: Permit) -> None:
        """Refuse the write unless its sender may carry it out.

        :raises Refusal: one of the codes that begin with Authorization
        """
        permit.check(self.need, self.target.table)
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
_PREFERENCES: Final = frozenset({"return-content", "return-no-content"})


def read_write(method: str, target: Target, headers: Mapping[str, str], body: bytes) -> Write:
    """Return the write that a request asks for.

    :param method: the verb, `X-HTTP-Method` taken into account
    :raises Refusal: what is wrong with its headers or its body
    """
    level = negotiate(headers.get("accept", ""), target.query.get("$format"))
    refuse_atom(headers.get("content-type", ""))
    write = _read_write(method, target, level, headers, body)
    TABLE_SUPPORT[write.name].check(headers, target.query)
    return write


def _read_write(method: str, target: Target, level: Level, headers: Mapping[str, str], body: bytes) -> Write:
    if target.kind == "table" and method == "POST":
        return _insert(target, level, headers, body)
    if target.kind == "entity" and method == "DELETE":
        return _delete(target, level, headers)
    if target.kind == "entity" and method in _UPDATES:
        return _update(method, target, level, headers, body)
    raise Refusal(UNSUPPORTED_VERB)


def _insert(target: Target, level: Level, headers: Mapping[str, str], body: bytes) -> Write:
    said = read_body(body)
    operation = Operation("insert", said.key("PartitionKey"), said.key("RowKey"), said.properties())
    preference = headers.get("prefer")
    return Write("InsertEntity", ADD, operation, target, level, preference if preference in _PREFERENCES else None)


def _delete(target: Target, level: Level, headers: Mapping[str, str]) -> Write:
    refuse_if_none_match(headers, "DELETE")
    etag = if_match(headers)
    if etag is None:
        raise Refusal(MISSING_CONDITION)
    operation = Operation("delete", target.partition_key, target.row_key, etag=etag)
    return Write("DeleteEntity", REMOVE, operation, target, level)


def _update(method: str, target: Target, level: Level, headers: Mapping[str, str], body: bytes) -> Write:
    refuse_if_none_match(headers, method)
    etag = if_match(headers)
    name, kind = (_UPSERTS if etag is None else _UPDATES)[method]
    # The keys of the URL are the ones that count; the body may repeat them in any type
    operation = Operation(kind, target.partition_key, target.row_key, read_body(body).properties(), etag)
    return Write(name, UPSERT if etag is None else UPDATE, operation, target, level)


def answer_write(write: Write, entity: Entity | None, account: str) -> Response:
    """Return the answer to a write that was carried out.

    :param entity: the version that it made, None for a delete
    :param account: the account's name
    """
    if entity is None:
        return Response(204, {})
    if write.operation.kind != "insert":
        return Response(204, {"ETag": entity.etag})
    base, table = write.target.address.base, write.target.table
    location = f"{base}/{entity_path(table, entity.partition_key, entity.row_key)}"
    applied = {"Preference-Applied": write.preference} if write.preference else {}
    if write.preference == "return-no-content":
        return Response(204, {**applied, "DataServiceId": location, "Location": location, "ETag": entity.etag})
    headers = {**applied, "Content-Type": write.level.value, "Location": location, "ETag": entity.etag}
    return Response(201, headers, Renderer(account, base, table, write.level).entity(entity))


def write_entity(call: TableCall) -> Response:
    """Carry out the one write that a request asks for."""
    request, target = call.request, call.target
    write = read_write(call.method, target, request.headers, request.body)
    call.notes.operation, call.notes.partition = write.name, write.operation.partition_key
    write.check(call.permit)
    entity = call.tables.apply(target.table, write.operation)
    call.notes.written = 1
    return answer_write(write, entity, call.engine.account_name)
