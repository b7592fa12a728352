"""Fate: what became of a write whose response was lost, decided by the rows that it was to write."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from uuid import UUID

from ..entity import Entity
from ..writing.alike import alike
from .lineage import Lineage, inserted, is_complete
from .operation import ANY, Operation, plain


class Fate(Enum):
    """What became of a write whose response was lost."""

    MADE = "made"
    NOT_MADE = "not made"
    UNKNOWN = "unknown"


def fate(operations: Sequence[Operation], stamp: UUID, rows: Sequence[Entity | None]) -> Fate:
    """Return what became of a conditional transaction, by its rows as they are now, None for each that does not exist.

    All its operations were carried out or none, so one row that proves either is enough.
    """
    if any(is_own(stamp, row) for row in rows):
        return Fate.MADE
    pairs = list(zip(operations, rows, strict=True))
    # A transaction is conditional on the row that was read; what lies in its other rows then proves nothing
    read = [pair for pair in pairs if pair[0].etag not in (None, ANY)]
    witnesses = read or [pair for pair in pairs if pair[0].is_conditional] or pairs
    return _decided([_of_conditional(*pair) for pair in witnesses])


def fate_of_overwriting(operations: Sequence[Operation], stamp: UUID, rows: Sequence[Entity | None]) -> Fate:
    """Return what became of a transaction without a condition, which nothing stops from being carried out twice.

    It counts as made if the rows are as it leaves them: to write the same once more would change nothing.
    """
    pairs = list(zip(operations, rows, strict=True))
    if any(is_own(stamp, row) for row in rows) or all(_is_as_sent(*pair) for pair in pairs):
        return Fate.MADE
    # A write that has deleted rows leaves nothing to tell it by: another may have inserted them again
    return Fate.NOT_MADE if any(_was_not_overwritten(*pair) for pair in pairs) else Fate.UNKNOWN


def is_own(stamp: UUID, row: Entity | None) -> bool:
    """Return whether a row has the id of a write, first or under those of writes that build on it."""
    return row is not None and (stamp in row.lineage or inserted(stamp) in row.lineage)


def is_newest(stamp: UUID, operation: Operation, row: Entity | None) -> bool:
    """Return whether a row is what a write of that id left, and nothing was changed since.

    A merge of another program keeps the id, so the properties count too.
    """
    left = operation.result
    newest: Lineage = () if row is None else row.lineage[:1]
    is_first = newest in ((stamp,), (inserted(stamp),))
    return is_first and row is not None and left is not None and alike(row, left)


def _decided(found: Sequence[Fate]) -> Fate:
    return next((each for each in (Fate.NOT_MADE, Fate.UNKNOWN) if each in found), Fate.MADE)


def _of_conditional(operation: Operation, row: Entity | None) -> Fate:
    if operation.kind == "insert":
        # A row that is gone may have been ours, as may one that has been written too often since
        return Fate.NOT_MADE if row is not None and is_complete(row.lineage) else Fate.UNKNOWN
    if row is None:
        return Fate.MADE if operation.kind == "delete" else Fate.NOT_MADE
    # A merge without room for an id leaves the one that it read
    leaves_no_id = operation.kind == "merge" and not operation.has_room
    if operation.lineage and operation.lineage[0] in row.lineage and not leaves_no_id:
        return Fate.NOT_MADE
    return Fate.UNKNOWN


def _was_not_overwritten(operation: Operation, row: Entity | None) -> bool:
    if operation.kind == "delete":
        return False
    return row is None or (operation.has_room and is_complete(row.lineage))


def _is_as_sent(operation: Operation, row: Entity | None) -> bool:
    if operation.kind == "delete" or row is None:
        return operation.kind == "delete" and row is None
    sent = plain(operation.entity)
    merges = operation.kind.endswith("merge")
    return alike({name: row.get(name) for name in sent} if merges else row, sent)
