"""What the rules know of a design: its queries and writes, what each asks for, and what it reads in vain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...entity_set.derived import Derived
from ...figures import number
from ...filters import And, Comparison, Filter, QueryClass, parse
from ...key import Key
from ...limits import MAX_PAGE_ENTITIES, MAX_QUERY_TIME, PARTITION_ENTITIES_PER_SECOND
from ..design.model import DeclaredSet, Design, Query, Write
from ..key_parts import pieces_of
from ..measure.questions import is_sorted
from ..measure.sample import asked_values, values_of
from ..model import AccountLoad, Bill, Consistency, LimitUse, Measured, Severity, TableLoad
from ..zipf import Zipf


@dataclass(frozen=True)
class MeasuredQuery:
    """A query, with what it took."""

    of: DeclaredSet
    query: Query
    measured: Measured

    @property
    def via(self) -> Derived | None:
        """The derived data that answers it; None for the primary rows."""
        return next((each for each in self.of.derived if each.name == self.measured.via), None)


@dataclass(frozen=True)
class MeasuredWrite:
    """A write, with what it took."""

    of: DeclaredSet
    write: Write
    measured: Measured


@dataclass(frozen=True)
class RuleContext:
    """A design, and what was measured and simulated of it."""

    design: Design
    measured: tuple[Measured, ...]
    heats: tuple[TableLoad, ...]
    account: AccountLoad
    in_sight: tuple[LimitUse, ...]
    bill: Bill
    promises: tuple[Consistency, ...]

    def queries(self) -> Iterator[MeasuredQuery]:
        """Yield the queries, in the order of the design."""
        for each in self.measured:
            if isinstance(each.access, Query):
                yield MeasuredQuery(each.of, each.access, each)

    def writes(self) -> Iterator[MeasuredWrite]:
        """Yield the writes, in the order of the design."""
        for each in self.measured:
            if isinstance(each.access, Write):
                yield MeasuredWrite(each.of, each.access, each)

    def queries_of(self, declared: DeclaredSet) -> list[MeasuredQuery]:
        """Return the queries of one set."""
        return [each for each in self.queries() if each.of.name == declared.name]

    def writes_of(self, declared: DeclaredSet) -> list[MeasuredWrite]:
        """Return the writes of one set."""
        return [each for each in self.writes() if each.of.name == declared.name]

    def writer(self, name: str) -> MeasuredWrite | None:
        """Return the write of this name; None if there is none."""
        return next((each for each in self.writes() if each.write.name == name), None)

    def entities_then(self, declared: DeclaredSet) -> float:
        """Return how many entities a set has at the end of the declared growth."""
        return declared.shape.count + declared.shape.growth * self.design.years


KEYS: Final = ("PartitionKey", "RowKey")


@dataclass(frozen=True)
class Terms:
    """What a question says.

    :param equal: the fields of which it gives one value
    :param ranged: the fields of which it gives a range or a beginning
    """

    equal: tuple[str, ...]
    ranged: tuple[str, ...]


def terms_of(query: Query, key: Key) -> Terms:
    """Return what a question says; a filter's PartitionKey gives the fields that it is made of."""
    if query.filter is None:
        equal = tuple(name for name, how in query.known.items() if how == "=")
        return Terms(equal, tuple(name for name in query.known if name not in equal))
    return _of_filter(query.filter, key)


@lru_cache(maxsize=256)
def _of_filter(text: str, key: Key) -> Terms:
    found: Filter = parse(text)
    joined = found.terms if isinstance(found, And) else (found,)
    simple = [each for each in joined if isinstance(each, Comparison)]
    equal = [name for each in simple if each.operator == "eq" for name in _fields(each.name, key)]
    ranged = [name for each in simple if each.operator in ("gt", "ge", "lt", "le") for name in _fields(each.name, key)]
    return Terms(tuple(dict.fromkeys(equal)), tuple(dict.fromkeys(ranged)))


def _fields(name: str, key: Key) -> tuple[str, ...]:
    if name not in KEYS:
        return (name,)
    return key.partition_fields if name == "PartitionKey" else key.row_fields


def key_of(asked: MeasuredQuery) -> Key:
    """Return the key of the rows that answer a question."""
    layout = None if asked.via is None else asked.of.profile(asked.via).layout
    return asked.of.key if layout is None else layout.key


