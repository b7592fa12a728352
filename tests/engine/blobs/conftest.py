"""Fixtures for tests of the engine's blobs: an account with a frozen clock, and expected errors that change nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.blob_states import HOME, everything_in
from support.soundness import check_blobs
from support.table_states import Rejected, rejecting
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.clock import Clock


@pytest.fixture
def blobs(clock: Clock) -> Iterator[Blobs]:
    """An account with one empty container; its invariants are checked after the test."""
    blobs = Blobs(clock)
    blobs.containers.create(HOME)
    yield blobs
    check_blobs(blobs)


@pytest.fixture
def rejected(blobs: Blobs) -> Rejected:
    """A block that must be rejected with this code and, where given, this text, and must have changed nothing."""
    return rejecting(lambda: everything_in(blobs))
