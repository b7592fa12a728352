"""Writes through the codec behave as through the SDK's own calls: results, errors, hooks, retries, credentials."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
import requests
from azure.core.credentials import AccessToken, AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest._requests_basic import RestRequestsTransportResponse
from azure.data.tables import TableClient, TableSasPermissions, generate_table_sas
from azure.data.tables.aio import TableClient as AioTableClient
from urllib3.response import HTTPResponse

import tablepatterns
from support.employees import employees_of, jones
from support.recorded_requests import CREDENTIAL, SERVICE, Recorder
from support.sdk_requests import BY_SDK
from support.spans import spans_of
from tablepatterns import Traffic
from tablepatterns.errors import EntityAlreadyExists
from tablepatterns.recipe import finish
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.operation import ANY, Operation, sdk_operation
from tablepatterns.sdk.request_sender import RequestSender, replaying
from tablepatterns.sdk.table import Table
from tablepatterns.sdk.writes import submit
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

pytestmark = pytest.mark.both_sdks

STALE = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""
Rows = Sequence[Operation]
Tables = tuple[Table, Table]


def row(key: str, **properties: Any) -> dict[str, Any]:
    return {"PartitionKey": "it's é", "RowKey": key, **properties}


def inserts(count: int, prefix: str = "") -> list[Operation]:
    return [Operation.insert(row(f"{prefix}{n:03d}", A=n, B="é'x", C=n / 3)) for n in range(count)]


def delete(key: str) -> Operation:
    return Operation.delete("it's é", key, ANY)


CASES: dict[str, Rows] = {
    "100 rows": inserts(100, "more"),
    "all kinds": [
        Operation.insert_or_replace(row("000", A=5)),
        delete("001"),
        Operation.merge(row("002", Q=1), ANY),
        Operation.insert(row("new")),
    ],
    "exists": [Operation.insert(row("new")), Operation.insert(row("000"))],
    "changed": [Operation.insert_or_merge(row("000")), Operation.replace(row("001"), STALE)],
    "missing": [Operation.replace(row("no"), ANY), delete("000")],
    "a deletion of nothing": [Operation.insert_or_merge(row("000")), delete("no")],
}
ONE: dict[str, Rows] = {
    "insert": [Operation.insert(row("new", A=1, B="é'x"))],
    "insert, exists": [Operation.insert(row("000"))],
    "replace": [Operation.replace(row("000", Q=1), ANY)],
    "replace, changed": [Operation.replace(row("000"), STALE)],
    "replace, missing": [Operation.replace(row("no"), ANY)],
    "merge": [Operation.merge(row("000", Q=1), ANY)],
    "merge, changed": [Operation.merge(row("000"), STALE)],
    "merge, missing": [Operation.merge(row("no"), STALE)],
    "insert or replace": [Operation.insert_or_replace(row("000", Q=1))],
    "insert or merge": [Operation.insert_or_merge(row("new", Q=1))],
    "delete": [delete("000")],
    "delete, changed": [Operation.delete("it's é", "000", STALE)],
    "delete, missing": [delete("no")],
}
ALL: dict[str, Rows] = CASES | ONE


@pytest.fixture
def tables(storage: Any, new_name: Callable[..., str]) -> Tables:
    """A table that uses the codec, and one that uses the SDK's own call."""
    return storage.table(new_name()), Table(storage.tables.get_table_client(new_name()), None, BY_SDK)


async def outcome(table: Table, operations: Rows) -> Any:
    """Return what a transaction gives, or all that a caller can see of its error."""
    try:
        written = await table.submit(*operations)
    except HttpResponseError as error:
        return [seen(each) for each in (error, error.__cause__) if each is not None]
    return [(dict(each), each.etag is None, each.timestamp is None) for each in written]


