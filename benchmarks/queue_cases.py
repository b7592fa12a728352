"""The cases for queues: sending, receiving and deleting a message, each alone, and all three in turn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from azure.storage.queue import QueueClient, QueueMessage

from .case import Case, Place, always

Queue = Place[QueueClient]

HOUR = 3600
TEXT = "entity 223 of Sales has changed; " * 8


def _nothing(queue: Queue, random: Random) -> None:
    """Return no arguments."""


def _sent(queue: Queue, random: Random) -> None:
    queue.client.send_message(TEXT)


def _received(queue: Queue, random: Random) -> QueueMessage | None:
    queue.client.send_message(TEXT)
    return queue.client.receive_message(visibility_timeout=HOUR)


def _receive(queue: QueueClient, ask: object) -> QueueMessage | None:
    return queue.receive_message(visibility_timeout=HOUR)


def _cycle(queue: QueueClient, ask: object) -> QueueMessage | None:
    """Send, receive and delete a message, in three requests."""
    queue.send_message(TEXT)
    message = queue.receive_message(visibility_timeout=HOUR)
    if message is not None:
        queue.delete_message(message)
    return message


def _is_whole(message: Any) -> bool:
    return isinstance(message, QueueMessage) and message.content == TEXT


def _leaving(left: Callable[[int, int], int]) -> Callable[[Queue, int, int], None]:
    """Return a function that checks the number of remaining messages, and clears the queue."""

    def after(queue: Queue, asked: int, done: int) -> None:
        found, wanted = queue.client.get_queue_properties().approximate_message_count, left(asked, done)
        if found != wanted:
            raise AssertionError(f"{found} messages are left instead of {wanted}")
        queue.client.clear_messages()

    return after


SEND = Case(
    "send",
    _nothing,
    lambda queue, ask: queue.send_message(TEXT),
    _is_whole,
    point=True,
    after=_leaving(lambda asked, done: done),
)
RECEIVE = Case("receive", _sent, _receive, _is_whole, point=True, after=_leaving(lambda asked, done: asked))
DELETE = Case(
    "delete",
    _received,
    lambda queue, message: queue.delete_message(message),
    always,
    point=True,
    after=_leaving(lambda asked, done: asked - done),
)
CYCLE = Case("send, receive, delete", _nothing, _cycle, _is_whole, after=_leaving(lambda asked, done: 0))

CASES = (SEND, RECEIVE, DELETE, CYCLE)
