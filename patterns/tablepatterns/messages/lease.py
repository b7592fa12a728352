"""A queue message that this process has received, and how its lease is renewed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ..recipe import Account, new_lock
from ..sdk.queue import Message, Queue
from .envelope import Envelope


class Lease:
    """A received message, and how long this process may work on it.

    :param account: the account whose clock governs the lease
    :param queue: where the message is
    :param message: as it was sent or received
    :param seconds: the length of the lease; each renewal is as long
    :param since: when the message was requested, by the account's clock; None for now
    :raises BadMessage: the message cannot be read
    """

    def __init__(
        self,
        account: Account,
        queue: Queue,
        message: Message,
        seconds: int,
        *,
        base64: bool = False,
        since: datetime | None = None,
    ) -> None:
        self._account = account
        self._queue = queue
        self._base64 = base64
        self._seconds = seconds
        # A renewal beside the work makes the pop receipt that a rewrite of the work is about to send a stale one
        self._turn = new_lock(account)
        self.message = message
        self.work = Envelope.parse(message.text)
        # Counted from before the service began to count, it ends no later than there
        self._ends = (since or account.now()) + timedelta(seconds=seconds)

    @classmethod
    async def on_new(
        cls, account: Account, queue: Queue, work: Envelope, seconds: int, *, base64: bool = False
    ) -> Lease:
        """Send a message that is hidden for `seconds`, and hold its lease. Cost: 1 transaction."""
        before = account.now()
        message = await queue.send(work.text(base64=base64), delay=seconds)
        return cls(account, queue, message, seconds, base64=base64, since=before)

    @property
    def remaining(self) -> float:
        """The seconds until the lease ends; 0 or less if it has ended."""
        return (self._ends - self._account.now()).total_seconds()

    async def renew(self) -> None:
        """Extend the lease by its full length from now. Cost: 1 transaction.

        :raises LeaseLost: the lease has ended
        """
        await self._update(self._seconds, None)

    async def renew_if_due(self) -> None:
        """Renew if no more than half of the time is left. Cost: 1 transaction or none.

        :raises LeaseLost: it is not ours any more
        """
        if self.remaining <= self._seconds / 2:
            await self.renew()

    async def rewrite(self, body: Mapping[str, Any]) -> None:
        """Change the message, and renew the lease. Cost: 1 transaction.

        :raises LeaseLost: the lease has ended
        """
        work = Envelope(self.work.kind, body)
        await self._update(self._seconds, work.text(base64=self._base64))
        self.work = work

    async def release(self, seconds: int = 0) -> None:
        """Let the message be received again in `seconds`. Cost: 1 transaction.

        :raises LeaseLost: the lease has ended
        """
        await self._update(seconds, None)

    async def complete(self) -> bool:
        """Delete the message; return False if it was not ours any more. Cost: 1 transaction."""
        async with self._turn:
            return await self._queue.delete(self.message)

    async def _update(self, seconds: int, text: str | None) -> None:
        async with self._turn:
            before = self._account.now()
            self.message = await self._queue.renew(self.message, lease=seconds, text=text)
            self._ends = before + timedelta(seconds=seconds)


class Entrusted(Lease):
    """A lease for handlers where nothing is ours to do about the message; it costs no transaction.

    What a handler writes into the message is known to that handler only, so that it begins from the start when the
    message comes again.

    :param account: whose clock counts
    :param queue: where the message is
    :param text: what it says
    :raises BadMessage: nobody can tell what the message asks for
    """

    def __init__(self, account: Account, queue: Queue, text: str, seconds: int) -> None:
        super().__init__(account, queue, Message("", text, None, None, None, 1), seconds)

    @property
    def remaining(self) -> float:
        """The seconds for which the message is ours: whoever has it keeps it."""
        return float(self._seconds)

    async def complete(self) -> bool:
        """Leave the message to whoever has it."""
        return True

    async def _update(self, seconds: int, text: str | None) -> None:
        if text is not None:
            self.message = replace(self.message, text=text)
