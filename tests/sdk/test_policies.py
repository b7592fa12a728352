"""Requests for entities pass the policies of the SDK, whatever the options of the connection are."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import Any, Final

import pytest
from azure.core.credentials import AccessToken, AzureSasCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError
from azure.core.rest import HttpRequest
from azure.data.tables import TableClient
from azure.data.tables.aio import TableClient as AioTableClient

from support.canned_server import Reply, canned_server, reply_of
from support.recorded_requests import CREDENTIAL, SERVICE, comparable
from support.spans import spans_of
from tablepatterns import EntitySet, Key, aio, connect
from tablepatterns.recipe import finish
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.call import SimpleResponse, settled
from tablepatterns.sdk.operation import Operation
from tablepatterns.sdk.reads import prepared_entity
from tablepatterns.sdk.request_sender import SILENT, replaying
from tablepatterns.sdk.writes import prepared_single
from tablepatterns_engine.account import Engine

ROW: Final = b'{"odata.etag":"W/\\"1\\"","PartitionKey":"p","RowKey":"r","Name":"Jones"}'
JSON: Final = {"Content-Type": "application/json;odata=minimalmetadata"}
LOGGER: Final = "azure.core.pipeline.policies.http_logging_policy"
SET: Final = Key("{Department}", "{EmployeeId}")
JONES: Final = {"Department": "p", "EmployeeId": "r", "Name": "Jones"}


@pytest.fixture(params=[TableClient, AioTableClient], ids=["sync", "aio"])
def kind(request: pytest.FixtureRequest) -> Any:
    """The SDK's class of table clients."""
    return request.param


async def sender_of(kind: Any, **options: Any) -> Any:
    """Return the sender of an account whose transport answers every request with an entity."""
    transport = replaying(kind, SimpleResponse(None, 200, "OK", JSON, ROW))
    sender = await AccountSender(kind, SERVICE, {"credential": CREDENTIAL, "transport": transport, **options}).get()
    assert sender is not None
    return sender, transport.sent


