"""Reads behave as through the SDK's own calls: requests, results, errors, hooks, retries, spans, credentials."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pytest
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableClient
from azure.data.tables.aio import TableClient as AioTableClient
from hypothesis import given
from hypothesis import strategies as st

from filters.strategies import any_filters
from sdk.test_reads import exact
from sdk.test_write_body import keys, names
from sdk.test_writes import ODD, Odd, Tables, ended, inserts, noted, seen, signature, steady
from support.recorded_requests import CREDENTIAL, SERVICE, comparable
from support.sdk_requests import BY_SDK
from support.spans import spans_of
from tablepatterns.filters import prop
from tablepatterns.recipe import finish
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.page_token import PageQuery, Position
from tablepatterns.sdk.reads import query_page, read_entity
from tablepatterns.sdk.request_sender import RequestSender, replaying
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine

pytestmark = pytest.mark.both_sdks

ROW: Final = {"PartitionKey": "p", "RowKey": "r", "Name": "Jones"}
SERVICES: Final = st.sampled_from(
    [SERVICE, "http://127.0.0.1:10002/devstoreaccount1", "https://a.table.cosmos.azure.com:443", "http://localhost:1/a"]
)
TABLES: Final = st.from_regex(r"[A-Za-z][A-Za-z0-9]{2,62}", fullmatch=True)
SELECTS: Final = st.none() | st.lists(names | st.sampled_from(["PartitionKey", "RowKey", "Timestamp"]), max_size=4)
KINDS: Final = st.sampled_from([TableClient, AioTableClient])
texts = st.sampled_from([None, ""]) | st.text(st.characters(codec="utf-8"), max_size=20)
positions = st.none() | st.builds(Position, texts, texts)


def both(kind: Any, service: str, table: str, answer: SimpleResponse, read: Callable[[Any, Any], Any]) -> list[Any]:
    """Return the result of a read and its request, by the SDK and by the library."""
    found = []
    for is_ours in (False, True):
        transport = replaying(kind, answer)
        options: Any = {"credential": CREDENTIAL, "transport": transport}
        sender = RequestSender(kind, service, options) if is_ours else None
        result = finish(read(kind(service, table, **options), sender))
        (sent,) = transport.sent
        assert sent.headers["Authorization"].startswith("SharedKey devstoreaccount1:")
        found.append((result, comparable(sent), [name for name in sent.headers if name.startswith(("x-ms-v", "Acc"))]))
    return found


def answer(content: Any, **headers: str) -> SimpleResponse:
    return SimpleResponse(
        None, 200, "OK", {"Content-Type": "application/json", **headers}, json.dumps(content).encode()
    )


@given(KINDS, SERVICES, TABLES, keys, keys, SELECTS)
def test_the_request_for_an_entity_is_the_sdks_byte_for_byte(
    kind: Any, service: str, table: str, partition_key: str, row_key: str, select: Sequence[str] | None
) -> None:
    def read(client: Any, sender: Any) -> Any:
        return read_entity(client, sender, partition_key, row_key, select=select)

    theirs, ours = both(kind, service, table, answer(ROW), read)
    assert ours == theirs
    assert exact(ours[0]) == exact(theirs[0])


@given(KINDS, SERVICES, TABLES, st.none() | any_filters, st.integers(1, 1000), positions, SELECTS, positions)
def test_the_request_for_a_page_is_the_sdks_byte_for_byte(
    kind: Any, service: str, table: str, where: Any, size: int, start: Any, select: Any, following: Position | None
) -> None:
    query = PageQuery(where, size, start, select)
    parts = (("Partition", following.partition_key), ("Row", following.row_key)) if following else ()
    token = {f"x-ms-continuation-Next{name}Key": text for name, text in parts if text is not None}

    def read(client: Any, sender: Any) -> Any:
        return query_page(client, sender, query)

    theirs, ours = both(kind, service, table, answer({"value": [ROW, ROW]}, **token), read)
    assert ours == theirs
    assert [exact(each) for each in ours[0].entities] == [exact(each) for each in theirs[0].entities]
    is_last = following is None or not (following.partition_key or following.row_key)
    assert ours[0].next == (None if is_last else following)


@pytest.mark.parametrize("kind", [TableClient, AioTableClient])
def test_half_a_surrogate_pair_is_the_same_error(kind: Any) -> None:
    def errors(read: Callable[[Any, Any], Any]) -> list[Any]:
        options: Any = {"credential": CREDENTIAL, "transport": replaying(kind)}
        client = kind(SERVICE, "Employees", **options)
        return [
            ended(lambda each=each: finish(read(client, each)))
            for each in (RequestSender(kind, SERVICE, options), None)
        ]

    for read in (
        lambda client, sender: read_entity(client, sender, "p", "\ud800"),
        lambda client, sender: query_page(client, sender, PageQuery(None, 5, None, ["\ud800"])),
    ):
        ours, theirs = errors(read)
        assert ours == theirs
        assert ours[0] is UnicodeEncodeError


# ------------------------------------------------------------------ against a service

PARTITION: Final = prop("PartitionKey") == "it's é"
READS: dict[str, Callable[[Table], Any]] = {
    "get": lambda table: table.get("it's é", "001"),
    "get, selected": lambda table: table.get("it's é", "001", ["A"]),
    "get, missing": lambda table: table.get("it's é", "no"),
    "list": lambda table: table.read_page(PageQuery(None, 1000)),
    "page": lambda table: table.read_page(PageQuery(PARTITION, 2)),
    "page, continued": lambda table: continued(table, PageQuery(PARTITION, 2, None, ["A", "None"])),
    "page, empty": lambda table: table.read_page(PageQuery(prop("PartitionKey") == "no", 2)),
    "query": lambda table: all_of(table.query(prop("A") >= 1)),
}


async def continued(table: Table, query: PageQuery) -> Any:
    return await table.read_page(query._replace(start=(await table.read_page(query)).next))


async def all_of(found: Any) -> list[Any]:
    return [each async for each in found]


async def outcome(table: Table, case: str) -> Any:
    """Return what a read gives, or all that a caller can see of its error."""
    try:
        found = await READS[case](table)
    except HttpResponseError as error:
        return seen(error)
    except Exception as error:  # noqa: BLE001 - the SDK lets many kinds of errors through
        return type(error), str(error)
    entities = [found] if case.startswith("get") else found if case == "query" else found.entities
    shown = [each and (exact(each)[0], each.key) for each in entities]
    return shown, getattr(found, "next", None)


@pytest.fixture
def tables(storage: Any, new_name: Callable[..., str]) -> Tables:
    """The same table for which the library, and the SDK, sends the requests."""
    name = new_name()
    return storage.table(name), Table(storage.tables.get_table_client(name), None, BY_SDK)


@pytest.mark.parametrize("case", READS)
async def test_a_read_ends_as_through_the_sdks_own_call(tables: Tables, case: str) -> None:
    without_table = [await outcome(table, case) for table in tables]
    assert without_table[0] == without_table[1]
    await tables[0].submit(*inserts(3))
    ours, theirs = [await outcome(table, case) for table in tables]
    assert ours == theirs
    assert case in ("get, missing", "page, empty") or ours != without_table[0]


@pytest.mark.parametrize(
    ("fault", "how"),
    [
        ("busy", {}),
        ("lose_response", {}),
        ("lose_request", {}),
        ("refuse_connection", {}),
        ("time_out", {"executed": True}),
        ("break_body", {"after_bytes": 3}),
    ],
)
@pytest.mark.parametrize("case", ["get", "page", "list"])
async def test_a_fault_has_the_same_effect(tables: Tables, engine: Engine, fault: str, how: Any, case: str) -> None:
    await tables[0].submit(*inserts(3))
    for times in (1, 2, 100):
        found = []
        for table in tables:
            engine.ledger.clear()
            getattr(engine.faults, fault)(table=table.name, times=times, **how)
            ended = await outcome(table, case)
            found.append((ended, [(each.operation, each.status) for each in engine.ledger.records]))
            engine.faults.clear()
        assert found[0] == found[1]


@pytest.mark.parametrize("case", READS)
async def test_hooks_and_logs_see_what_they_see_of_the_sdks_own_call(
    backend: Any, new_name: Callable[..., str], caplog: pytest.LogCaptureFixture, case: str
) -> None:
    sent: list[Any] = []
    storage = backend.connect(
        raw_request_hook=lambda call: sent.append(noted(call.http_request.url, call.http_request.headers)),
        raw_response_hook=lambda call: sent.append((call.http_response.status_code, steady(call.http_response.text()))),
        logging_enable=True,
        headers={"x-ms-note": "mine"},
        user_agent="mine",
    )
    name = new_name()
    await backend.connect().table(name).submit(*inserts(3))
    found = []
    for table in (storage.table(name), Table(storage.tables.get_table_client(name), None, BY_SDK)):
        sent.clear()
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="azure"):
            await outcome(table, case)
        found.append((list(sent), [noted(record.getMessage(), {}) for record in caplog.records]))
    assert found[0] == found[1]
    assert found[0][0]
    assert found[0][1]


@pytest.mark.parametrize(
    ("case", "span"),
    [
        ("get", "TableClient.get_entity"),
        ("get, missing", "TableClient.get_entity"),
        ("list", "TableOperations.query_entities"),
        ("page", "TableOperations.query_entities"),
        ("page, denied", "TableOperations.query_entities"),
    ],
)
async def test_a_trace_has_the_spans_of_the_sdks_own_call(tables: Tables, engine: Engine, case: str, span: str) -> None:
    await tables[0].submit(*inserts(3))
    found = []
    for table in tables:
        if case == "page, denied":
            engine.faults.busy(table=table.name, times=100)
        found.append(await spans_of(partial(outcome, table, case.replace(", denied", ""))))
        engine.faults.clear()
    assert found[0] == found[1]
    assert span in [name for name, *_ in found[0]]


async def test_a_shared_access_signature_is_sent_and_its_errors_are_the_same(
    backend: Any, engine: Engine, table_name: str
) -> None:
    await backend.connect().table(table_name).submit(*inserts(3))
    for may in ({"read": True}, {"add": True}):
        storage = backend.connect(credential=signature(engine, table_name, **may))
        theirs = Table(storage.tables.get_table_client(table_name), None, BY_SDK)
        for case in READS:
            assert await outcome(storage.table(table_name), case) == await outcome(theirs, case)


# ------------------------------------------------------------------ responses that the SDK reads


STATUSES: Final = (200, 204, 304, 400, 403, 404, 500)
"""A status of each kind, of those that the services return."""
MISSING: Final = b'{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"It."}}}'


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("application/json", ODD),
        ("application/json", ODD.replace(b"InvalidInput", b"ResourceNotFound")),
        ("application/json", MISSING),
        ("application/json", MISSING.replace(b"Resource", b"Table")),
        ("application/json", MISSING.replace(b"Resource", b"Entity")),
        ("application/json", MISSING.replace(b"Resource", b"Queue")),
        ("application/json", MISSING.replace(b'"It."', b"1")),
        ("application/xml", MISSING),
        ("application/json", b"{"),
        ("application/json", b"[]"),
        ("application/json", b"{}"),
        ("application/json", b""),
        ("application/json", b'{"value":[{"PartitionKey":"p","RowKey":"r","A":[1]}]}'),
        ("application/json", b'{"value":[{"PartitionKey":"p","RowKey":"r","A@odata.type":"Edm.New","A":"1"}]}'),
        ("application/json", b'{"value":{}}'),
        ("application/xml", b"<Error><Code>AuthenticationFailed</Code><Message>No.</Message></Error>"),
        ("application/xml", b"<"),
        ("text/html", b"<html>message</html>"),
        ("multipart/mixed", b"x"),
    ],
)
def test_an_odd_response_ends_as_through_the_sdks_own_call(kind: str, content: bytes) -> None:
    transport = Odd(0, kind, content)
    options: Any = {"credential": CREDENTIAL, "transport": transport, "retry_total": 0}
    client, sender = TableClient(SERVICE, "Employees", **options), RequestSender(TableClient, SERVICE, options)
    for status in STATUSES:
        transport.odd = status, kind, content
        for read in (
            partial(read_entity, partition_key="p", row_key="r"),
            partial(query_page, query=PageQuery(None, 5)),
            partial(query_page, query=PageQuery(PARTITION, 5)),
        ):
            ours, theirs = [ended(lambda each=each: finish(read(client, each))) for each in (sender, None)]  # noqa: B023
            assert ours == theirs, (status, read)
