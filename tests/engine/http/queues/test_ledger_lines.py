"""The ledger's record of each request to queues."""

from __future__ import annotations

from typing import get_args

import pytest

from support.queue_requests import QueueWire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.ledger import QueueOperation

TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
HELD = "/orders/messages/{id}?popreceipt={receipt}"

# method, path, body: operation, queue, returned
LINES: list[tuple[tuple[str, str, str], tuple[QueueOperation, str | None, int, int]]] = [
    (("GET", "/?comp=list", ""), ("ListQueues", None, 1, 0)),
    (("PUT", "/bills", ""), ("CreateQueue", "bills", 0, 0)),
    (("DELETE", "/orders", ""), ("DeleteQueue", "orders", 0, 0)),
    (("GET", "/orders?comp=metadata", ""), ("GetQueueMetadata", "orders", 0, 0)),
    (("PUT", "/orders?comp=metadata", ""), ("SetQueueMetadata", "orders", 0, 0)),
    (("GET", "/orders?comp=acl", ""), ("GetQueueACL", "orders", 0, 0)),
    (("PUT", "/orders?comp=acl", ""), ("SetQueueACL", "orders", 0, 0)),
    (("POST", "/orders/messages", TEXT), ("PutMessage", "orders", 0, 1)),
    (("GET", "/orders/messages?numofmessages=32", ""), ("GetMessages", "orders", 2, 0)),
    (("GET", "/orders/messages?peekonly=true", ""), ("PeekMessages", "orders", 1, 0)),
    (("PUT", f"{HELD}&visibilitytimeout=0", ""), ("UpdateMessage", "orders", 0, 1)),
    (("DELETE", HELD, ""), ("DeleteMessage", "orders", 0, 1)),
    (("DELETE", "/orders/messages", ""), ("ClearMessages", "orders", 0, 0)),
    (("GET", "/?restype=service&comp=properties", ""), ("GetQueueServiceProperties", None, 0, 0)),
    (
        ("PUT", "/?restype=service&comp=properties", "<StorageServiceProperties> </StorageServiceProperties>"),
        ("SetQueueServiceProperties", None, 0, 0),
    ),
]


def test_every_operation_has_a_line_here() -> None:
    named = {operation for _, (operation, *_) in LINES}
    assert named | {"GetQueueServiceStats"} == set(get_args(QueueOperation))


def send(wire: QueueWire, asked: tuple[str, str, str]) -> Response:
    """Put two messages past the wire, and send a request, which may be about the first."""
    message, _ = wire.engine.queues.put("orders", "one"), wire.engine.queues.put("orders", "other")
    method, path, body = asked
    receipt = message.receipt.replace("+", "%2B")
    return wire.send(method, path.format(id=message.id, receipt=receipt), {}, body)


@pytest.mark.parametrize(("asked", "line"), LINES, ids=[line[0] for _, line in LINES])
def test_a_request_is_one_line(
    asked: tuple[str, str, str], line: tuple[str, str | None, int, int], engine: Engine, wire: QueueWire
) -> None:
    response = send(wire, asked)
    assert response.status < 300
    (record,) = engine.ledger.records
    assert (record.operation, record.table, record.returned, record.written) == line
    assert (record.service, record.status, record.error, record.billable) == ("queue", response.status, None, 1)
    assert (record.partition, record.query_class, record.moment) == (None, None, engine.clock.now())
    assert (record.bytes_in, record.bytes_out) == (len(asked[2]), len(response.body))


@pytest.mark.parametrize(("asked", "operation"), [(asked, line[0]) for asked, line in LINES])
def test_every_operation_can_be_made_to_fail(
    asked: tuple[str, str, str], operation: QueueOperation, engine: Engine, wire: QueueWire
) -> None:
    with engine.faults.busy(operation=operation) as rule:
        response = send(wire, asked)
    assert (response.status, response.headers["x-ms-error-code"], rule.hits) == (503, "ServerBusy", 1)
    (record,) = engine.ledger.records
    assert (record.operation, record.error, record.fault, record.billable) == (operation, "ServerBusy", "busy", 0)
    assert [listed.name for listed in engine.queues.page()[0]] == ["orders"]
    assert [message.dequeues for message in engine.queues.peek("orders", 32)] == [0, 0]


def test_statistics_are_a_line_too(engine: Engine, wire: QueueWire) -> None:
    wire.send("GET", "/?restype=service&comp=stats", base="https://contoso-secondary.queue.core.windows.net")
    assert engine.ledger.records[-1].operation == "GetQueueServiceStats"


@pytest.mark.parametrize(
    ("method", "path", "error", "operation"),
    [
        ("GET", "/bills/messages", "QueueNotFound", "GetMessages"),
        ("PUT", "/BILLS", "InvalidResourceName", "CreateQueue"),
        ("GET", "/orders/nowhere", "InvalidUri", "Unknown"),
        ("PATCH", "/orders", "UnsupportedHttpVerb", "Unknown"),
    ],
)
def test_an_error_is_a_line_with_its_code(
    method: str, path: str, error: str, operation: str, engine: Engine, wire: QueueWire
) -> None:
    wire.send(method, path)
    (record,) = engine.ledger.records
    assert (record.error, record.operation) == (error, operation)
