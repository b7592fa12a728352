"""One request to the Table service: what its URL names, the permission that it needs, and how errors are answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from .. import errors
from ..errors import ServiceError
from ..http.address import Address, Kinds, Target, decode, kind_of, plain_kind, read_address
from ..http.call import Call
from ..http.message import Request, Response
from ..http.permissions import Need, on_object
from ..http.supported import TABLE_SUPPORT
from ..http.xml import PROLOGUE, XML, stamped_message, xml_text
from .json import PROTOCOL_VERSIONS, Level, Renderer, check_protocol, negotiate, preference_of
from .service import Tables

_ROOTS: Final[Mapping[str, str]] = {"Tables": "tables", "$batch": "batch"}
_KEY: Final = "'([^']*(?:''[^']*)*)'"
_KEYS: Final = re.compile(rf"PartitionKey={_KEY},\s*RowKey={_KEY}\)", re.DOTALL)
_ENTITY: Final = re.compile(rf"([^()]*)\({_KEYS.pattern}", re.DOTALL)
_ENTITY_ROW_FIRST: Final = re.compile(rf"([^()]*)\(RowKey={_KEY},\s*PartitionKey={_KEY}\)", re.DOTALL)
_ENTRY: Final = re.compile(r"Tables\('([^']*)'\)", re.DOTALL)


def locate(url: str, account: str) -> Target:
    """Return the resource that a URL names; "below table" is a longer path, as from a wrong account URL."""
    # Most requests name an entity, and only its keys differ from those of other requests
    before, bracket, keys = url.partition("(")
    if bracket and "/" not in keys and "?" not in keys and "#" not in keys:
        table = _table_at(before, account)
        match = _KEYS.fullmatch(decode(keys, errors.QUERY_SYNTAX)) if table else None
        if table and match:
            return _entity(table.address, table.resource, *match.groups())
    address = read_address(url, account)
    # Slashes inside a key arrive percent-encoded, so the path is split before it is decoded
    segment, _, below = address.tail[1:].partition("/")
    name = decode(segment, errors.QUERY_SYNTAX)
    if below:
        return Target(address, "below table", name, below)
    match = _ENTITY.fullmatch(name)
    if match:
        return _entity(address, *match.groups())
    return _keyed(address, name) if name.endswith("')") else _unkeyed(address, name.removesuffix("()"))


@lru_cache(maxsize=1024)
def _table_at(url: str, account: str) -> Target | None:
    """Return the table that a URL names before its keys, which most requests share; None if that is not simple."""
    if url.endswith("/") or not set("?#%)").isdisjoint(url):
        return None
    target = locate(url, account)
    return target if target.kind == "table" else None


def _entity(address: Address, table: str, partition_key: str, row_key: str) -> Target:
    kind = plain_kind("entity", address.query) if address.query else "entity"
    return Target(address, kind, table, "", partition_key.replace("''", "'"), row_key.replace("''", "'"))


def _keyed(address: Address, name: str) -> Target:
    match = _ENTITY_ROW_FIRST.fullmatch(name)
    if match:
        table, row_key, partition_key = match.groups()
        return _entity(address, table, partition_key, row_key)
    entry = _ENTRY.fullmatch(name)
    if entry:
        return Target(address, plain_kind("table entry", address.query), entry[1])
    raise ServiceError(errors.KEY_COUNT)


def _unkeyed(address: Address, name: str) -> Target:
    if name in _ROOTS:
        return Target(address, plain_kind(_ROOTS[name], address.query))
    if "(" in name:
        raise ServiceError(errors.KEY_COUNT)
    return (
        Target(address, kind_of(_OF_TABLE, address.query), name)
        if name
        else Target(address, kind_of(_OF_SERVICE, address.query))
    )


_OF_SERVICE: Final[Kinds] = {
    (None, None): "service",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
    ("service", "userdelegationkey"): "delegation key",
}
_OF_TABLE: Final[Kinds] = {
    (None, None): "table",
    (None, "acl"): "table acl",
    # Of a client whose account URL ends with the name of a table
    ("service", "properties"): "table properties",
}


class TableCall(Call[Tables]):
    __slots__ = ()

    service = "Table"
    support = TABLE_SUPPORT

    def locate(self) -> None:
        request = self.request
        self.target = locate(request.url, self.context.account_name)
        self.method = verb(request.method, request.headers.get("x-http-method"))
        version = request.headers.get("dataserviceversion", "3.0")
        if version not in PROTOCOL_VERSIONS:
            check_protocol(version)

    def inner(self, request: Request, target: Target) -> TableCall:
        """Return the call of a request inside this one, with the same sender and notes."""
        call = TableCall(self.context, self.settings, request, self.id, self.now, self.authorize)
        call.target = target
        call.permit = self.permit
        call.notes = self.notes
        return call

    def renderer(self, table: str) -> Renderer:
        address = self.target.address
        level = negotiate(self.request.headers.get("accept", ""), address.query.get("$format"))
        return Renderer(self.context.account_name, address.base, table, level)


_TUNNELLED: Final = frozenset({"MERGE", "PATCH", "PUT", "DELETE"})


def verb(method: str, tunnelled: str | None) -> str:
    """Return the verb of a request; the header `X-HTTP-Method` overrides POST, and "" is a verb that it cannot have."""
    if tunnelled is None or method != "POST":
        return method
    meant = tunnelled.upper()
    return meant if meant in _TUNNELLED else ""


QUERY: Final = on_object("r")
ADD: Final = on_object("a")
UPDATE: Final = on_object("u")
UPSERT: Final = on_object("au")
REMOVE: Final = on_object("d")
LIST_TABLES: Final = Need("c", ("l",))
CREATE_TABLE: Final = Need("c", ("c", "w"))
DELETE_TABLE: Final = Need("c", ("d",))


# -- Errors

_STATES_PREFERENCE: Final = frozenset({400, 409})
"""The statuses of errors that repeat the preference of an insert."""
_NAMESPACE: Final = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"


def json_error(error: ServiceError, call: TableCall, headers: Mapping[str, str]) -> Response:
    """Return the error of an entity or table operation for clients that ask for JSON.

    :param headers: the headers of the request: the response repeats its level of metadata and its preference
    """
    message = f'"message":{{"lang":"en-US","value":{quoted(stamped_message(error, call))}}}'
    body = f'{{"odata.error":{{"code":"{error.code}",{message}}}}}'
    level = Level.NONE if "nometadata" in headers.get("accept", "") else Level.MINIMAL
    status, preference = error.error_message.status, preference_of(headers)
    applied = {"Preference-Applied": preference} if preference and status in _STATES_PREFERENCE else {}
    return Response(status, {**applied, "Content-Type": level.content_type}, body.encode())


def xml_error(error: ServiceError, call: TableCall) -> Response:
    headers = {"Content-Type": "application/xml;charset=utf-8"}
    return Response(error.error_message.status, headers, _document(error, call, "", "xmlns"))


def settings_error(error: ServiceError, call: TableCall) -> Response:
    headers = {**XML, "x-ms-error-code": error.code}
    return Response(error.error_message.status, headers, _document(error, call, "m:", "xmlns:m"), error.message)


def _document(error: ServiceError, call: TableCall, prefix: str, namespace: str) -> bytes:
    text = xml_text(stamped_message(error, call))
    content = f'<{prefix}code>{error.code}</{prefix}code><{prefix}message xml:lang="en-US">{text}</{prefix}message>'
    return f'{PROLOGUE}<{prefix}error {namespace}="{_NAMESPACE}">{content}</{prefix}error>'.encode()
