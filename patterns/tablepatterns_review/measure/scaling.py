"""Measure the cost of a block of code by the ledger, and scale it to the declared number of entities."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from math import isclose
from typing import Any, Final

from tablepatterns.cost import Cost
from tablepatterns.entity_set.derived import RowProfile
from tablepatterns.errors import BadInput
from tablepatterns.filters import And, Comparison, Filter, QueryClass, classify, parse, point_keys
from tablepatterns.limits import MAX_PAGE_ENTITIES, MAX_QUERY_TIME, PARTITION_ENTITIES_PER_SECOND
from tablepatterns.storage import Storage
from tablepatterns_engine import Record

from ..design.model import DeclaredSet, Design, Query, Shape
from ..key_parts import pieces_of
from ..kinds import kind_of
from .questions import Answer
from .sample import RANGE_SHARE, equal, found_by, range_share, values_in

_MISSING: Final = ("TableNotFound", "QueueNotFound", "ContainerNotFound")
_MAKING: Final = ("CreateTable", "CreateQueue", "CreateContainer")
_LOOKS: Final = ("Get", "Query", "List")


@dataclass(frozen=True)
class CallCost:
    """The cost of requests; the names are those of `outcome.Measured`.

    :param partitions: the number of partitions of tables; 0 if a request searched all
    :param classes: the labels of the classes of its queries
    """

    requests: float = 0
    transactions: float = 0
    examined: float = 0
    returned: float = 0
    written: float = 0
    bytes_in: float = 0
    bytes_out: float = 0
    partitions: float = 0
    queue_operations: float = 0
    blob_reads: float = 0
    blob_writes: float = 0
    blob_deletes: float = 0
    classes: frozenset[str] = field(default=frozenset())

    @property
    def figures(self) -> dict[str, Any]:
        """The figures, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "classes"}


@dataclass
class Metered:
    """The cost of a block of code, once it has ended."""

    taken: CallCost = field(default_factory=CallCost)


@contextmanager
def metered(storage: Storage) -> Generator[Metered, None, None]:
    """Measure the cost of a block of code on an in-memory account.

    :raises BadInput: the account is not in memory
    """
    if storage.engine is None:
        raise BadInput("storage", storage, "only an in-memory account has a ledger", "use connect()")
    metered = Metered()
    with storage.engine.ledger.span() as span:
        yield metered
    # Tables and queues that the first use creates are not part of a call
    span.records = [record for record in span.records if not _makes(record)]
    totals = span.totals
    tables = [record for record in span.records if record.service == "table"]
    cost = sum((Cost.of(record.service, record.operation, record.billable) for record in span.records), Cost())
    # A list of tables has no entities and no partition
    records = [record for record in tables if record.operation != "QueryTables"]
    places = {(record.table, record.partition) for record in records}
    goes_everywhere = any(partition is None for _, partition in places)
    metered.taken = CallCost(
        totals.requests,
        totals.billable,
        # Messages and blobs do not count towards a table
        sum(record.examined for record in tables),
        sum(record.returned for record in records),
        sum(record.written for record in tables),
        totals.bytes_in,
        totals.bytes_out,
        0 if goes_everywhere else len(places),
        cost.queue,
        cost.blob_read + cost.blob_other,
        cost.blob_write + cost.blob_list,
        cost.blob_delete,
        frozenset(totals.by_query_class),
    )


def _makes(record: Record) -> bool:
    """Whether a request created a missing resource, or was a write that failed because it was missing."""
    is_read = record.service != "queue" and record.operation.startswith(_LOOKS)
    return record.operation in _MAKING or (record.error in _MISSING and not is_read)


def mean(weighted_costs: Sequence[tuple[CallCost, float]]) -> CallCost:
    """Return the weighted mean; 0 without values.

    :param weighted_costs: costs and their weights, which add up to 1
    """
    weighted = [(call_cost.figures, weight) for call_cost, weight in weighted_costs]
    means = {name: _mean([(figures[name], weight) for figures, weight in weighted]) for name in CallCost().figures}
    return CallCost(**means, classes=frozenset[str]().union(*(call_cost.classes for call_cost, _ in weighted_costs)))


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    first = weighted[0][0] if weighted else 0.0
    # The mean of equal values is that value, regardless of rounding
    return (
        first if all(value == first for value, _ in weighted) else math.fsum(value * each for value, each in weighted)
    )


