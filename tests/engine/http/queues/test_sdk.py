"""Clients of the SDK for queues over the engine: without an event loop, and with encodings of their own."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.queue import (
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    QueueClient,
    TextBase64DecodePolicy,
    TextBase64EncodePolicy,
)
from azure.storage.queue.aio import QueueClient as AioQueueClient

from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

URL = "https://contoso.queue.core.windows.net"


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Finish a coroutine without an event loop; it must never wait for one."""
    try:
        waited = coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError(f"it waits for {waited!r}")


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
