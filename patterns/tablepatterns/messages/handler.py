"""What a worker calls: a handler for one kind of message, and an observer for metrics."""

from __future__ import annotations

from typing import Protocol

from .lease import Lease
from .poison import Reason


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
