"""The list of tables: query, create, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...filters import matcher
from .. import texts
from ..refusal import Refusal
from .access import CREATE_TABLE, DELETE_TABLE, LIST_TABLES
from .continuation import read_token, write_token
from .decode import read_body
from .entity_reads import read_filter, read_top, refuse_unknown_options
from .formats import refuse_atom
from .message import Response
from .render import table_path
from .table_call import TableCall

_LIST: Final = "Tables"
_CONTINUATION: Final = "x-ms-continuation-NextTableName"


def query_tables(call: TableCall) -> Response:
    """Return a page of the list of tables."""
    call.begin("QueryTables", LIST_TABLES)
    query, renderer = call.target.query, call.renderer(_LIST)
    refuse_unknown_options(query)
    _check_select(query.get("$select", ""))
    predicate, top = _predicate(query.get("$filter", "")), read_top(query)
    token = query.get("NextTableName")
    after = None if token is None else read_token(token)
    names, following = call.tables.names(after, top, predicate) if top else ([], None)
    call.notes.returned = len(names)
    headers = {"Content-Type": renderer.content_type}
    if following is not None:
        headers[_CONTINUATION] = write_token(following)
    return Response(200, headers, renderer.tables(names))


def _check_select(text: str) -> None:
    """Reject a projection without the name, which is all that is known of a table.

    :raises Refusal: NotImplemented
    """
    wanted = {name.strip() for name in text.split(",")}
    if text.strip() and not wanted & {"TableName", "*"}:
        raise Refusal(texts.NOT_IMPLEMENTED)


def _predicate(text: str) -> Callable[[str], bool] | None:
    wanted = read_filter(text)
    if wanted is None:
        return None
    matches = matcher(wanted)
    return lambda name: matches({"TableName": name}.get)


def create_table(call: TableCall) -> Response:
    """Create a table."""
    call.begin("CreateTable", CREATE_TABLE)
    renderer = call.renderer(_LIST)
    refuse_atom(call.request.headers.get("content-type", ""))
    name = read_body(call.request.body).key("TableName")
    call.notes.table = name
    call.tables.create(name)
    location = f"{call.target.address.base}/{table_path(name)}"
    preference = call.request.headers.get("prefer")
    if preference == "return-no-content":
        headers = {"Preference-Applied": preference, "DataServiceId": location, "Location": location}
        return Response(204, headers)
    applied = {"Preference-Applied": preference} if preference == "return-content" else {}
    headers = {**applied, "Content-Type": renderer.content_type, "Location": location}
    return Response(201, headers, renderer.table(name))


def get_table(call: TableCall) -> Response:
    """Return one entry of the list of tables."""
    call.begin("QueryTable", LIST_TABLES)
    renderer = call.renderer(_LIST)
    try:
        name = call.tables.table(call.target.table).name
    except Refusal as refusal:
        # The entry is a resource of its own, so it has the code of one
        answer = texts.RESOURCE_NOT_FOUND if refusal.answer is texts.TABLE_NOT_FOUND else refusal.answer
        raise Refusal(answer) from refusal
    call.notes.returned = 1
    return Response(200, {"Content-Type": renderer.content_type}, renderer.table(name))


def delete_table(call: TableCall) -> Response:
    """Delete a table."""
    call.begin("DeleteTable", DELETE_TABLE)
    call.tables.delete(call.target.table)
    return Response(204, {})
