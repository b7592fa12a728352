"""Charges: what the service charges for of one call, by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from ...filters import QueryClass
from ..declaring.declared import Query
from ..outcome import Measured

Operation = Literal[
    "table_reads", "table_scans", "table_writes", "table_deletes", "queue_operations", "blob_reads", "blob_writes"
]


def charges_of(measured: Measured) -> Mapping[Operation, float]:
    """Return the transactions of one call by their kind; their sum is that of all but the free deletions of blobs.

    :param measured: what one call takes
    """
    cost = measured.cost
    found: dict[Operation, float] = {
        "queue_operations": cost.queue,
        "blob_reads": cost.blob_read,
        "blob_writes": cost.blob_write,
    }
    left = cost.table
    for operation, wanted in _of_tables(measured):
        taken = min(wanted, left)
        left -= taken
        found[operation] = found.get(operation, 0.0) + taken
    return {operation: number for operation, number in found.items() if number > 0}


def _of_tables(measured: Measured) -> Iterator[tuple[Operation, float]]:
    """Hand out how many there are of each kind, the surest first, and of the last as many as are left."""
    access, everything = measured.access, measured.transactions
    if isinstance(access, Query):
        is_point = measured.query_class in (None, QueryClass.POINT)
        yield "table_reads" if is_point else "table_scans", everything
        return
    yield "table_deletes" if access.deed == "delete" else "table_writes", 1.0
    # What a write reads it reads by keys, an entity at a time
    yield "table_reads", measured.examined
    yield "table_writes", everything
