"""Period tables of logins, at noon of the last day of July."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.backends import Backend
from support.logins import NOON, drop_all
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock


@pytest.fixture
def engine() -> Engine:
    """An account in memory whose clock stands at noon of the last day of July."""
    return Engine(clock=Clock(NOON))


@pytest.fixture
def series(backend: Backend, storage: Any, new_name: Callable[..., str]) -> Iterator[str]:
    """The name of a series whose tables are deleted after the test."""
    name = f"{new_name()}Logins"
    yield name
    if backend.kind != "memory":
        backend.run(drop_all(storage, name))
