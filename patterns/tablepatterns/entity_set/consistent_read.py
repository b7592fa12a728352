"""At once: rows of one range as they were at one instant, though they come in several pages."""

from __future__ import annotations

from collections.abc import Sequence

from .. import limits
from ..entity import Entity
from ..filters import Filter
from ..retry import Overtaken
from ..sdk.table import Table


async def rows_at_once(table: Table, where: Filter, select: Sequence[str] | None) -> list[Entity]:
    """Return all rows that match as they were at one instant.

    One page is. Of several pages each is of its own instant: they are read twice, and what has the same ETags
    both times did not change in between. Cost: 1 transaction, or 2 for each page.

    :raises Overtaken: something changed in between
    """
    rows, pages = await one_pass(table, where, select)
    if pages == 1:
        return rows
    again, pages = await one_pass(table, where, select)
    # Not in the order that they came in, which is none on the Cosmos DB Table API
    if pages > 1 and {row.key: row.etag for row in rows} != {row.key: row.etag for row in again}:
        raise Overtaken
    return again


async def one_pass(table: Table, where: Filter, select: Sequence[str] | None) -> tuple[list[Entity], int]:
    """Return all rows that match, and in how many pages they came."""
    page = await table.page(where, size=limits.MAX_PAGE_ENTITIES, select=select)
    rows, pages = list(page.items), 1
    while page.token is not None:
        page = await table.page(where, size=limits.MAX_PAGE_ENTITIES, token=page.token, select=select)
        rows.extend(page.items)
        pages += 1
    return rows, pages
