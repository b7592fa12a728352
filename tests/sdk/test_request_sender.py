"""Requests go straight to the SDK's policies: no method of a client is called, and none of another operation shows."""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from azure.core.pipeline import PipelineContext, PipelineRequest
from azure.core.rest import HttpRequest
from azure.data.tables import TableClient
from azure.data.tables.aio import TableClient as AioTableClient

import tablepatterns
import tablepatterns.aio
from support.canned_server import Reply, canned_server
from support.recorded_requests import CREDENTIAL, SERVICE
from support.spans import spans_of
from tablepatterns.filters import prop
from tablepatterns.recipe import finish
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.call import SimpleResponse, settled
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns.sdk.request_sender import EntryPolicy, RequestSender, replaying
from tablepatterns.sdk.table import Table
from tablepatterns.sdk.writes import prepared_single
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport

ROW = {"PartitionKey": "p", "RowKey": "1", "A": 1}
STALE = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""
METHODS = {name for name, _ in inspect.getmembers(TableClient, inspect.isfunction) if not name.startswith("_")}
"""The names of the operations of a table."""
CALLS: dict[str, tuple[str, Callable[[Table], Awaitable[Any]]]] = {
    "insert": ("create_entity", lambda table: table.submit(Operation.insert(ROW))),
    "replace": ("update_entity", lambda table: table.submit(Operation.replace(ROW, STALE))),
    "merge": ("update_entity", lambda table: table.submit(Operation.merge(ROW, ANY))),
    "insert or replace": ("upsert_entity", lambda table: table.submit(Operation.insert_or_replace(ROW))),
    "insert or merge": ("upsert_entity", lambda table: table.submit(Operation.insert_or_merge(ROW))),
    "delete": ("delete_entity", lambda table: table.submit(Operation.delete("p", "1", STALE))),
    "transaction": (
        "submit_transaction",
        lambda table: table.submit(Operation.insert(ROW), Operation.delete("p", "2", STALE)),
    ),
    "get": ("get_entity", lambda table: table.get("p", "1")),
    "list": ("list_entities", lambda table: table.page(None, size=10)),
    "query": ("query_entities", lambda table: table.page(prop("PartitionKey") == "p", size=10)),
}
INNER = {"upsert_entity": "update_entity", "list_entities": "query_entities"}
"""The names of the SDK's inner functions for an operation, if they differ."""
REPLIES = (
    Reply(400),
    Reply(403, b'{"odata.error":{"code":"InvalidInput","message":{"lang":"en","value":"No."}}}'),
    Reply(404, b"<html>no</html>", {"Content-Type": "text/html"}),
    Reply(409, b"{", {"Content-Type": "application/json"}),
    Reply(503),
)


def frames(error: BaseException | None) -> Iterator[str]:
    """Yield the functions of an error's traceback, and of those of its causes."""
    while error is not None:
        yield from (frame.name for frame in traceback.extract_tb(error.__traceback__))
        error = error.__cause__ or error.__context__


async def ended(work: Any, *, is_aio: bool) -> None:
    """Run a call to its end."""
    await work if is_aio else finish(work)


@pytest.mark.parametrize("is_aio", [False, True], ids=["sync", "aio"])
@pytest.mark.parametrize("case", CALLS)
async def test_a_failing_call_shows_no_other_operation(
    case: str, is_aio: bool, caplog: pytest.LogCaptureFixture
) -> None:
    method, call = CALLS[case]
    errors: list[Exception] = []
    caplog.set_level(logging.DEBUG)

    async def run() -> None:
        with canned_server(lambda request: Reply(500)) as server:
            kind: Any = tablepatterns.aio if is_aio else tablepatterns
            storage = kind.connect(server.connection_string(Engine()), retry_total=0, logging_enable=True)
            for reply in REPLIES:
                server.respond = lambda request, reply=reply: reply
                with pytest.raises(Exception) as raised:  # noqa: PT011 - any error of the call
                    await ended(call(storage.table("Employees")), is_aio=is_aio)
                errors.append(raised.value)
            await settled(storage.close())

    spans = await spans_of(run)
    named = [name.removeprefix("TableClient.") for name, *_ in spans]
    assert METHODS & set(named) == {method}
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert {name for name in METHODS if name in logged} == set()
    for error in errors:
        assert METHODS & set(frames(error)) <= {method, INNER.get(method)}


class Broken:
    """Does nothing that a method of a client should do."""

    def __getattribute__(self, name: str) -> Any:
        if name in METHODS:
            raise AssertionError(f"{name} was called")
        return super().__getattribute__(name)


class BrokenClient(Broken, TableClient):
    """A sync client whose operations fail."""


class BrokenAioClient(Broken, AioTableClient):
    """An async client whose operations fail."""


@pytest.mark.parametrize("kind", [BrokenClient, BrokenAioClient])
async def test_no_method_of_a_client_is_called(kind: Any) -> None:
    transport = replaying(kind, SimpleResponse(None, 400, "Bad Request", {}, b""))
    sender = RequestSender(kind, SERVICE, {"credential": CREDENTIAL, "transport": transport, "retry_total": 0})
    with pytest.raises(AssertionError, match="create_entity was called"):
        # Only for a response that is not understood, and only the method of this operation
        await sender.send(prepared_single(sender, "Employees", [Operation.insert(ROW)], [()]))
    (sent,) = transport.sent
    assert (sent.method, sent.url) == ("POST", f"{SERVICE}/Employees")


class Unlinked(TableClient):
    """A client of an SDK that does not tell a policy which one is the next."""

    def __init__(self, *args: Any, per_call_policies: Any = (), **options: Any) -> None:
        super().__init__(*args, **options)


async def test_if_the_policies_are_not_linked_nothing_but_the_call_itself_is_sent() -> None:
    engine = Engine()
    storage = tablepatterns.connect(engine)
    for name in ("Employees", "Unused", "Requests"):
        storage.tables.create_table(name)
    options: Any = {"credential": storage.target.credential, "transport": EngineTransport(engine)}
    service = storage.target.urls["table"]
    sender = AccountSender(Unlinked, service, options)
    assert await sender.get() is None
    engine.ledger.clear()
    table = Table(TableClient(service, "Employees", **options), None, sender)
    (written,) = finish(table.submit(Operation.insert(ROW)))
    assert finish(table.get("p", "1")).etag == written.etag  # type: ignore[union-attr]
    assert [record.operation for record in engine.ledger.records] == ["InsertEntity", "QueryEntity"]
    assert {each.name for each in storage.tables.list_tables()} == {"Employees", "Unused", "Requests"}


def test_the_policy_lets_no_request_of_the_client_pass() -> None:
    request: PipelineRequest[Any] = PipelineRequest(HttpRequest("DELETE", SERVICE), PipelineContext(None))
    with pytest.raises(NotImplementedError, match="DELETE"):
        EntryPolicy().send(request)
