"""Charges: what the service charges for of one call, by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from ..filters import QueryClass
from ..recipes.index_entities import IndexEntities
from .declared import DeclaredSet, Query, Write
from .outcome import Measured
from .simulating.loads import key_of, moves_away, touches
from .sizes import primary_sizes

Operation = Literal[
    "table_reads", "table_scans", "table_writes", "table_deletes", "queue_operations", "blob_reads", "blob_writes"
]
_OF_INTENT: Final = 2.0
"""To announce what is derived elsewhere takes one message, sent and deleted."""


def charges_of(measured: Measured) -> Mapping[Operation, float]:
    """Return the transactions of one call by their kind; their sum is what was measured.

    The kinds follow from the declaration: a write that is announced sends and deletes a message, a large value is a
    blob, and what is left is read from tables, or written to them.

    :param measured: what one call takes
    """
    left = measured.transactions
    found: dict[Operation, float] = {}
    for operation, wanted in _wanted(measured):
        taken = min(wanted, left)
        left -= taken
        if taken > 0:
            found[operation] = found.get(operation, 0.0) + taken
    return found


def _wanted(measured: Measured) -> Iterator[tuple[Operation, float]]:
    """Hand out how many there are of each kind, the surest first, and of the last as many as are left."""
    declared, access = measured.of, measured.access
    if isinstance(access, Query):
        yield from _read(measured)
        is_point = measured.query_class is QueryClass.POINT
        yield "table_reads" if is_point else "table_scans", measured.transactions
        return
    elsewhere = [each for each in declared.derived if each.is_elsewhere and touches(each, access)]
    yield "table_deletes" if access.deed == "delete" else "table_writes", 1.0
    if elsewhere or moves_away(declared, access):
        yield "queue_operations", _OF_INTENT
    if access.deed != "delete":
        yield "blob_writes", _large(declared, access)
    for _ in [each for each in elsewhere if isinstance(each, IndexEntities) and key_of(each, declared.key) is None]:
        yield "blob_reads", 1.0
        yield "blob_writes", 1.0
    yield "table_reads", measured.examined
    yield "table_writes", measured.transactions


def _read(measured: Measured) -> Iterator[tuple[Operation, float]]:
    declared = measured.of
    via = next((each for each in declared.derived if each.name == measured.via), None)
    if isinstance(via, IndexEntities):
        # The list first, then a point query for each entity that it names
        in_blob = key_of(via, declared.key) is None
        yield "blob_reads" if in_blob else "table_reads", 1.0
        yield "table_reads", measured.transactions
    large = _large(declared, measured.access)
    if large:
        yield "table_reads" if measured.query_class is QueryClass.POINT else "table_scans", 1.0
        yield "blob_reads", large * measured.returned


def _large(declared: DeclaredSet, access: Query | Write) -> float:
    """Return how many values of an entity are in blobs that a call reads or writes."""
    names = access.select if isinstance(access, Query) else access.changes
    return float(len([name for name in primary_sizes(declared).in_blobs if not names or name in names]))
