"""Fate: what became of a write whose answer was lost, told by the lineage of the rows that it was to write."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from uuid import UUID

from .lineage import Lineage
from .operation import ANY, Operation


class Fate(Enum):
    """What became of a write whose answer was lost."""

    MADE = "made"
    NOT_MADE = "not made"
    UNKNOWN = "unknown"


def fate(operations: Sequence[Operation], stamp: UUID, rows: Sequence[Lineage | None]) -> Fate:
    """Tell what became of a transaction by the rows that it was to write, None for each that does not exist.

    All its operations were carried out or none, so one row that tells is enough.
    """
    if any(row is not None and stamp in row for row in rows):
        return Fate.MADE
    pairs = list(zip(operations, rows, strict=True))
    # A transaction is conditional on the row that was read; what lies in its other rows then proves nothing
    witnesses = [pair for pair in pairs if pair[0].etag not in (None, ANY)] or pairs
    told = [_of(operation, row) for operation, row in witnesses]
    return next((each for each in (Fate.NOT_MADE, Fate.UNKNOWN) if each in told), Fate.MADE)


def _of(operation: Operation, row: Lineage | None) -> Fate:
    if row is None:
        return Fate.MADE if operation.kind == "delete" else Fate.NOT_MADE
    if operation.lineage and operation.lineage[0] in row:
        return Fate.NOT_MADE
    is_conditional = operation.etag not in (None, ANY)
    return Fate.UNKNOWN if is_conditional or not operation.has_room else Fate.NOT_MADE
