"""Process one received message: run its handler, then delete it, release it, or move it to the poison queue.

A message is deleted only after it was processed, or after its copy is on the poison queue, so none is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from azure.core.exceptions import AzureError

from ..errors import NOT_SHOWN, BadDesign, BadMessage, LeaseLost
from ..recipe import Account, run_with_heartbeat
from ..sdk.queue import Message, Queue
from .handler import Handler, Observer
from .lease import Lease
from .poison import Poisoned, Reason, trace

Outcome: TypeAlias = Literal["handled", "failed", "poisoned", "lost", "released"]
log: Final = logging.getLogger("tablepatterns.worker")
"""Says which queue, message and kind, and what happened, also as `extra`; never what a message holds."""

LONGEST_RETRY: Final = 3600


@dataclass(frozen=True)
class Rules:
    """How a worker treats messages; the parameters of `Worker`."""

    lease: int
    max_deliveries: int
    retry_after: int
    base64: bool
    observer: Observer


@dataclass(frozen=True)
class Served:
    """A queue that a worker serves: its poison queue, and the handlers by the kind of their messages."""

    queue: Queue
    poison: Queue
    handlers: Mapping[str, Handler]


class Delivery:
    """One message while a worker has it.

    :param account: whose clock counts
    :param served: where the message is from
    :param rules: how it is treated
    :param message: as it was received
    :param since: when it was asked for
    """

    def __init__(self, account: Account, served: Served, rules: Rules, message: Message, since: datetime) -> None:
        self._account = account
        self._served = served
        self._rules = rules
        self._message = message
        self._since = since
        self._kind = "unknown"
        self._is_lost = False

    async def deal_with(self) -> Outcome:
        """Process the message, and return the result.

        Cost: that of the handler, and 1 transaction to delete or release the message; 2 to move it to the poison queue.

        :raises BadDesign: the handler's `handle` is not `async def`; the message is delivered again
        """
        try:
            lease, handler = self._understand()
        except BadMessage as error:
            return await self._to_poison(self._message, Reason.of(error))
        if self._message.deliveries > self._rules.max_deliveries:
            text = f"it was received {self._message.deliveries} times, and whoever had it last did not say what failed"
            return await self._to_poison(self._message, Reason("TooManyDeliveries", text))
        try:
            await run_with_heartbeat(
                self._account, _work(handler, lease), lambda: self._keep(lease), every=max(self._rules.lease / 4, 0.5)
            )
        except _NotAwaitable:
            # Every message would fail in this way, and end as poison: the worker is to be corrected instead
            await self.released()
            rule = f"`handle` of the handler of {self._kind!r} returned something that cannot be awaited"
            name = type(handler).__name__
            raise BadDesign("handle", name, rule, "write `async def handle(self, lease)`") from None
        except LeaseLost as error:
            return self._lost(error)
        except BadMessage as error:
            return await self._to_poison(lease.message, Reason.of(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the message is not lost
            return await self._failed(lease, error)
        return await self._handled(lease)

    async def released(self) -> Outcome:
        """Give the message back at once, its work not begun. Cost: 1 transaction."""
        try:
            await self._served.queue.renew(self._message, lease=0)
        except LeaseLost as error:
            return self._lost(error)
        return "released"

    def _understand(self) -> tuple[Lease, Handler]:
        """Return the lease, and who does what the message asks for."""
        lease = Lease(
            self._account,
            self._served.queue,
            self._message,
            self._rules.lease,
            base64=self._rules.base64,
            since=self._since,
        )
        return lease, self.handler_for(lease.work.kind)

    def handler_for(self, kind: str) -> Handler:
        """Return who does the work of this kind, or refuse the message."""
        handler = self._served.handlers.get(kind)
        if handler is None:
            known = ", ".join(sorted(self._served.handlers))
            rule = f"the queue {self._served.queue.name!r} is for {known}"
            raise BadMessage("kind", NOT_SHOWN, rule, "give the worker a handler for it, or send it elsewhere")
        self._kind = kind
        return handler

    async def _handled(self, lease: Lease) -> Outcome:
        if not await lease.complete():
            # The next one to receive it does the work again, which changes nothing
            self._tell(logging.WARNING, "the work is done, but the message was not ours any more")
        self._tell(logging.INFO, "handled")
        self._rules.observer.handled(self._served.queue.name, self._kind, self._seconds())
        return "handled"

    async def _failed(self, lease: Lease, error: Exception) -> Outcome:
        reason = Reason.of(error)
        self._tell(logging.WARNING, f"failed: {reason.error}: {reason.text}", reason)
        # A traceback would quote what the error says, and that may quote the message
        log.debug("where it failed: %s", trace(error))
        self._rules.observer.failed(self._served.queue.name, self._kind, reason, self._seconds())
        tries = self._message.deliveries
        if tries >= self._rules.max_deliveries:
            return await self._to_poison(lease.message, reason)
        try:
            await lease.release(min(self._rules.retry_after * 2 ** (tries - 1), LONGEST_RETRY))
        except LeaseLost as lost:
            return self._lost(lost)
        return "failed"

    async def _to_poison(self, message: Message, reason: Reason) -> Outcome:
        note = Poisoned.of(self._served.queue.name, message, reason, self._account.now())
        for text in note.texts(base64=self._rules.base64):
            await self._served.poison.send(text)
        await self._served.queue.delete(message)
        self._tell(logging.ERROR, f"moved to {self._served.poison.name}: {reason.error}: {reason.text}", reason)
        self._rules.observer.poisoned(self._served.queue.name, reason)
        return "poisoned"

    def _lost(self, error: LeaseLost) -> Outcome:
        self._tell(logging.WARNING, "not ours any more; it is delivered again", Reason.of(error))
        self._rules.observer.lost(self._served.queue.name, self._kind)
        return "lost"

    async def _keep(self, lease: Lease) -> None:
        """Renew the message while its work goes on; the work itself decides what to do when that fails."""
        if self._is_lost or lease.remaining > self._rules.lease / 2:
            return
        try:
            await lease.renew()
        except LeaseLost:
            self._is_lost = True
            self._tell(logging.WARNING, "not ours any more, while its work goes on")
        except AzureError as error:
            self._tell(logging.WARNING, "could not be renewed; the next beat tries again", Reason.of(error))
        else:
            self._rules.observer.renewed(self._served.queue.name, self._kind)

    def _seconds(self) -> float:
        return (self._account.now() - self._since).total_seconds()

    def _tell(self, level: int, what: str, reason: Reason | None = None) -> None:
        queue, message = self._served.queue.name, self._message
        facts: dict[str, str | int | None] = {
            "queue": queue,
            "message_id": message.id,
            "kind": self._kind,
            "deliveries": message.deliveries,
            "error": reason.error if reason else None,
        }
        log.log(level, "%s %s (%s): %s", queue, message.id, self._kind, what, extra=facts)


class _NotAwaitable(Exception):
    """A handler returned something that cannot be awaited; never leaves this file."""


async def _work(handler: Handler, lease: Lease) -> None:
    work: object = handler.handle(lease)
    if not isinstance(work, Awaitable):
        raise _NotAwaitable
    await work
