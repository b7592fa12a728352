"""Requests that are signed with the account key, signed incorrectly, or not signed."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError

from conformance.deviations import SIGNATURE_ERRORS
from conformance.entities import KEYS
from conformance.raw import JSON, Raw, http_date
from conformance.service_errors import ServiceError
from conformance.table_errors import NOT_AUTHENTIC
from support.backends import Backend

WRONG_KEY = "d3Jvbmc="


def stranger(backend: Backend, table: Any, name: str, key: str) -> Any:
    """Return the table's client of someone who has another key, or another account."""
    return backend.service(AzureNamedKeyCredential(name, key)).get_table_client(table.table_name)


@pytest.mark.parametrize("call", ["get_entity", "create_entity"])
async def test_a_request_with_another_key_is_rejected(
    backend: Backend, raw: Raw, table: Any, rejected: Any, call: str
) -> None:
    client = stranger(backend, table, raw.account, WRONG_KEY)
    arguments = ("Sales", "000223") if call == "get_entity" else (KEYS,)
    async with rejected(ServiceError(403)):
        await getattr(client, call)(*arguments)


@SIGNATURE_ERRORS
async def test_the_service_says_that_the_signature_is_wrong(
    backend: Backend, raw: Raw, table: Any, rejected: Any, unchanged: Any
) -> None:
    client = stranger(backend, table, raw.account, WRONG_KEY)
    async with rejected(NOT_AUTHENTIC):
        await client.upsert_entity(KEYS)
    async with unchanged():
        with pytest.raises(ClientAuthenticationError):
            await client.upsert_entity(KEYS)


@SIGNATURE_ERRORS
async def test_a_request_without_credentials_is_rejected_with_its_own_code(raw: Raw, table: Any, rejected: Any) -> None:
    async with rejected(ServiceError(code="NoAuthenticationInformation")):
        await raw("POST", f"/{table.table_name}", body=KEYS, signed=False)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    "authorization",
    [
        "nonsense",
        "SharedKey",
        "SharedKey {account}",
        "SharedKey {account}:",
        "SharedKey {account}:AAAA",
        "Basic QUFBQQ==",
    ],
)
async def test_a_malformed_signature_is_rejected(raw: Raw, table: Any, rejected: Any, authorization: str) -> None:
    headers = {"Authorization": authorization.format(account=raw.account)}
    async with rejected(ServiceError(403)):
        await raw("POST", f"/{table.table_name}", headers, KEYS, signed=False)


@pytest.mark.parametrize("lite", [False, True], ids=["SharedKey", "SharedKeyLite"])
async def test_both_kinds_of_signature_are_accepted(raw: Raw, table: Any, lite: bool) -> None:
    path = f"/{table.table_name}"
    headers = {**JSON, "x-ms-date": http_date()}
    headers["Authorization"] = raw.authorization("POST", path, headers, lite=lite)
    assert (await raw("POST", path, headers, KEYS, signed=False)).status == 201


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("method", "path", "changed"),
    [
        ("PUT", "/{table}", {}),
        ("POST", "/{table}()", {}),
        ("POST", "/other", {}),
        ("POST", "/{table}?comp=acl", {}),
        ("POST", "/{table}", {"Content-Type": "text/plain"}),
        ("POST", "/{table}", {"x-ms-date": "Fri, 22 Aug 2014 00:50:32 GMT"}),
    ],
    ids=["verb", "path", "table", "resource", "content type", "date"],
)
async def test_the_signature_of_another_request_is_rejected(
    raw: Raw, table: Any, rejected: Any, method: str, path: str, changed: dict[str, str]
) -> None:
    headers = {**JSON, "x-ms-date": http_date()}
    other = raw.authorization(method, path.format(table=table.table_name), {**headers, **changed})
    async with rejected(ServiceError(403)):
        await raw("POST", f"/{table.table_name}", {**headers, "Authorization": other}, KEYS, signed=False)


async def test_the_signature_of_another_account_is_rejected(raw: Raw, table: Any, rejected: Any) -> None:
    headers = {**JSON, "x-ms-date": http_date()}
    path = f"/{table.table_name}"
    mine = raw.authorization("POST", path, headers)
    async with rejected(ServiceError(403)):
        await raw("POST", path, {**headers, "Authorization": mine.replace(raw.account, "other")}, KEYS, signed=False)


async def test_the_options_of_a_query_are_not_signed(raw: Raw, table: Any) -> None:
    await table.create_entity(KEYS)
    headers = {**JSON, "x-ms-date": http_date()}
    path = f"/{table.table_name}()"
    headers["Authorization"] = raw.authorization("GET", path, headers)
    assert (await raw("GET", f"{path}?$top=1&$select=RowKey", headers, signed=False)).json["value"]
