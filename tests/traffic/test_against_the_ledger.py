"""`Traffic` reports each request like the ledger of the in-memory engine."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import AzureError
from azure.data.tables import UpdateMode

from support.backends import awaited
from tablepatterns.traffic import Traffic
from tablepatterns.traffic.request import Request
from tablepatterns_engine.account import Engine

UNLESS_CHANGED = MatchConditions.IfNotModified


def entity(row: str, partition: str = "Sales", **properties: object) -> dict[str, object]:
    return {"PartitionKey": partition, "RowKey": row, **properties}


async def use_tables(storage: Any) -> None:
    service = awaited(storage.tables)
    table = await service.create_table("Employees")
    await table.create_entity(entity("1", Note='"PartitionKey": "none", "PartitionKey":"x"'))
    await table.create_entity({"Note": "first", "RowKey": "2", "PartitionKey": 'O\'Brien "& Söhne"'})
    found = await table.get_entity("Sales", "1")
    etag = {"etag": found.metadata["etag"], "match_condition": UNLESS_CHANGED}
    await table.update_entity(entity("1", Age=2), mode=UpdateMode.REPLACE, **etag)
    await table.update_entity(entity("1", Age=3), mode=UpdateMode.MERGE)
    await table.upsert_entity(entity("3"), mode=UpdateMode.REPLACE)
    await table.upsert_entity(entity("3", "it's"), mode=UpdateMode.MERGE)
    await table.submit_transaction([("create", entity("7")), ("create", entity("8"))])
    await table.submit_transaction([("delete", entity("7", Age=1)), ("upsert", entity("9"))])
    await table.submit_transaction([("upsert", entity("1", "it's é")), ("upsert", entity("2", "it's é"))])
    for text in ("PartitionKey eq 'Sales'", "PartitionKey eq 'Sales' and RowKey gt '1'", "Age gt 3", "not a filter"):
        with suppress(AzureError):
            _ = [each async for each in table.query_entities(text)]
    _ = [each async for each in table.list_entities(select=["Age"])]
    await table.delete_entity("Sales", "1")
    await table.upsert_entity(entity("", ""))
    await table.get_entity("", "")
    await table.submit_transaction([("upsert", entity("1", "")), ("upsert", entity("2", ""))])
    _ = [each async for each in table.query_entities("PartitionKey eq ''")]
    await table.set_table_access_policy({})
    await table.get_table_access_policy()
    await service.get_service_properties()
    await service.set_service_properties(cors=[])
    _ = [each async for each in service.list_tables()]
    _ = [each async for each in service.query_tables("TableName eq 'Employees'")]
    await table.delete_table()


async def use_queues(storage: Any) -> None:
    service = awaited(storage.queues)
    queue = await service.create_queue("work")
    sent = await queue.send_message("one")
    await queue.peek_messages()
    await queue.update_message(sent.id, sent.pop_receipt, content="two")
    _ = [each async for each in queue.receive_messages()]
    await queue.clear_messages()
    with suppress(AzureError):
        await queue.delete_message("none", "none")
    await queue.set_queue_metadata({"a": "b"})
    await queue.get_queue_properties()
    await queue.set_queue_access_policy({})
    await queue.get_queue_access_policy()
    await service.get_service_properties()
    await service.set_service_properties(cors=[])
    _ = [each async for each in service.list_queues()]
    await queue.delete_queue()


async def use_containers(storage: Any) -> None:
    service = awaited(storage.blobs)
    container = await service.create_container("files")
    await container.get_container_properties()
    await container.set_container_metadata({"a": "b"})
    await container.set_container_access_policy({})
    await container.get_container_access_policy()
    lease = await container.acquire_lease()
    await lease.renew()
    await lease.release()
    _ = [each async for each in container.list_blobs()]
    _ = [each async for each in service.list_containers()]
    await service.get_account_information()
    await service.get_service_properties()
    await service.set_service_properties(target_version="2021-12-02")
    await container.delete_container()


async def use_blobs(storage: Any) -> None:
    container = await awaited(storage.blobs).create_container("files")
    blob = container.get_blob_client("a/b c.txt")
    await blob.upload_blob(b"hello")
    await blob.get_blob_properties()
    await (await blob.download_blob()).readall()
    await blob.set_blob_metadata({"a": "b"})
    await blob.set_http_headers()
    await blob.set_blob_tags({"a": "b"})
    await blob.get_blob_tags()
    await blob.set_standard_blob_tier("Cool")
    await blob.create_snapshot()
    lease = await blob.acquire_lease()
    await lease.change("00000000-0000-0000-0000-000000000001")
    await lease.break_lease(0)
    blocks = container.get_blob_client("blocks")
    await blocks.stage_block("MQ==", b"1")
    await blocks.get_block_list("all")
    await blocks.commit_block_list(["MQ=="])
    log = container.get_blob_client("log")
    await log.create_append_blob()
    await log.append_block(b"x")
    await log.seal_append_blob()
    copy = container.get_blob_client("copy")
    await copy.start_copy_from_url(blob._subject.url if hasattr(blob, "_subject") else blob.url)
    with suppress(AzureError):
        await copy.abort_copy("none")
    await blob.delete_blob("include")


def figures(request: Request) -> tuple[object, ...]:
    label = None if request.query_class is None else request.query_class.label
    sizes = (request.bytes_in, request.bytes_out)
    return (request.service, request.operation, request.resource, request.partition, label, *sizes, request.status)


@pytest.mark.parametrize("use", [use_tables, use_queues, use_containers, use_blobs])
async def test_every_operation_is_reported_as_in_the_ledger(
    storage: Any, engine: Engine, use: Callable[[Any], Coroutine[Any, Any, None]]
) -> None:
    with Traffic(storage) as traffic, engine.ledger.span() as span:
        await use(storage)
    expected = [
        (each.service, each.operation, each.table, each.partition, each.query_class, each.bytes_in, each.bytes_out)
        for each in span.records
    ]
    assert [figures(each)[:-1] for each in traffic.requests] == expected
    assert [each.examined for each in traffic.requests] == [each.examined for each in span.records]
    assert len(expected) > 10
    assert traffic.overall.transactions == span.totals.billable
    assert traffic.overall.examined == span.totals.examined
