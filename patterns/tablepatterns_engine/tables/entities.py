"""One version of an entity, the checks it must pass, and the six write operations."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from tablepatterns import limits
from tablepatterns.edm import SIZES, Int64, Ticks, names_size, ordinal, utf16_length
from tablepatterns.filters import Value

from .. import errors
from ..errors import ErrorMessage, ServiceError, TransactionError

__all__ = ["Entity", "Value", "check_key", "check_key_size", "check_size", "checked_size"]

_FORBIDDEN: Final = re.compile(limits.FORBIDDEN_IN_KEYS)
_FIRST_INSTANT: Final = Ticks.of(limits.DATETIME_MIN)


class Names(dict[str, int]):
    """The names of an entity's properties in stored order, and the position of each one's value.

    Entities with the same names share it, so it is compared by identity: what is derived from it can be cached.
    """

    __slots__ = ("are_in_order", "are_valid", "in_ordinal_order", "size")

    are_valid: bool
    """Whether each of them can be the name of a property."""
    in_ordinal_order: Sequence[str]
    are_in_order: bool
    size: int
    """The bytes that they take in an entity."""

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__  # type: ignore[assignment]


class Entity(tuple[Any, ...]):
    """One version of an entity; it is immutable, and a write creates a new version.

    The exact Python type of a value determines its Edm type, as in `edm`; a plain int is an Edm.Int32.

    It is one tuple of keys, timestamp, names and values, and entities with the same property names share the names: a
    million small entities take a quarter less memory than with an object and a dictionary for each.
    """

    __slots__ = ()

    def __new__(cls, partition_key: str, row_key: str, properties: Mapping[str, Value], timestamp: Ticks) -> Entity:
        names = _names(tuple(properties))
        return super().__new__(cls, (partition_key, row_key, timestamp, names, *properties.values()))

    # Versions are distinguished by identity
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    partition_key: str = property(itemgetter(0))  # type: ignore[assignment]
    row_key: str = property(itemgetter(1))  # type: ignore[assignment]
    timestamp: Ticks = property(itemgetter(2))  # type: ignore[assignment]

    @property
    def properties(self) -> dict[str, Value]:
        """The user's properties in stored order; a new dictionary each time."""
        return dict(zip(self[_NAMES], self[_FIRST_VALUE:], strict=True))

    @property
    def etag(self) -> str:
        """The ETag of this version; the service derives it from the timestamp."""
        return etag_of(self.timestamp.iso())

    def get(self, name: str) -> Value | None:
        position: int | None = self[_NAMES].get(name)
        if position is not None:
            value: Value = self[position]
            return value
        return _SYSTEM[name](self) if name in _SYSTEM else None

    def __repr__(self) -> str:
        return f"<Entity {self.partition_key!r}, {self.row_key!r} of {self.timestamp.iso()}>"


_NAMES: Final = 3
_FIRST_VALUE: Final = 4

names_of: Final[Callable[[Entity], Names]] = itemgetter(_NAMES)


@lru_cache(maxsize=4096)
def _names(names: tuple[str, ...]) -> Names:
    shared = Names((sys.intern(name), position) for position, name in enumerate(names, _FIRST_VALUE))
    shared.are_valid = not any(map(_name_error, names))
    shared.in_ordinal_order = sorted(names, key=ordinal)
    shared.are_in_order = shared.in_ordinal_order == list(names)
    shared.size = names_size(names)
    return shared


def etag_of(timestamp: str) -> str:
    """Return the ETag of the version with this timestamp, in ISO 8601."""
    return f"W/\"datetime'{timestamp.replace(':', '%3A')}'\""


_SYSTEM: Final[dict[str, Callable[[Entity], Value]]] = {
    "PartitionKey": lambda entity: entity.partition_key,
    "RowKey": lambda entity: entity.row_key,
    "Timestamp": lambda entity: entity.timestamp,
}


def check_key(name: str, value: str, *, in_body: bool) -> None:
    """Reject a key with a forbidden character, with the service's error for bodies or for URLs.

    :param in_body: the key came in the body of an insert, not in a URL
    """
    forbidden = _FORBIDDEN.search(value)
    if not forbidden:
        return
    if in_body:
        raise ServiceError(errors.PARAMETER_OUT_OF_RANGE.format(name=name, value=value))
    raise ServiceError(errors.QUERY_SYNTAX if forbidden.group() in "/\\" else errors.OUT_OF_RANGE_INPUT)


def check_key_size(*keys: str) -> None:
    """Reject a key over 1 KiB; the service notices only when it stores a new entity."""
    if any(utf16_length(key) > limits.MAX_KEY_UNITS for key in keys):
        raise ServiceError(errors.PROPERTY_VALUE_TOO_LARGE)


def checked_size(partition_key: str, row_key: str, properties: Mapping[str, Value]) -> int:
    """Return the size of an entity, as `edm.entity_size`; reject invalid names and values, and too many properties."""
    if len(properties) > limits.MAX_CUSTOM_PROPERTIES:
        raise ServiceError(errors.TOO_MANY_PROPERTIES)
    names = _names(tuple(properties))
    size = 4 + 2 * utf16_length(partition_key + row_key) + names.size
    has_valid_names = names.are_valid
    # Every write comes here, so one pass both checks and measures the values
    for name, value in properties.items():
        if type(value) is str:
            size += 4 + 2 * (len(value) if value.isascii() else utf16_length(value))
        elif type(value) is int and limits.INT32_MIN <= value <= limits.INT32_MAX:
            size += 4
        elif type(value) is bytes:
            size += 4 + len(value)
        elif type(value) in _UNBOUNDED or (type(value) is Ticks and value >= _FIRST_INSTANT):
            size += SIZES[type(value)]
        else:
            raise _value_error(name, value)
        if not has_valid_names and (error := _name_error(name)):
            raise ServiceError(error)
    return size


