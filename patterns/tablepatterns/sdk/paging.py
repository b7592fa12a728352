"""Read a number of entities, and skip the rows of other sets between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from ..entity import Entity
from ..filters import Filter
from ..limits import MAX_PAGE_ENTITIES
from .table import Page, Table

T = TypeVar("T")

_GROWTH: Final = 4
"""The growth of pages after rows of other sets were found."""


async def filled_page(
    table: Table,
    where: Filter,
    *,
    size: int,
    token: str | None,
    select: Sequence[str] | None,
    choose: Callable[[Entity], Awaitable[T | None]],
) -> Page[T]:
    """Return a page with the items made of `size` rows, and the token that continues after the last of them.

    A page may be as short as the service makes it, but not because rows were left out. Cost: 1 transaction if no row
    is left out; otherwise 1 more for each further request, which grow fourfold, and 1 to read up to the last row.

    :param choose: makes an item of a row; returns None to leave the row out
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
        rows = min(max(size - len(chosen_items), _GROWTH * rows), MAX_PAGE_ENTITIES)
