"""Queries: the key range that the service reads for a filter, and one page of the entities that it finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from tablepatterns.edm import ordinal
from tablepatterns.filters import Filter, Interval, KeyBounds, QueryClass, classify, matcher
from tablepatterns.limits import MAX_PAGE_ENTITIES

from ..key_range import FIRST, KeyRange, KeyScope, after
from .entities import Entity
from .state import Table


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a query, in key order.

    :param entities: what was found; may be empty although more follows
    :param next: the keys at which the next page begins, None on the last page
    :param examined: how many entities were read to find them
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
    if expression is None:
        return Plan(KeyRange(), None, QueryClass.TABLE_SCAN)
    classification = classify(expression)
    key_range = KeyRange(upper=FIRST) if classification.bounds.empty else _key_range(classification.searched)
    is_match = matcher(expression)
    return Plan(key_range, lambda entity: is_match(entity.get), classification.query_class)


class Scan:
    """Makes one page of rows that are read in key order.

    :param limit: how many entities to find at most
    :param page_examines: the number of examined entities after which the page ends at the latest
    """

    def __init__(self, plan: Plan, limit: int, page_examines: int | None) -> None:
        self._plan = plan
        self._limit = min(limit, MAX_PAGE_ENTITIES)
        self._most = page_examines
        self._matches: list[Entity] = []
        self.examined = 0
        """How many entities were read so far."""

    def rows(self, table: Table, start: tuple[str, str] | None, scope: KeyScope | None) -> Iterator[Entity]:
        if self._limit == 0:
            return iter(())
        keys = self._plan.key_range
        if start is not None:
            keys &= KeyRange((ordinal(start[0]), ordinal(start[1])))
        return table.walk(keys if scope is None else keys & scope.key_range())

    def read(self, rows: Iterator[Entity]) -> Page | None:
        """Read rows, and return the page if it ends before the last of them."""
        matches = self._plan.matches
        if matches is None:
            most = self._limit if self._most is None else min(self._limit, self._most)
            self._matches += islice(rows, most - self.examined)
            self.examined = len(self._matches)
            following = next(rows, None)
            return None if following is None else self.page(following)
        for entity in rows:
            if len(self._matches) == self._limit or self.examined == self._most:
                return self.page(entity)
            self.examined += 1
            if matches(entity):
                self._matches.append(entity)
        return None

    def page(self, following: Entity | None = None) -> Page:
        """Return the page before an entity; without one, all rows have been read, and it is the last page."""
        keys = None if following is None else (following.partition_key, following.row_key)
        return Page(self._matches, keys, self.examined, self._plan.query_class)


def _key_range(bounds: KeyBounds) -> KeyRange:
    first, end = _ends(bounds.partition_keys)
    if bounds.partition is None:
        # Row keys bound nothing where the partitions are many: each partition has its own.
        return KeyRange((first, ""), None if end is None else (end, ""))
    first_row, end_row = _ends(bounds.row_keys)
    return KeyRange((first, first_row), (after(first), "") if end_row is None else (first, end_row))


def _ends(keys: Interval) -> tuple[str, str | None]:
    lower = ordinal(keys.lower) if keys.lower_inclusive else after(ordinal(keys.lower))
    if keys.upper is None:
        return lower, None
    return lower, after(ordinal(keys.upper)) if keys.upper_inclusive else ordinal(keys.upper)
