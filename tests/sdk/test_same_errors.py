"""The sync and the async SDK give the same error, with its status, for every odd response to every call."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import islice, product
from typing import Any

import pytest
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
    ServiceResponseError,
)
from azure.core.rest import HttpRequest

import tablepatterns
import tablepatterns.aio
from support.canned_server import CannedServer, Reply, canned_server, reply_of
from support.sdk_requests import BY_SDK
from tablepatterns.filters import prop
from tablepatterns.recipe import finish
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns.sdk.queue import Message
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine

# The SDK does not close the response to a transaction that it sends again
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

Call = Callable[[Any], Awaitable[object]]

ROW = {"PartitionKey": "p", "RowKey": "1", "A": 1}
STALE = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""
INSERTS = (Operation.insert(ROW), Operation.insert({**ROW, "RowKey": "2"}))
MESSAGE = Message("id", "x", None, None, "receipt", 1)


async def all_of(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


WRITES: dict[str, Call] = {
    "insert": lambda table: table.submit(Operation.insert(ROW)),
    "replace": lambda table: table.submit(Operation.replace(ROW, STALE)),
    "merge": lambda table: table.submit(Operation.merge(ROW, ANY)),
    "insert or replace": lambda table: table.submit(Operation.insert_or_replace(ROW)),
    "insert or merge": lambda table: table.submit(Operation.insert_or_merge(ROW)),
    "delete": lambda table: table.submit(Operation.delete("p", "1", STALE)),
    "transaction": lambda table: table.submit(*INSERTS),
    "transaction without conditions": lambda table: table.submit(
        Operation.insert_or_merge(ROW), Operation.delete("p", "2", ANY)
    ),
}
READS: dict[str, Call] = {
    "get": lambda table: table.get("p", "1"),
    "page": lambda table: table.page(None, size=5),
    "query": lambda table: table.page(prop("PartitionKey") == "p", size=5),
    "policies": lambda table: table.policies(),
}
OF_TABLES: dict[str, Call] = (
    WRITES | READS | {"create": lambda table: table.create(), "put policies": lambda table: table.put_policies({})}
)
OF_QUEUES: dict[str, Call] = {
    "create": lambda queue: queue.create(),
    "drop": lambda queue: queue.drop(),
    "send": lambda queue: queue.send("x"),
    "receive": lambda queue: queue.receive(),
    "peek": lambda queue: queue.peek(),
    "renew": lambda queue: queue.renew(MESSAGE, lease=5),
    "delete": lambda queue: queue.delete(MESSAGE),
    "length": lambda queue: queue.length(),
}
OF_CONTAINERS: dict[str, Call] = {
    "create": lambda container: container.create(),
    "drop": lambda container: container.drop(),
    "upload": lambda container: container.upload("b", b"x"),
    "upload with an ETag": lambda container: container.upload("b", b"x", etag='"0x1"'),
    "download": lambda container: container.download("b"),
    "read": lambda container: container.read("b"),
    "chunks": lambda container: all_of(container.chunks("b")),
    "append": lambda container: container.append("b", b"x", position=1),
    "create append": lambda container: container.create_append("b"),
    "describe": lambda container: container.describe("b", {}, etag='"0x1"'),
    "facts": lambda container: container.facts("b"),
    "delete": lambda container: container.delete("b"),
    "blobs": lambda container: all_of(container.blobs()),
}


def on(kind: str, name: str, call: Call) -> Call:
    return lambda account: call(getattr(account, kind)(name))


CALLS: dict[str, Call] = {
    **{f"table, {name}": on("table", "Employees", call) for name, call in OF_TABLES.items()},
    "table, drop": lambda account: account.table("Employees").drop(),
    **{f"queue, {name}": on("queue", "intents", call) for name, call in OF_QUEUES.items()},
    **{f"blobs, {name}": on("container", "photos", call) for name, call in OF_CONTAINERS.items()},
}

JSON, XML = {"Content-Type": "application/json"}, {"Content-Type": "application/xml"}
ODD = b'{"odata.error":{"code":"ConditionNotMet","message":{"value":"x"}}}'
BODIES: dict[str, Reply] = {
    "empty": Reply(0),
    "empty JSON": Reply(0, b"", JSON),
    "empty XML": Reply(0, b"", XML),
    "empty parts": Reply(0, b"", {"Content-Type": "multipart/mixed; boundary=b"}),
    "no body but a code": Reply(0, b"", {"x-ms-error-code": "ResourceNotFound"}),
    "not JSON": Reply(0, b"{x", JSON),
    "not XML": Reply(0, b"<x", XML),
    "broken off": Reply(0, b'{"odata.error"', JSON, missing=10),
    "wrong type": Reply(0, ODD, XML),
    "not text": Reply(0, b"\xff\xfe", {"Content-Type": "application/octet-stream"}),
    "HTML": Reply(0, b"<html>no</html>", {"Content-Type": "text/html"}),
    "HTML without a type": Reply(0, b"<html>no</html>"),
    "parts": Reply(0, b"--b\r\n\r\n", {"Content-Type": "multipart/mixed; boundary=b"}),
}
STATUSES = (202, 400, 401, 404, 409, 412, 503)
MORE_STATUSES = (200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 408, 409, 412, 413, 416, 429, 500, 503)
CLASSES = {
    401: ClientAuthenticationError,
    404: ResourceNotFoundError,
    409: ResourceExistsError,
    412: ResourceModifiedError,
}
WITHOUT_CODE = ("empty", "empty JSON", "empty XML", "empty parts", "not JSON", "not XML", "HTML", "HTML without a type")


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    """Collect the responses that the SDK leaves open here, where their warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def server() -> Any:
    with canned_server(lambda request: Reply(500)) as running:
        yield running