_RANGES: Final = frozenset({"gt", "ge", "lt", "le"})


PAGE_READS: Final = int(PARTITION_ENTITIES_PER_SECOND * MAX_QUERY_TIME.total_seconds())
"""The assumed number of entities that the service reads in five seconds, after which it ends a page."""


def pages(returned: float, examined: float) -> float:
    """Return the number of pages of a query: one per 1,000 results, and one per five seconds of reading.

    >>> pages(1, 5), pages(1_500, 1_500), pages(1, 10**10)
    (1, 2, 1000000)

    :param returned: entities in the responses
    :param examined: entities that the service reads
    """
    return max(1, math.ceil(returned / MAX_PAGE_ENTITIES), math.ceil(examined / PAGE_READS))


@dataclass(frozen=True)
class Expected:
    """The expected cost of a call.

    :param examined: rows that the service reads
    :param returned: rows in its responses
    :param requests: round trips
    :param partitions: partitions that it reads
    """

    examined: float
    returned: float
    requests: float
    partitions: float


@dataclass(frozen=True)
class SizedDesign:
    """A design with the declared number of entities, or that of the sample.

    :param shapes: the shape of the entities of each set, by its name
    :param tables: the number of period tables of each set, by its name
    """

    design: Design
    shapes: Mapping[str, Shape]
    tables: Mapping[str, int]

    def expected(self, declared_set: DeclaredSet, query: Query, answer: Answer) -> Expected:
        """Return the expected cost of a call of an access pattern."""
        match answer.way:
            case "get" | "find" | "totals":
                tables = self._tables_searched(declared_set, query)
                more = 1.0 if answer.completes else 0.0
                return Expected(1 + more, 1 + more, tables + more, 1 + (more if answer.follows else 0))
            case "find_all":
                found = found_by(self.shapes[declared_set.name], query, answer.given)
                return Expected(1 + found, 1 + found, 1 + found, 1 + (found if answer.follows else 0))
            case "range":
                return self._range(declared_set, query, answer)
            case "scan":
                return self._scan(declared_set, query, answer)
            case "filter":
                return self._filter(declared_set, query)

    def _range(self, declared_set: DeclaredSet, query: Query, answer: Answer) -> Expected:
        shape, buckets = self.shapes[declared_set.name], self._buckets(declared_set, query)
        matching = found_by(shape, query, answer.sent)
        within = found_by(shape, query, answer.given)
        is_primary = answer.via is None or not answer.via.is_eventual
        has_prefix = answer.key is not None and bool(pieces_of(answer.key.row_template)[0].literal)
        if is_primary and not answer.bounds and not has_prefix:
            within = self.partition(declared_set, query)
        wanted, take = matching, answer.takes(query)
        if take is not None:
            # Each bucket returns as many as are requested in total
            wanted = min(matching, float(take * buckets))
            within = min(within, wanted * within / max(1.0, matching))
        tables = self._tables_in(declared_set, query, take, within)
        parts = buckets * tables
        requests = parts * pages(wanted / parts, within / parts)
        more = wanted if answer.completes else 0.0
        away = more if answer.follows else 0.0
        return Expected(within + more, wanted + more, requests + more, buckets * tables + away)

    def _scan(self, declared_set: DeclaredSet, query: Query, answer: Answer) -> Expected:
        rows, tables = self.rows(declared_set.table), self._tables_in(declared_set, query, None, 0)
        rows *= tables / max(1, self.tables.get(declared_set.name, 1))
        shape = self.shapes[declared_set.name]
        lead = [name for name in answer.where if name in declared_set.key.partition_fields]
        share = found_by(shape, query, lead) / max(1, shape.count) if lead else 1.0
        rows *= share
        found = found_by(shape, query, answer.sent) if query.known else rows
        take = answer.takes(query)
        if take is not None:
            rows, found = min(rows, max(1.0, take * rows / max(1.0, found))), min(found, float(take))
        requests = tables * pages(found / tables, rows / tables)
        return Expected(rows, found, requests, max(1.0, share * self.partitions(declared_set)))

    def _filter(self, declared_set: DeclaredSet, query: Query) -> Expected:
        expression = parse(query.filter or "true")
        keys, worst = point_keys(expression), classify(expression).query_class
        if worst is QueryClass.POINT:
            return Expected(1, 1, 1, 1)
        rows, partitions = self.rows(declared_set.table), self.partitions(declared_set)
        if worst is not QueryClass.TABLE_SCAN:
            rows, partitions = self.partition(declared_set, query), 1.0
        elif "PartitionKey" in _names(expression, _RANGES):
            share = max(RANGE_SHARE, 1 / partitions)
            rows, partitions = rows * share, partitions * share
        rows *= RANGE_SHARE if worst is QueryClass.RANGE else 1
        found = (
            min(rows, float(len(keys))) if keys is not None else self._matching(declared_set, query, expression, rows)
        )
        tables = self.tables[declared_set.name]
        return Expected(rows, found, tables * pages(found / tables, rows / tables), partitions)

    def _matching(self, declared_set: DeclaredSet, query: Query, expression: Filter, rows: float) -> float:
        """Return how many rows satisfy the conditions on properties; approximate for `or` and `not`."""
        shape, equal_names = self.shapes[declared_set.name], _names(expression, frozenset({"eq"}))
        equals = [name for name in equal_names if name in shape.fields and name not in declared_set.key.fields]
        if "RowKey" in equal_names and "PartitionKey" not in equal_names:
            equals += declared_set.key.row_fields
        share = equal(shape, equals, query.skew, equals) / max(1, shape.count)
        ranged = set(_names(expression, _RANGES)) - {"PartitionKey"}
        if "PartitionKey" in equal_names:
            # The bounds of the RowKey are counted in the rows read
            ranged.discard("RowKey")
        return max(1.0, rows * share * RANGE_SHARE ** len(ranged))

    def partition(self, declared_set: DeclaredSet, query: Query) -> float:
        """Return the number of rows, of all kinds, in the requested partition."""
        names = declared_set.key.partition_fields
        rows = 0.0
        for each in self._sets_of(declared_set.table):
            if each.key.partition_template == declared_set.key.partition_template:
                local = [(via, profile) for via, profile in each.profiles() if not via.is_eventual]
                copies = sum(profile.layout is not None for _, profile in local)
                rows += (1 + copies) * equal(self.shapes[each.name], names, query.skew, names)
                rows += sum(self._shared(each, profile) for _, profile in local) / self.partitions(each)
        return rows

    def rows(self, table: str) -> float:
        """Return the number of rows in a table."""
        rows = 0.0
        for declared_set in self.design.sets:
            if declared_set.table.lower() == table.lower():
                rows += self.shapes[declared_set.name].count
            for via, profile in declared_set.profiles():
                if via.table(declared_set.table).lower() == table.lower():
                    rows += (
                        self.shapes[declared_set.name].count if profile.layout else self._shared(declared_set, profile)
                    )
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

    def _sets_of(self, table: str) -> list[DeclaredSet]:
        return [declared_set for declared_set in self.design.sets if declared_set.table.lower() == table.lower()]

    def _buckets(self, declared_set: DeclaredSet, query: Query) -> int:
        if not kind_of(declared_set).is_spread:
            return 1
        by = declared_set.settings.get("by") or declared_set.key.fields
        known = isinstance(by, (tuple, list)) and all(query.known.get(str(name)) == "=" for name in by)  # pyright: ignore
        return 1 if known else kind_of(declared_set).buckets(declared_set)

    def _tables_searched(self, declared_set: DeclaredSet, query: Query) -> float:
        """Return how many period tables are searched for an entity: half of them, if its time is unknown."""
        at = kind_of(declared_set).time_field(declared_set)
        if at is None or query.known.get(at) == "=":
            return 1.0
        return 1 + (1 + self.tables[declared_set.name]) / 2

    def _tables_in(self, declared_set: DeclaredSet, query: Query, take: int | None, within: float) -> float:
        """Return how many period tables are read: those of the span, or as many as the requested entities are in."""
        at = kind_of(declared_set).time_field(declared_set)
        if at is None:
            return 1.0
        tables, how = self.tables[declared_set.name], query.known.get(at)
        if how == "=":
            return 1.0
        if how is not None:
            return max(1.0, range_share(self.shapes[declared_set.name], query) * tables)
        if take is None:
            return float(tables)
        total = max(1.0, found_by(self.shapes[declared_set.name], query))
        return max(1.0, min(float(tables), take * tables / total))


