"""The format of responses of the Queue service."""

from __future__ import annotations

import re
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from conformance.deviations import QUEUE_FORMATS, VERSION
from conformance.raw import Raw

PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>'
DATE = r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
IDENTITY = (
    rf"<MessageId>[0-9a-f-]{{36}}</MessageId><InsertionTime>{DATE}</InsertionTime><ExpirationTime>{DATE}"
    r"</ExpirationTime>"
)
HOLD = rf"<PopReceipt>[A-Za-z0-9+/]+=*</PopReceipt><TimeNextVisible>{DATE}</TimeNextVisible>"
TEXT = "<QueueMessage><MessageText>a &lt; b</MessageText></QueueMessage>"


def list_of(*messages: str) -> str:
    content = "".join(f"<QueueMessage>{message}</QueueMessage>" for message in messages)
    return re.escape(PROLOGUE) + f"<QueueMessagesList>{content}</QueueMessagesList>"


@QUEUE_FORMATS
async def test_putting_and_receiving_return_all_properties_of_a_message(raw_queues: Raw, queue: Any) -> None:
    path = f"/{queue.queue_name}/messages"
    put = await raw_queues("POST", path, body=TEXT)
    assert put.status == 201
    assert re.fullmatch(list_of(IDENTITY + HOLD), put.text.lstrip("\ufeff"))
    peeked = await raw_queues("GET", f"{path}?peekonly=true")
    content = "<DequeueCount>0</DequeueCount><MessageText>a &lt; b</MessageText>"
    assert re.fullmatch(list_of(IDENTITY + content), peeked.text.lstrip("\ufeff"))
    got = await raw_queues("GET", path)
    assert re.fullmatch(list_of(IDENTITY + HOLD + content.replace("0", "1")), got.text.lstrip("\ufeff"))


@QUEUE_FORMATS
async def test_no_messages_are_an_empty_list(raw_queues: Raw, queue: Any) -> None:
    answer = await raw_queues("GET", f"/{queue.queue_name}/messages")
    assert answer.text.lstrip("\ufeff") == f"{PROLOGUE}<QueueMessagesList />"
    assert (answer.headers["Content-Type"], answer.headers["Cache-Control"]) == ("application/xml", "no-cache")


@QUEUE_FORMATS
@pytest.mark.parametrize(
    "path", ["?comp=list", "?restype=service&comp=properties", "{queue}?comp=acl", "{queue}?comp=metadata"]
)
async def test_what_is_read_must_not_be_cached(raw_queues: Raw, queue: Any, path: str) -> None:
    answer = await raw_queues("GET", f"/{path.format(queue=queue.queue_name)}")
    assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-cache")


@QUEUE_FORMATS
async def test_a_list_of_queues_repeats_the_request_and_has_the_next_marker(
    raw_queues: Raw, queue_service: Any, new_queue_name: Any
) -> None:
    family = new_queue_name()
    names = [f"{family}-{number}" for number in range(2)]
    for name in names:
        await queue_service.create_queue(name, metadata={"colour": "red"})
    answer = await raw_queues("GET", f"/?comp=list&prefix={family}&maxresults=1&include=metadata")
    for name in names:
        await queue_service.delete_queue(name)
    assert answer.text.lstrip("\ufeff") == (
        f'{PROLOGUE}<EnumerationResults ServiceEndpoint="{raw_queues.base}/"><Prefix>{family}</Prefix>'
        f"<MaxResults>1</MaxResults><Queues><Queue><Name>{names[0]}</Name><Metadata><colour>red</colour></Metadata>"
        f"</Queue></Queues><NextMarker>/{raw_queues.account}/{names[1]}</NextMarker></EnumerationResults>"
    )


async def test_an_update_returns_receipt_and_time_in_headers(raw_queues: Raw, queue: Any) -> None:
    sent = await queue.send_message("text")
    receipt = sent.pop_receipt.replace("+", "%2B").replace("/", "%2F")
    answer = await raw_queues(
        "PUT", f"/{queue.queue_name}/messages/{sent.id}?popreceipt={receipt}&visibilitytimeout=60"
    )
    assert (answer.status, answer.text) == (204, "")
    assert answer.headers["x-ms-popreceipt"] != sent.pop_receipt
    assert re.fullmatch(DATE, answer.headers["x-ms-time-next-visible"])


async def test_deleting_answers_nothing(raw_queues: Raw, queue: Any) -> None:
    answer = await raw_queues("DELETE", f"/{queue.queue_name}/messages")
    assert (answer.status, answer.text) == (204, "")


@pytest.mark.parametrize("path", ["?comp=metadata", "?comp=acl"])
async def test_head_answers_as_get_does_without_a_body(raw_queues: Raw, queue: Any, path: str) -> None:
    answer = await raw_queues("HEAD", f"/{queue.queue_name}{path}")
    assert (answer.status, answer.text) == (200, "")


async def test_every_answer_names_request_and_client(raw_queues: Raw, queue: Any) -> None:
    answer = await raw_queues("GET", f"/{queue.queue_name}/messages", {"x-ms-client-request-id": "mine"})
    assert answer.headers["x-ms-client-request-id"] == "mine"
    assert answer.headers["x-ms-request-id"]
    assert re.fullmatch(DATE, answer.headers["Date"])


@VERSION
async def test_the_version_is_the_one_that_was_asked_for(raw_queues: Raw, queue: Any) -> None:
    answer = await raw_queues("GET", f"/{queue.queue_name}/messages", {"x-ms-version": "2020-12-06"})
    assert answer.headers["x-ms-version"] == "2020-12-06"


async def test_an_error_has_its_code_in_a_header_and_its_details_in_the_body(raw_queues: Raw, queue: Any) -> None:
    with pytest.raises(HttpResponseError) as caught:
        await raw_queues("GET", f"/{queue.queue_name}/messages?numofmessages=33")
    response: Any = caught.value.response
    assert response.headers["x-ms-error-code"] == "OutOfRangeQueryParameterValue"
    assert response.reason == (
        "One of the query parameters specified in the request URI is outside the permissible range."
    )
    details = {
        "QueryParameterName": "numofmessages",
        "QueryParameterValue": "33",
        "MinimumAllowed": "1",
        "MaximumAllowed": "32",
    }
    for name, value in details.items():
        assert f"<{name}>{value}</{name}>" in response.text()
