"""Observer: what a worker tells about its work, for metrics."""

from __future__ import annotations

from .poison import Reason


class Observer:
    """Is told what a worker does; every method does nothing until it is overridden.

    Threads and tasks call it as they go, several at a time where the worker is parallel. What it raises ends the
    worker, and the message in hand is delivered again: let it count, and not fail.

    >>> class Counting(Observer):
    ...     handled_in_all = 0
    ...     def handled(self, queue: str, kind: str, seconds: float) -> None:
    ...         self.handled_in_all += 1
    """

    def received(self, queue: str, count: int) -> None:
        """So many messages came with one request, at least one."""

    def handled(self, queue: str, kind: str, seconds: float) -> None:
        """The work of a message is done; it took so many seconds."""

    def failed(self, queue: str, kind: str, reason: Reason, seconds: float) -> None:
        """The work of a message failed; unless it goes to poison, it is delivered again."""

    def renewed(self, queue: str, kind: str) -> None:
        """A message was kept for longer, since its work still goes on."""

    def lost(self, queue: str, kind: str) -> None:
        """A message is not ours any more, and somebody else does the same work."""

    def poisoned(self, queue: str, reason: Reason) -> None:
        """A message went to poison."""
