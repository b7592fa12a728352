"""Read ranges of rows: their filter and projection, a number of entities, a page, and a consistent snapshot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeVar

from .. import limits
from ..entity import Entity
from ..errors import BadFilter, BadInput
from ..filters import And, Comparison, Filter, Interval, QueryClass, comparisons, key_bounds, reject_scans
from ..filters.bounds import NO_KEY
from ..key import KeyRange
from ..key.ranges import Between, Prefix
from ..retry import Overtaken
from ..sdk.page_token import PageQuery, Position
from ..sdk.table import Page, Table
from .derived import Fields, RowLayout

T = TypeVar("T")

_GROWTH: Final = 4
"""The growth of pages after rows of other sets were found."""


@dataclass(frozen=True)
class Question:
    shape: RowLayout
    filter: Filter
    select: tuple[str, ...] | None

    @classmethod
    def of(
        cls, shape: RowLayout, where: Filter | None, select: Sequence[str] | None, fields: Fields, allow: QueryClass
    ) -> Question:
        keys = shape.key.range(fields)
        if where is None:
            return cls(shape, range_filter(keys), shape.selected(select))
        return cls(shape, conditional_range(keys, condition(shape, where, fields), allow), shape.selected(select))


def range_filter(keys: KeyRange) -> Filter:
    """Return the filter of a range of keys, in the form that the guide uses."""
    where: Filter = Comparison("PartitionKey", "eq", keys.partition_key)
    bounds = keys.row_keys.comparisons("RowKey")
    return And(where, *bounds) if bounds else where


def bounding_range(ranges: Sequence[KeyRange]) -> KeyRange:
    """Return the smallest range that contains all of these, at least one."""
    partitions = sorted({key_range.partition_key for key_range in ranges})
    if len(partitions) > 1:
        rule = "the types are in several partitions, and a range query reads one"
        raise BadInput("PartitionKey", partitions, rule, "query each type separately")
    return KeyRange(partitions[0], reduce(Interval.__or__, [key_range.row_keys for key_range in ranges]))


def conditional_range(keys: KeyRange, where: Filter | None, allow: QueryClass) -> Filter:
    """Return the filter of the rows in a range that match a condition; reject a worse class of query than allowed."""
    bounds = range_filter(keys)
    if where is None:
        return bounds
    if key_bounds(bounds & where).empty:
        # The condition contradicts the range. No RowKey is below the empty text, so the service reads no row
        return range_filter(KeyRange(keys.partition_key, NO_KEY))
    reject_scans(bounds & where, allow, hint=", or allow=QueryClass.PARTITION_SCAN")
    return bounds & where


def condition(shape: RowLayout, where: Filter, fields: Fields) -> Filter:
    """Return a condition on the entities of a range as one on its rows."""
    for name in sorted({comparison.name for comparison in comparisons(where)}):
        if name in shape.key.fields:
            continue
        if name in limits.SYSTEM_PROPERTIES[:2]:
            rule = f"the range gives the keys, by the fields {', '.join(shape.key.fields)}"
            raise BadFilter("where", name, rule, "give those fields as keywords, or compare them")
        if name != "Timestamp" and not shape.holds(name):
            rule = f"the rows of this index hold no such property, so nothing would match; they hold {shape.include}"
            raise BadFilter("where", name, rule, "include the property in the index, or read the primary rows")
    # Most sets are read without a condition
    from ..key.key_filter import stored_filter

    key_values = {name: value for name, value in fields.items() if not isinstance(value, (Prefix, Between))}
    return stored_filter(shape.key, where, key_values)


async def first_rows(
    table: Table, count: int, where: Filter, *, select: Sequence[str] | None, choose: Callable[[Entity], T | None]
) -> list[T]:
    """Return the items that `choose` makes of the first `count` rows; it returns None to leave a row out.

    Short and empty pages are followed; no page is requested beyond the last one needed. Cost: 1 transaction for up to
    1,000 rows. If rows that do not fit are between them, 1 more for each further page; the pages grow fourfold.
    """
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
    return min(max(missing, _GROWTH * before), limits.MAX_PAGE_ENTITIES)


async def rows_at_once(table: Table, where: Filter, select: Sequence[str] | None) -> list[Entity]:
    """Return a consistent snapshot of the rows that match a filter.

    A single page is a snapshot. Several pages are read twice: if no ETag differs, nothing changed in between. Cost: 1
    transaction; if there are several pages, 2 for each.
    """
    rows, pages = await one_pass(table, where, select)
    if pages == 1:
        return rows
    second_rows, pages = await one_pass(table, where, select)
    # Compared as dicts, because the Cosmos DB Table API does not sort results
    if pages > 1 and {row.key: row.etag for row in rows} != {row.key: row.etag for row in second_rows}:
        raise Overtaken
    return second_rows


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
