"""Reads and writes through the codec end as the SDK's own calls: results, errors, hooks, logs, spans, credentials."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, Final

import pytest
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import AzureError, HttpResponseError
from azure.data.tables import TableSasPermissions, generate_table_sas

import tablepatterns
from sdk.test_reads import exact
from support.sdk_outcomes import noted, seen, steady
from support.sdk_requests import BY_SDK
from support.spans import spans_of
from tablepatterns.filters import prop
from tablepatterns.sdk.operation import ANY, Operation
from tablepatterns.sdk.page_token import PageQuery
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine

pytestmark = pytest.mark.both_sdks

STALE: Final = "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\""
PARTITION: Final = prop("PartitionKey") == "it's é"
Call = Callable[[Table], Any]


def row(key: str, **properties: Any) -> dict[str, Any]:
    return {"PartitionKey": "it's é", "RowKey": key, **properties}


def inserts(count: int, prefix: str = "") -> list[Operation]:
    return [Operation.insert(row(f"{prefix}{n:03d}", A=n, B="é'x", C=n / 3)) for n in range(count)]


def delete(key: str, etag: str = ANY) -> Operation:
    return Operation.delete("it's é", key, etag)


def submitted(*operations: Operation) -> Call:
    return lambda table: table.submit(*operations)


TRANSACTIONS: dict[str, Call] = {
    "100 rows": submitted(*inserts(100, "more")),
    "all kinds": submitted(
        Operation.insert_or_replace(row("000", A=5)),
        delete("001"),
        Operation.merge(row("002", Q=1), ANY),
        Operation.insert(row("new")),
    ),
    "exists": submitted(Operation.insert(row("new")), Operation.insert(row("000"))),
    "changed": submitted(Operation.insert_or_merge(row("000")), Operation.replace(row("001"), STALE)),
    "missing": submitted(Operation.replace(row("no"), ANY), delete("000")),
    "a deletion of nothing": submitted(Operation.insert_or_merge(row("000")), delete("no")),
    "overwrites": submitted(*(Operation.insert_or_replace(row(key, A=1)) for key in "ab")),
}
SINGLE_WRITES: dict[str, Call] = {
    "insert": submitted(Operation.insert(row("new", A=1, B="é'x"))),
    "insert, exists": submitted(Operation.insert(row("000"))),
    "replace": submitted(Operation.replace(row("000", Q=1), ANY)),
    "replace, changed": submitted(Operation.replace(row("000"), STALE)),
    "replace, missing": submitted(Operation.replace(row("no"), ANY)),
    "merge": submitted(Operation.merge(row("000", Q=1), ANY)),
    "merge, changed": submitted(Operation.merge(row("000"), STALE)),
    "merge, missing": submitted(Operation.merge(row("no"), STALE)),
    "insert or replace": submitted(Operation.insert_or_replace(row("000", Q=1))),
    "insert or merge": submitted(Operation.insert_or_merge(row("new", Q=1))),
    "delete": submitted(delete("000")),
    "delete, changed": submitted(delete("000", STALE)),
    "delete, missing": submitted(delete("no")),
}
READS: dict[str, Call] = {
    "get": lambda table: table.get("it's é", "001"),
    "get, selected": lambda table: table.get("it's é", "001", ["A"]),
    "get, missing": lambda table: table.get("it's é", "no"),
    "list": lambda table: table.read_page(PageQuery(None, 1000)),
    "page": lambda table: table.read_page(PageQuery(PARTITION, 2)),
    "page, continued": lambda table: continued(table, PageQuery(PARTITION, 2, None, ["A", "None"])),
    "page, empty": lambda table: table.read_page(PageQuery(prop("PartitionKey") == "no", 2)),
    "query": lambda table: all_of(table.query(prop("A") >= 1)),
}
WRITES: dict[str, Call] = TRANSACTIONS | SINGLE_WRITES
CALLS: dict[str, Call] = WRITES | READS


async def continued(table: Table, query: PageQuery) -> Any:
    return await table.read_page(query._replace(start=(await table.read_page(query)).next))


async def all_of(found: Any) -> list[Any]:
    return [each async for each in found]


async def outcome(table: Table, case: str) -> Any:
    """Return what a call gives, or all that a caller can see of its error."""
    try:
        found = await CALLS[case](table)
    except HttpResponseError as error:
        return [seen(each) for each in (error, error.__cause__) if isinstance(each, AzureError)]
    except Exception as error:  # noqa: BLE001 - the SDK lets many kinds of errors through
        return type(error), str(error)
    if case in WRITES:
        return [(dict(each), each.etag is None, each.timestamp is None) for each in found]
    entities = getattr(found, "entities", found if case == "query" else [found])
    return [each and (exact(each)[0], each.key) for each in entities], getattr(found, "next", None)


async def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(each) async for each in table.query(None)]


@pytest.fixture
def tables(storage: Any, new_name: Callable[..., str], case: str) -> tuple[Table, Table]:
    """A table that uses the codec, and one that uses the SDK's own calls; of a read, they are the same."""
    name = new_name()
    other = name if case in READS else new_name()
    return storage.table(name), Table(storage.tables.get_table_client(other), None, BY_SDK)


async def fill(*tables: Table) -> None:
    """Have three rows in each table."""
    for table in tables:
        await table.drop()
    for table in {table.name: table for table in tables}.values():
        await table.submit(*inserts(3))