def seen(error: Any) -> tuple[Any, ...]:
    """Return what a caller can see of an error, without what differs from request to request."""
    response, code = getattr(error, "response", None), getattr(error, "error_code", None)
    summary = (response.status_code, response.reason, steady(response.text())) if response else None
    index, details = getattr(error, "index", None), getattr(error, "additional_info", None)
    text = steady(str(error)), steady(error.message)
    status, reason = getattr(error, "status_code", None), getattr(error, "reason", None)
    return type(error), status, reason, code, type(code), index, details, text, summary


def steady(text: str) -> str:
    return re.sub(r"(RequestId|Time):[^\n\\\"]*", "", text)


@pytest.mark.parametrize("case", ALL)
async def test_a_write_ends_as_through_the_sdks_own_call(tables: Tables, case: str) -> None:
    found = []
    for table in tables:
        await table.submit(*inserts(3))
        found.append(await outcome(table, ALL[case]))
    assert found[0] == found[1]
    ours, theirs = tables
    left = [dict(each) async for each in ours.query(None)]
    assert left == [dict(each) async for each in theirs.query(None)]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("case", ["missing", "merge", "replace", "delete"])
async def test_a_missing_table_raises_the_same_error(tables: Tables, case: str) -> None:
    ours, theirs = [await outcome(table, ALL[case]) for table in tables]
    assert ours == theirs


FAULTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("busy", "lose_response", "lose_request", "refuse_connection")},
    "time_out": {"executed": True},
}
WITH_EACH_FAULT = ("all kinds", "insert", "merge")
"""Others have two faults in every run: of a request that was not carried out, and of one that was."""


@pytest.mark.parametrize(
    ("case", "fault", "how"),
    [
        pytest.param(
            case,
            fault,
            how,
            marks=() if case in WITH_EACH_FAULT or fault in ("busy", "lose_response") else pytest.mark.nightly,
        )
        for case in ("all kinds", "exists", "overwrites", *ONE)
        for fault, how in FAULTS.items()
    ],
)
async def test_a_fault_has_the_same_effect(tables: Tables, engine: Engine, fault: str, how: Any, case: str) -> None:
    await check_fault(tables, engine, fault, how, case)


async def check_fault(tables: Tables, engine: Engine, fault: str, how: Any, case: str) -> None:
    overwrites = [Operation.insert_or_replace(row(key, A=1)) for key in "ab"]
    for times in (1, 2):
        found = []
        for table in tables:
            await table.drop()
            await table.submit(*inserts(3))
            engine.ledger.clear()
            getattr(engine.faults, fault)(table=table.name, times=times, **how)
            ended = await outcome(table, ALL.get(case, overwrites))
            found.append((ended, [(each.operation, each.status) for each in engine.ledger.records]))
            engine.faults.clear()
        assert found[0] == found[1]


@pytest.mark.parametrize("case", ONE)
async def test_an_incomplete_response_has_the_same_effect(tables: Tables, engine: Engine, case: str) -> None:
    await check_fault(tables, engine, "break_body", {"after_bytes": 3}, case)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("case", ["overwrites", *ONE])
async def test_hooks_and_logs_see_what_they_see_of_the_sdks_own_call(
    backend: Any, new_name: Callable[..., str], caplog: pytest.LogCaptureFixture, case: str
) -> None:
    overwrites = [Operation.insert_or_replace(row(key, A=1)) for key in "ab"]
    sent: list[Any] = []

    def received(call: Any) -> None:
        sent.append((call.http_response.status_code, type(call.context)))

    storage = backend.connect(
        raw_request_hook=lambda call: sent.append(noted(call.http_request.url, call.http_request.headers)),
        raw_response_hook=received,
        logging_enable=True,
        headers={"x-ms-note": "mine"},
        user_agent="mine",
    )
    name = new_name()
    found = []
    for table in (storage.table(name), Table(storage.tables.get_table_client(name), received, BY_SDK)):
        await storage.table(name).drop()
        await table.create()
        await table.submit(*inserts(1))
        sent.clear()
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="azure"):
            await outcome(table, ONE.get(case, overwrites))
        found.append((list(sent), [noted(record.getMessage(), {}) for record in caplog.records]))
    assert found[0] == found[1]
    assert found[0][0]
    assert found[0][1]


