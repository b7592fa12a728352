"""Where requests are sent without the SDK's own calls, and where they are left to the SDK."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.data.tables import TableClient
from azure.data.tables.aio import TableClient as AioTableClient

import tablepatterns
from support.employees import employees_of, jones
from support.recorded_requests import CREDENTIAL, SERVICE, Recorder
from tablepatterns import Traffic
from tablepatterns.errors import EntityAlreadyExists
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns.sdk.request_sender import replaying
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

pytestmark = pytest.mark.both_sdks


def row(key: str, **properties: Any) -> dict[str, Any]:
    return {"PartitionKey": "it's é", "RowKey": key, **properties}


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
        written = await storage.table(table_name).submit(
            *(Operation.insert(row(f"{count}{number}")) for number in range(count))
        )
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