@pytest.mark.parametrize("case", [case for case in CALLS if case != "overwrites"])
@pytest.mark.few(40)
async def test_a_call_ends_as_the_sdks_own(tables: tuple[Table, Table], case: str) -> None:
    await fill(*tables)
    ours, theirs = [await outcome(table, case) for table in tables]
    assert ours == theirs
    assert await rows_of(tables[0]) == await rows_of(tables[1])


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("case", ["missing", "merge", "replace", "delete", *READS])
async def test_a_missing_table_has_the_same_effect(tables: tuple[Table, Table], case: str) -> None:
    ours, theirs = [await outcome(table, case) for table in tables]
    assert ours == theirs
    await fill(*tables)
    assert case in ("get, missing", "page, empty") or await outcome(tables[0], case) != ours


FAULTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("busy", "lose_response", "lose_request", "refuse_connection")},
    "time_out": {"executed": True},
    "break_body": {"after_bytes": 3},
}
WITH_EACH_FAULT: Final = ("all kinds", "insert", "merge", "get", "page", "list")
"""Others have three faults in every run: of a request that was not carried out, and two of one that was."""


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        pytest.param(
            case,
            fault,
            marks=()
            if case in WITH_EACH_FAULT or fault in ("busy", "lose_response", "break_body")
            else pytest.mark.nightly,
        )
        for case in ("all kinds", "exists", "overwrites", *SINGLE_WRITES, "get", "page", "list")
        for fault in FAULTS
        if fault != "break_body" or case not in TRANSACTIONS
    ],
)
@pytest.mark.few(72)
async def test_a_fault_has_the_same_effect(tables: tuple[Table, Table], engine: Engine, fault: str, case: str) -> None:
    for times in (1, 2, 100) if case in READS else (1, 2):
        found = []
        await fill(*tables)
        for table in tables:
            engine.ledger.clear()
            getattr(engine.faults, fault)(table=table.name, times=times, **FAULTS[fault])
            ended = await outcome(table, case)
            found.append((ended, [(each.operation, each.status) for each in engine.ledger.records]))
            engine.faults.clear()
        assert found[0] == found[1]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("case", ["overwrites", *SINGLE_WRITES, *READS])
async def test_hooks_and_logs_see_what_they_see_of_the_sdks_own_call(
    backend: Any, new_name: Callable[..., str], caplog: pytest.LogCaptureFixture, case: str
) -> None:
    sent: list[Any] = []

    def received(call: Any) -> None:
        text = steady(call.http_response.text()) if case in READS else ""
        sent.append((call.http_response.status_code, type(call.context), text))

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
        if case in WRITES or not found:
            await fill(backend.connect().table(name))
        sent.clear()
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="azure"):
            await outcome(table, case)
        found.append((list(sent), [noted(record.getMessage(), {}) for record in caplog.records]))
    assert found[0] == found[1]
    assert found[0][0]
    assert found[0][1]


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("case", "span"),
    [
        ("100 rows", "TableClient.submit_transaction"),
        ("exists", "TableClient.submit_transaction"),
        ("insert", "TableClient.create_entity"),
        ("insert, exists", "TableClient.create_entity"),
        ("merge", "TableClient.update_entity"),
        ("merge, changed", "TableClient.update_entity"),
        ("insert or merge", "TableClient.upsert_entity"),
        ("delete", "TableClient.delete_entity"),
        ("delete, missing", "TableClient.delete_entity"),
        ("get", "TableClient.get_entity"),
        ("get, missing", "TableClient.get_entity"),
        ("list", "TableOperations.query_entities"),
        ("page", "TableOperations.query_entities"),
    ],
)
async def test_a_trace_has_the_spans_of_the_sdks_own_call(tables: tuple[Table, Table], case: str, span: str) -> None:
    await fill(*tables)
    ours, theirs = [await spans_of(partial(outcome, table, case)) for table in tables]
    assert ours == theirs
    assert span in [name for name, *_ in ours]


@pytest.mark.parametrize("case", ["page"])
async def test_a_trace_of_a_failed_page_has_the_same_spans(tables: tuple[Table, Table], engine: Engine) -> None:
    await fill(*tables)
    engine.faults.busy(table=tables[0].name, times=1000)
    ours, theirs = [await spans_of(partial(outcome, table, "page")) for table in tables]
    assert ours == theirs
    assert "TableOperations.query_entities" in [name for name, *_ in ours]


@pytest.mark.parametrize("case", ["all kinds", "insert, exists", "merge", "delete", "get", "page"])
async def test_a_shared_access_signature_is_sent_and_its_errors_are_the_same(
    backend: Any, engine: Engine, tables: tuple[Table, Table], case: str
) -> None:
    for permissions in (("read", "add", "update", "delete"), ("read",), ("add",)):
        await fill(*tables)
        ended = []
        for table in tables:
            storage = backend.connect(credential=signature(engine, table.name, *permissions))
            by_sdk = Table(storage.tables.get_table_client(table.name), None, BY_SDK)
            ended.append(await outcome(storage.table(table.name) if table is tables[0] else by_sdk, case))
        assert ended[0] == ended[1]


def signature(engine: Engine, table: str, *permissions: str) -> AzureSasCredential:
    key = tablepatterns.connect(engine).target.credential
    until = datetime.now(timezone.utc) + timedelta(hours=1)
    return AzureSasCredential(
        generate_table_sas(key, table, permission=TableSasPermissions(**dict.fromkeys(permissions, True)), expiry=until)
    )