def noted(text: str, headers: Any) -> tuple[list[str], list[str]]:
    """Return a text and headers without what differs from call to call, and without their order."""
    own = r"((x-ms-client-request-id|x-ms-request-id|x-ms-date|Date|Authorization|ETag)'?: )[^\\\n]+"
    value = r'("(?:WriteId|odata.etag|Timestamp)": ?)"(\\"|[^"])+"'
    text = steady(re.sub(value, r"\1", re.sub(own, r"\1", text, flags=re.IGNORECASE)))
    text = re.sub(r"(changeset|batch\w*|response)_[0-9a-f-]{36}", r"\1", text)
    return sorted(text.splitlines()), sorted(name.lower() for name in headers)


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("case", "method"),
    [
        ("100 rows", "submit_transaction"),
        ("exists", "submit_transaction"),
        ("insert", "create_entity"),
        ("insert, exists", "create_entity"),
        ("merge", "update_entity"),
        ("merge, changed", "update_entity"),
        ("insert or merge", "upsert_entity"),
        ("delete", "delete_entity"),
        ("delete, missing", "delete_entity"),
    ],
)
async def test_a_trace_has_the_spans_of_the_sdks_own_call(tables: Tables, case: str, method: str) -> None:
    found = []
    for table in tables:
        await table.submit(*inserts(3))
        found.append(await spans_of(partial(outcome, table, ALL[case])))
    assert found[0] == found[1]
    assert found[0][1][0] == f"TableClient.{method}"


async def test_traffic_names_the_line_that_caused_a_transaction(storage: Any, table_name: str) -> None:
    employees = employees_of(storage, table_name)
    await employees.table.create()
    with Traffic(storage) as traffic:
        await employees.insert(jones())
        with pytest.raises(EntityAlreadyExists):
            await employees.insert(jones())
    made, rejected = traffic.requests
    assert (made.operation, made.status, rejected.status) == ("Transaction", 202, 409)
    assert made.site is not None
    assert rejected.site is not None
    assert made.site.file.endswith("test_writes.py")
    assert rejected.site.line == made.site.line + 2


# ------------------------------------------------------------------ credentials


def signature(engine: Engine, table: str, **permissions: bool) -> AzureSasCredential:
    key = tablepatterns.connect(engine).target.credential
    until = datetime.now(timezone.utc) + timedelta(hours=1)
    return AzureSasCredential(
        generate_table_sas(key, table, permission=TableSasPermissions(**permissions), expiry=until)
    )


async def test_a_shared_access_signature_is_sent_and_its_errors_are_the_same(
    backend: Any, engine: Engine, new_name: Callable[..., str]
) -> None:
    found = []
    for ours in (True, False):
        name = new_name()
        await backend.connect().table(name).submit(*inserts(3))
        ended = []
        for may in ({"read": True, "add": True, "update": True, "delete": True}, {"read": True}):
            storage = backend.connect(credential=signature(engine, name, **may))
            table = storage.table(name) if ours else Table(storage.tables.get_table_client(name), None, BY_SDK)
            ended += [await outcome(table, ALL[case]) for case in ("all kinds", "insert, exists", "merge", "delete")]
        found.append(ended)
    assert found[0] == found[1]


async def test_a_bearer_token_is_sent(backend: Any, engine: Engine, table_name: str) -> None:
    asked: list[tuple[str, ...]] = []

    class Credential:
        def get_token(self, *scopes: str, **_: Any) -> Any:
            asked.append(scopes)
            token = AccessToken("a.b.c", 9_000_000_000)
            return asyncio.sleep(0, token) if backend.aio else token

    kind = AioEngineTransport if backend.aio else EngineTransport
    storage = backend.connect(credential=Credential(), transport=kind(engine, trust_tokens=True))
    for count in (1, 2):
        written = await storage.table(table_name).submit(*inserts(count, f"{count}"))
        assert all(each.etag for each in written)
    assert asked


