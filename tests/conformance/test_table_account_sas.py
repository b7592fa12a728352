"""Shared access signatures of the account: of the service, its tables and their entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.data.tables import ResourceTypes, generate_account_sas

from conformance.deviations import SAS_ERRORS, SAS_UPSERTS
from conformance.entities import KEYS, stored
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.signatures import HOUR, NEW, OPERATIONS, UPSERTS, now, operations
from conformance.table_errors import NOT_AUTHENTIC, NOT_PERMITTED, WRONG_LEVEL
from support.backends import Backend


@pytest.fixture
def visitor(backend: Backend, key: AzureNamedKeyCredential) -> Callable[..., Any]:
    """A function that returns the service's client of someone who has a signature of the account."""

    def client(levels: str = "sco", permission: str = "rwdlacu", **terms: Any) -> Any:
        terms = {"expiry": now() + HOUR, **terms}
        token = generate_account_sas(key, ResourceTypes.from_string(levels), permission, **terms)
        return backend.service(AzureSasCredential(token))

    return client


async def test_a_signature_of_the_account_allows_everything_it_names(
    visitor: Callable[..., Any], table_name: str
) -> None:
    service = visitor()
    table = await service.create_table(table_name)
    await table.create_entity(KEYS)
    await table.upsert_entity(NEW)
    await table.submit_transaction([("upsert", {**KEYS, "Age": 34}), ("delete", NEW)])
    assert await stored(table) == [{**KEYS, "Age": 34}]
    assert table_name in [found.name async for found in service.list_tables()]
    await service.delete_table(table_name)


@operations([name for name in OPERATIONS if name not in {*UPSERTS, "query"}])
async def test_the_permissions_of_the_account_s_signature_are_those_of_a_table_s(
    table: Any, visitor: Callable[..., Any], rejected: Any, letters: str, call: Callable[[Any], Any]
) -> None:
    await table.create_entity(KEYS)
    async with rejected(NOT_PERMITTED):
        await call(visitor("o", "raud".replace(letters, "")).get_table_client(table.table_name))
    await call(visitor("o", letters).get_table_client(table.table_name))


@SAS_UPSERTS
@operations([*UPSERTS, "query"])
async def test_so_are_those_for_queries_and_upserts(
    table: Any, visitor: Callable[..., Any], rejected: Any, letters: str, call: Callable[[Any], Any]
) -> None:
    await table.create_entity(KEYS)
    for letter in letters:
        async with rejected(NOT_PERMITTED):
            await call(visitor("o", "raud".replace(letter, "")).get_table_client(table.table_name))
    await call(visitor("o", letters).get_table_client(table.table_name))


SERVICE_OPERATIONS: dict[str, tuple[str, str, Callable[[Any, str], Any]]] = {
    "list tables": ("c", "l", lambda service, name: anext(service.list_tables())),
    "create table": ("c", "c", lambda service, name: service.create_table(name)),
    "create table by writing": ("c", "w", lambda service, name: service.create_table(name)),
    "delete table": ("c", "d", lambda service, name: service.delete_table(name)),
    "get properties": ("s", "r", lambda service, name: service.get_service_properties()),
}
on_the_service = pytest.mark.parametrize(
    ("level", "letter", "call"), SERVICE_OPERATIONS.values(), ids=SERVICE_OPERATIONS
)


@on_the_service
async def test_what_an_operation_on_the_service_needs(
    table: Any, visitor: Callable[..., Any], table_name: str, level: str, letter: str, call: Callable[..., Any]
) -> None:
    await call(visitor(level, letter), table_name)


@on_the_service
async def test_nothing_less_will_do_for_an_operation_on_the_service(
    table: Any,
    visitor: Callable[..., Any],
    rejected: Any,
    table_name: str,
    level: str,
    letter: str,
    call: Callable[..., Any],
) -> None:
    async with rejected(WRONG_LEVEL):
        await call(visitor("sco".replace(level, ""), "rwdlacu"), table_name)
    async with rejected(NOT_PERMITTED):
        await call(visitor("sco", "u"), table_name)


async def test_entities_need_a_level_of_their_own(table: Any, visitor: Callable[..., Any], rejected: Any) -> None:
    async with rejected(WRONG_LEVEL):
        await visitor("sc").get_table_client(table.table_name).create_entity(KEYS)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda table: table.get_table_access_policy(), id="get"),
        pytest.param(lambda table: table.set_table_access_policy({}), id="set"),
    ],
)
async def test_policies_are_the_owner_s_alone(
    table: Any, visitor: Callable[..., Any], rejected: Any, call: Callable[[Any], Any]
) -> None:
    async with rejected(ServiceError(403)):
        await call(visitor().get_table_client(table.table_name))


@SAS_ERRORS
async def test_a_signature_of_the_account_expires(visitor: Callable[..., Any], rejected: Any, table_name: str) -> None:
    async with rejected(NOT_AUTHENTIC):
        await visitor(expiry=now() - HOUR).create_table(table_name)


async def test_a_signature_for_another_service_is_none_for_tables(
    raw: Raw, rejected: Any, key: AzureNamedKeyCredential
) -> None:
    token = generate_account_sas(key, ResourceTypes.from_string("sco"), "rwdlacu", now() + HOUR)
    options = urlencode({**dict(parse_qsl(token)), "ss": "bq"})
    async with rejected(ServiceError(403)):
        await raw("GET", f"/Tables?{options}", signed=False)
