"""Queues, and tables for derived data, which are deleted after a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from support.derived_tables import DerivedTables
from support.queue_workers import queue_names


@pytest.fixture
def new_queue(backend: Any, storage: Any) -> Iterator[Callable[[], str]]:
    """A function that returns unique names of queues."""
    with queue_names(backend, storage) as names:
        yield names


@pytest.fixture
def queue_name(new_queue: Callable[[], str]) -> str:
    return new_queue()


@pytest.fixture
def places(backend: Any, storage: Any, new_name: Any) -> Iterator[DerivedTables]:
    """The tables of a set with derived data, whose queue of intents and container are deleted, too."""
    places = DerivedTables(storage, new_name("staff"), new_name("other"), f"c{uuid4().hex}")
    yield places
    if backend.kind != "memory":
        backend.run(storage.queue(f"{places.table.lower()}-intents").drop())
        backend.run(storage.container(places.container).drop())
