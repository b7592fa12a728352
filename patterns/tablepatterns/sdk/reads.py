"""Read entities with the same requests as the SDK, in a fraction of its time.

Responses that are not understood here are left to the SDK.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from azure.core.exceptions import ResourceNotFoundError
from azure.core.pipeline import PipelineResponse
from azure.core.pipeline.policies import ContentDecodePolicy
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator import distributed_trace
from azure.data.tables import TableErrorCode

from ..edm import FROM_JSON, Int64
from ..entity import WRITE_ID, Entity, WriteIds, entity_from_sdk, entity_of_row, write_ids_from
from ..limits import INT32_MAX, INT32_MIN
from .call import OK, first_page, iterate, settled
from .errors import code_and_message, rejection
from .page_token import EntityPage, PageQuery, Position
from .request_sender import MAX_LAYOUTS, Prepared, RequestSender, entity_address

_NOT_FOUND: Final = 404
_MISSING: Final[Mapping[str, TableErrorCode]] = {
    "ResourceNotFound": TableErrorCode.RESOURCE_NOT_FOUND,
    "EntityNotFound": TableErrorCode.ENTITY_NOT_FOUND,
    "TableNotFound": TableErrorCode.TABLE_NOT_FOUND,
}
_ACCEPT: Final = {"Accept": "application/json;odata=minimalmetadata"}


async def read_entity(
    client: Any, sender: RequestSender | None, partition_key: str, row_key: str, *, select: Sequence[str] | None = None
) -> Entity:
    """Return one entity by the sender, or the client if it is None; the errors are those of the SDK's `get_entity`."""
    if sender is None:
        entity: Any = await settled(_entity_by_sdk(partition_key, row_key, select, client))
    else:
        prepared = prepared_entity(sender, client.table_name, partition_key, row_key, select)
        entity = await sender.send(prepared)
    return entity if isinstance(entity, Entity) else entity_from_sdk(entity)


async def query_page(client: Any, sender: RequestSender | None, query: PageQuery) -> EntityPage:
    """Return one page by the sender, or the client if it is None; the errors are those of `query_entities`."""
    if sender is None:
        return await _page_by_sdk(query, client)
    # The span of the SDK's method ends before the request, which is in one of its own
    _METHOD_SPANS[_method(query)]()
    page: EntityPage = await sender.send(prepared_page(sender, client.table_name, query))
    return page


# ------------------------------------------------------------------ requests


def prepared_entity(
    sender: RequestSender, table: str, partition_key: str, row_key: str, select: Sequence[str] | None
) -> Prepared:
    address = entity_address(partition_key, row_key)
    if select:
        address += "?$select=" + _quoted(",".join(select))
    request = HttpRequest("GET", f"{sender.service}/{table}{address}", headers=sender.headers | _ACCEPT)
    by_sdk = partial(_entity_by_sdk, partition_key, row_key, select)
    return Prepared(request, table, "TableClient.get_entity", by_sdk, _entity_in)


def prepared_page(sender: RequestSender, table: str, query: PageQuery) -> Prepared:
    address = f"{sender.service}/{table}{_page_address(query)}"
    request = HttpRequest("GET", address, headers=sender.headers | _ACCEPT)
    return Prepared(request, table, "TableOperations.query_entities", partial(_page_by_sdk, query), _page_in)


def _page_address(query: PageQuery) -> str:
    where, size, start, select = query
    address = f"()?$top={size}"
    if select:
        address += "&$select=" + _quoted(",".join(select))
    if where is not None:
        address += "&$filter=" + _quoted(str(where))
    if start is not None:
        if start.partition_key is not None:
            address += "&NextPartitionKey=" + _quoted(start.partition_key)
        if start.row_key is not None:
            address += "&NextRowKey=" + _quoted(start.row_key)
    return address


_quoted = partial(quote, safe="")


# ------------------------------------------------------------------ responses


_DECODED: Final = ContentDecodePolicy.CONTEXT_NAME
"""Where the SDK's pipeline puts the decoded content."""


def _entity_in(response: PipelineResponse[Any, Any], _: bytes) -> Entity | ResourceNotFoundError | None:
    answer, decoded = response.http_response, response.context.get(_DECODED)
    if answer.status_code == OK:
        return entity_of(decoded)
    # Programs often ask for what does not exist, and to let the SDK read that response would double the time
    return _missing(decoded, answer) if answer.status_code == _NOT_FOUND else None


def _missing(decoded: Any, answer: Any) -> Any:
    error = code_and_message(decoded)
    if error is None or error[0] not in _MISSING:
        return None
    code, message = error
    return rejection(ResourceNotFoundError, message, code, answer, _MISSING[code])


def _page_in(response: PipelineResponse[Any, Any], _: bytes) -> EntityPage | None:
    answer = response.http_response
    entities = entities_of(response.context.get(_DECODED)) if answer.status_code == OK else None
    return None if entities is None else EntityPage(entities, Position.in_headers(answer.headers))


# ------------------------------------------------------------------ rows


