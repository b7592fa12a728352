"""Fixtures for tests of the engine's blobs: an account with a frozen clock, and expected errors that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.blob_states import HOME, everything_in
from support.soundness import check_blobs
from support.table_states import Rejected
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.errors import ServiceError


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

    @contextmanager
    def expect(code: str, text: str | None = None) -> Iterator[None]:
        before = everything_in(blobs)
        with pytest.raises(ServiceError) as caught:
            yield
        assert caught.value.code == code
        assert text in (None, caught.value.message)
        assert everything_in(blobs) == before

    return expect
