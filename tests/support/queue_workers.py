"""Shared by tests of queues and workers: names of queues, messages, and configurable handlers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from tablepatterns import Observer, Worker
from tablepatterns.messages.lease import Lease
from tablepatterns.messages.poison import PoisonMessage, Reason


@contextmanager
def queue_names(backend: Any, storage: Any) -> Iterator[Callable[[], str]]:
    """Yield a function that returns queue names; these queues and their poison queues are dropped afterwards."""
    given: list[str] = []

    def name() -> str:
        given.append(f"q{uuid4().hex}")
        return given[-1]

    yield name
    if backend.kind != "memory":
        for each in given:
            backend.run(storage.queue(each).drop())
            backend.run(storage.queue(f"{each}-poison").drop())


def message(kind: str = "greet", /, **body: Any) -> str:
    """Return the text of a message as another client would write it."""
    return json.dumps({"v": 1, "kind": kind, "body": body})


class RecordingHandler:
    """A handler that records the bodies it receives, and runs an action.

    :param act: an action with the lease; an error that it raises is a failure of the handler
    """

    def __init__(self, act: Callable[[Lease], Any] | None = None, kind: str = "greet") -> None:
        self.kind = kind
        self.bodies: list[Mapping[str, Any]] = []
        self._act = act

    async def handle(self, lease: Lease) -> None:
        self.bodies.append(lease.work.body)
        if self._act is not None:
            done = self._act(lease)
            if hasattr(done, "__await__"):
                await done


def failing(*errors: Exception | None) -> Callable[[Lease], None]:
    """Return an action that raises these errors one after another, and then succeeds."""
    left = list(errors)

    def act(_: Lease) -> None:
        error = left.pop(0) if left else None
        if error is not None:
            raise error

    return act


class RecordingObserver(Observer):
    """An observer that records its calls."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def received(self, queue: str, count: int) -> None:
        self.noted.append(f"received {count}")

    def handled(self, queue: str, kind: str, seconds: float) -> None:
        assert seconds >= 0
        self.noted.append(f"handled {kind}")

    def failed(self, queue: str, kind: str, reason: Reason, seconds: float) -> None:
        assert seconds >= 0
        self.noted.append(f"failed {kind}: {reason.error}")

    def renewed(self, queue: str, kind: str) -> None:
        self.noted.append(f"renewed {kind}")

    def lost(self, queue: str, kind: str) -> None:
        self.noted.append(f"lost {kind}")

    def poisoned(self, queue: str, reason: Reason) -> None:
        self.noted.append(f"poisoned: {reason.error}")


def worker_of(storage: Any, name: str, *handlers: Any, **options: Any) -> Any:
    """Return a worker of one queue."""
    return Worker(storage, {name: handlers}, **options)


async def poison_of(storage: Any, name: str) -> list[PoisonMessage]:
    """Return the notes in the poison queue of a queue."""
    return [PoisonMessage.parse(found.text) for found in await storage.queue(f"{name}-poison").peek(32)]
