"""The URLs and methods of the Queue service, in host style and in path style."""

from __future__ import annotations

import pytest

from support.queue_requests import QueueWire, Said
from tablepatterns_engine.account import Engine

BASES = [
    "https://contoso.queue.core.windows.net",
    "http://contoso.queue.localhost:10001",
    "http://127.0.0.1:10001/contoso",
]
SECONDARY = ["https://contoso-secondary.queue.core.windows.net", "http://127.0.0.1:10001/contoso-secondary"]
TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
INVALID_URI = Said(400, "InvalidUri", "The requested URI does not represent any resource on the server.", {})
READ_ONLY = Said(403, "InsufficientAccountPermissions", "Write operations are not allowed.", {})


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("path", ["/?comp=list", "/orders?comp=metadata", "/orders/?comp=acl", "/orders/messages"])
def test_every_style_of_url_reaches_the_account(base: str, path: str, wire: QueueWire) -> None:
    assert wire.send("GET", path, base=base).status == 200


@pytest.mark.parametrize("path", ["/orders/things", "/orders/messages/a/b", "/%ff/messages"])
def test_what_names_nothing_is_rejected(path: str, wire: QueueWire) -> None:
    assert wire.error("GET", path) == INVALID_URI


@pytest.mark.parametrize(
    "path", ["/", "/?comp=metadata", "/?restype=service", "/orders?comp=list", "/orders/messages?comp=x"]
)
def test_options_that_choose_no_operation_are_rejected(path: str, wire: QueueWire) -> None:
    said = wire.error("GET", path)
    assert (said[0], said[1], said[3]["QueryParameterName"]) == (400, "InvalidQueryParameterValue", "comp")


def test_another_account_is_rejected(wire: QueueWire) -> None:
    assert wire.error("GET", "/?comp=list", base="https://other.queue.core.windows.net") == INVALID_URI


def test_a_part_that_queues_do_not_have_is_rejected(wire: QueueWire) -> None:
    said = wire.error("GET", "/orders?comp=lease")
    assert (said.code, said.details) == (
        "InvalidQueryParameterValue",
        {"QueryParameterName": "comp", "QueryParameterValue": "lease", "Reason": None},
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/?comp=list"),
        ("GET", "/orders"),
        ("POST", "/orders"),
        ("DELETE", "/orders?comp=metadata"),
        ("PUT", "/orders/messages"),
        ("GET", "/orders/messages/id"),
        ("DELETE", "/?restype=service&comp=properties"),
    ],
)
def test_a_verb_that_the_resource_does_not_know_is_rejected(method: str, path: str, wire: QueueWire) -> None:
    assert wire.error(method, path) == (
        405,
        "UnsupportedHttpVerb",
        "The resource doesn't support specified Http Verb.",
        {},
    )


@pytest.mark.parametrize("path", ["/orders?comp=metadata", "/orders?comp=acl"])
def test_head_answers_as_get_without_a_body(path: str, wire: QueueWire) -> None:
    head, get = wire.send("HEAD", path), wire.send("GET", path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers.get("x-ms-approximate-messages-count") == get.headers.get("x-ms-approximate-messages-count")
    rejected = wire.send("HEAD", path.replace("orders", "bills"))
    assert (rejected.status, rejected.body, rejected.headers["x-ms-error-code"]) == (404, b"", "QueueNotFound")


@pytest.mark.parametrize("base", SECONDARY)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/bills"),
        ("DELETE", "/orders"),
        ("PUT", "/orders?comp=metadata"),
        ("PUT", "/orders?comp=acl"),
        ("POST", "/orders/messages"),
        ("DELETE", "/orders/messages"),
        ("PUT", "/orders/messages/id?popreceipt=AAAA&visibilitytimeout=0"),
        ("DELETE", "/orders/messages/id?popreceipt=AAAA"),
        ("PUT", "/?restype=service&comp=properties"),
    ],
)
def test_the_secondary_takes_no_writes(base: str, method: str, path: str, engine: Engine, wire: QueueWire) -> None:
    assert wire.error(method, path, {}, TEXT, base=base) == READ_ONLY
    assert [listed.name for listed in engine.queues.page()[0]] == ["orders"]


@pytest.mark.parametrize("base", SECONDARY)
@pytest.mark.parametrize(
    "path", ["/?comp=list", "/orders?comp=metadata", "/orders/messages?peekonly=true", "/?restype=service&comp=stats"]
)
def test_the_secondary_reads(base: str, path: str, wire: QueueWire) -> None:
    assert wire.send("GET", path, base=base).status == 200


def test_the_primary_has_no_statistics(wire: QueueWire) -> None:
    assert wire.error("GET", "/?restype=service&comp=stats")[:2] == (400, "InvalidQueryParameterValue")