def seen(outcome: object) -> tuple[object, ...]:
    """Return what a program sees of an outcome: its result, or its error's class, status and code."""
    if not isinstance(outcome, Exception):
        return ("result", repr(outcome))
    code = getattr(outcome, "error_code", None)
    return type(outcome), getattr(outcome, "status_code", None), str(getattr(code, "value", code))


async def to_end(work: Any) -> object:
    return finish(work)


async def ended(work: Callable[[], Awaitable[object]]) -> object:
    """Return the result of some work, or its error."""
    try:
        return await work()
    except Exception as error:  # noqa: BLE001 - whatever it is, the other must give the same
        return error


Outcomes = Callable[[Reply, Call], Awaitable[tuple[Any, Any]]]


@asynccontextmanager
async def outcomes_over(server: CannedServer) -> AsyncIterator[Outcomes]:
    """Provide what a call gives over the sync and over the async SDK, if each request gets the same reply."""
    target = server.connection_string(Engine())
    with tablepatterns.connect(target, retry_total=0) as storage:
        async with tablepatterns.aio.connect(target, retry_total=0) as aio_storage:

            async def run(reply: Reply, call: Call) -> tuple[Any, Any]:
                server.respond = lambda request: reply
                sync = await ended(lambda: to_end(call(storage)))
                return sync, await ended(lambda: call(aio_storage))

            yield run


def replies(case: str) -> Iterator[tuple[str, int]]:
    """Yield a third of all bodies and statuses for a call: three calls in a row have them all."""
    pairs = product(BODIES, STATUSES)
    return islice(pairs, [*CALLS].index(case) % 3, None, 3)


@pytest.mark.parametrize("case", CALLS)
@pytest.mark.few(18)
async def test_both_sdks_give_the_same_error(server: CannedServer, case: str, request: pytest.FixtureRequest) -> None:
    is_complete = request.config.getoption("nightly")
    async with outcomes_over(server) as outcomes:
        for name, status in product(BODIES, MORE_STATUSES) if is_complete else replies(case):
            sync, aio = await outcomes(BODIES[name]._replace(status=status), CALLS[case])
            assert seen(sync) == seen(aio), (name, status)


@pytest.mark.parametrize("case", OF_TABLES)
@pytest.mark.few(7)
async def test_an_error_without_a_code_has_the_class_of_its_status(server: CannedServer, case: str) -> None:
    async with outcomes_over(server) as outcomes:
        for status, name in product(CLASSES, WITHOUT_CODE):
            for outcome in await outcomes(BODIES[name]._replace(status=status), CALLS[f"table, {case}"]):
                assert isinstance(outcome, CLASSES[status]), (status, name, outcome)
                assert outcome.status_code == status


@pytest.mark.parametrize("name", ["empty", "empty parts", "HTML", "parts"])
async def test_a_transaction_without_its_parts_is_no_success(server: CannedServer, name: str) -> None:
    async with outcomes_over(server) as outcomes:
        # The sync SDK takes a response without any part as a success of all operations
        for outcome in await outcomes(BODIES[name]._replace(status=202), CALLS["table, transaction"]):
            assert isinstance(outcome, ServiceResponseError)


@pytest.mark.parametrize("operations", [INSERTS, INSERTS[:1]], ids=["transaction", "insert"])
@pytest.mark.parametrize("body", ["empty", "empty XML", "HTML", "not JSON", "parts", "not text"])
async def test_a_write_is_recognized_if_its_repetition_is_answered_without_a_code(
    server: CannedServer, operations: tuple[Operation, ...], body: str
) -> None:
    engine = Engine()
    answer, writes = reply_of(engine), 0

    def respond(request: HttpRequest) -> Reply:
        nonlocal writes
        if request.method == "GET" or request.url.endswith("/Tables"):
            return answer(request)
        writes += 1
        # The first is executed, and its response lost; the engine knows of the others nothing
        return BODIES[body]._replace(status=409) if writes > 1 else answer(request)._replace(status=500, content=b"")

    async def write(table: Table) -> None:
        nonlocal writes
        writes = 0
        written = await table.submit(*operations)
        assert writes == 2
        assert [row.etag for row in written] == [(await table.get(*row.key)).etag for row in written]  # type: ignore[union-attr]

    server.respond = respond
    options: Any = {"retry_total": 1, "retry_backoff_factor": 0}
    engine.tables.create("Sync"), engine.tables.create("Aio")
    with tablepatterns.connect(server.connection_string(engine), **options) as storage:
        finish(write(storage.table("Sync")))
    async with tablepatterns.aio.connect(server.connection_string(engine), **options) as storage:
        await write(storage.table("Aio"))


async def test_the_sdks_own_transaction_gives_the_same_error(server: CannedServer) -> None:
    async with outcomes_over(server) as outcomes:

        async def submit(account: Any) -> object:
            return await Table(account.tables.get_table_client("Employees"), None, BY_SDK).submit(*INSERTS)

        for name in WITHOUT_CODE:
            for status in (400, *CLASSES):
                sync, aio = await outcomes(BODIES[name]._replace(status=status), submit)
                assert seen(sync) == seen(aio)
                assert isinstance(sync, CLASSES.get(status, HttpResponseError))
