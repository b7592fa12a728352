"""Queries: the key range that the service reads for a filter, and one page of the entities that it finds there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ...edm import ordinal
from ...filters import Filter, Interval, KeyBounds, QueryClass, classify, matcher
from ...limits import MAX_PAGE_ENTITIES
from ..key_range import FIRST, KeyRange, KeyScope, after
from .entities import Entity
from .state import Table


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a query.

    :param entities: what was found, in key order; may be empty although more follows
    :param next: the keys at which the next page begins, None on the last page
    :param examined: how many entities were read to find them
    :param query_class: the class of the whole query
    """

    entities: list[Entity]
    next: tuple[str, str] | None
    examined: int
    query_class: QueryClass


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is executed: the key range that is read, and the filter that is applied; None returns everything."""

    key_range: KeyRange
    matches: Callable[[Entity], bool] | None
    query_class: QueryClass


@lru_cache(maxsize=512)
def make_plan(expression: Filter | None) -> Plan:
    """Return the plan for a filter; None is the query for every entity of the table."""
    if expression is None:
        return Plan(KeyRange(), None, QueryClass.TABLE_SCAN)
    found = classify(expression)
    key_range = KeyRange(upper=FIRST) if found.bounds.empty else _key_range(found.searched)
    is_match = matcher(expression)
    return Plan(key_range, lambda entity: is_match(entity.get), found.query_class)


def run(
    table: Table,
    plan: Plan,
    *,
    limit: int,
    start: tuple[str, str] | None,
    scope: KeyScope | None,
    page_examines: int | None,
) -> Page:
    """Return one page: up to `limit` matches, or fewer once `page_examines` entities were read."""
    if limit == 0:
        return Page([], None, 0, plan.query_class)
    limit = min(limit, MAX_PAGE_ENTITIES)
    rows = table.walk(_remaining(plan.key_range, start, scope))
    matches = plan.matches
    if matches is None:
        rest = list(islice(rows, limit if page_examines is None else min(limit, page_examines)))
        return Page(rest, _keys(next(rows, None)), len(rest), plan.query_class)
    found: list[Entity] = []
    examined = 0
    for entity in rows:
        if len(found) == limit or examined == page_examines:
            return Page(found, _keys(entity), examined, plan.query_class)
        examined += 1
        if matches(entity):
            found.append(entity)
    return Page(found, None, examined, plan.query_class)


def _keys(entity: Entity | None) -> tuple[str, str] | None:
    return None if entity is None else (entity.partition_key, entity.row_key)


def _remaining(key_range: KeyRange, start: tuple[str, str] | None, scope: KeyScope | None) -> KeyRange:
    """Return the part of a key range from `start` on that the signature's key range covers."""
    if start is not None:
        key_range &= KeyRange((ordinal(start[0]), ordinal(start[1])))
    return key_range if scope is None else key_range & scope.key_range()


def _key_range(bounds: KeyBounds) -> KeyRange:
    first, end = _ends(bounds.partition_keys)
    if bounds.partition is None:
        # Row keys bound nothing where the partitions are many: each partition has its own.
        return KeyRange((first, ""), None if end is None else (end, ""))
    first_row, end_row = _ends(bounds.row_keys)
    return KeyRange((first, first_row), (after(first), "") if end_row is None else (first, end_row))


def _ends(keys: Interval) -> tuple[str, str | None]:
    """Return the first key of a range and the first key behind it."""
    lower = ordinal(keys.lower) if keys.lower_inclusive else after(ordinal(keys.lower))
    if keys.upper is None:
        return lower, None
    return lower, after(ordinal(keys.upper)) if keys.upper_inclusive else ordinal(keys.upper)
