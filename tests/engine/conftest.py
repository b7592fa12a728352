"""Fixtures for tests of the engine's state: tables with a frozen clock, and expected errors that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from support.soundness import check_tables
from support.table_states import Rejected, everything_in, rejecting
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.tables.service import Tables


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))


@pytest.fixture
def tables(clock: Clock) -> Iterator[Tables]:
    """An account with one empty table, People; its invariants are checked after the test."""
    tables = Tables(clock)
    tables.create("People")
    yield tables
    check_tables(tables)


@pytest.fixture
def rejected(tables: Tables) -> Rejected:
    """A block that must be rejected with this code and, where given, this text, and must have changed nothing."""
    return rejecting(lambda: everything_in(tables))
