"""The genuine SDK clients over the engine: the life of a message, sync and without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import (
    AccessPolicy,
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    QueueClient,
    QueueServiceClient,
    TextBase64DecodePolicy,
    TextBase64EncodePolicy,
)
from azure.storage.queue.aio import QueueClient as AioQueueClient

from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

URL = "https://contoso.queue.core.windows.net"
NOW = datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)
FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Finish a coroutine without an event loop; it must never wait for one."""
    try:
        waited = coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError(f"it waits for {waited!r}")


def code_of(error: Any) -> Any:
    """Return the code that the SDK has put into an error."""
    return error.error_code


def test_the_life_of_a_message(queue: QueueClient) -> None:
    sent = queue.send_message("<&> é🛫", visibility_timeout=1, time_to_live=60)
    assert (sent.inserted_on, sent.expires_on) == (NOW, NOW + timedelta(minutes=1))
    assert sent.next_visible_on == NOW + timedelta(seconds=1)
    queue.update_message(sent, visibility_timeout=0)
    (peeked,) = queue.peek_messages(32)
    assert (peeked.id, peeked.content, peeked.dequeue_count, peeked.pop_receipt) == (sent.id, "<&> é🛫", 0, None)
    received = queue.receive_message()
    assert received is not None
    assert (received.dequeue_count, received.next_visible_on) == (1, NOW + timedelta(seconds=30))
    updated = queue.update_message(received, content="other", visibility_timeout=0)
    assert updated.pop_receipt != received.pop_receipt
    (again,) = queue.receive_messages(messages_per_page=32)
    assert (again.content, again.dequeue_count) == ("other", 2)
    queue.delete_message(again)
    assert queue.receive_message() is None


def test_an_aio_client_is_stepped_without_an_event_loop(engine: Engine, key: AzureNamedKeyCredential) -> None:
    async def story() -> list[str]:
        transport = AioEngineTransport(engine)
        async with AioQueueClient(URL, "orders", credential=key, transport=transport) as queue:
            await queue.send_message("one")
            await queue.send_message("two")
            received = [message async for message in queue.receive_messages(messages_per_page=1)]
            await queue.delete_message(received[0])
            await queue.update_message(received[1], visibility_timeout=0)
            return [message.content for message in await queue.peek_messages(5)]

    assert run(story()) == ["two"]


def test_a_message_never_expires_if_so_asked(queue: QueueClient) -> None:
    assert queue.send_message("text", time_to_live=-1).expires_on == FOREVER


@pytest.mark.parametrize("content", ["text", b"\x00\xff"])
def test_the_encodings_of_the_sdk_come_back(engine: Engine, key: AzureNamedKeyCredential, content: str | bytes) -> None:
    encodings: Any = (
        {"message_encode_policy": TextBase64EncodePolicy(), "message_decode_policy": TextBase64DecodePolicy()}
        if isinstance(content, str)
        else {"message_encode_policy": BinaryBase64EncodePolicy(), "message_decode_policy": BinaryBase64DecodePolicy()}
    )
    queue = QueueClient(URL, "orders", credential=key, transport=EngineTransport(engine), **encodings)
    queue.send_message(content)
    received = queue.receive_message()
    assert received is not None
    assert received.content == content


def test_a_queue_has_metadata_a_count_and_policies(service: QueueServiceClient) -> None:
    queue = service.create_queue("bills", metadata={"Colour": "red"})
    queue.send_message("text")
    properties = queue.get_queue_properties()
    assert (properties.metadata, properties.approximate_message_count) == ({"Colour": "red"}, 1)
    queue.set_queue_metadata({"size": "1", "Size_2": "?"})
    assert queue.get_queue_properties().metadata == {"size": "1", "Size_2": "?"}
    nothing: Any = None
    queue.set_queue_access_policy({"worker": AccessPolicy(permission="raup", expiry=FOREVER), "nothing": nothing})
    policies = queue.get_queue_access_policy()
    assert policies["worker"].permission == "raup"
    assert set(policies) == {"worker", "nothing"}
    with pytest.raises(HttpResponseError, match="XML specified is not syntactically valid"):
        queue.set_queue_access_policy({str(n): AccessPolicy() for n in range(6)})


def test_a_queue_that_is_there_already_is_an_error_of_the_sdk_s_whatever_the_service_says(
    service: QueueServiceClient,
) -> None:
    for metadata in ({}, {"colour": "red"}):
        with pytest.raises(ResourceExistsError) as caught:
            service.create_queue("orders", metadata=metadata)
        assert caught.value.status_code == (409 if metadata else 204)


def test_queues_are_listed_page_by_page(service: QueueServiceClient) -> None:
    for number in range(4):
        service.create_queue(f"bills-{number}", metadata={"n": str(number)})
    pages = service.list_queues("bills", include_metadata=True, results_per_page=3).by_page()
    assert [[(queue.name, queue.metadata) for queue in page] for page in pages] == [
        [(f"bills-{number}", {"n": str(number)}) for number in range(3)],
        [("bills-3", {"n": "3"})],
    ]
    assert [queue.name for queue in service.list_queues()][-1] == "orders"


def test_the_errors_are_those_of_the_service(queue: QueueClient, service: QueueServiceClient) -> None:
    with pytest.raises(ResourceNotFoundError) as missing:
        service.get_queue_client("bills").receive_message()
    assert code_of(missing.value) == "QueueNotFound"
    with pytest.raises(HttpResponseError) as wrong:
        queue.send_message("text", visibility_timeout=-1)
    assert (code_of(wrong.value), wrong.value.reason) == (
        "OutOfRangeQueryParameterValue",
        "One of the query parameters specified in the request URI is outside the permissible range.",
    )
    sent = queue.send_message("text")
    queue.update_message(sent, visibility_timeout=0)
    with pytest.raises(HttpResponseError) as stale:
        queue.delete_message(sent)
    assert code_of(stale.value) == "PopReceiptMismatch"


def test_the_properties_of_the_service_are_those_of_queues(service: QueueServiceClient, engine: Engine) -> None:
    service.set_service_properties(cors=[])
    assert service.get_service_properties()["cors"] == []
    assert service.get_service_stats()["geo_replication"]["status"] == "live"
    assert engine.tables.get_service_properties() is not engine.queues.get_service_properties()


def test_waiting_for_a_message_costs_no_time(queue: QueueClient, engine: Engine) -> None:
    queue.send_message("text")
    queue.receive_message(visibility_timeout=3600)
    engine.clock.advance(3600)
    again = queue.receive_message()
    assert again is not None
    assert again.dequeue_count == 2
