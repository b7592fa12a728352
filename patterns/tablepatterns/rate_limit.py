"""Limit requests per second, evenly spaced, so that long work causes no traffic spikes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable
from datetime import timedelta
from typing import Any, TypeVar

from .argument_types import check_least
from .errors import BadInput
from .limits import MAX_PAGE_ENTITIES
from .recipe import Account, elapsed

T = TypeVar("T")
R = TypeVar("R")

_SECONDS_OF_A_PAGE = 5
"""How long a page may take at the limit, so that progress is reported, and little is repeated after a crash."""


class Pace:
    """Limit requests per second, evenly spaced by the account's clock. Tasks and threads may share it.

    Retries by the SDK are not counted; their backoff slows them down already.
    """

    def __init__(self, account: Account, per_second: float | None) -> None:
        if per_second is not None and not per_second > 0:
            rule = "it is a number of requests per second"
            raise BadInput("max_per_second", per_second, rule, "give a rate above 0, or None")
        self._account = account
        self._interval = None if per_second is None else timedelta(seconds=1 / per_second)
        self._lock = threading.Lock()
        self._next: timedelta | None = None

    @property
    def page_size(self) -> int:
        """How many entities to read at a time."""
        if self._interval is None:
            return MAX_PAGE_ENTITIES
        return min(MAX_PAGE_ENTITIES, int(_SECONDS_OF_A_PAGE / self._interval.total_seconds()) + 1)

    async def turn(self, count: int = 1) -> None:
        """Wait until the next request may be sent; one that counts as several waits for the turn of each."""
        if self._interval is None:
            return
        now = elapsed(self._account)
        with self._lock:
            first = now if self._next is None else max(now, self._next)
            own_turn = first + self._interval * (count - 1)
            self._next = own_turn + self._interval
        if own_turn > now:
            await self._account.sleep((own_turn - now).total_seconds())


class Pool:
    """Call a function for many items, so many at a time and so many a second; None for no limit."""

    def __init__(self, account: Account, max_per_second: float | None, max_concurrency: int) -> None:
        check_least("max_concurrency", max_concurrency, 1)
        self.pace = Pace(account, max_per_second)
        self.account = account
        self.max_per_second = max_per_second
        self._max_concurrency = max_concurrency

    async def map(self, function: Callable[[T], Coroutine[Any, Any, R]], items: Iterable[T]) -> list[R]:
        """Call the function for each item at the pool's rate, and return the results in the order of the items."""

        async def call(item: T) -> R:
            await self.pace.turn()
            return await function(item)

        return await self.gather(*map(call, items))

    async def gather(self, *calls: Coroutine[Any, Any, R]) -> list[R]:
        """Run calls that take their turns themselves; they pass nothing to each other except through the account."""
        # With a rate limit, the turn of each call depends on the others
        independent = self.max_per_second is None
        return await self.account.gather(*calls, max_concurrency=self._max_concurrency, independent=independent)
