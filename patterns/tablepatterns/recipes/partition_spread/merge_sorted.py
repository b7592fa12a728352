"""Merge several sorted queries into one sorted result, holding one page of each in memory."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from ...recipe import Account
from ...sdk.table import Page

T = TypeVar("T")

Query = Callable[[str | None], Awaitable[Page[T]]]
"""Returns the first page of a query, or the one that a token continues."""


class _Buffer(Generic[T]):
    """The items of one query that were read and not yielded yet."""

    def __init__(self, query: Query[T]) -> None:
        self._query = query
        self._token: str | None = None
        self._has_started = False
        self.items: deque[T] = deque()

    async def fill(self) -> bool:
        """Read pages until there is an item; return False at the end of the query."""
        while not self.items:
            if self._has_started and self._token is None:
                return False
            page = await self._query(self._token)
            self._has_started, self._token = True, page.token
            self.items.extend(page.items)
        return True


async def merge_sorted(
    account: Account, queries: Sequence[Query[T]], order: Callable[[T], str], *, max_concurrency: int
) -> AsyncIterator[T]:
    """Yield the items of all queries, each of which is sorted, in order, holding one page of each.

    The first pages are read concurrently, further pages only when needed. Cost: 1 transaction per page.
    """
    buffers = [_Buffer(query) for query in queries]
    has_items = await account.gather(*(buffer.fill() for buffer in buffers), max_concurrency=max_concurrency)
    heads = [(order(buffer.items[0]), number) for number, buffer in enumerate(buffers) if has_items[number]]
    heapq.heapify(heads)
    while heads:
        _, number = heads[0]
        buffer = buffers[number]
        yield buffer.items.popleft()
        if await buffer.fill():
            heapq.heapreplace(heads, (order(buffer.items[0]), number))
        else:
            heapq.heappop(heads)
