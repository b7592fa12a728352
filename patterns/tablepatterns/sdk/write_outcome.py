"""Determine from the current rows whether a write whose response was lost was made."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ..entity import Entity, WriteId, same_value, write_ids_of
from .operation import ANY, Operation, inserted, is_complete


class WriteOutcome(Enum):
    """Whether a write whose response was lost was made."""

    MADE = "made"
    NOT_MADE = "not made"
    UNKNOWN = "unknown"


def outcome_of(operations: Sequence[Operation], write_id: WriteId, rows: Sequence[Entity | None]) -> WriteOutcome:
    """Return whether a conditional transaction was made, from its rows as they are now, None for each that is absent.

    All its operations were executed or none, so one row that proves either is enough.
    """
    if any(is_own(write_id, row) for row in rows):
        return WriteOutcome.MADE
    pairs = list(zip(operations, rows, strict=True))
    # A transaction is conditional on the row that was read, so its other rows prove nothing
    read = [pair for pair in pairs if pair[0].etag not in (None, ANY)]
    witnesses = read or [pair for pair in pairs if pair[0].is_conditional] or pairs
    outcomes = [_of_conditional(*pair) for pair in witnesses]
    if WriteOutcome.NOT_MADE in outcomes:
        return WriteOutcome.NOT_MADE
    # Another writer may have deleted an absent row, and a row that was written with the deletion would have the id
    is_proven = WriteOutcome.UNKNOWN not in outcomes and all(operation.kind == "delete" for operation in operations)
    return WriteOutcome.MADE if is_proven else WriteOutcome.UNKNOWN


def outcome_of_overwriting(
    operations: Sequence[Operation], write_id: WriteId, rows: Sequence[Entity | None]
) -> WriteOutcome:
    """Return the same without a condition: it counts as made if writing it again would change nothing."""
    pairs = list(zip(operations, rows, strict=True))
    if any(is_own(write_id, row) for row in rows) or all(_is_as_sent(*pair) for pair in pairs):
        return WriteOutcome.MADE
    # A deletion leaves no id, and another writer may have inserted the row again
    return WriteOutcome.NOT_MADE if any(_was_not_overwritten(*pair) for pair in pairs) else WriteOutcome.UNKNOWN


def is_own(write_id: WriteId, row: Entity | None) -> bool:
    """Return whether a row has the id of a write, its own or one that later writes kept."""
    return row is not None and (write_id in write_ids_of(row) or inserted(write_id) in write_ids_of(row))


def is_newest(write_id: WriteId, operation: Operation, row: Entity | None) -> bool:
    """Return whether a row is as the write with this id left it.

    A merge by another program keeps the id, so the properties are compared too. If only the merged ones are known,
    those are compared: a change of others could as well have come before the merge.
    """
    if row is None or operation.kind == "delete":
        return False
    if operation.has_room and write_ids_of(row)[:1] not in ((write_id,), (inserted(write_id),)):
        return False
    return _is_as_sent(operation, row) if operation.result is None else same_value(row, operation.result)


def _of_conditional(operation: Operation, row: Entity | None) -> WriteOutcome:
    if operation.kind == "insert":
        # Ours may have been deleted since, or written so often that its id is gone
        return WriteOutcome.NOT_MADE if row is not None and is_complete(write_ids_of(row)) else WriteOutcome.UNKNOWN
    if row is None:
        # Another writer may have deleted it before the write, or after it
        return WriteOutcome.MADE if operation.kind == "delete" else WriteOutcome.UNKNOWN
    # A merge without room for an id keeps the one that it read
    leaves_no_id = operation.kind == "merge" and not operation.has_room
    if operation.write_ids and operation.write_ids[0] in write_ids_of(row) and not leaves_no_id:
        return WriteOutcome.NOT_MADE
    return WriteOutcome.UNKNOWN


def _was_not_overwritten(operation: Operation, row: Entity | None) -> bool:
    if row is None:
        # Another writer may have deleted it since; what also inserts is made again
        return operation.kind.startswith("insert")
    return operation.kind != "delete" and operation.has_room and is_complete(write_ids_of(row))


def _is_as_sent(operation: Operation, row: Entity | None) -> bool:
    if operation.kind == "delete" or row is None:
        return operation.kind == "delete" and row is None
    properties = operation.entity
    merges = operation.kind.endswith("merge")
    return same_value({name: row.get(name) for name in properties} if merges else row, properties)
