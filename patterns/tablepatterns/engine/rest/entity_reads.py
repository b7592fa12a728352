"""Point queries and queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from ...errors import BadFilter
from ...filters import Filter, FilterSyntaxError, QueryClass, UnsupportedFilter, key_bounds, parse
from ...limits import MAX_PAGE_ENTITIES
from .. import texts
from ..query import Page
from ..refusal import Refusal
from .access import QUERY
from .continuation import read_token, write_token
from .message import Response
from .table_call import TableCall

_TOP: Final = re.compile(r"\d{1,4}", re.ASCII)
_OPTIONS: Final = frozenset({"$filter", "$select", "$top", "$format"})


def get_entity(call: TableCall) -> Response:
    """Return one entity."""
    target, notes = call.target, call.notes
    notes.partition, notes.query_class = target.partition_key, QueryClass.POINT.label
    call.begin("QueryEntity", QUERY)
    renderer = call.renderer(target.table)
    refuse_unknown_options(target.query)
    call.permit.check_keys(target.partition_key, target.row_key)
    entity = call.tables.get(target.table, target.partition_key, target.row_key)
    notes.examined = notes.returned = 1
    body = renderer.entity(entity, target.query.get("$select"))
    return Response(200, {"Content-Type": renderer.content_type, "ETag": entity.etag}, body)


def query_entities(call: TableCall) -> Response:
    """Return a page of the entities that `$filter` describes."""
    query, table, notes = call.target.query, call.target.table, call.notes
    call.begin("QueryEntities", QUERY)
    renderer = call.renderer(table)
    refuse_unknown_options(query)
    wanted = read_filter(query.get("$filter", ""))
    notes.partition = _partition(wanted)
    page = call.tables.query(table, wanted, limit=read_top(query), start=_start(query), scope=call.permit.scope)
    notes.query_class = page.query_class.label
    notes.examined, notes.returned = page.examined, len(page.entities)
    body = renderer.entities(page.entities, query.get("$select"))
    return Response(200, {"Content-Type": renderer.content_type, **_continuation(page)}, body)


def refuse_unknown_options(query: Mapping[str, str]) -> None:
    """Refuse the OData options that the service does not have, `$orderby` and `$skip` among them.

    :raises Refusal: NotImplemented
    """
    if any(name.startswith("$") and name not in _OPTIONS for name in query):
        raise Refusal(texts.NOT_IMPLEMENTED)


@lru_cache(maxsize=512)
def read_filter(text: str) -> Filter | None:
    """Return the filter that a text says, None where it is blank.

    :raises Refusal: InvalidInput, with the position of a syntax error; NotImplemented for OData beyond the service
    """
    if not text.strip():
        return None
    try:
        return parse(text)
    except UnsupportedFilter as error:
        raise Refusal(texts.NOT_IMPLEMENTED) from error
    except FilterSyntaxError as error:
        raise Refusal(texts.FILTER_SYNTAX.of(position=error.position, filter=text)) from error
    except BadFilter as error:
        raise Refusal(texts.INVALID_INPUT) from error


def read_top(query: Mapping[str, str]) -> int:
    """Return how many a page may hold; nothing is a legal number, more than 1,000 is not.

    :raises Refusal: InvalidInput
    """
    top = query.get("$top")
    if top is None:
        return MAX_PAGE_ENTITIES
    if not _TOP.fullmatch(top) or int(top) > MAX_PAGE_ENTITIES:
        raise Refusal(texts.INVALID_INPUT)
    return int(top)


@lru_cache(maxsize=512)
def _partition(wanted: Filter | None) -> str | None:
    return None if wanted is None else key_bounds(wanted).partition


def _start(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the keys at which the page begins; a token without a row begins with the partition."""
    partition, row = query.get("NextPartitionKey"), query.get("NextRowKey")
    if partition is None:
        if row is not None:
            raise Refusal(texts.INVALID_INPUT)
        return None
    return read_token(partition), "" if row is None else read_token(row)


def _continuation(page: Page) -> dict[str, str]:
    if page.next is None:
        return {}
    partition, row = map(write_token, page.next)
    return {"x-ms-continuation-NextPartitionKey": partition, "x-ms-continuation-NextRowKey": row}
