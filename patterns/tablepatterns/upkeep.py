"""Upkeep: what keeps derived data right where the writers alone cannot."""

from __future__ import annotations

from typing import Final

from .changes import Changes
from .errors import BadInput
from .eventual.intents import Intents
from .handler import Handler
from .lease import Lease
from .recipe import Account_co, recipe

_AT_ONCE: Final = 32


class Upkeep(Changes[Account_co]):
    """The part of an `EntitySet` that looks after derived data."""

    def reconciler(self) -> Handler:
        """Return what does the work of this set's intents: a `Worker` that polls their queue needs it.

        :raises BadInput: nothing is derived outside the primary's partition

        Guide: eventually consistent transactions.
        """
        return self._intents()

    @recipe
    async def settle(self, *, lease: int = 60) -> int:
        """Do the work of all intents that can be received now; return how many there were.

        For tests and small programs; a `Worker` does the same, all the time. Messages of other kinds are left, hidden
        until the lease is over.

        Cost: 1 transaction for each 32 messages and 1 more, and for each what `Intents.handle` takes, and 1 to delete
        it.

        :param lease: for how many seconds a message is ours
        :raises BadInput: nothing is derived outside the primary's partition
        :raises BadMessage: a message of this set that nobody can read; it comes again when the lease is over
        :raises TooMuchContention: others write the same entity all the time; its message comes again

        Guide: eventually consistent transactions.
        """
        intents = self._intents()
        queue = self.account.queue(intents.queue)
        settled = 0
        while True:
            since = self.account.now()
            messages = await queue.receive(_AT_ONCE, lease=lease)
            if not messages:
                return settled
            for message in messages:
                held = Lease(self.account, queue, message, lease, since=since)
                if held.work.kind == intents.kind:
                    await intents.handle(held)
                    await held.done()
                    settled += 1

    def _intents(self) -> Intents:
        if self.intents is None:
            rule = "all it derives lies in the primary's partition, and changes with each entity"
            raise BadInput("set", self.table.name, rule, "leave this out")
        return self.intents
