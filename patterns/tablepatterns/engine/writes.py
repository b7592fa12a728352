"""The six kinds of write and their rules: what each needs to find, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, TypeVar

from ..edm import ordinal
from ..filters import Value
from ..limits import MAX_TRANSACTION_OPERATIONS
from . import texts
from .entities import Entity, check_key, check_key_size, check_size, checked_properties
from .refusal import Refusal, TransactionRefusal

T = TypeVar("T")
Kind: TypeAlias = Literal["insert", "replace", "merge", "insert_or_replace", "insert_or_merge", "delete"]

_MERGES: Final = frozenset({"merge", "insert_or_merge"})
_NEEDS_ENTITY: Final = frozenset({"replace", "merge", "delete"})


@dataclass(frozen=True, slots=True)
class Operation:
    """One write of one entity.

    :param kind: the kind of write; an upsert is `insert_or_replace` or `insert_or_merge`
    :param properties: the user's properties, none of them None; empty for a delete
    :param etag: the version that a replace, merge or delete expects; "*" or None for any
    """

    kind: Kind
    partition_key: str
    row_key: str
    properties: Mapping[str, Value] = field(default_factory=dict[str, Value])
    etag: str | None = None


def checked(operation: Operation) -> Operation:
    """Return the operation with its properties ready to store, or refuse what is wrong whatever the table holds."""
    in_body = operation.kind == "insert"
    check_key("PartitionKey", operation.partition_key, in_body=in_body)
    check_key("RowKey", operation.row_key, in_body=in_body)
    ready = checked_properties(operation.properties)
    return Operation(operation.kind, operation.partition_key, operation.row_key, ready, operation.etag)


def checked_transaction(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations of an entity group transaction ready to store, or refuse the first that breaks a rule.

    :raises TransactionRefusal: with the position of that operation; over 100 operations the service names the hundredth
    """
    if len(operations) > MAX_TRANSACTION_OPERATIONS:
        index = MAX_TRANSACTION_OPERATIONS - 1
        raise TransactionRefusal(texts.TOO_MANY_OPERATIONS, index=index, operations=len(operations))
    group = ordinal(operations[0].partition_key)
    seen: set[str] = set()

    def step(operation: Operation) -> Operation:
        if ordinal(operation.partition_key) != group:
            raise Refusal(texts.DIFFERENT_PARTITIONS)
        row = ordinal(operation.row_key)
        if row in seen:
            raise Refusal(texts.DUPLICATE_ROW)
        seen.add(row)
        return checked(operation)

    return each(operations, step)


def each(operations: Sequence[Operation], step: Callable[[Operation], T]) -> list[T]:
    """Return what a step makes of each operation; a refusal becomes one of the transaction, with the position."""
    results: list[T] = []
    try:
        for operation in operations:
            results.append(step(operation))  # noqa: PERF401 - how far it came is the position
    except Refusal as refusal:
        raise TransactionRefusal(refusal.answer, index=len(results), operations=len(operations)) from refusal
    return results


def outcome(operation: Operation, before: Entity | None) -> Mapping[str, Value] | None:
    """Return the properties that the entity has after a checked operation, None if it is deleted, or refuse it.

    :param before: the entity as it is now, None where there is none
    :raises Refusal: EntityAlreadyExists, ResourceNotFound, UpdateConditionNotSatisfied, or a size that is too large
    """
    _check_condition(operation, before)
    if operation.kind == "delete":
        return None
    if before is None:
        check_key_size(operation.partition_key, operation.row_key)
    properties = operation.properties
    if before is not None and operation.kind in _MERGES:
        properties = {**before.properties, **properties}
    check_size(operation.partition_key, operation.row_key, properties)
    return properties


def _check_condition(operation: Operation, before: Entity | None) -> None:
    if before is None:
        if operation.kind in _NEEDS_ENTITY:
            raise Refusal(texts.RESOURCE_NOT_FOUND)
        return
    if operation.kind == "insert":
        raise Refusal(texts.ENTITY_ALREADY_EXISTS)
    if operation.etag not in (None, "*") and operation.etag != before.etag:
        raise Refusal(texts.UPDATE_CONDITION_NOT_SATISFIED)
