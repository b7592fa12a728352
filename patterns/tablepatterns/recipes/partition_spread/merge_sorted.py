"""Merge several sorted queries into one sorted result, holding one page of each in memory."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from ...recipe import Account
from ...sdk.table import Page

T = TypeVar("T")

Ask = Callable[[str | None], Awaitable[Page[T]]]
"""Returns a page of a query: its first, or the one that a token continues."""


class _Run(Generic[T]):
    """What was read of one query and not handed out yet."""

    def __init__(self, ask: Ask[T]) -> None:
        self._ask = ask
        self._token: str | None = None
        self._begun = False
        self.items: deque[T] = deque()

    async def read_on(self) -> bool:
        """Read until there is something to hand out, past empty pages; return False at the end."""
        while not self.items:
            if self._begun and self._token is None:
                return False
            page = await self._ask(self._token)
            self._begun, self._token = True, page.token
            self.items.extend(page.items)
        return True


async def merged(
    account: Account, asks: Sequence[Ask[T]], order: Callable[[T], str], *, max_concurrency: int
) -> AsyncIterator[T]:
    """Yield the items of all queries in order, one page of each at a time.

    The first pages are read at once, the others when they are come to; no page is read after the last item that is
    taken. Cost: 1 transaction per query and further page.

    :param asks: the queries, each of which gives its items in order
    :param order: what the items are ordered by
    :param max_concurrency: how many first pages are read at a time
    """
    runs = [_Run(ask) for ask in asks]
    more = await account.gather(*(run.read_on() for run in runs), max_concurrency=max_concurrency)
    heads = [(order(run.items[0]), number) for number, run in enumerate(runs) if more[number]]
    heapq.heapify(heads)
    while heads:
        _, number = heads[0]
        run = runs[number]
        yield run.items.popleft()
        if await run.read_on():
            heapq.heapreplace(heads, (order(run.items[0]), number))
        else:
            heapq.heappop(heads)
