"""The Queue service of one account: its state and its rules, without HTTP or XML."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import count, islice, takewhile
from struct import pack
from typing import Any, Final, NamedTuple
from uuid import uuid4

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

from tablepatterns import limits
from tablepatterns.edm import Ticks

from .. import errors
from ..clock import SECOND, Clock
from ..collections import OrderedMap
from ..errors import ServiceError
from ..resources import (
    AccessPolicy,
    Deletions,
    Settings,
    check_policies,
    check_range,
    check_resource_name,
    checked_metadata,
    invalid_parameter,
    same_metadata,
)


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
    if (
        len(text) * 4 > limits.MAX_MESSAGE_BYTES
        and len(text.encode("utf-8", "surrogatepass")) > limits.MAX_MESSAGE_BYTES
    ):
        raise ServiceError(errors.REQUEST_BODY_TOO_LARGE.with_details(MaxLimit=limits.MAX_MESSAGE_BYTES))


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


NEVER: Final = -1
"""The time to live of a message that does not expire."""

_PERMISSIONS: Final = "raup"


def _seconds(period: timedelta) -> int:
    return int(period.total_seconds())


_LONGEST: Final = _seconds(limits.MAX_VISIBILITY_TIMEOUT)
TIME_TO_LIVE: Final = _seconds(limits.DEFAULT_TIME_TO_LIVE)
VISIBILITY_TIMEOUT: Final = _seconds(limits.DEFAULT_VISIBILITY_TIMEOUT)


class Listed(NamedTuple):
    name: str
    metadata: Mapping[str, str]


class Queues(Settings):
    """One account's queues. Thread-safe: every method is atomic, and a rejected call changes nothing.

    Times are in seconds. Messages are received in the order in which they became visible, which the service does not
    guarantee.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._queues: OrderedMap[Queue] = OrderedMap()
        self.deletions = Deletions(clock, errors.QUEUE_BEING_DELETED)
        self._numbers = count(1)

    # -- Queues

    def create(self, name: str, metadata: Mapping[str, str] | None = None) -> bool:
        """Create a queue; return False if it exists already with the same metadata."""
        _check_name(name)
        kept = checked_metadata(metadata or {})
        with self._lock:
            queue = self._queues.get(name)
            if queue is None:
                self.deletions.check(name)
                self._queues[name] = Queue(name, kept)
            elif not same_metadata(queue.metadata, kept):
                raise ServiceError(errors.QUEUE_ALREADY_EXISTS)
        return queue is None

    def delete(self, name: str) -> None:
        """Delete a queue with its messages immediately; its name is free once the deletion has finished."""
        with self._lock:
            del self._queues[self._queue(name).name]
            self.deletions.begin(name)

    def page(
        self, prefix: str = "", start: str = "", limit: int = limits.MAX_PAGE_QUEUES
    ) -> tuple[list[Listed], str | None]:
        """Return a page of queues sorted by name, and the first name of the next page; None on the last."""
        check_range("maxresults", limit, 1, limits.MAX_PAGE_QUEUES)
        with self._lock:
            queues, following = self._queues.page(prefix, start, limit)
            return [Listed(queue.name, queue.metadata) for queue in queues], following

    def get_metadata(self, name: str) -> Mapping[str, str]:
        with self._lock:
            return self._queue(name).metadata

    def set_metadata(self, name: str, metadata: Mapping[str, str]) -> None:
        checked = checked_metadata(metadata)
        with self._lock:
            self._queue(name).metadata = checked

    def count(self, name: str) -> int:
        """Return the number of messages of a queue, including invisible ones."""
        with self._lock:
            return len(self._swept(name)[0])

    # -- Messages

    def put(self, queue: str, text: str, *, visibility: int = 0, time_to_live: int = TIME_TO_LIVE) -> Message:
        """Add a message, and return it with a valid receipt; `visibility` is how long it is invisible."""
        check_range("visibilitytimeout", visibility, 0, _LONGEST)
        if time_to_live != NEVER:
            if time_to_live < 1:
                reason = "Value must be greater than or equal to 1, or -1 to indicate an infinite TTL."
                raise invalid_parameter("messagettl", time_to_live, reason)
            if visibility >= time_to_live:
                reason = "messagettl must be greater than visibilitytimeout"
                raise invalid_parameter("visibilitytimeout", visibility, reason)
        check_text(text)
        with self._lock:
            home, now = self._swept(queue)
            number = next(self._numbers)
            expires = Ticks.MAX if time_to_live == NEVER else min(now + time_to_live * SECOND, Ticks.MAX)
            visible = _later(now, visibility)
            message = Message(str(uuid4()), number, text, now, Ticks(expires), visible, self._receipt(visible), 0)
            home.put(message)
        return message

    def get(self, queue: str, limit: int = 1, visibility: int = VISIBILITY_TIMEOUT) -> list[Message]:
        """Receive messages, which are then invisible for a while and may expire in it; each has a unique receipt."""
        check_range("numofmessages", limit, 1, limits.MAX_MESSAGES_PER_GET)
        check_range("visibilitytimeout", visibility, 1, _LONGEST)
        with self._lock:
            home, now = self._swept(queue)
            later = _later(now, visibility)
            received = [self._changed(message, later, received=True) for message in home.visible(now, limit)]
            for message in received:
                home.put(message)
        return received

    def peek(self, queue: str, limit: int = 1) -> list[Message]:
        """Return the messages that `get` would return, without changing them."""
        check_range("numofmessages", limit, 1, limits.MAX_MESSAGES_PER_GET)
        with self._lock:
            home, now = self._swept(queue)
            return home.visible(now, limit)

    def update(self, queue: str, message_id: str, receipt: str, visibility: int, text: str | None = None) -> Message:
        """Hide a message for a while, and return it with a new receipt; the previous one becomes invalid.

        It may be hidden for longer than its time to live. None keeps the text.
        """
        check_range("visibilitytimeout", visibility, 0, _LONGEST)
        check_receipt(receipt)
        if text is not None:
            check_text(text)
        with self._lock:
            home, now = self._swept(queue)
            message = self._changed(_held(home, message_id, receipt), _later(now, visibility), text)
            home.put(message)
        return message

    def remove(self, queue: str, message_id: str, receipt: str) -> None:
        check_receipt(receipt)
        with self._lock:
            home, _ = self._swept(queue)
            home.remove(_held(home, message_id, receipt))

    def clear(self, queue: str) -> None:
        with self._lock:
            self._queue(queue).clear()

    # -- Access policies

    def get_policies(self, queue: str) -> Sequence[AccessPolicy]:
        with self._lock:
            return self._queue(queue).policies

    def set_policies(self, queue: str, policies: Sequence[AccessPolicy]) -> None:
        check_policies(policies, _PERMISSIONS)
        with self._lock:
            self._queue(queue).policies = tuple(policies)

    def _queue(self, name: str) -> Queue:
        _check_name(name)
        queue = self._queues.get(name)
        if queue is None:
            raise ServiceError(errors.QUEUE_NOT_FOUND)
        return queue

    def _swept(self, name: str) -> tuple[Queue, Ticks]:
        """Remove expired messages; return the queue, and the time as of which they were removed."""
        queue, now = self._queue(name), self._clock.now()
        queue.expire(now)
        return queue, now

    def _receipt(self, visible: Ticks) -> str:
        return new_receipt(visible, self._clock.stamp())

    def _changed(self, message: Message, visible: Ticks, text: str | None = None, *, received: bool = False) -> Message:
        text, dequeues = message.text if text is None else text, message.dequeues + received
        return message._replace(text=text, visible=visible, receipt=self._receipt(visible), dequeues=dequeues)


def _later(now: Ticks, seconds: int) -> Ticks:
    return Ticks(now + seconds * SECOND)


def _held(queue: Queue, message_id: str, receipt: str) -> Message:
    message = queue.find(message_id)
    if message is None:
        raise ServiceError(errors.MESSAGE_NOT_FOUND)
    if message.receipt != receipt:
        raise ServiceError(errors.POP_RECEIPT_MISMATCH)
    return message


_check_name = lru_cache(maxsize=4096)(check_resource_name)