def check_size(size: int, values: Iterable[Value]) -> None:
    # A value over its limit makes the whole entity larger than that limit, so small entities need no further check.
    if size > limits.MAX_BINARY_BYTES and any(map(_too_large, values)):
        raise ServiceError(errors.PROPERTY_VALUE_TOO_LARGE)
    if size > limits.MAX_ENTITY_BYTES:
        raise ServiceError(errors.ENTITY_TOO_LARGE)


def _too_large(value: Value) -> bool:
    if isinstance(value, str):
        return utf16_length(value) > limits.MAX_STRING_UNITS
    return isinstance(value, bytes) and len(value) > limits.MAX_BINARY_BYTES


def _name_error(name: str) -> ErrorMessage | None:
    if utf16_length(name) > limits.MAX_PROPERTY_NAME_LENGTH:
        return errors.PROPERTY_NAME_TOO_LONG
    if not name.isidentifier() or name in limits.SYSTEM_PROPERTIES:
        return errors.PROPERTY_NAME_INVALID
    return None


def _value_error(name: str, value: Value) -> ServiceError:
    if type(value) is not Ticks:
        return ServiceError(errors.INVALID_INPUT)
    early = value.datetime()
    # %Y would not pad the year on every platform
    date_text = f"{early:%m/%d}/{early.year:04} {early:%H:%M:%S}"
    return ServiceError(errors.PARAMETER_OUT_OF_RANGE.format(name=name, value=date_text))


_UNBOUNDED: Final = frozenset({bool, Int64, float, UUID})
"""Types of a fixed size whose values are all valid; int and Ticks have a smaller range than in Python."""


S = TypeVar("S")
T = TypeVar("T")
Kind: TypeAlias = Literal["insert", "replace", "merge", "insert_or_replace", "insert_or_merge", "delete"]

_MERGES: Final = frozenset({"merge", "insert_or_merge"})
_NEEDS_ENTITY: Final = frozenset({"replace", "merge", "delete"})


class Operation(NamedTuple):
    """One write of one entity.

    :param kind: the kind of write; an upsert is `insert_or_replace` or `insert_or_merge`
    :param properties: the user's properties, without None; empty for a delete
    :param etag: the version that a replace, merge or delete expects; "*" or None for any
    """

    kind: Kind
    partition_key: str
    row_key: str
    properties: Mapping[str, Value] = MappingProxyType({})
    etag: str | None = None


def check(operation: Operation) -> int:
    """Reject an operation that is invalid regardless of the state; return the size of an entity with its properties."""
    kind, partition_key, row_key, properties, _ = operation
    if _FORBIDDEN.search(partition_key + row_key):
        check_key("PartitionKey", partition_key, in_body=kind == "insert")
        check_key("RowKey", row_key, in_body=kind == "insert")
    return checked_size(partition_key, row_key, properties)


def check_transaction(operations: Sequence[Operation]) -> list[int]:
    """Reject the first invalid operation of an entity group transaction; return the sizes, as `check`."""
    if len(operations) > limits.MAX_TRANSACTION_OPERATIONS:  # The service reports the hundredth
        index = limits.MAX_TRANSACTION_OPERATIONS - 1
        raise TransactionError(errors.TOO_MANY_OPERATIONS, index=index, operations=len(operations))
    group = ordinal(operations[0].partition_key)
    row_keys: set[str] = set()

    def step(operation: Operation) -> int:
        if ordinal(operation.partition_key) != group:
            raise ServiceError(errors.DIFFERENT_PARTITIONS)
        row = ordinal(operation.row_key)
        if row in row_keys:
            raise ServiceError(errors.DUPLICATE_ROW)
        row_keys.add(row)
        return check(operation)

    return map_operations(operations, step)


def map_operations(operations: Sequence[S], step: Callable[[S], T]) -> list[T]:
    """Apply a step to each operation; an error becomes one of the transaction, with its position."""
    results: list[T] = []
    try:
        for operation in operations:
            results.append(step(operation))  # noqa: PERF401 - how far it came is the position
    except ServiceError as error:
        raise TransactionError(error.error_message, index=len(results), operations=len(operations)) from error
    return results


def outcome(operation: Operation, size: int, before: Entity | None) -> Mapping[str, Value] | None:
    """Return the entity's properties after a checked operation; None if it is deleted."""
    kind, partition_key, row_key, properties, etag = operation
    if before is None:
        if kind in _NEEDS_ENTITY:
            raise ServiceError(errors.RESOURCE_NOT_FOUND)
        check_key_size(partition_key, row_key)
    elif kind == "insert":
        raise ServiceError(errors.ENTITY_ALREADY_EXISTS)
    elif etag is not None and etag != "*" and etag != before.etag:
        raise ServiceError(errors.UPDATE_CONDITION_NOT_SATISFIED)
    elif kind in _MERGES and names_of(before) is not _names(tuple(properties)):
        properties = {**before.properties, **properties}
        size = checked_size(partition_key, row_key, properties)
    if kind == "delete":
        return None
    check_size(size, properties.values())
    if kind == "insert":
        return properties
    # Only an insert keeps the order in which the properties were written
    names = _names(tuple(properties))
    return properties if names.are_in_order else {name: properties[name] for name in names.in_ordinal_order}
