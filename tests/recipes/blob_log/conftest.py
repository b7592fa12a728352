"""Containers of blob logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest


@pytest.fixture
def new_container(backend: Any, storage: Any) -> Iterator[Callable[[], str]]:
    """A function that returns unique names of containers, which are deleted after the test."""
    names: list[str] = []

    def new_name() -> str:
        names.append(f"logs{uuid4().hex}")
        return names[-1]

    yield new_name
    if backend.kind != "memory":
        for name in names:
            backend.run(storage.container(name).drop())


@pytest.fixture
def container(new_container: Callable[[], str]) -> str:
    """The name of a container that does not exist yet."""
    return new_container()
