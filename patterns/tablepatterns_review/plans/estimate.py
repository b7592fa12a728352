"""Estimate what a way of answering a query costs with any number of entities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tablepatterns.entity_set.derived import RowProfile
from tablepatterns.filters import Filter, QueryClass, classify, parse, point_keys
from tablepatterns.limits import MAX_PAGE_ENTITIES, MAX_QUERY_TIME, PARTITION_ENTITIES_PER_SECOND

from ..design.distribution import (
    RANGE_SHARE,
    asked_values,
    equal,
    equal_names,
    found_by,
    range_share,
    shared,
    values_in,
    values_of,
)
from ..design.key_parts import pieces_of
from ..design.model import DeclaredSet, Design, Query, Shape
from ..kinds import kind_of
from .planner import Way, compared_names, mistakes_of, names_period, terms_of

_NEVER: Final = ("eq", "gt", "ge")
"""The operators that are never true for values of another type."""
_RANGES: Final = frozenset({"gt", "ge", "lt", "le"})
PAGE_READS: Final = int(PARTITION_ENTITIES_PER_SECOND * MAX_QUERY_TIME.total_seconds())
"""The assumed number of entities that the service reads in five seconds, after which it ends a page."""
_RANKS: Final = 10_000
"""The number of the most frequent values whose pages are counted; the others take one page each."""


def pages(returned: float, examined: float) -> float:
    """Return the number of pages of a query: one per 1,000 results, and one per five seconds of reading.

    >>> pages(1, 5), pages(1_500, 1_500), pages(1, 10**10)
    (1, 2, 1000000)
    """
    return max(1, math.ceil(returned / MAX_PAGE_ENTITIES), math.ceil(examined / PAGE_READS))


def mean_pages(shape: Shape, query: Query, returned: float, examined: float) -> float:
    """Return the mean number of pages of a query that returns and reads so many rows on average.

    A value that many entities have takes several pages, even if the mean value takes one.
    """
    single = equal_names(query)
    skewed = max(single, key=lambda name: values_of(shape, name).exponent, default=None)
    if skewed is None or query.take is not None:
        return pages(returned, examined)
    values, requested = values_of(shape, skewed), asked_values(shape, skewed, single, query.skew)
    mean, total, left = shared(values, requested), 0.0, 1.0
    for rank in range(1, min(values.count, _RANKS) + 1):
        factor = values.share(rank) / mean
        number = pages(returned * factor, examined * factor)
        if number == 1:
            break
        total, left = total + number * requested.share(rank), left - requested.share(rank)
    return total + max(0.0, left)


@dataclass(frozen=True)
class Estimate:
    """The rows that a call is expected to read and return, its round trips, and the partitions that it reads."""

    examined: float
    returned: float
    requests: float
    partitions: float


@dataclass(frozen=True)
class SizedDesign:
    """A design with the declared number of entities, or that of the sample, and the period tables of each set."""

    design: Design
    tables: Mapping[str, int]

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        return {declared_set.name: declared_set.shape for declared_set in self.design.sets}

    def estimate(self, declared_set: DeclaredSet, way: Way) -> Estimate:
        match way.method:
            case "get" | "find" | "totals":
                tables = self._tables_searched(declared_set, way.query)
                more = 1.0 if way.completes else 0.0
                return Estimate(1 + more, 1 + more, tables + more, 1 + (more if way.is_eventual else 0))
            case "find_all":
                listed = found_by(self.shapes[declared_set.name], way.query, way.key_fields)
                return Estimate(1 + listed, 1 + listed, 1 + listed, 1 + (listed if way.is_eventual else 0))
            case "range":
                return self._range(declared_set, way)
            case "scan":
                return self._scan(declared_set, way)
            case "filter":
                return self._filter(declared_set, way.query)

    def _range(self, declared_set: DeclaredSet, way: Way) -> Estimate:
        query, take = way.query, way.take
        shape, buckets = self.shapes[declared_set.name], self._buckets(declared_set, query)
        matching = found_by(shape, query, way.sent)
        within = found_by(shape, query, way.key_fields)
        is_primary = way.via is None or not way.via.is_eventual
        has_prefix = way.key is not None and bool(pieces_of(way.key.row_template)[0].literal)
        if is_primary and not way.is_bounded and not has_prefix:
            within = self.partition(declared_set, query)
        wanted = matching
        if take is not None:
            # Each bucket returns as many as are requested in total
            wanted = min(matching, float(take * buckets))
            within = min(within, wanted * within / max(1.0, matching))
        tables = self._tables_in(declared_set, query, take)
        parts = buckets * tables
        requests = parts * mean_pages(shape, query, wanted / parts, within / parts)
        more = wanted if way.completes else 0.0
        away = more if way.is_eventual else 0.0
        return Estimate(within + more, wanted + more, requests + more, buckets * tables + away)

    def _scan(self, declared_set: DeclaredSet, way: Way) -> Estimate:
        query, take, shape = way.query, way.take, self.shapes[declared_set.name]
        tables = self._tables_in(declared_set, query, None)
        rows = self.rows(declared_set.table) * (tables / max(1, self.tables.get(declared_set.name, 1)))
        lead = [name for name in way.where if name in declared_set.key.partition_fields]
        share = found_by(shape, query, lead) / max(1, shape.count) if lead else 1.0
        rows *= share
        # Without a condition, rows of every kind are returned
        matching = found_by(shape, query, way.sent) if way.sent else rows
        if take is not None:
            rows, matching = min(rows, max(1.0, take * rows / max(1.0, matching))), min(matching, float(take))
        requests = tables * pages(matching / tables, rows / tables)
        return Estimate(rows, matching, requests, max(1.0, share * self.partitions(declared_set)))

    def _filter(self, declared_set: DeclaredSet, query: Query) -> Estimate:
        expression = parse(query.filter or "true")
        keys, worst = point_keys(expression), classify(expression).query_class
        if worst is QueryClass.POINT:
            return Estimate(1, 1, 1, 1)
        rows, partitions = self.rows(declared_set.table), self.partitions(declared_set)
        if worst is not QueryClass.TABLE_SCAN:
            rows, partitions = self.partition(declared_set, query), 1.0
        elif "PartitionKey" in compared_names(expression, _RANGES):
            share = max(RANGE_SHARE, 1 / partitions)
            rows, partitions = rows * share, partitions * share
        rows *= RANGE_SHARE if worst is QueryClass.RANGE else 1
        if keys is not None:
            matching = min(rows, float(len(keys)))
        else:
            matching = self._matching(declared_set, query, expression, rows)
        tables = self.tables[declared_set.name]
        return Estimate(rows, matching, tables * pages(matching / tables, rows / tables), partitions)

    def _matching(self, declared_set: DeclaredSet, query: Query, expression: Filter, rows: float) -> float:
        """Return how many rows satisfy the conditions on properties; approximate for `or` and `not`."""
        mistakes = [comparison for comparison, _ in mistakes_of(declared_set, query.filter or "true")]
        if any(comparison in terms_of(expression) and comparison.operator in _NEVER for comparison in mistakes):
            return 0.0
        if query.results is not None:
            return min(rows, query.results)
        shape, equal_names = self.shapes[declared_set.name], compared_names(expression, frozenset({"eq"}))
        equals = [name for name in equal_names if name in shape.fields and name not in declared_set.key.fields]
        partition = declared_set.key.partition_fields if "PartitionKey" in equal_names else ()
        if "RowKey" in equal_names and not partition:
            equals += declared_set.key.row_fields
        equals += partition
        share = equal(shape, equals, query.skew, equals) / max(1.0, equal(shape, partition, query.skew, equals))
        ranged = set(compared_names(expression, _RANGES)) - {"PartitionKey"}
        if "PartitionKey" in equal_names:
            # The bounds of the RowKey are counted in the rows read
            ranged.discard("RowKey")
        return max(1.0, rows * share * RANGE_SHARE ** len(ranged))

    def partition(self, declared_set: DeclaredSet, query: Query) -> float:
        """Return the number of rows, of all kinds, in the requested partition."""
        names = declared_set.key.partition_fields
        table, template, rows = declared_set.table.lower(), declared_set.key.partition_template, 0.0
        for other in self.design.sets:
            if other.table.lower() == table and other.key.partition_template == template:
                local = [profile for via, profile in other.profiles() if not via.is_eventual]
                copies = sum(profile.layout is not None for profile in local)
                rows += (1 + copies) * equal(self.shapes[other.name], names, query.skew, names)
                rows += sum(self._shared(other, profile) for profile in local) / self.partitions(other)
        return rows

    def rows(self, table: str) -> float:
        rows = 0.0
        for declared_set in self.design.sets:
            count = self.shapes[declared_set.name].count
            rows += count if declared_set.table.lower() == table.lower() else 0
            for via, profile in declared_set.profiles():
                if via.table(declared_set.table).lower() == table.lower():
                    rows += count if profile.layout else self._shared(declared_set, profile)
        return rows

    def _shared(self, declared_set: DeclaredSet, profile: RowProfile) -> float:
        """Return the number of rows of lists and totals."""
        if not profile.is_shared or not profile.in_table:
            return 0.0
        shape = self.shapes[declared_set.name]
        names = [name for name in profile.groups if name in shape.fields]
        return min(float(shape.count), values_in(shape, names) * profile.spread)

    def partitions(self, declared_set: DeclaredSet) -> float:
        """Return the number of partitions of a set's primary rows."""
        buckets = kind_of(declared_set).buckets(declared_set)
        shape, names = self.shapes[declared_set.name], declared_set.key.partition_fields
        return max(1.0, min(float(shape.count), (values_in(shape, names) if names else 1.0) * buckets))

    def _buckets(self, declared_set: DeclaredSet, query: Query) -> int:
        if not kind_of(declared_set).is_spread:
            return 1
        by = declared_set.settings.get("by") or declared_set.key.fields
        known = isinstance(by, (tuple, list)) and all(query.known.get(str(name)) == "=" for name in by)  # pyright: ignore
        return 1 if known else kind_of(declared_set).buckets(declared_set)

    def _tables_searched(self, declared_set: DeclaredSet, query: Query) -> float:
        """Return how many period tables are searched for an entity: half of them, if its time is unknown."""
        at = kind_of(declared_set).time_field(declared_set)
        if at is None or names_period(declared_set, query):
            return 1.0
        return 1 + (1 + self.tables[declared_set.name]) / 2

    def _tables_in(self, declared_set: DeclaredSet, query: Query, take: int | None) -> float:
        """Return how many period tables are read: those of the span, or as many as the requested entities are in."""
        at = kind_of(declared_set).time_field(declared_set)
        if at is None or names_period(declared_set, query):
            return 1.0
        tables = self.tables[declared_set.name]
        if at in query.known:
            return max(1.0, range_share(self.shapes[declared_set.name], query) * tables)
        if take is None:
            return float(tables)
        total = max(1.0, found_by(self.shapes[declared_set.name], query))
        return max(1.0, min(float(tables), take * tables / total))
