"""Archives of one set of employees, with each kind of target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.archive_moves import KEY, PLACES, Work, place, worker_of
from tablepatterns import Archive, EntitySet


@pytest.fixture
def current(storage: Any, new_name: Callable[..., str]) -> Any:
    return EntitySet(storage, new_name("Current"), KEY)


@pytest.fixture
def former(storage: Any, new_name: Callable[..., str]) -> Any:
    return EntitySet(storage, new_name("Former"), KEY)


@pytest.fixture(params=PLACES)
def target(request: pytest.FixtureRequest, backend: Any, storage: Any, former: Any) -> Iterator[Any]:
    """Where entities go: each kind of place."""
    with place(request.param, backend, storage, former) as target:
        yield target


@pytest.fixture
def archive(current: Any, target: Any, queue_name: str) -> Any:
    return Archive(current, target, queue=queue_name)


@pytest.fixture
def to_table(current: Any, former: Any, queue_name: str) -> Any:
    """An archive in a table, for tests that do not depend on the target."""
    return Archive(current, former, queue=queue_name)


@pytest.fixture
def work(storage: Any) -> Work:
    return worker_of(storage)
