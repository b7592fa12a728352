"""The SDK for Python gets the same answers over HTTP as from the engine's transport, and the ledger the same lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from tablepatterns import Storage, connect
from tablepatterns.limits import MIB
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.serving import serving

DON = {
    "PartitionKey": "Sales",
    "RowKey": "it's 50%",
    "Name": "Jörg 🚲",
    "Age": 34,
    "Active": True,
    "Photo": b"\x00\xff",
}


def work_on_tables(storage: Storage) -> Iterator[Callable[[], Any]]:
    employees = storage.tables.get_table_client("Employees")
    batch = [("create", {"PartitionKey": "Batch", "RowKey": f"{number:04}", "Number": number}) for number in range(100)]
    yield employees.create_table
    yield employees.create_table
    yield lambda: employees.create_entity(DON)
    yield lambda: employees.create_entity(DON)
    yield lambda: employees.get_entity("Sales", "it's 50%")
    yield lambda: employees.get_entity("Sales", "nobody")
    yield lambda: employees.upsert_entity(DON | {"Age": 35, "Hired": datetime(2014, 8, 22, tzinfo=timezone.utc)})
    yield lambda: employees.create_entity(DON | {"RowKey": "a/b"})
    yield lambda: employees.submit_transaction(batch)
    yield lambda: employees.submit_transaction([("delete", batch[0][1]), ("create", batch[1][1])])
    yield lambda: list(employees.query_entities("Number ge 97", select="Number"))
    yield lambda: list(employees.list_entities(results_per_page=40))
    yield lambda: list(employees.query_entities("Number ge"))
    yield lambda: employees.delete_entity(DON)
    yield lambda: list(storage.tables.list_tables())
    yield storage.tables.get_service_properties
    yield employees.get_table_access_policy


def work_on_queues(storage: Storage) -> Iterator[Callable[[], Any]]:
    orders = storage.queues.get_queue_client("orders")
    yield lambda: orders.create_queue(metadata={"TeamName": "Sales"})
    yield orders.get_queue_properties
    yield lambda: orders.send_message("<first> & 'Jörg' 🚲")
    yield lambda: orders.send_message("second", visibility_timeout=60)
    yield lambda: orders.peek_messages(32)
    yield lambda: list(orders.receive_messages())
    yield lambda: list(storage.queues.list_queues(include_metadata=True))
    yield orders.clear_messages
    yield orders.delete_queue
    yield orders.get_queue_properties


def work_on_blobs(storage: Storage) -> Iterator[Callable[[], Any]]:
    photos = storage.blobs.get_container_client("photos")
    yield photos.create_container
    yield lambda: photos.upload_blob("don's photo", b"Don", metadata={"TeamName": "Sales"})
    yield lambda: photos.upload_blob("don's photo", b"Don")
    yield lambda: photos.upload_blob("large", b"a" * (MIB + 1), validate_content=True)
    yield lambda: photos.download_blob("large", offset=MIB - 1).readall()
    yield lambda: photos.download_blob("large", offset=MIB + 1).readall()
    yield lambda: photos.download_blob("nobody").readall()
    yield lambda: photos.get_blob_client("don's photo").get_blob_properties().metadata
    yield lambda: [blob.name for blob in photos.list_blobs()]
    yield lambda: photos.delete_blob("large")
    yield photos.delete_container


@contextmanager
def over_transport(engine: Engine, answers: list[Any]) -> Iterator[Storage]:
    with connect(engine, raw_response_hook=lambda response: answers.append(plain(response.http_response))) as storage:
        yield storage


@contextmanager
def over_http(engine: Engine, answers: list[Any]) -> Iterator[Storage]:
    with (
        serving(engine) as connection_string,
        connect(
            connection_string,
            retry_total=0,
            raw_response_hook=lambda response: answers.append(plain(response.http_response)),
        ) as storage,
    ):
        yield storage


@pytest.mark.parametrize("work", [work_on_tables, work_on_queues, work_on_blobs])
def test_status_headers_and_body_are_the_same(work: Callable[[Storage], Iterator[Callable[[], Any]]]) -> None:
    seen = []
    for way in (over_transport, over_http):
        engine = Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc)))
        answers: list[Any] = []
        with way(engine, answers) as storage:
            results = [outcome(step) for step in work(storage)]
        lines = [(line.operation, line.status, line.examined, line.bytes_out) for line in engine.ledger.records]
        seen.append((answers, results, len(lines)))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) == seen[0][2] >= 10


def outcome(step: Callable[[], Any]) -> str:
    """Return what a call of the SDK comes to, in words."""
    try:
        return without_chance(repr(step()))
    except HttpResponseError as error:
        return f"{type(error).__name__} {error.status_code} {error.reason}"


def plain(response: Any) -> tuple[int, dict[str, str], str]:
    """Return an answer without what is another one each time."""
    headers = {name.lower(): without_chance(value) for name, value in response.headers.items()}
    headers.pop("content-length", None)
    return response.status_code, headers, without_chance(response.body().decode())


def without_chance(text: str) -> str:
    text = re.sub(r"https?://[^/\"' ]+(?:/devstoreaccount1)?", "ENDPOINT", text)
    return re.sub(r"0x[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
