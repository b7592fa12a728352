"""The REST interface of the Table service: authorize a request, run its operation, write the ledger record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tablepatterns.filters import matcher

from .. import errors
from ..errors import ServiceError
from ..http.api import Service
from ..http.authorization import SharedAccess
from ..http.call import AnyCall
from ..http.headers import read_token, write_token
from ..http.message import Response
from ..http.permissions import OWNER_ONLY, Permit, ResourcePermit
from ..http.service_properties import (
    get_policies,
    get_properties,
    get_statistics,
    reject_table_properties,
    reject_unsupported,
    set_policies,
    set_properties,
)
from ..http.shared_key import table_texts
from ..key_range import KeyScope
from .call import CREATE_TABLE, DELETE_TABLE, LIST_TABLES, TableCall, json_error, settings_error, xml_error
from .entity_api import (
    ONLY_FORMAT,
    get_entity,
    query_entities,
    read_filter,
    read_top,
    reject_unknown_options,
    run_batch,
    write_entity,
)
from .json import check_content_type, errors_in_xml, preference_of, read_body, table_path

_LIST: Final = "Tables"
_ANSWERS: Final = {
    "GET": errors.NOT_IMPLEMENTED,
    # A body sent to a table is an entity to the service, here one without keys
    "POST": errors.PROPERTIES_NEED_VALUE,
}


def query_tables(call: TableCall) -> Response:
    call.begin("QueryTables", LIST_TABLES)
    query, renderer = call.address.query, call.renderer(_LIST)
    reject_unknown_options(query)
    selected = query.get("$select", "").strip()
    # The name is the only property of a table
    if selected and {"TableName", "*"}.isdisjoint(name.strip() for name in selected.split(",")):
        raise ServiceError(errors.NOT_IMPLEMENTED)
    predicate, top = _predicate(query.get("$filter", "")), read_top(query)
    token = query.get("NextTableName")
    after = None if token is None else read_token(token)
    names, following = call.state.names(after, top, predicate) if top else ([], None)
    call.notes.returned = len(names)
    headers = {"Content-Type": renderer.content_type}
    if following is not None:
        headers["x-ms-continuation-NextTableName"] = write_token(following)
    return Response(200, headers, renderer.tables(names))


def _predicate(text: str) -> Callable[[str], bool] | None:
    wanted = read_filter(text)
    if wanted is None:
        return None
    matches = matcher(wanted)
    return lambda name: matches({"TableName": name}.get)


def create_table(call: TableCall) -> Response:
    call.begin("CreateTable", CREATE_TABLE)
    reject_unknown_options(call.address.query, ONLY_FORMAT)
    renderer = call.renderer(_LIST)
    check_content_type(call.request.headers.get("content-type", ""))
    body = read_body(call.request.body)
    name = body.key("TableName")
    if body.properties().keys() != {"TableName"}:
        raise ServiceError(errors.INVALID_INPUT)
    call.notes.table = name
    call.state.create(name)
    location = f"{call.target.address.base}/{table_path(name)}"
    preference = preference_of(call.request.headers)
    if preference == "return-no-content":
        headers = {"Preference-Applied": preference, "DataServiceId": location, "Location": location}
        return Response(204, headers)
    applied = {"Preference-Applied": preference} if preference else {}
    headers = {**applied, "Content-Type": renderer.content_type, "Location": location}
    return Response(201, headers, renderer.table(name))


def get_table(call: TableCall) -> Response:
    call.begin("QueryTable", LIST_TABLES)
    reject_unknown_options(call.address.query, ONLY_FORMAT)
    renderer = call.renderer(_LIST)
    try:
        name = call.state.table(call.target.resource).name
    except ServiceError as error:
        # The entry is a resource, so a missing one has the code of resources
        is_missing = error.error_message in (errors.TABLE_NOT_FOUND, errors.TABLE_BEING_DELETED)
        raise (ServiceError(errors.RESOURCE_NOT_FOUND) if is_missing else error) from error
    call.notes.returned = 1
    return Response(200, {"Content-Type": renderer.content_type}, renderer.table(name))


def delete_table(call: TableCall) -> Response:
    call.begin("DeleteTable", DELETE_TABLE)
    reject_unknown_options(call.address.query, ONLY_FORMAT)
    call.state.delete(call.target.resource)
    return Response(204, {})


def reject_nested_path(call: TableCall) -> Response:
    """Reject a path below a table with the service's error, which the SDK explains."""
    call.allow(OWNER_ONLY)
    if call.target.item == "$batch":
        raise ServiceError(errors.MEDIA_TYPE_NOT_SUPPORTED)
    call.state.table(call.target.resource)
    raise ServiceError(_ANSWERS.get(call.method, errors.KEY_COUNT))


_SERVICE_KINDS: Final = frozenset({"properties", "stats", "table acl", "table properties"})
_HANDLERS: Final[dict[tuple[str, str], Callable[[TableCall], Response]]] = {
    ("tables", "GET"): query_tables,
    ("tables", "POST"): create_table,
    ("table entry", "GET"): get_table,
    ("table entry", "DELETE"): delete_table,
    ("table", "GET"): query_entities,
    ("table", "POST"): write_entity,
    ("entity", "GET"): get_entity,
    ("entity", "PUT"): write_entity,
    ("entity", "MERGE"): write_entity,
    ("entity", "PATCH"): write_entity,
    ("entity", "DELETE"): write_entity,
    ("batch", "POST"): run_batch,
    ("table acl", "GET"): get_policies,
    ("table acl", "PUT"): set_policies,
    ("properties", "GET"): get_properties,
    ("properties", "PUT"): set_properties,
    ("stats", "GET"): get_statistics,
    ("service", "GET"): reject_unsupported,
    ("delegation key", "POST"): reject_unsupported,
    ("table properties", "GET"): reject_table_properties,
    ("table properties", "PUT"): reject_table_properties,
    ("below table", "GET"): reject_nested_path,
    ("below table", "POST"): reject_nested_path,
    ("below table", "DELETE"): reject_nested_path,
}


def _write_error(call: TableCall, error: ServiceError) -> Response:
    if call.kind in _SERVICE_KINDS:
        return settings_error(error, call)
    if errors_in_xml(call.request.headers.get("accept", ""), call.address.query.get("$format")):
        return xml_error(error, call)
    return json_error(error, call, call.request.headers)


class _TableAccess(SharedAccess):
    service = "table"
    letters = re.compile("(?=.)r?a?u?d?")
    fields = ("si", "sip", "spr", "sv", "spk", "srk", "epk", "erk")

    def resource(self, call: AnyCall) -> str:
        return call.address.query.get("tn", "").lower()

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        scope = KeyScope(query.get("spk"), query.get("srk"), query.get("epk"), query.get("erk"))
        if (scope.srk and scope.spk is None) or (scope.erk and scope.epk is None):
            raise ServiceError(errors.AUTHENTICATION_FAILED)
        return ResourcePermit(resource, letters, scope)


TABLES: Final = Service(
    TableCall.service,
    TableCall,
    _HANDLERS,
    _write_error,
    _TableAccess,
    table_texts,
    headers={"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"},
    bare_kinds=_SERVICE_KINDS,
)
