"""Read a number of entities, and skip the rows of other sets between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from ..entity import Entity
from ..errors import BadInput
from ..filters import Filter
from ..limits import MAX_PAGE_ENTITIES
from .page_token import PageQuery, Position
from .table import Page, Table

T = TypeVar("T")

_GROWTH: Final = 4
"""The growth of pages after rows of other sets were found."""


async def first_rows(
    table: Table, count: int, where: Filter, *, select: Sequence[str] | None, choose: Callable[[Entity], T | None]
) -> list[T]:
    """Return the items that `choose` makes of the first `count` rows; it returns None to leave a row out.

    Short and empty pages are followed; no page is requested beyond the last one needed. Cost: 1 transaction for up to
    1,000 rows. If rows that do not fit are between them, 1 more for each further page; the pages grow fourfold.
    """
    if count < 0:
        raise BadInput("count", count, "it must be a number of entities", "ask for 0 or more")
    items: list[T] = []
    start: Position | None = None
    size = 0
    has_other_rows = False
    while len(items) < count:
        size = _next_size(count - len(items), size if has_other_rows else 0)
        page = await table.read_page(PageQuery(where, size, start, select))
        fitting = [item for item in map(choose, page.entities) if item is not None]
        has_other_rows = len(fitting) < len(page.entities)
        items += fitting
        start = page.next
        if start is None:
            break
    return items[:count]


async def filled_page(
    table: Table,
    where: Filter,
    *,
    size: int,
    token: str | None,
    select: Sequence[str] | None,
    choose: Callable[[Entity], Awaitable[T | None]],
) -> Page[T]:
    """Return a page of what `choose` makes of `size` rows, and the token that continues after the last of them.

    A page may be as short as the service makes it, but not because rows were left out. Cost: 1 transaction if no row
    is left out; otherwise 1 more for each further request, which grow fourfold, and 1 to read up to the last row.
    """
    chosen_items: list[T] = []
    rows = size
    while True:
        page = await table.page(where, size=rows, token=token, select=select)
        items: list[T] = []
        read = 0
        for row in page.items:
            if len(chosen_items) + len(items) == size:
                break
            read += 1
            if (item := await choose(row)) is not None:
                items.append(item)
        if read < len(page.items):
            # The service's tokens continue after a whole page, so read only up to the last row that is needed
            rows = read
            continue
        chosen_items += items
        token = page.token
        if token is None or len(chosen_items) == size or len(items) == read:
            return Page(tuple(chosen_items), token)
        rows = _next_size(size - len(chosen_items), rows)


def _next_size(missing: int, before: int) -> int:
    return min(max(missing, _GROWTH * before), MAX_PAGE_ENTITIES)
