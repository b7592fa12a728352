"""Measure the cost of a block of code by the ledger, and scale it to the declared number of entities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar

from tablepatterns.cost import Cost
from tablepatterns.errors import BadInput
from tablepatterns.filters import QueryClass
from tablepatterns.storage import Storage
from tablepatterns_engine import Record

from ..plans.estimate import Estimate
from ..plans.planner import Way

T = TypeVar("T")

_MISSING: Final = ("TableNotFound", "QueueNotFound", "ContainerNotFound")
MAKING: Final = ("CreateTable", "CreateQueue", "CreateContainer")
_LOOKS: Final = ("Get", "Query", "List")


@dataclass(frozen=True)
class CallCost:
    """The cost of requests, named as in `Measured`; it has 0 partitions if a request searched all."""

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
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "classes"}


def metered(storage: Storage, call: Callable[[], T]) -> tuple[CallCost, T]:
    if storage.engine is None:
        raise BadInput("storage", storage, "only an in-memory account has a ledger", "use connect()")
    with storage.engine.ledger.span() as span:
        result = call()
    # Tables and queues that the first use creates are not part of a call
    span.records = [record for record in span.records if not _makes(record)]
    totals = span.totals
    tables = [record for record in span.records if record.service == "table"]
    cost = sum((Cost.of(record.service, record.operation, record.billable) for record in span.records), Cost())
    # A list of tables has no entities and no partition
    records = [record for record in tables if record.operation != "QueryTables"]
    places = {(record.table, record.partition) for record in records}
    goes_everywhere = any(partition is None for _, partition in places)
    took = CallCost(
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
    return took, result


def _makes(record: Record) -> bool:
    """Whether a request created a missing resource, or was a write that failed because it was missing."""
    is_read = record.service != "queue" and record.operation.startswith(_LOOKS)
    return record.operation in MAKING or (record.error in _MISSING and not is_read)


def mean(weighted_costs: Sequence[tuple[CallCost, float]]) -> CallCost:
    """Return the weighted mean, 0 without values; the weights add up to 1."""
    weighted = [(call_cost.figures, weight) for call_cost, weight in weighted_costs]
    means = {name: _mean([(figures[name], weight) for figures, weight in weighted]) for name in CallCost().figures}
    return CallCost(**means, classes=frozenset[str]().union(*(call_cost.classes for call_cost, _ in weighted_costs)))


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    values = {value for value, _ in weighted} or {0.0}
    # The mean of equal values is that value, regardless of rounding
    return values.pop() if len(values) == 1 else math.fsum(value * weight for value, weight in weighted)


_BY_LABEL: Final = {query_class.label: query_class for query_class in QueryClass}


def scaled(
    way: Way,
    call_cost: CallCost,
    likely: Estimate,
    expected: Estimate,
    empty: float,
    *,
    has_declared_results: bool = False,
) -> CallCost:
    """Scale the cost of a call from the sample, where `likely` is its estimate, to all entities, where `expected` is.

    :param empty: the size of a response without entities
    """
    if likely == expected or not call_cost.requests:
        return call_cost
    returned = call_cost.returned * _ratio(expected.returned, likely.returned)
    examined = call_cost.examined * _ratio(expected.examined, likely.examined)
    if _is_of_one_partition(way, call_cost):
        examined = expected.examined
    if has_declared_results:
        # The declared number of results is a whole number in the sample, and maybe none
        examined = expected.returned if math.isclose(examined, returned) else examined
        returned = expected.returned
    more = expected.requests - likely.requests
    if way.method == "find_all":
        # A point query for each entity
        more = call_cost.requests * (_ratio(expected.examined, likely.examined) - 1)
    bytes_of_rows = max(0.0, call_cost.bytes_out - call_cost.requests * empty)
    bytes_per_row = bytes_of_rows / call_cost.returned if call_cost.returned else 0.0
    # A list in a blob takes one read, regardless of its length; each entity reads its own blobs
    lists = 1.0 if way.method == "find_all" and call_cost.blob_reads else 0.0
    blob_reads = lists + (call_cost.blob_reads - lists) * (returned / call_cost.returned if call_cost.returned else 1.0)
    if way.method != "find_all":
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


def _is_of_one_partition(way: Way, call_cost: CallCost) -> bool:
    """Whether a range of PartitionKeys has only one in the sample, so that the call was a point query."""
    return way.method == "scan" and call_cost.classes == frozenset({QueryClass.POINT.label})


def class_of(way: Way, call_cost: CallCost) -> QueryClass:
    if _is_of_one_partition(way, call_cost):
        return QueryClass.TABLE_SCAN
    # A list in a blob is read by name; if it is empty, nothing else is read
    worst = max((_BY_LABEL[label] for label in call_cost.classes), default=QueryClass.POINT)
    if worst is QueryClass.POINT and way.method == "range" and any(how != "=" for how in way.query.known.values()):
        # In a small sample, a range may contain a single entity
        worst = QueryClass.RANGE
    if worst is QueryClass.RANGE and way.is_scan:
        return QueryClass.PARTITION_SCAN
    if worst is QueryClass.PARTITION_SCAN and way.take is not None and not way.where:
        # The first rows of a partition are a range: only the requested ones are read
        return QueryClass.RANGE
    return worst
