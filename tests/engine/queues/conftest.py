"""Fixtures for tests of queues: queues with a frozen clock, and expected errors that change nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.queue_states import everything_in
from support.soundness import check_queues
from support.table_states import Rejected, rejecting
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.queues.service import Queues


@pytest.fixture
def queues(clock: Clock) -> Iterator[Queues]:
    """An account with one empty queue, orders; its invariants are checked after the test."""
    queues = Queues(clock)
    queues.create("orders")
    yield queues
    check_queues(queues)


@pytest.fixture
def rejected(queues: Queues) -> Rejected:
    """A block that must be rejected with this code and, where given, this text, and must have changed nothing."""
    return rejecting(lambda: everything_in(queues))