@pytest.mark.parametrize("options", [{"auto_request_id": False}, {"request_id_header_name": "x-id"}], ids=str)
async def test_requests_are_named_as_the_options_say(kind: Any, options: dict[str, Any]) -> None:
    sender, sent = await sender_of(kind, **options)
    for number in range(2):
        await sender.send(prepared_entity(sender, "Employees", "p", str(number), None))
    assert [request.headers.get("x-ms-client-request-id") for request in sent] == [None] * len(sent)
    ids = {request.headers.get("x-id") for request in sent}
    assert len(ids - {None}) == (len(sent) if "request_id_header_name" in options else 0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"credential": "sv=1&sig=a%2Fb"},
        {"user_agent": "me"},
        {"user_agent": "me", "user_agent_overwrite": True},
        {"retry_total": 1, "timeout": 5, "connection_timeout": 3},
        {"api_version": "2020-12-06"},
        {"headers": {"x-mine": "1"}},
        {"request_id": "mine"},
        {"retry_to_secondary": True},
        {"logging_enable": True},
    ],
    ids=str,
)
async def test_requests_are_those_of_the_sdk(
    kind: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_HTTP_USER_AGENT", "environment")
    options = {"credential": CREDENTIAL, **options}
    if isinstance(options["credential"], str):
        options["credential"] = AzureSasCredential(options["credential"])
    sender, sent = await sender_of(kind, **options)
    client = kind(SERVICE, "Employees", transport=sender._transport, **options)
    insert = Operation.insert({"PartitionKey": "p", "RowKey": "r"})
    for prepared in (
        prepared_entity(sender, "Employees", "it's", "r", None),
        prepared_single(sender, "Employees", [insert], [()]),
    ):
        for call in (partial(sender.send, prepared), partial(prepared.by_sdk, client)):
            with suppress(HttpResponseError):
                # The response is not one to an insert
                await settled(call())
    assert [comparable(request) for request in sent[::2]] == [comparable(request) for request in sent[1::2]]
    assert all("Authorization" in request.headers or "sig=a%2Fb" in request.url for request in sent)
    assert len({request.headers["x-ms-client-request-id"] for request in sent}) == (1 if "request_id" in options else 4)


async def test_a_signature_that_is_replaced_signs_the_next_request(kind: Any) -> None:
    credential = AzureSasCredential("sv=1&sig=old")
    sender, sent = await sender_of(kind, credential=credential)
    await sender.send(prepared_entity(sender, "Employees", "p", "r", None))
    credential.update("sv=1&sig=new")
    await sender.send(prepared_entity(sender, "Employees", "p", "r", None))
    assert [request.url[-3:] for request in sent] == ["old", "new"]


async def test_a_request_is_logged_once_logging_is_on(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    sender, sent = await sender_of(kind)
    for level, count in ((logging.WARNING, 0), (logging.INFO, 2), (logging.WARNING, 2)):
        caplog.set_level(level, LOGGER)
        await sender.send(prepared_entity(sender, "Employees", "p", "r", None))
        assert len([record for record in caplog.records if record.name == LOGGER]) == count
    assert len(sent) == 3


async def test_a_request_has_its_spans_once_tracing_is_on(kind: Any) -> None:
    sender, _ = await sender_of(kind)
    await sender.send(prepared_entity(sender, "Employees", "p", "r", None))
    spans = await spans_of(lambda: sender.send(prepared_entity(sender, "Employees", "p", "r", None)))
    assert [name for name, *_ in spans] == ["GET", "TableClient.get_entity"]


async def test_hooks_see_each_attempt_once(kind: Any) -> None:
    seen: list[str] = []
    options = {
        "raw_request_hook": lambda request: seen.append(request.http_request.headers["Authorization"][:9]),
        "raw_response_hook": lambda response: seen.append(str(response.http_response.status_code)),
    }
    sender, _ = await sender_of(kind, **options)
    assert seen == []
    await sender.send(prepared_entity(sender, "Employees", "p", "r", None))
    assert seen == ["SharedKey", "200"]


class Tokens:
    """A credential with tokens."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def get_token(self, *scopes: str, **options: Any) -> Any:
        self.asked.append((scopes, options.get("tenant_id")))
        return AccessToken(f"token{len(self.asked)}", 4_000_000_000)


class AioTokens(Tokens):
    """The same for async clients."""

    async def get_token(self, *scopes: str, **options: Any) -> Any:
        return super().get_token(*scopes, **options)


async def test_a_token_is_kept_and_a_challenge_is_answered_as_by_the_sdk(kind: Any) -> None:
    ends: list[Any] = []
    for more in ({}, SILENT):
        tokens = (AioTokens if kind is AioTableClient else Tokens)()
        sender, sent = await sender_of(kind, credential=tokens)
        assert tokens.asked == []
        transport: Any = sender._transport
        replay = getattr(transport, "_replay", transport)
        challenge = (
            "Bearer authorization_uri=https://login.example/tenant1/oauth2/authorize resource_id=https://storage"
        )
        good = replay._response
        replay._response = SimpleResponse(None, 401, "No", {"WWW-Authenticate": challenge}, b"")
        with pytest.raises(HttpResponseError):
            await sender.send(prepared_entity(sender, "Employees", "p", "r", None), **more)
        replay._response = good
        for _ in range(2):
            await sender.send(prepared_entity(sender, "Employees", "p", "r", None), **more)
        ends.append((tokens.asked, [request.headers["Authorization"] for request in sent]))
    assert ends[0] == ends[1]


async def test_a_redirect_is_followed_as_by_the_sdk(kind: Any) -> None:
    ends: list[Any] = []
    for more in ({}, {"logging_enable": True}):
        targets: list[str] = []

        def respond(request: HttpRequest, targets: list[str] = targets) -> Reply:
            targets.append(request.url.rpartition("/")[2])
            if "elsewhere" in request.url:
                return Reply(200, ROW, JSON)
            return Reply(307, headers={"Location": f"{request.url.rpartition('/')[0]}/elsewhere"})

        with canned_server(respond) as server:
            connected: Any = aio.connect if kind is AioTableClient else connect
            storage = connected(server.connection_string(Engine()), **more)
            entity = await storage.table("Employees").get("p", "r")
            await settled(storage.close())
        ends.append((entity["Name"], list(dict.fromkeys(targets))))
    assert ends[0] == ends[1] == ("Jones", ["Employees(PartitionKey='p',RowKey='r')", "elsewhere"])


async def test_reads_are_retried_at_the_secondary_host(kind: Any) -> None:
    engine = Engine()
    with (
        canned_server(lambda request: Reply(200, ROW, JSON)) as second,
        canned_server(lambda request: Reply(503)) as first,
    ):
        host = second.connection_string(engine).partition("TableEndpoint=http://")[2].partition("/")[0]
        connected: Any = aio.connect if kind is AioTableClient else connect
        options = {"retry_to_secondary": True, "secondary_hostname": host}
        storage = connected(first.connection_string(engine), **options)
        assert (await storage.table("Employees").get("p", "r"))["Name"] == "Jones"
        await settled(storage.close())


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
async def test_a_write_whose_response_was_lost_is_recognized(is_aio: bool) -> None:
    engine = Engine()
    connect(engine).tables.create_table("Employees")
    requests: list[str] = []

    def respond(request: HttpRequest) -> Reply:
        requests.append(request.method)
        reply = reply_of(engine)(request)
        # The first two writes are executed, and their responses break off
        return Reply(201, b"half", JSON, missing=9) if len(requests) in (1, 4) else reply

    with canned_server(respond) as server:
        storage: Any = (aio.connect if is_aio else connect)(server.connection_string(engine))
        employees = EntitySet(storage, "Employees", SET)
        jones = await settled(employees.insert(JONES))
        changed = await settled(employees.merge(jones, {"Name": "Smith"}))
        await settled(employees.replace({**changed, "Name": "Brown"}, etag=changed.etag))
        await settled(storage.close())
    assert EntitySet(connect(engine), "Employees", SET).get(Department="p", EmployeeId="r")["Name"] == "Brown"
    assert requests[:3] == ["POST", "POST", "GET"]


def test_a_conflict_without_a_body_has_its_class_and_is_sent_once() -> None:
    requests: list[str] = []

    def respond(request: HttpRequest) -> Reply:
        requests.append(request.method)
        return Reply(409)

    insert = Operation.insert({"PartitionKey": "p", "RowKey": "r"})
    with (
        canned_server(respond) as server,
        connect(server.connection_string(Engine())) as storage,
        pytest.raises(ResourceExistsError),
    ):
        finish(storage.table("Employees").submit(insert))
    assert requests == ["POST"]