def partition_known(asked: MeasuredQuery) -> bool:
    """Whether a question tells the partition of the primary rows."""
    terms = terms_of(asked.query, asked.of.key)
    if not asked.of.key.partition_fields:
        return asked.query.filter is None or "PartitionKey" in asked.query.filter
    return all(name in terms.equal for name in asked.of.key.partition_fields)


def unindexed(asked: MeasuredQuery) -> Sequence[str]:
    """Return the fields that a question gives, and that the rows which answer it must be searched for."""
    terms, key = terms_of(asked.query, asked.of.key), key_of(asked)
    if not all(name in terms.equal for name in key.partition_fields):
        return [name for name in (*terms.equal, *terms.ranged) if name not in key.partition_fields]
    left = list(key.row_fields)
    served: set[str] = set(key.partition_fields)
    while left and left[0] in terms.equal:
        served.add(left.pop(0))
    if left and left[0] in terms.ranged:
        served.add(left[0])
    return [name for name in (*terms.equal, *terms.ranged) if name not in served]


def in_order(asked: MeasuredQuery) -> bool:
    """Whether the rows that answer a question come in the order that is asked for."""
    order = asked.query.order
    if order is None:
        return True
    terms, key = terms_of(asked.query, asked.of.key), key_of(asked)
    if not all(name in terms.equal for name in key.partition_fields):
        return False
    pieces = [piece for piece in pieces_of(key.row_template) if piece.name]
    first = next((piece for piece in pieces if piece.name not in terms.equal), None)
    if first is None or first.name != order.removeprefix("-"):
        return first is None
    return order.startswith("-") == (first.spec == "inverted") and is_sorted(key, pieces.index(first))


HEAVY: Final = 0.5 * PARTITION_ENTITIES_PER_SECOND
"""Entities per second, read in vain, that take half of what one partition can do: serious."""
NOTICEABLE: Final = 0.01 * PARTITION_ENTITIES_PER_SECOND
"""A hundredth of it, wherever they are: a warning."""
SLOW: Final = PARTITION_ENTITIES_PER_SECOND * MAX_QUERY_TIME.total_seconds()
"""Entities that take longer to read than the service works on a page: the query is cut into several."""
ONCE_A_DAY: Final = 1 / 86_400
ONCE_AN_HOUR: Final = 1 / 3600
_WANTED: Final = 0.5
"""A query that returns half of what it reads is no waste: a scan is the right way to ask for it."""
WASTE_LEVELS: Final = (
    f"serious if it reads {number(HEAVY)} entities a second without returning them, from one partition or by table "
    f"scans; a warning from {number(NOTICEABLE)} a second, or {number(SLOW)} in one call; a note if it is rare"
)


def wanted(measured: Measured) -> float:
    """Return how many of the entities that one call returns are wanted: no more than the query takes."""
    take = measured.access.take if isinstance(measured.access, Query) else None
    found = [measured.returned, *(each for each in (measured.matching, take) if each is not None)]
    return float(min(found))


def in_vain(measured: Measured) -> float:
    """Return how many entities one call reads that are not wanted."""
    return max(0.0, measured.examined - wanted(measured))


def _share(measured: Measured) -> float:
    """Return the share of a query's work that comes to its busiest partition; a scan of the table counts as a whole."""
    query, declared = measured.access, measured.of
    if not isinstance(query, Query) or query.filter is not None or measured.query_class is QueryClass.TABLE_SCAN:
        return 1.0
    asked = [name for name, how in query.known.items() if how == "="]
    return math.prod(_busiest(declared, name, asked, query.skew) for name in declared.key.partition_fields)


def _busiest(declared: DeclaredSet, name: str, asked: list[str], skew: float) -> float:
    """Return the share of the work that the first value of a field has: it is asked for most, and has most entities."""
    asked_for = asked_values(declared.shape, name, asked, skew)
    return Zipf(asked_for.count, asked_for.exponent + values_of(declared.shape, name).exponent).share(1)


def waste_severity(measured: Measured) -> Severity | None:
    """Return how much it matters what an access pattern reads in vain; None where it does not."""
    waste = in_vain(measured)
    if wanted(measured) >= _WANTED * measured.examined:
        return None
    work = waste * measured.access.busiest
    if work * _share(measured) >= HEAVY:
        return Severity.SERIOUS
    if work >= NOTICEABLE or (waste >= SLOW and measured.access.rate >= ONCE_AN_HOUR):
        return Severity.WARNING
    if waste > MAX_PAGE_ENTITIES and measured.access.rate >= ONCE_A_DAY:
        return Severity.NOTE
    return None
