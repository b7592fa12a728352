"""Handler: what does one kind of work that comes through a queue."""

from __future__ import annotations

from typing import Protocol

from .lease import Lease


class Handler(Protocol):
    """Does the work of all messages of one kind; the worker receives, renews and deletes them.

    A message may come more than once, and later ones may overtake it, so the work must be idempotent. Returning means
    that the message may be deleted; an error means that it is delivered again, and goes to poison after some times.
    """

    @property
    def kind(self) -> str:
        """The kind of messages that it takes; a worker has one handler for each."""
        ...

    async def handle(self, lease: Lease) -> None:
        """Do the work that `lease.work` asks for, in words that a recipe may await."""
        ...
