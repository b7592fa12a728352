"""The state of a queue: its messages by ID, by visibility time and by expiration time."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from struct import pack
from typing import Any, NamedTuple

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_MESSAGE_BYTES

from .. import errors
from ..errors import ServiceError
from ..resources import AccessPolicy, invalid_parameter


class Message(NamedTuple):
    """One version of a message; it is immutable, and a change creates a new version.

    :param number: the message's number in the account; at equal times, the lower number comes first
    :param expires: when it expires; `Ticks.MAX` is never
    :param visible: when it becomes or became visible
    :param receipt: the only valid pop receipt of this version
    :param dequeues: how many times it was received
    """

    id: str
    number: int
    text: str
    inserted: Ticks
    expires: Ticks
    visible: Ticks
    receipt: str
    dequeues: int


def check_text(text: str) -> None:
    """Reject a text of more than 64 KiB in UTF-8."""
    # No character takes more than four bytes, so most texts need not be encoded to be measured
    if len(text) * 4 > MAX_MESSAGE_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
        raise ServiceError(errors.REQUEST_BODY_TOO_LARGE.with_details(MaxLimit=MAX_MESSAGE_BYTES))


def new_receipt(visible: Ticks, stamp: Ticks) -> str:
    """Return a pop receipt, which is unique for each stamp.

    >>> new_receipt(Ticks.parse("2014-08-22T00:50:32Z"), Ticks(1))
    'AgAAAAEAAAAAAAAAAPzfNbqL0Qg='
    """
    return b64encode(pack("<Iqq", 2, stamp, visible)).decode()


def check_receipt(receipt: str) -> None:
    try:
        b64decode(receipt, validate=True)
    except ValueError as error:
        raise invalid_parameter("popreceipt", receipt, "Invalid pop receipt format") from error


class Queue:
    """A queue. Not thread-safe: `Queues` guards it.

    Call `expire` first: the other methods assume that expired messages have been removed. Metadata is replaced as a
    whole, never changed in place.
    """

    __slots__ = ("_by_expiry", "_by_visibility", "_messages", "metadata", "name", "policies")

    def __init__(self, name: str, metadata: Mapping[str, str]) -> None:
        self.name = name
        self.metadata = metadata
        self.policies: Sequence[AccessPolicy] = ()
        self.clear()

    def __len__(self) -> int:
        return len(self._messages)

    def clear(self) -> None:
        self._messages: dict[str, Message] = {}
        # Each entry has the time, the number and the message
        self._by_visibility: Any = SortedList()
        self._by_expiry: Any = SortedList()

    def find(self, message_id: str) -> Message | None:
        return self._messages.get(message_id)

    def visible(self, now: Ticks, limit: int) -> list[Message]:
        """Return the visible messages, the one that became visible first at the front."""
        return list(islice(_due(self._by_visibility, now), limit))

    def put(self, message: Message) -> None:
        former = self._messages.get(message.id)
        if former is not None:
            self.remove(former)
        self._messages[message.id] = message
        self._by_visibility.add((message.visible, message.number, message))
        self._by_expiry.add((message.expires, message.number, message))

    def remove(self, message: Message) -> None:
        """Remove a message, which must be the stored version."""
        del self._messages[message.id]
        self._by_visibility.remove((message.visible, message.number, message))
        self._by_expiry.remove((message.expires, message.number, message))

    def expire(self, now: Ticks) -> None:
        for message in list(_due(self._by_expiry, now)):
            self.remove(message)


def _due(entries: Any, now: Ticks) -> Iterator[Message]:
    return (message for _, _, message in takewhile(lambda entry: entry[0] <= now, entries))
