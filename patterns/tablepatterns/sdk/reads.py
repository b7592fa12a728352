"""Read entities with the same requests as the SDK, in a fraction of its time.

Responses that are not understood here are left to the SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from azure.core.exceptions import ResourceNotFoundError
from azure.core.pipeline import PipelineResponse
from azure.core.pipeline.policies import ContentDecodePolicy
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator import distributed_trace
from azure.data.tables import TableErrorCode

from ..entity import Entity, entity_from_sdk
from .call import first_page, iterate, settled
from .entity_json import entities_of, entity_of
from .errors import code_and_message, rejection
from .page_token import EntityPage, PageQuery, Position
from .request_sender import Prepared, RequestSender
from .writes import entity_address

_OK: Final = 200
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
        page = await _page_by_sdk(query, client)
    else:
        # The span of the SDK's method ends before the request, which is in one of its own
        _METHOD_SPANS[_method(query)]()
        page = await sender.send(prepared_page(sender, client.table_name, query))
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
    if answer.status_code == _OK:
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
    entities = entities_of(response.context.get(_DECODED)) if answer.status_code == _OK else None
    return None if entities is None else EntityPage(entities, Position.in_headers(answer.headers))


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
