"""Helpers for tests of queues: the complete state of an account's queues, and the texts of messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tablepatterns_engine.queues.service import Message, Queues


def everything_in(queues: Queues) -> Any:
    """Return the visible state of the account's queues, for comparisons."""
    names = [listed.name for listed in queues.page()[0]]
    content = {
        name: (queues.get_metadata(name), queues.get_policies(name), messages_of(queues, name)) for name in names
    }
    return content, queues.get_service_properties()


def messages_of(queues: Queues, name: str) -> dict[str, Message]:
    """Return all messages of a queue by id, including the invisible ones."""
    queues.count(name)
    return dict(queues._queue(name)._messages)


def texts_of(messages: Iterable[Message]) -> list[str]:
    return [message.text for message in messages]
