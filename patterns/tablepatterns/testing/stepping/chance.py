"""Chance: random numbers that depend on who asks for them, and at which of its steps, and on nothing else."""

from __future__ import annotations

import os
import random
import threading
from contextlib import ExitStack
from hashlib import shake_128
from types import TracebackType
from typing import Any
from unittest.mock import patch


class Chance:
    """In a `with` block, the source of `random`, of `uuid4` and of new generators for this thread.

    The same actor draws the same ids and the same back-off at the same of its steps, whatever the others do. So a
    schedule can be repeated, and two schedules that lead to the same state are seen to.

    >>> from uuid import uuid4
    >>> with Chance() as chance:
    ...     chance.turn_to("A, step 1")
    ...     first = uuid4(), random.random()
    ...     chance.turn_to("B, step 1")
    ...     second = uuid4(), random.random()
    ...     chance.turn_to("A, step 1")
    ...     (uuid4(), random.random()) == first != second
    True
    """

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._system = os.urandom
        self._former = random.getstate()
        self._who = ""
        self._drawn = 0
        self._patches = ExitStack()

    def turn_to(self, who: str) -> None:
        """Say who draws from now on; what was drawn before has no influence."""
        self._who, self._drawn = who, 0
        random.seed(who)

    def _bytes(self, size: int, /) -> bytes:
        if threading.get_ident() != self._thread:
            return self._system(size)
        self._drawn += 1
        return shake_128(f"{self._who}, {self._drawn}".encode()).digest(size)

    def __enter__(self) -> Chance:
        unseeded = random.Random.__init__

        def seeded(generator: random.Random, x: Any = None) -> None:
            # The retries of the storage SDKs make a generator of their own, which asks the system past `os`
            unseeded(generator, self._bytes(16) if x is None else x)

        self._patches.enter_context(patch.object(os, "urandom", self._bytes))
        self._patches.enter_context(patch.object(random.Random, "__init__", seeded))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patches.close()
        random.setstate(self._former)
