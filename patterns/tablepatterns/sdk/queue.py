"""One queue, with the methods that a recipe may await.

A received message is leased: other receivers do not see it until its visibility timeout has passed. So a message may be
delivered more than once and out of order, and its processing must be idempotent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from azure.core.exceptions import HttpResponseError

from .. import limits
from ..errors import NOT_SHOWN, BadInput, LeaseLost, LimitExceeded
from .call import first_page, iterate, settled
from .errors import Ignored, code_of

if TYPE_CHECKING:
    from .account_sender import AccountSender

_NAME: Final = re.compile(r"[a-z0-9](?!.*--)[a-z0-9-]*[a-z0-9]")
_LONGEST: Final = int(limits.MAX_VISIBILITY_TIMEOUT.total_seconds())
_NO_QUEUE: Final = "QueueNotFound"
_NOT_OURS: Final = ("MessageNotFound", "PopReceiptMismatch", _NO_QUEUE)
_WITHOUT_QUEUE: Final = Ignored(_NO_QUEUE)


@dataclass(frozen=True)
class Message:
    """A message as it was sent, received or peeked at.

    :param pop_receipt: proves that the receiver has the lease; None after a peek
    :param visible_at: when the lease ends and the message can be received again
    :param deliveries: how many times it was received, including this time
    """

    id: str
    text: str = field(repr=False)
    inserted_at: datetime | None
    visible_at: datetime | None
    pop_receipt: str | None
    deliveries: int


class Queue:
    """One queue of an account, over an SDK `QueueClient`, sync or async, without an encoding.

    A queue that does not exist reads as empty, and the first send creates it.
    """

    def __init__(self, client: Any, sender: AccountSender) -> None:
        self._client = client
        self._requests = sender
        self._sender: Any = None

    @property
    def name(self) -> str:
        return str(self._client.queue_name)

    async def create(self) -> bool:
        """Create the queue; return False if it existed already. Cost: 1 transaction."""
        with Ignored("QueueAlreadyExists"):
            await settled(self._client.create_queue())
            return True
        return False

    async def drop(self) -> None:
        """Delete the queue with its messages; does nothing if there is none. Cost: 1 transaction."""
        with _WITHOUT_QUEUE:
            await settled(self._client.delete_queue())

    async def send(self, text: str, *, delay: int = 0, lifetime: int = -1) -> Message:
        """Send a message, and return it with the pop receipt with which the sender may delete it.

        A request whose response was lost is sent again, so the queue may then contain the message twice.
        Cost: 1 transaction; 2 more if the queue must be created first.

        :param text: at most 64 KiB in UTF-8
        :param delay: seconds until it can be received, 0 to 7 days
        :param lifetime: seconds until it expires; -1 for never
        """
        check_length(text)
        _check_seconds("delay", delay, 0)
        with _WITHOUT_QUEUE:
            return await self._sent(text, delay, lifetime)
        await self.create()
        return await self._sent(text, delay, lifetime)

    async def _sent(self, text: str, delay: int, lifetime: int) -> Message:
        sender = self._sender or await self._new_sender()
        prepared = sender and sender.prepared_send(self._client.queue_name, text, delay, lifetime)
        if not prepared:
            return await send_by_sdk(text, delay, lifetime, self._client)
        message: Message = await sender.send(prepared)
        return message

    async def _new_sender(self) -> Any:
        self._sender = await self._requests.get()
        return self._sender

    async def receive(self, count: int = 1, *, lease: int = 30) -> list[Message]:
        """Receive 1 to 32 messages, perhaps fewer than the queue has, and hide them for `lease` seconds, up to 7 days.

        Cost: 1 transaction.
        """
        _check_count(count)
        _check_seconds("lease", lease, 1)
        with _WITHOUT_QUEUE:
            sender = self._sender or await self._new_sender()
            if sender is None:
                return await receive_by_sdk(count, lease, self._client)
            messages: list[Message] = await sender.send(sender.prepared_receive(self.name, count, lease))
            return messages
        return []

    async def peek(self, count: int = 1) -> list[Message]:
        """Return up to `count` messages that can be received, without receiving them. Cost: 1 transaction."""
        _check_count(count)
        with _WITHOUT_QUEUE:
            return [_message_of(message) for message in await settled(self._client.peek_messages(max_messages=count))]
        return []

    async def renew(self, message: Message, *, lease: int, text: str | None = None) -> Message:
        """Hide a message for `lease` seconds from now, and return it with its new pop receipt. Cost: 1 transaction.

        :param lease: seconds, 0 to 7 days; 0 releases the message
        :param text: replaces its text; None leaves it as it is
        """
        _check_seconds("lease", lease, 0)
        if text is not None:
            check_length(text)
        content = message.text if text is None else text
        try:
            ids = message.id, message.pop_receipt
            now = await settled(self._client.update_message(*ids, content, visibility_timeout=lease))
        except HttpResponseError as error:
            if code_of(error) not in _NOT_OURS:
                raise
            raise LeaseLost(f"message {message.id}: its lease has ended; it is delivered again", error) from error
        return replace(message, text=content, visible_at=now.next_visible_on, pop_receipt=now.pop_receipt)

    async def delete(self, message: Message) -> bool:
        """Delete a message; return False if the lease was lost. Cost: 1 transaction."""
        with Ignored(*_NOT_OURS):
            await settled(self._client.delete_message(message.id, message.pop_receipt))
            return True
        return False

    async def length(self) -> int:
        """Return the approximate number of messages, including hidden ones. Cost: 1 transaction."""
        with _WITHOUT_QUEUE:
            return int((await settled(self._client.get_queue_properties())).approximate_message_count or 0)
        return 0


def check_queue_name(name: str) -> str:
    """Return a queue or container name that the service accepts."""
    lengths = range(limits.QUEUE_NAME_MIN_LENGTH, limits.QUEUE_NAME_MAX_LENGTH + 1)
    if not isinstance(name, str) or len(name) not in lengths or not _NAME.fullmatch(name):
        rule = "it has 3 to 63 lower-case letters and digits, with single dashes between them"
        hint = "write it in lower case, with dashes instead of other characters"
        raise BadInput("name of a queue or container", name, rule, hint)
    return name


def check_length(text: str) -> None:
    size = len(text.encode())
    if size > limits.MAX_MESSAGE_BYTES:
        rule = f"a message has at most {limits.MAX_MESSAGE_BYTES:,} bytes in UTF-8, and this has {size:,}"
        raise LimitExceeded("message", NOT_SHOWN, rule, "store the content in a blob, and send the blob's name")


def _check_seconds(subject: str, seconds: int, least: int) -> None:
    if not least <= seconds <= _LONGEST:
        rule = f"it is {least} to {_LONGEST:,} seconds, which are 7 days"
        raise BadInput(subject, seconds, rule, "give such a number")


def _check_count(count: int) -> None:
    if not 1 <= count <= limits.MAX_MESSAGES_PER_GET:
        rule = f"a request has 1 to {limits.MAX_MESSAGES_PER_GET} messages"
        raise BadInput("count", count, rule, "repeat the request for more")


async def send_by_sdk(text: str, delay: int, lifetime: int, client: Any, **options: Any) -> Message:
    message = await settled(client.send_message(text, visibility_timeout=delay, time_to_live=lifetime, **options))
    return _message_of(message)


async def receive_by_sdk(count: int, lease: int, client: Any, **options: Any) -> list[Message]:
    pages = client.receive_messages(messages_per_page=count, visibility_timeout=lease, **options).by_page()
    return [_message_of(message) async for message in iterate(await first_page(pages))]


def _message_of(message: Any) -> Message:
    return Message(
        message.id,
        message.content,
        message.inserted_on,
        message.next_visible_on,
        message.pop_receipt,
        message.dequeue_count or 0,
    )