# ------------------------------------------------------------------ threads


def test_no_thread_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise AssertionError(f"{self} was started")

    employees = employees_of(tablepatterns.connect(), "Employees")
    monkeypatch.setattr(threading.Thread, "start", start)
    employees.insert(jones())
    with pytest.raises(EntityAlreadyExists):
        employees.insert(jones())
    with pytest.raises(AssertionError, match="was started"):
        employees.account.tables.get_table_client("Employees").submit_transaction([("upsert", row("1"))])


# ------------------------------------------------------------------ where the SDK's own call is used


@pytest.mark.parametrize("kind", [TableClient, AioTableClient])
async def test_the_installed_sdk_is_supported(kind: Any) -> None:
    assert await AccountSender.is_supported(kind), "the SDK has changed: its own calls are used, which are slower"


class WithoutPolicies(TableClient):
    """A table client of an SDK that ignores per-call policies."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.pop("per_call_policies", None)
        super().__init__(*args, **options)


class WithOtherRequests(TableClient):
    """A table client of an SDK that sends something else."""

    def create_entity(self, entity: Any, **options: Any) -> Any:
        return super().create_entity(entity, headers={"x-ms-new": "1"}, **options)


class WithOtherQueries(TableClient):
    """A table client of an SDK that sends something else for a query."""

    def query_entities(self, query_filter: str, **options: Any) -> Any:
        return super().query_entities(f"({query_filter})", **options)


class WithOtherRows(TableClient):
    """A table client of an SDK that returns something else."""

    def get_entity(self, *keys: str, **options: Any) -> Any:
        return {**super().get_entity(*keys, **options), "New": 1}


TWO = [Operation.delete("p", key, ANY) for key in "ab"]


@pytest.mark.parametrize("kind", [WithoutPolicies, WithOtherRequests, WithOtherQueries, WithOtherRows])
async def test_an_sdk_of_another_shape_sends_by_itself(kind: Any) -> None:
    transport = Recorder()
    assert await AccountSender(kind, SERVICE, {"credential": CREDENTIAL, "transport": transport}).get() is None
    assert transport.sent == []


@pytest.mark.parametrize(
    "service",
    ["https://a.table.cosmos.azure.com:443", "https://a.table.cosmosdb.azure.com", "http://localhost:8902/a"],
)
async def test_writes_to_cosmos_are_left_to_the_sdk(service: str) -> None:
    # The SDK sends merges to Cosmos DB, and to what it takes for its emulator, as POST with X-HTTP-Method
    transport = replaying(TableClient, SimpleResponse(None, 204, "No Content", {}, b""))
    options: Any = {"credential": CREDENTIAL, "transport": transport}
    table = Table(TableClient(service, "Employees", **options), None, AccountSender(TableClient, service, options))
    await table.submit(Operation.merge(row("1", A=1), ANY))
    (sent,) = transport.sent
    assert (sent.method, sent.headers["X-HTTP-Method"]) == ("POST", "MERGE")


@pytest.mark.parametrize("option", ["pipeline", "policies", "location_mode"])
async def test_a_client_with_policies_or_an_address_of_its_own_is_left_to_the_sdk(option: str) -> None:
    assert await AccountSender(TableClient, SERVICE, {"credential": CREDENTIAL, option: None}).get() is None


# ------------------------------------------------------------------ responses that the SDK reads

ODD = b'{"odata.error":{"code":"InvalidInput","message":{"lang":"en","value":"1:Odd."},"innererror":{}}}'
PART = b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n"
ODD_PART = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" + ODD + b"\r\n--c--\r\n--b--\r\n"
MULTIPART = "multipart/mixed; boundary=b"


class Odd(HttpTransport[Any, Any]):
    """Answers every request with the same unusual response, as the SDK's socket transport would."""

    def __init__(self, status: int, kind: str, content: bytes) -> None:
        self.odd = status, kind, content

    def send(self, request: Any, **options: Any) -> Any:
        status, kind, content = self.odd
        kind_of_response: Any = RestRequestsTransportResponse
        received = requests.Response()
        received.status_code, received.reason = status, "Odd"
        received.headers["Content-Type"] = kind
        received.raw = HTTPResponse(io.BytesIO(content), preload_content=False)
        return kind_of_response(request=request, internal_response=received)

    def sleep(self, duration: float) -> None: ...

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