_TYPE: Final = "@odata.type"
_TEXT: Final = "Edm.String"
_AS_THEY_ARE: Final = frozenset({_TEXT, "Edm.Int32"})
_UNKNOWN: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Raised on a response of another form, or a value of another type."""

Row = dict[str, Any]
Convert = Callable[[Any], Any]


class _Layout(NamedTuple):
    """How rows with certain names and JSON types are read."""

    types: Callable[[Row], Any]
    """Returns the type names that a row states."""
    stated: Any
    names: tuple[str, ...]
    values: Callable[[Row], Any]
    converted: tuple[tuple[str, Convert], ...]
    has_ids: bool
    """Whether the row keeps the ids of its last writes."""


_layouts: Final[dict[object, _Layout]] = {}


def entities_of(page: Any) -> list[Entity] | None:
    """Return the entities of a page with status 200, None if the SDK must read it."""
    try:
        rows: list[Row] = page["value"]
        ids: dict[str, WriteIds] = {}
        return [_entity(row, ids) for row in rows] if type(rows) is list else None
    except _UNKNOWN:
        return None


def entity_of(row: Any) -> Entity | None:
    """Return the entity of a response to a point query, as `entities_of` does."""
    try:
        return _entity(row, {})
    except _UNKNOWN:
        return None


def _entity(row: Row, ids: dict[str, WriteIds]) -> Entity:
    # Rows of one kind have the same names and types, so most of the work is done once
    shape = (*row, *map(type, row.values()))
    layout = _layouts.get(shape)
    if layout is None or layout.types(row) != layout.stated:
        layout = _layout_of(row)
        if len(_layouts) < MAX_LAYOUTS:
            _layouts[shape] = layout
    write_ids: WriteIds = ()
    if layout.has_ids:
        text = row[WRITE_ID]
        # A transaction stores the same ids in all its rows
        write_ids = ids.get(text) or ids.setdefault(text, write_ids_from(a2b_base64(text)))
    timestamp: str | None = row.get("Timestamp")
    etag: str | None = row.get("odata.etag")
    if timestamp and not etag:
        etag = f"W/\"datetime'{quote(timestamp)}'\""
    entity = entity_of_row(zip(layout.names, layout.values(row), strict=True), etag, timestamp, write_ids)
    for name, convert in layout.converted:
        entity[name] = convert(entity[name])
    return entity


def _layout_of(row: Row) -> _Layout:
    types = tuple(name for name in row if name.endswith(_TYPE))
    names = [name for name in row if not (name.startswith("odata.") or name.endswith(_TYPE) or name == "Timestamp")]
    # A property that the service does not have, but was asked for, is null
    names = [name for name in names if row[name] is not None or row.get(name + _TYPE, _TEXT) not in _AS_THEY_ARE]
    # The SDK puts the keys first
    keys = [name for name in ("PartitionKey", "RowKey") if name in names]
    names = [*keys, *(name for name in names if name not in keys)]
    stated = {name.removesuffix(_TYPE): row[name] for name in types}
    names = [name for name in names if name != WRITE_ID]
    converted = [(name, _converter(row[name], stated.get(name))) for name in names if name not in keys]
    type_names: Callable[[Row], Any] = itemgetter(types[0]) if len(types) == 1 else _values_of(types)
    return _Layout(
        type_names,
        type_names(row),
        tuple(names),
        _values_of(tuple(names)),
        tuple((name, convert) for name, convert in converted if convert is not None),
        stated.get(WRITE_ID) == "Edm.Binary",
    )


def _values_of(names: tuple[str, ...]) -> Callable[[Row], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda row: (row[names[0]],) if names else ()


def _converter(value: object, stated: str | None) -> Convert | None:
    """Return the function that converts a JSON value, or None; KeyError if the SDK must read the type."""
    if stated is None:
        if type(value) is int:
            return _integer
        if type(value) in (str, bool, float):
            return None
        raise KeyError(type(value))
    return None if stated in _AS_THEY_ARE else FROM_JSON[stated]


def _integer(value: int) -> int:
    return value if INT32_MIN <= value <= INT32_MAX else Int64(value)


# ------------------------------------------------------------------ the SDK's own calls


def _method(query: PageQuery) -> str:
    return "list_entities" if query.where is None else "query_entities"


_METHOD_SPANS: Final[Mapping[str, Callable[[], None]]] = {
    method: distributed_trace(name_of_span=f"TableClient.{method}")(lambda: None)
    for method in ("list_entities", "query_entities")
}


def _entity_by_sdk(partition_key: str, row_key: str, select: Sequence[str] | None, client: Any, **options: Any) -> Any:
    if select:
        options["select"] = list(select)
    return client.get_entity(partition_key, row_key, **options)


async def _page_by_sdk(query: PageQuery, client: Any, **options: Any) -> EntityPage:
    where, size, start, select = query
    if select:
        options["select"] = list(select)
    arguments = () if where is None else (str(where),)
    queried = getattr(client, _method(query))(*arguments, results_per_page=size, **options)
    pages = queried.by_page(start.sdk() if start else None)
    entities = [entity_from_sdk(entity) async for entity in iterate(await first_page(pages))]
    return EntityPage(entities, Position.of(pages.continuation_token))
