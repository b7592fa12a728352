"""Requests to queues that are signed with the account key, or incorrectly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from azure.storage.queue import QueueClient, QueueServiceClient

from support.queue_requests import DATE, QueueWire, full_text, lite_text
from support.table_requests import sign
from tablepatterns_engine.account import Engine

ACCEPTED = 501
"""The signature is right; the conditions that it covers are none that a queue has."""
FAILED = (403, "AuthenticationFailed")
TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
HEADERS = {
    "content-encoding": "identity",
    "content-language": "en",
    "content-length": "60",
    "content-md5": "AAAA",
    "content-type": "application/xml",
    "if-modified-since": DATE,
    "if-match": "*",
    "if-none-match": "*",
    "if-unmodified-since": DATE,
    "range": "bytes=0-1",
    "x-ms-date": DATE,
    "x-ms-version": "2020-12-06",
    "x-ms-client-request-id": "mine",
}
PATH = "/orders/messages?visibilitytimeout=1&messagettl=60"

Text = Callable[[str, str, str, Mapping[str, str]], str]


def attempt(wire: QueueWire, text: Text, scheme: str, method: str, path: str, headers: Mapping[str, str]) -> int:
    """Send a message with the signature of a request, which need not be the one that is sent."""
    name = wire.engine.account_name
    signature = sign(wire.engine, text(name, method, wire.base + path, headers))
    asked = {**HEADERS, "authorization": f"{scheme} {name}:{signature}"}
    return wire.send("POST", PATH, asked, TEXT, signed=False).status


@pytest.mark.parametrize(("text", "scheme"), [(full_text, "SharedKey"), (lite_text, "SharedKeyLite")])
def test_both_kinds_of_signature_are_accepted(text: Text, scheme: str, wire: QueueWire) -> None:
    assert attempt(wire, text, scheme, "POST", PATH, HEADERS) == ACCEPTED


@pytest.mark.parametrize("header", HEADERS)
def test_every_header_that_counts_is_signed(header: str, wire: QueueWire) -> None:
    assert attempt(wire, full_text, "SharedKey", "POST", PATH, {**HEADERS, header: "other"}) == 403


@pytest.mark.parametrize("header", ["content-md5", "content-type", "x-ms-date", "x-ms-version"])
def test_the_lite_signature_covers_fewer_headers(header: str, wire: QueueWire) -> None:
    assert attempt(wire, lite_text, "SharedKeyLite", "POST", PATH, {**HEADERS, header: "other"}) == 403
    assert attempt(wire, lite_text, "SharedKeyLite", "POST", PATH, {**HEADERS, "if-match": "other"}) == ACCEPTED


@pytest.mark.parametrize("scheme", ["SharedKeyLite", "Sharedkey", "Basic"])
def test_a_signature_is_of_its_own_kind_only(scheme: str, wire: QueueWire) -> None:
    assert attempt(wire, full_text, scheme, "POST", PATH, HEADERS) == 403


def test_a_length_of_zero_is_signed_as_nothing(wire: QueueWire) -> None:
    asked = {"x-ms-date": DATE}
    signature = sign(wire.engine, full_text("contoso", "PUT", f"{wire.base}/bills", asked))
    headers = {**asked, "content-length": "0", "authorization": f"SharedKey contoso:{signature}"}
    assert wire.send("PUT", "/bills", headers, signed=False).status == 201


def test_the_header_date_counts_where_the_services_own_is_missing(wire: QueueWire) -> None:
    url = f"{wire.base}/orders/messages"
    dated = {"date": DATE}
    signature = f"SharedKey contoso:{sign(wire.engine, full_text('contoso', 'GET', url, dated))}"
    assert wire.send("GET", "/orders/messages", {**dated, "authorization": signature}, signed=False).status == 200
    both = {"x-ms-date": DATE}
    signature = f"SharedKey contoso:{sign(wire.engine, full_text('contoso', 'GET', url, both))}"
    asked = {**both, "date": "whatever", "authorization": signature}
    assert wire.send("GET", "/orders/messages", asked, signed=False).status == 200


def test_a_request_without_a_date_is_rejected(wire: QueueWire) -> None:
    signature = sign(wire.engine, full_text("contoso", "GET", f"{wire.base}/orders/messages", {}))
    headers = {"authorization": f"SharedKey contoso:{signature}"}
    assert wire.error("GET", "/orders/messages", headers, signed=False)[:2] == FAILED


def test_a_request_without_credentials_gets_the_authentication_challenge(wire: QueueWire) -> None:
    response = wire.send("GET", "/orders/messages", signed=False)
    assert (response.status, response.headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation")
    assert response.headers["WWW-Authenticate"].startswith("Bearer authorization_uri=")


def test_so_is_the_order_of_their_characters(wire: QueueWire) -> None:
    assert wire.send("PUT", "/bills", {"x-ms-meta-a_b": "1", "x-ms-meta-a1": "2"}).status == 201


def test_an_option_may_have_anything_in_it(service: QueueServiceClient, queue: QueueClient) -> None:
    assert list(service.list_queues("a b+c&d=é/%")) == []
    for seconds in range(1, 1_000):
        message = queue.send_message("text", visibility_timeout=seconds)
        queue.delete_message(message)
        if "+" in (message.pop_receipt or ""):
            break
    else:
        raise AssertionError("no receipt has a character that must be escaped")


def test_tokens_are_the_owners_only_if_they_are_trusted(engine: Engine) -> None:
    headers = {"authorization": "Bearer token"}
    trusting = QueueWire(engine, trust_tokens=True)
    assert trusting.send("GET", "/orders/messages", headers, signed=False).status == 200
    assert (
        trusting.send("GET", "/contoso/orders/messages", headers, base="http://127.0.0.1", signed=False).status == 403
    )
    assert QueueWire(engine).error("GET", "/orders/messages", headers, signed=False)[:2] == (
        401,
        "InvalidAuthenticationInfo",
    )