def _names(expression: Filter, operators: Collection[str]) -> list[str]:
    """Return the properties that terms joined by `and` compare with these operators."""
    terms = expression.terms if isinstance(expression, And) else (expression,)
    return [term.name for term in terms if isinstance(term, Comparison) and term.operator in operators]


_BY_LABEL: Final = {query_class.label: query_class for query_class in QueryClass}


def scaled(
    answer: Answer,
    call_cost: CallCost,
    likely: Expected,
    expected: Expected,
    empty: float,
    *,
    has_declared_results: bool = False,
) -> CallCost:
    """Return the cost of a call with all declared entities.

    :param answer: the call
    :param call_cost: its cost with the sample
    :param likely: its expected cost with the sample
    :param expected: its expected cost with all entities
    :param empty: the size of a response without entities
    :param has_declared_results: whether the number of results is declared
    """
    if likely == expected or not call_cost.requests:
        return call_cost
    returned = call_cost.returned * _ratio(expected.returned, likely.returned)
    examined = call_cost.examined * _ratio(expected.examined, likely.examined)
    if has_declared_results and call_cost.returned:
        # The declared number of results is a whole number in the sample
        examined = expected.returned if isclose(examined, returned) else examined
        returned = expected.returned
    more = expected.requests - likely.requests
    if answer.way == "find_all":
        # A point query for each entity
        more = call_cost.requests * (_ratio(expected.examined, likely.examined) - 1)
    bytes_per_row = (
        max(0.0, call_cost.bytes_out - call_cost.requests * empty) / call_cost.returned if call_cost.returned else 0.0
    )
    # A list in a blob takes one read, regardless of its length; each entity reads its own blobs
    lists = 1.0 if answer.way == "find_all" and call_cost.blob_reads else 0.0
    blob_reads = lists + (call_cost.blob_reads - lists) * (returned / call_cost.returned if call_cost.returned else 1.0)
    if answer.way != "find_all":
        more += blob_reads - call_cost.blob_reads
    requests = max(1.0, call_cost.requests + more)
    return replace(
        call_cost,
        requests=requests,
        transactions=max(1.0, call_cost.transactions + more),
        examined=max(returned, examined),
        returned=returned,
        bytes_in=call_cost.bytes_in * requests / call_cost.requests,
        bytes_out=requests * empty + bytes_per_row * returned,
        partitions=call_cost.partitions * _ratio(expected.partitions, likely.partitions),
        blob_reads=blob_reads,
    )


def _ratio(all_of_it: float, part: float) -> float:
    return all_of_it / part if part else 1.0


def class_of(query: Query, answer: Answer, call_cost: CallCost) -> QueryClass:
    """Return the worst query class."""
    # A list in a blob is read by name; if it is empty, nothing else is read
    worst = max((_BY_LABEL[label] for label in call_cost.classes), default=QueryClass.POINT)
    if worst is QueryClass.POINT and answer.way == "range" and any(how != "=" for how in query.known.values()):
        # In a small sample, a range may contain a single entity
        worst = QueryClass.RANGE
    if worst is QueryClass.RANGE and answer.is_scan(query):
        return QueryClass.PARTITION_SCAN
    if worst is QueryClass.PARTITION_SCAN and answer.takes(query) is not None and not answer.where:
        # The first rows of a partition are a range: only the requested ones are read
        return QueryClass.RANGE
    return worst
