"""Shared by tests of archives: the entity to move, its possible targets, and interrupted moves."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from tablepatterns import BlobArchive, Key, Worker
from tablepatterns.recipes.worker import Report

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
ID = {"Department": "Sales", "EmployeeId": 456}
KEYS = ("Sales", "empid_000456")
PLACES = ("table", "blobs")
Work: TypeAlias = Callable[..., Coroutine[Any, Any, Report]]


def jones(**more: Any) -> dict[str, Any]:
    return {**ID, "LastName": "Jones", **more}


@contextmanager
def place(kind: str, backend: Any, storage: Any, table: Any) -> Iterator[Any]:
    """Yield an empty target of this kind, and clean up afterwards."""
    name = f"c{uuid4().hex}"
    if kind == "table":
        yield table
    else:
        yield BlobArchive(storage, name, prefix="former/")
        if backend.kind != "memory":
            backend.run(storage.container(name).drop())


def worker_of(storage: Any) -> Work:
    """Return a worker that runs until the queue of an archive is empty."""

    async def drain(archive: Any, **options: Any) -> Report:
        worker: Any = Worker(storage, [archive], **({"retry_after": 0} | options))
        report: Report = await worker.drain()
        return report

    return drain


def interrupt(monkeypatch: pytest.MonkeyPatch, store: Any, word: str, action: Callable[[], Any]) -> None:
    """Run an action once, right before one of a store's methods."""
    genuine, left = getattr(store, word), [action]

    async def interrupted(*args: Any) -> Any:
        if left:
            await left.pop()()
        return await genuine(*args)

    monkeypatch.setattr(store, word, interrupted)
