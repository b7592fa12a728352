"""Process one received message: call its handler, then delete it, release it, or move it to the poison queue.

A message is deleted only after it was processed, or after it was copied to the poison queue, so none is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, Protocol, TypeAlias

from azure.core.exceptions import AzureError

from ..errors import NOT_SHOWN, BadDesign, BadMessage, LeaseLost, StepFailed
from ..recipe import Account, elapsed, run_with_heartbeat
from ..sdk.queue import Message, Queue
from .lease import Lease
from .poison import PoisonMessage, Reason, trace

Outcome: TypeAlias = Literal["handled", "failed", "poisoned", "lost", "released"]
log: Final = logging.getLogger("tablepatterns.worker")
"""Logs the queue, the message's id and kind, and the result, also as `extra`; never a message's text."""

_LONGEST_RETRY_SECONDS: Final = 3600


class Handler(Protocol):
    """Processes all messages of one kind; the worker receives, renews and deletes them.

    A message may be delivered more than once and out of order, so processing must be idempotent. If `handle` returns,
    the message is deleted; if it raises, the message is delivered again, and is moved to the poison queue after several
    deliveries.
    """

    @property
    def kind(self) -> str:
        """The kind of messages that it takes; a worker has one handler for each."""
        ...

    async def handle(self, lease: Lease) -> None:
        """Process the message `lease.work`. Await only what a recipe may await; see `recipe`."""
        ...


class Observer:
    """Receives notifications of what a worker does, for metrics; each method does nothing unless overridden.

    >>> class Counting(Observer):
    ...     handled_in_all = 0
    ...     def handled(self, queue: str, kind: str, seconds: float) -> None:
    ...         self.handled_in_all += 1

    Threads and tasks may call it concurrently. An error that it raises ends the worker, and the current message is
    delivered again; so keep it simple.
    """

    def received(self, queue: str, count: int) -> None:
        """One request returned `count` messages, at least one."""

    def handled(self, queue: str, kind: str, seconds: float) -> None:
        """A message was processed, in `seconds`."""

    def failed(self, queue: str, kind: str, reason: Reason, seconds: float) -> None:
        """A handler failed; the message is delivered again, or moved to the poison queue."""

    def renewed(self, queue: str, kind: str) -> None:
        """The lease of a message was renewed while its handler runs."""

    def lost(self, queue: str, kind: str) -> None:
        """The lease of a message ended before it was processed, so another worker may receive it."""

    def poisoned(self, queue: str, reason: Reason) -> None:
        """A message was moved to the poison queue."""


@dataclass(frozen=True)
class Settings:
    """Parameters of `Worker`, which describes them."""

    lease: int
    max_deliveries: int
    retry_after: int
    base64: bool
    observer: Observer
    is_sync: bool = False
    """Whether the account is sync, so that a handler cannot wait for anything else."""


@dataclass(frozen=True)
class ServedQueue:
    """A queue that a worker polls, its poison queue, and its handlers by the kind of their messages."""

    queue: Queue
    poison: Queue
    handlers: Mapping[str, Handler]


class Delivery:
    def __init__(
        self, account: Account, served_queue: ServedQueue, settings: Settings, message: Message, requested_at: timedelta
    ) -> None:
        self._account = account
        self._served = served_queue
        self._settings = settings
        self._message = message
        self._requested_at = requested_at
        self._kind = "unknown"
        self._is_lost = False

    async def process(self) -> Outcome:
        """Process the message. Cost: the handler's, and 1 transaction to delete or release it, 2 to poison it."""
        try:
            lease = Lease(
                self._account,
                self._served.queue,
                self._message,
                self._settings.lease,
                base64=self._settings.base64,
                requested_at=self._requested_at,
            )
            handler = self._handler_of(lease.work.kind)
        except BadMessage as error:
            return await self._move_to_poison(self._message, Reason.of(error))
        if self._message.deliveries > self._settings.max_deliveries:
            text = f"it was received {self._message.deliveries} times, and the last worker stopped without an error"
            return await self._move_to_poison(self._message, Reason("TooManyDeliveries", text))
        every = max(self._settings.lease / 4, 0.5)
        try:
            handling = _handle(handler, lease, is_sync=self._settings.is_sync)
            await run_with_heartbeat(self._account, handling, lambda: self._renew(lease), every=every)
        except _NotAwaitable:
            # Every message would fail and be moved to the poison queue, so stop the worker instead
            await self.release()
            rule = f"`handle` of the handler of {self._kind!r} returned something that cannot be awaited"
            name = type(handler).__name__
            raise BadDesign("handle", name, rule, "write `async def handle(self, lease)`") from None
        except LeaseLost as error:
            return self._lease_lost(error)
        except BadMessage as error:
            return await self._move_to_poison(lease.message, Reason.of(error))
        except Exception as error:  # noqa: BLE001 - logged, and the message is delivered again
            return await self._failed(lease, error)
        return await self._handled(lease)

    async def release(self) -> Outcome:
        """Let the message be received again at once, without processing it. Cost: 1 transaction."""
        try:
            await self._served.queue.renew(self._message, lease=0)
        except LeaseLost as error:
            return self._lease_lost(error)
        return "released"

    def _handler_of(self, kind: str) -> Handler:
        handler = self._served.handlers.get(kind)
        if handler is None:
            kinds = ", ".join(sorted(self._served.handlers))
            rule = f"the worker has no handler for it; those of queue {self._served.queue.name!r} are for {kinds}"
            raise BadMessage("kind", NOT_SHOWN, rule, "add a handler, or send it to another queue")
        self._kind = kind
        return handler

    async def _handled(self, lease: Lease) -> Outcome:
        if not await lease.complete():
            # Another worker may process it again, which changes nothing
            self._log(logging.WARNING, "processed, but the lease had ended")
        self._log(logging.INFO, "handled")
        self._settings.observer.handled(self._served.queue.name, self._kind, self._seconds())
        return "handled"

    async def _failed(self, lease: Lease, error: Exception) -> Outcome:
        reason = Reason.of(error)
        self._log(logging.WARNING, f"failed: {reason.error}: {reason.text}", reason)
        # A traceback would include the text of the error, which may quote the message
        log.debug("traceback: %s", trace(error))
        self._settings.observer.failed(self._served.queue.name, self._kind, reason, self._seconds())
        deliveries = self._message.deliveries
        if deliveries >= self._settings.max_deliveries:
            return await self._move_to_poison(lease.message, reason)
        try:
            await lease.release(min(self._settings.retry_after * 2 ** (deliveries - 1), _LONGEST_RETRY_SECONDS))
        except LeaseLost as lease_error:
            return self._lease_lost(lease_error)
        return "failed"

    async def _move_to_poison(self, message: Message, reason: Reason) -> Outcome:
        note = PoisonMessage.of(self._served.queue.name, message, reason, self._account.now())
        for text in note.texts(base64=self._settings.base64):
            await self._served.poison.send(text)
        await self._served.queue.delete(message)
        self._log(logging.ERROR, f"moved to {self._served.poison.name}: {reason.error}: {reason.text}", reason)
        self._settings.observer.poisoned(self._served.queue.name, reason)
        return "poisoned"

    def _lease_lost(self, error: LeaseLost) -> Outcome:
        self._log(logging.WARNING, "the lease has ended; the message is delivered again", Reason.of(error))
        self._settings.observer.lost(self._served.queue.name, self._kind)
        return "lost"

    async def _renew(self, lease: Lease) -> None:
        """Renew the lease if half of it is over; if that fails, the handler continues."""
        if self._is_lost or lease.remaining > self._settings.lease / 2:
            return
        try:
            await lease.renew()
        except LeaseLost:
            self._is_lost = True
            self._log(logging.WARNING, "the lease has ended while the handler runs")
        except AzureError as error:
            self._log(
                logging.WARNING, "the lease could not be renewed; retrying at the next heartbeat", Reason.of(error)
            )
        else:
            self._settings.observer.renewed(self._served.queue.name, self._kind)

    def _seconds(self) -> float:
        return (elapsed(self._account) - self._requested_at).total_seconds()

    def _log(self, level: int, text: str, reason: Reason | None = None) -> None:
        queue, message = self._served.queue.name, self._message
        extra: dict[str, str | int | None] = {
            "queue": queue,
            "message_id": message.id,
            "kind": self._kind,
            "deliveries": message.deliveries,
            "error": reason.error if reason else None,
        }
        log.log(level, "%s %s (%s): %s", queue, message.id, self._kind, text, extra=extra)


class _NotAwaitable(Exception):
    """A handler returned something that cannot be awaited; never leaves this file."""


async def _handle(handler: Handler, lease: Lease, *, is_sync: bool) -> None:
    handling: object = handler.handle(lease)
    if not isinstance(handling, Awaitable):
        raise _NotAwaitable
    if not is_sync:
        await handling
        return
    # Without an event loop. If the handler waits, its message has failed, and not the worker
    steps: Any = handling.__await__()
    try:
        next(steps)
    except StopIteration:
        return
    steps.close()
    text = f"the handler of {handler.kind!r} waited for something that a sync account cannot await"
    raise StepFailed(f"{text}; await only what a recipe may await, or connect with tablepatterns.aio")
