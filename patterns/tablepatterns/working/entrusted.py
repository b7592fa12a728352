"""Entrusted: a message that somebody else received, renews and deletes, such as the host of an Azure Function."""

from __future__ import annotations

from dataclasses import replace

from ..recipe import Account
from ..words.queue import Message, Queue
from .lease import Lease


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

    async def done(self) -> bool:
        """Leave the message to whoever has it."""
        return True

    async def _update(self, seconds: int, text: str | None) -> None:
        if text is not None:
            self.message = replace(self.message, text=text)
