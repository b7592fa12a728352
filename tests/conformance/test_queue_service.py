"""The Queue service as a whole: the account's key and its secondary endpoint."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential

from conformance.deviations import SECONDARY
from conformance.queue_errors import NOT_AUTHENTIC, READ_ONLY
from conformance.raw import Raw, http_date
from conformance.service_errors import ServiceError
from conformance.service_properties import geo_replicated
from support.backends import Backend

TEXT = "<QueueMessage><MessageText>text</MessageText></QueueMessage>"
WRONG_KEY = "d3Jvbmc="


# ------------------------------------------------------------------ the account's key


async def test_a_request_with_another_key_is_rejected(
    backend: Backend, queue: Any, key: AzureNamedKeyCredential, queue_rejected: Any
) -> None:
    stranger = backend.service(AzureNamedKeyCredential(key.named_key.name, WRONG_KEY), "queue")
    async with queue_rejected(NOT_AUTHENTIC):
        await stranger.get_queue_client(queue.queue_name).send_message("text")


async def test_the_lite_signature_is_accepted(raw_queues: Raw, queue: Any) -> None:
    path, headers = f"/{queue.queue_name}/messages", {**raw_queues.headers, "x-ms-date": http_date()}
    headers["Authorization"] = raw_queues.authorization("POST", path, headers, lite=True)
    assert (await raw_queues("POST", path, headers, TEXT, signed=False)).status == 201


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("method", "path", "changed"),
    [
        ("PUT", "/{queue}/messages", {}),
        ("POST", "/other/messages", {}),
        ("POST", "/{queue}/messages?messagettl=60", {}),
        ("POST", "/{queue}/messages", {"Content-Type": "text/plain"}),
        ("POST", "/{queue}/messages", {"Content-Length": "1"}),
        ("POST", "/{queue}/messages", {"x-ms-date": "Fri, 22 Aug 2014 00:50:32 GMT"}),
        ("POST", "/{queue}/messages", {"x-ms-meta-colour": "red"}),
    ],
    ids=["verb", "path", "option", "content type", "length", "date", "header"],
)
async def test_the_signature_of_another_request_is_rejected(
    raw_queues: Raw, queue: Any, queue_rejected: Any, method: str, path: str, changed: dict[str, str]
) -> None:
    headers = {**raw_queues.headers, "x-ms-date": http_date(), "Content-Length": str(len(TEXT))}
    other = raw_queues.authorization(method, path.format(queue=queue.queue_name), {**headers, **changed})
    async with queue_rejected(ServiceError(403)):
        await raw_queues(
            "POST", f"/{queue.queue_name}/messages", {**headers, "Authorization": other}, TEXT, signed=False
        )


async def test_metadata_are_signed_in_the_sdk_s_order(queue: Any) -> None:
    metadata = {"a_b": "1", "a1": "2", "ab": "3", "B": "4"}
    await queue.set_queue_metadata(metadata)
    assert (await queue.get_queue_properties()).metadata == metadata


# ------------------------------------------------------------------ the secondary endpoint


@pytest.fixture
def raw_secondary(raw_queues: Raw) -> Raw:
    """A function that sends requests to the secondary endpoint."""
    raw_queues.base = raw_queues.base.replace(raw_queues.account, f"{raw_queues.account}-secondary")
    return raw_queues


@geo_replicated
async def test_the_secondary_endpoint_reads(raw_secondary: Raw, queue: Any) -> None:
    await queue.send_message("text")
    answer = await raw_secondary("GET", f"/{queue.queue_name}/messages?peekonly=true")
    assert "<MessageText>text</MessageText>" in answer.text


@SECONDARY
@geo_replicated
async def test_the_secondary_endpoint_does_not_write(raw_secondary: Raw, queue: Any, queue_rejected: Any) -> None:
    async with queue_rejected(READ_ONLY):
        await raw_secondary("POST", f"/{queue.queue_name}/messages", body=TEXT)
