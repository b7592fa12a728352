"""Queue messages: their format, and the lease of one that this process has received."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, cast

from ..errors import NOT_SHOWN, BadInput, BadMessage, LeaseLost
from ..limits import MAX_MESSAGES_PER_GET
from ..recipe import Account, elapsed, new_lock
from ..sdk.queue import Message, Queue

VERSION: Final = 1


@dataclass(frozen=True)
class Envelope:
    """The kind of a message, and a body of texts, numbers, booleans, None, lists and dicts of them.

    All messages have this format, so that workers of any version can identify them: JSON with its version, its kind and
    its body. Base64 and plain text are both read, since clients in other languages send Base64 by default; writers
    choose.
    """

    kind: str
    body: Mapping[str, Any] = field(repr=False)

    def text(self, *, base64: bool = False) -> str:
        try:
            message = {"v": VERSION, "kind": self.kind, "body": self.body}
            text = json.dumps(message, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            rule = f"it cannot be written as JSON ({type(error).__name__})"
            raise BadInput("body", NOT_SHOWN, rule, "use texts and numbers") from error
        return b64encode(text.encode()).decode() if base64 else text

    @classmethod
    def parse(cls, text: str) -> Envelope:
        try:
            message = json.loads(text if text.lstrip().startswith("{") else b64decode(text, validate=True))
        except (ValueError, RecursionError):
            # Nesting that is too deep must not end the worker, which would receive the same message again
            rule = "it is neither JSON nor JSON in Base64"
            raise BadMessage("message", NOT_SHOWN, rule, "check which program sent it") from None
        fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        kind, body = fields.get("kind"), fields.get("body")
        if fields.get("v") != VERSION or not isinstance(kind, str) or not isinstance(body, dict):
            rule = f'it must have "v": {VERSION}, a text "kind" and an object "body"'
            raise BadMessage("message", NOT_SHOWN, rule, "read it with the version of the library that sent it")
        return cls(kind, cast("dict[str, Any]", body))


class Lease:
    """A received message, and how long this process may work on it; a change raises `LeaseLost` once that has ended.

    :param seconds: the length of the lease; each renewal is as long
    :param requested_at: when the message was requested, as `elapsed` says; None for now
    """

    def __init__(
        self,
        account: Account,
        queue: Queue,
        message: Message,
        seconds: int,
        *,
        base64: bool = False,
        requested_at: timedelta | None = None,
    ) -> None:
        self._account = account
        self._queue = queue
        self._base64 = base64
        self._seconds = seconds
        # A heartbeat that renews the lease makes the pop receipt stale that a concurrent rewrite is about to send
        self._lock = new_lock(account)
        self.message = message
        self.work = Envelope.parse(message.text)
        # The service counts from when it received the request, so the lease ends there no earlier than here
        self._ends_at = (elapsed(account) if requested_at is None else requested_at) + timedelta(seconds=seconds)

    @classmethod
    async def on_new(cls, account: Account, queue: Queue, work: Envelope, seconds: int) -> Lease:
        """Send a message that is hidden for `seconds`, and return its lease. Cost: 1 transaction."""
        before = elapsed(account)
        message = await queue.send(work.text(), delay=seconds)
        return cls(account, queue, message, seconds, requested_at=before)

    @property
    def remaining(self) -> float:
        """The seconds until the lease ends; 0 or less if it has ended."""
        return (self._ends_at - elapsed(self._account)).total_seconds()

    async def renew(self) -> None:
        """Extend the lease by its full length from now. Cost: 1 transaction."""
        await self._update(self._seconds, None)

    async def renew_if_due(self) -> None:
        """Renew if no more than half of the time is left. Cost: 1 transaction or none."""
        if self.remaining <= self._seconds / 2:
            await self.renew()

    async def rewrite(self, body: Mapping[str, Any]) -> None:
        """Change the message, and renew the lease. Cost: 1 transaction."""
        work = Envelope(self.work.kind, body)
        await self._update(self._seconds, work.text(base64=self._base64))
        self.work = work

    async def release(self, seconds: int = 0) -> None:
        """Give up the lease: the message can be received again in `seconds`. Cost: 1 transaction."""
        await self._update(seconds, None)

    async def complete(self) -> bool:
        """Delete the message; return False if the lease had been lost. Cost: 1 transaction."""
        async with self._lock:
            return await self._queue.delete(self.message)

    async def _update(self, seconds: int, text: str | None) -> None:
        async with self._lock:
            before = elapsed(self._account)
            self.message = await self._queue.renew(self.message, lease=seconds, text=text)
            self._ends_at = before + timedelta(seconds=seconds)


class ExternalLease(Lease):
    """The lease of a message that another program received, renews and deletes. It sends no requests.

    A rewritten body is seen by this handler only: a new delivery starts from the beginning.
    """

    def __init__(self, account: Account, queue: Queue, text: str, seconds: int) -> None:
        super().__init__(account, queue, Message("", text, None, None, None, 1), seconds)

    @property
    def remaining(self) -> float:
        """The full length of the lease, since the other program renews it."""
        return float(self._seconds)

    async def complete(self) -> bool:
        """Do nothing: the other program deletes the message."""
        return True

    async def _update(self, seconds: int, text: str | None) -> None:
        if text is not None:
            self.message = replace(self.message, text=text)


async def process_received(
    account: Account, queue: Queue, kind: str, seconds: int, handle: Callable[[Lease], Awaitable[None]]
) -> int:
    """Process all messages of one kind that can be received now, for so many seconds; return how many there were."""
    processed = 0
    while True:
        since = elapsed(account)
        messages = await queue.receive(MAX_MESSAGES_PER_GET, lease=seconds)
        if not messages:
            return processed
        for message in messages:
            lease = Lease(account, queue, message, seconds, requested_at=since)
            if lease.work.kind == kind:
                # If the lease ended, the process that received the message next completes it
                with suppress(LeaseLost):
                    await handle(lease)
                    processed += await lease.complete()
