"""Read a consistent snapshot of a range, even if it takes several pages."""

from __future__ import annotations

from collections.abc import Sequence

from .. import limits
from ..entity import Entity
from ..filters import Filter
from ..retry import Overtaken
from ..sdk.page_token import PageQuery
from ..sdk.table import Table


async def rows_at_once(table: Table, where: Filter, select: Sequence[str] | None) -> list[Entity]:
    """Return a consistent snapshot of the rows that match a filter.

    A single page is a snapshot. Several pages are read twice: if no ETag differs, nothing changed in between. Cost: 1
    transaction; if there are several pages, 2 for each.
    """
    rows, pages = await one_pass(table, where, select)
    if pages == 1:
        return rows
    again, pages = await one_pass(table, where, select)
    # Compared as dicts, because the Cosmos DB Table API does not sort results
    if pages > 1 and {row.key: row.etag for row in rows} != {row.key: row.etag for row in again}:
        raise Overtaken
    return again


async def one_pass(table: Table, where: Filter, select: Sequence[str] | None) -> tuple[list[Entity], int]:
    """Read the matching rows once; return them with the number of pages."""
    query = PageQuery(where, limits.MAX_PAGE_ENTITIES, None, select)
    page = await table.read_page(query)
    rows, pages = list(page.entities), 1
    while page.next is not None:
        page = await table.read_page(query._replace(start=page.next))
        rows.extend(page.entities)
        pages += 1
    return rows, pages
