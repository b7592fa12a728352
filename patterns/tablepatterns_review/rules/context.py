"""The data that rules work on: a design with its measured queries and writes, and their needless reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.figures import number
from tablepatterns.filters import And, Comparison, Filter, QueryClass, parse
from tablepatterns.key import Key
from tablepatterns.limits import MAX_PAGE_ENTITIES, MAX_QUERY_TIME, PARTITION_ENTITIES_PER_SECOND

from ..capacity.growth import grown
from ..capacity.load import via_of
from ..design.model import DAY, DeclaredSet, Design, Query, Write
from ..key_parts import pieces_of
from ..measure.questions import is_sorted
from ..measure.sample import asked_values, values_of
from ..model import AccountLoad, Bill, LimitUse, Measured, Severity, TableLoad
from ..zipf import Zipf


@dataclass(frozen=True)
class MeasuredQuery:
    """A query with its measured figures."""

    of: DeclaredSet
    query: Query
    measured: Measured

    @property
    def via(self) -> Derived | None:
        """The derived data that the query reads; None for the primary rows."""
        return via_of(self.of, self.measured)


@dataclass(frozen=True)
class MeasuredWrite:
    """A write with its measured figures."""

    of: DeclaredSet
    write: Write
    measured: Measured


@dataclass(frozen=True)
class RuleContext:
    """A design with its measured and computed figures."""

    design: Design
    measured: tuple[Measured, ...]
    heats: tuple[TableLoad, ...]
    account: AccountLoad
    in_sight: tuple[LimitUse, ...]
    bill: Bill

    def queries(self) -> Iterator[MeasuredQuery]:
        """Yield the queries of sets, in the order of the design."""
        for measured_set in self.measured:
            if isinstance(measured_set.access, Query) and isinstance(measured_set.of, DeclaredSet):
                yield MeasuredQuery(measured_set.of, measured_set.access, measured_set)

    def writes(self) -> Iterator[MeasuredWrite]:
        """Yield the writes of sets, in the order of the design."""
        for measured_set in self.measured:
            if isinstance(measured_set.access, Write) and isinstance(measured_set.of, DeclaredSet):
                yield MeasuredWrite(measured_set.of, measured_set.access, measured_set)

    def queries_of(self, declared_set: DeclaredSet) -> list[MeasuredQuery]:
        """Return the queries of one set."""
        return [query for query in self.queries() if query.of.name == declared_set.name]

    def writes_of(self, declared_set: DeclaredSet) -> list[MeasuredWrite]:
        """Return the writes of one set."""
        return [write for write in self.writes() if write.of.name == declared_set.name]

    def writer(self, name: str) -> MeasuredWrite | None:
        """Return the write with this name, or None."""
        return next((write for write in self.writes() if write.write.name == name), None)

    def entities_then(self, declared_set: DeclaredSet) -> float:
        """Return how many entities a set has at the end of the declared growth."""
        return grown(declared_set.shape, self.design.years)


KEYS: Final = ("PartitionKey", "RowKey")


@dataclass(frozen=True)
class Terms:
    """The fields that a query gives values for.

    :param equal: the fields with a single value
    :param ranged: the fields with a range or a prefix
    """

    equal: tuple[str, ...]
    ranged: tuple[str, ...]


def terms_of(query: Query, key: Key) -> Terms:
    """Return the fields that a query gives values for; a PartitionKey in a filter gives those of its template."""
    if query.filter is None:
        equal = tuple(name for name, how in query.known.items() if how == "=")
        return Terms(equal, tuple(name for name in query.known if name not in equal))
    return _of_filter(query.filter, key)


@lru_cache(maxsize=256)
def _of_filter(text: str, key: Key) -> Terms:
    expression: Filter = parse(text)
    joined = expression.terms if isinstance(expression, And) else (expression,)
    simple = [term for term in joined if isinstance(term, Comparison)]
    equal = [name for comparison in simple if comparison.operator == "eq" for name in _fields(comparison.name, key)]
    ranged = [
        name
        for comparison in simple
        if comparison.operator in ("gt", "ge", "lt", "le")
        for name in _fields(comparison.name, key)
    ]
    return Terms(tuple(dict.fromkeys(equal)), tuple(dict.fromkeys(ranged)))


def _fields(name: str, key: Key) -> tuple[str, ...]:
    if name not in KEYS:
        return (name,)
    return key.partition_fields if name == "PartitionKey" else key.row_fields


def key_of(query: MeasuredQuery) -> Key:
    """Return the key of the rows that a query reads."""
    layout = None if query.via is None else query.of.profile(query.via).layout
    return query.of.key if layout is None else layout.key


def partition_known(query: MeasuredQuery) -> bool:
    """Whether a query gives the partition of the primary rows."""
    terms = terms_of(query.query, query.of.key)
    if not query.of.key.partition_fields:
        return query.query.filter is None or "PartitionKey" in query.query.filter
    return all(name in terms.equal for name in query.of.key.partition_fields)


def unindexed(query: MeasuredQuery) -> Sequence[str]:
    """Return the fields of a query that the key of the rows cannot answer, so that the rows are searched for them."""
    terms, key = terms_of(query.query, query.of.key), key_of(query)
    if not all(name in terms.equal for name in key.partition_fields):
        return [name for name in (*terms.equal, *terms.ranged) if name not in key.partition_fields]
    unindexed_names = list(key.row_fields)
    served: set[str] = set(key.partition_fields)
    while unindexed_names and unindexed_names[0] in terms.equal:
        served.add(unindexed_names.pop(0))
    if unindexed_names and unindexed_names[0] in terms.ranged:
        served.add(unindexed_names[0])
    return [name for name in (*terms.equal, *terms.ranged) if name not in served]


def in_order(query: MeasuredQuery) -> bool:
    """Whether the rows are stored in the order that the query wants."""
    order = query.query.order
    if order is None:
        return True
    terms, key = terms_of(query.query, query.of.key), key_of(query)
    if not all(name in terms.equal for name in key.partition_fields):
        return False
    pieces = [piece for piece in pieces_of(key.row_template) if piece.name]
    first = next((piece for piece in pieces if piece.name not in terms.equal), None)
    if first is None or first.name != order.removeprefix("-"):
        return first is None
    return order.startswith("-") == (first.spec == "inverted") and is_sorted(key, pieces.index(first))


HEAVY: Final = 0.5 * PARTITION_ENTITIES_PER_SECOND
"""Needless reads in entities per second from which a finding is serious: half the target of a partition."""
NOTICEABLE: Final = 0.01 * PARTITION_ENTITIES_PER_SECOND
"""Needless reads in entities per second, over all partitions, from which a finding is a warning."""
SLOW: Final = PARTITION_ENTITIES_PER_SECOND * MAX_QUERY_TIME.total_seconds()
"""The entities that the service reads within the time limit of a page; a query that reads more takes several pages."""
ONCE_A_DAY: Final = 1 / DAY
ONCE_AN_HOUR: Final = 1 / 3600
_WANTED: Final = 0.5
"""A query that returns at least this share of what it reads has no finding: a scan is right for it."""
WASTE_LEVELS: Final = (
    f"serious if it reads {number(HEAVY)} entities a second without returning them, from one partition or by table "
    f"scans; a warning from {number(NOTICEABLE)} a second, or {number(SLOW)} in one call; a note if it is rare"
)


def wanted(measured_set: Measured) -> float:
    """Return how many of the returned entities the caller needs, at most `take`."""
    take = measured_set.access.take if isinstance(measured_set.access, Query) else None
    found = [measured_set.returned, *(each for each in (measured_set.matching, take) if each is not None)]
    return float(min(found))


def needless_reads(measured_set: Measured) -> float:
    """Return how many entities one call reads but does not need."""
    return max(0.0, measured_set.examined - wanted(measured_set))


def _share(measured_set: Measured) -> float:
    """Return the share of a query's work on the busiest partition; 1 for a scan of the table."""
    query, declared_part = measured_set.access, measured_set.of
    if not isinstance(query, Query) or not isinstance(declared_part, DeclaredSet) or query.filter is not None:
        return 1.0
    if measured_set.query_class is QueryClass.TABLE_SCAN:
        return 1.0
    equal_names = [name for name, how in query.known.items() if how == "="]
    return math.prod(
        _busiest(declared_part, name, equal_names, query.skew) for name in declared_part.key.partition_fields
    )


def _busiest(declared_set: DeclaredSet, name: str, equal_names: list[str], skew: float) -> float:
    """Return the share of the work on a field's most frequent value, which has the most queries and entities."""
    asked_for = asked_values(declared_set.shape, name, equal_names, skew)
    return Zipf(asked_for.count, asked_for.exponent + values_of(declared_set.shape, name).exponent).share(1)


def waste_severity(measured_set: Measured) -> Severity | None:
    """Return the severity of an access pattern's needless reads; None if they do not matter."""
    waste = needless_reads(measured_set)
    if wanted(measured_set) >= _WANTED * measured_set.examined:
        return None
    work = waste * measured_set.access.busiest
    if work * _share(measured_set) >= HEAVY:
        return Severity.SERIOUS
    if work >= NOTICEABLE or (waste >= SLOW and measured_set.access.rate >= ONCE_AN_HOUR):
        return Severity.WARNING
    if waste > MAX_PAGE_ENTITIES and measured_set.access.rate >= ONCE_A_DAY:
        return Severity.NOTE
    return None