@pytest.mark.parametrize(
    ("status", "kind", "content"),
    [
        (202, MULTIPART, PART + ODD_PART),
        (202, MULTIPART, PART + ODD_PART.replace(b',"innererror":{}', b"")),
        (202, MULTIPART, PART + ODD_PART.replace(b"400", b"413")),
        (202, MULTIPART, PART + ODD_PART.replace(b"json", b"xml")),
        (202, MULTIPART, PART + b"--c--\r\n--b--\r\n"),
        (202, "text/plain", b"hello"),
        (413, "application/json", ODD),
        (413, "application/xml", b""),
        (400, "application/json", ODD),
        (400, "application/json", ODD.replace(b',"innererror":{}', b"")),
        (400, "application/json", b""),
        (403, "application/xml", b"<Error><Code>AuthenticationFailed</Code><Message>No.</Message></Error>"),
        (404, "application/json", b"{}"),
        (409, "text/html", b"<html>message</html>"),
        (204, "text/plain", b""),
        (200, MULTIPART, PART),
    ],
)
def test_an_odd_response_to_a_transaction_ends_the_same(status: int, kind: str, content: bytes) -> None:
    options = {"credential": CREDENTIAL, "transport": Odd(status, kind, content), "retry_total": 0}
    calls = [sdk_operation(each, ()) for each in TWO]
    client, sender = TableClient(SERVICE, "Employees", **options), RequestSender(TableClient, SERVICE, options)
    ours = ended(lambda: finish(submit(client, sender, TWO, [(), ()])))
    theirs = ended(lambda: client.submit_transaction(calls))
    assert ours == theirs


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("application/json", ODD),
        ("application/json", b"{"),
        ("application/json", b"[]"),
        ("application/json", b""),
        ("application/xml", b"<Error><Code>AuthenticationFailed</Code><Message>No.</Message></Error>"),
        ("application/xml", b"<"),
        ("text/html", b"<html>message</html>"),
        ("multipart/mixed", b"x"),
    ],
)
def test_an_odd_response_ends_as_through_the_sdks_own_call(kind: str, content: bytes) -> None:
    transport = Odd(0, kind, content)
    options: Any = {"credential": CREDENTIAL, "transport": transport, "retry_total": 0}
    client = TableClient(SERVICE, "Employees", **options)
    tables = [Table(client, None, account) for account in (AccountSender(TableClient, SERVICE, options), BY_SDK)]
    for case in ("insert", "replace", "merge, changed", "insert or merge", "delete"):
        for status in (200, 201, 202, 204, 304, 400, 401, 403, 404, 409, 412, 413, 500, 503):
            transport.odd = status, kind, content
            ours, theirs = [ended(partial(submitted, table, ONE[case])) for table in tables]
            assert ours == theirs, (case, status)


def submitted(table: Table, operations: Rows) -> Any:
    return finish(table.submit(*operations))


def ended(call: Callable[[], Any]) -> Any:
    """Return what a caller can see of a call's error, or that there was none."""
    try:
        found: list[Any] = call()
    except HttpResponseError as error:
        return seen(error)
    except Exception as error:  # noqa: BLE001 - the SDK lets many kinds of errors through
        return type(error), str(error)
    return [each.get("etag") if isinstance(each, dict) else each for each in found]
