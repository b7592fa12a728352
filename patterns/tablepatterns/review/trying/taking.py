"""Taking: what a block of code took, by the ledger of the account."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Final

from ...cost import Cost
from ...errors import BadInput
from ...storage import Storage
from ...testing import Record

_MISSING: Final = ("TableNotFound", "QueueNotFound", "ContainerNotFound")
_MAKING: Final = ("CreateTable", "CreateQueue", "CreateContainer")
_LOOKS: Final = ("Get", "Query", "List")


@dataclass(frozen=True)
class Taken:
    """What was asked of an account; the names are those of `outcome.Measured`.

    :param partitions: how many partitions of tables it touched; 0 where a request went to all
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
    def figures(self) -> dict[str, float]:
        """All that is a number, by its name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "classes"}


@dataclass
class Taking:
    """What a block of code took, once it has ended."""

    taken: Taken = field(default_factory=Taken)


@contextmanager
def taking(storage: Storage) -> Generator[Taking, None, None]:
    """Take down what a block of code takes on an account in memory.

    :raises BadInput: the account is not in memory
    """
    if storage.engine is None:
        raise BadInput("storage", storage, "only an account in memory has a ledger", "use connect()")
    found = Taking()
    with storage.engine.ledger.span() as span:
        yield found
    # What is made once, at its first use, is no part of a call
    span.records = [each for each in span.records if not _makes(each)]
    totals = span.totals
    tables = [each for each in span.records if each.service == "table"]
    cost = sum((Cost.of(each.service, each.operation, each.billable) for each in span.records), Cost())
    # A list of tables holds no entities, and lies in no partition
    asked = [each for each in tables if each.operation != "QueryTables"]
    places = {(each.table, each.partition) for each in asked}
    goes_everywhere = any(partition is None for _, partition in places)
    found.taken = Taken(
        totals.requests,
        totals.billable,
        # What is read and written of messages and blobs is no work of a table
        sum(each.examined for each in tables),
        sum(each.returned for each in asked),
        sum(each.written for each in tables),
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
    """Whether a request made what was missing, or was a write that found it missing; a read finds nothing there."""
    is_read = record.service != "queue" and record.operation.startswith(_LOOKS)
    return record.operation in _MAKING or (record.error in _MISSING and not is_read)


def mean(taken: Sequence[tuple[Taken, float]]) -> Taken:
    """Return the weighted mean; nothing for nothing.

    :param taken: what was taken, and its weight; the weights add up to 1
    """
    weighted = [(each.figures, weight) for each, weight in taken]
    means = {name: _mean([(figures[name], weight) for figures, weight in weighted]) for name in Taken().figures}
    return Taken(**means, classes=frozenset[str]().union(*(each.classes for each, _ in taken)))


def _mean(weighted: Sequence[tuple[float, float]]) -> float:
    first = weighted[0][0] if weighted else 0.0
    # The mean of one value is that value, whatever its weights are rounded to
    return (
        first if all(value == first for value, _ in weighted) else math.fsum(value * each for value, each in weighted)
    )
