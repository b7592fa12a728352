"""The Table service's REST interface: a request in, a response out, a line in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ..account import Engine
from ..refusal import Refusal
from .api import Api, Service
from .authorization import Authorization
from .batch import run_batch
from .below_table import refuse_below_table
from .entity_reads import get_entity, query_entities
from .entity_writes import write_entity
from .formats import errors_in_xml
from .message import Response
from .refusals import Refusals
from .service_operations import (
    get_policies,
    get_properties,
    get_statistics,
    refuse_properties_of_table,
    refuse_service_document,
    set_policies,
    set_properties,
)
from .signed_texts import table_texts
from .table_call import TableCall
from .table_operations import create_table, delete_table, get_table, query_tables
from .table_sas import TableAccess
from .tokens import TrustTokens

_Handler: TypeAlias = Callable[[TableCall], Response]

_SERVICE_KINDS: Final = frozenset({"properties", "stats", "table acl", "table properties"})
_HANDLERS: Final[dict[tuple[str, str], _Handler]] = {
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
    ("service", "GET"): refuse_service_document,
    ("table properties", "GET"): refuse_properties_of_table,
    ("table properties", "PUT"): refuse_properties_of_table,
    ("below table", "GET"): refuse_below_table,
    ("below table", "POST"): refuse_below_table,
    ("below table", "DELETE"): refuse_below_table,
}


def _refuse(call: TableCall, refusal: Refusal) -> Response:
    refusals = Refusals(call.id, call.now)
    if call.kind in _SERVICE_KINDS:
        return refusals.of_service(refusal)
    if errors_in_xml(call.request.headers.get("accept", ""), call.target.query.get("$format")):
        return refusals.in_xml(refusal)
    return refusals.in_json(refusal)


_TABLES: Final = Service(
    TableCall.service,
    TableCall,
    _HANDLERS,
    _refuse,
    headers={"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"},
)


class TableApi(Api[TableCall]):
    """Answer requests to the Table service of one account; threads may share it.

    Every request gets an answer: what is malformed, forbidden or unknown gets the service's refusal.

    >>> from tablepatterns.engine.rest.message import Request
    >>> api = TableApi(Engine("contoso"))
    >>> response = api.answer(Request("GET", "https://contoso.table.core.windows.net/Tables", {}))
    >>> response.status, response.reason, response.headers["WWW-Authenticate"][:6]
    (401, 'Unauthorized', 'Bearer')

    :param engine: the account
    :param trust_tokens: whether bearer tokens over https are accepted as the owner's; "checked" accepts a JWT for this
        account or for Azure Storage that has not expired, without verifying its signature
    """

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        shared = TableAccess(engine, engine.tables)
        authorization = Authorization(engine, shared, table_texts, trust_tokens=trust_tokens)
        super().__init__(engine, _TABLES, authorization)
