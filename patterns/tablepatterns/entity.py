"""An entity as a dict of properties with its ETag, and the checks that it must pass before it is sent.

What the service would reject about an entity is rejected here, before any request, with an error that names the
property, the value, the rule and the fix.
"""

# Functions of this module, so that the internal state of sets is not part of the entity's API
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, cast
from urllib.parse import unquote
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty

from . import limits
from .argument_types import checked
from .edm import (
    KINDS,
    SIZES,
    Int64,
    Ticks,
    base_value,
    instant_of,
    read_timestamp,
    ticks_of,
    type_of,
    utf16_length,
    value_size,
)
from .errors import NOT_SHOWN, BadInput, BadKey, BadProperty, LimitExceeded

WRITE_ID: Final = "WriteId"
"""The property by which a writer recognizes its own write after a lost response; see `Table.submit`.

Every write stores its id in its rows, followed by the known ids of the writes before it, so a row shows which writes
were made: docs/decisions/0003-every-write-carries-an-id.md.
"""
STALE_ETAG: Final = "W/\"datetime'1601-01-01T00%3A00%3A00.0000000Z'\""
"""An ETag that no row has."""
WriteId: TypeAlias = bytes
"""The 16 bytes of a UUID."""
WriteIds: TypeAlias = tuple[WriteId, ...]
"""The ids of the last writes of a row, the newest first."""

MAX_WRITE_IDS: Final = 4
"""How many ids a row stores: a writer recognizes its own write if fewer others followed it."""

_ID_BYTES: Final = 16

# By the service's formula: 8, twice the name's length, and 4 and up to 64 for the value
_WRITE_ID_BYTES: Final = 8 + 2 * len(WRITE_ID) + 4 + _ID_BYTES * MAX_WRITE_IDS
_FIRST_INSTANT: Final = Ticks.of(limits.DATETIME_MIN)
_SYSTEM: Final = frozenset(limits.SYSTEM_PROPERTIES)
_FORBIDDEN: Final = re.compile(limits.FORBIDDEN_IN_KEYS)
_MAX_ASCII: Final = limits.MAX_STRING_BYTES // 2
"""The characters of the longest string, if they are ASCII."""
_AS_THEY_ARE: Final = frozenset({str, float, bool, bytes, UUID, Int64})
_KEEPS: Final = "Int64, datetime, UUID, bytes, str, bool, int and float are stored"


class Entity(dict[str, Any]):
    """One entity: its properties by name; `etag`, `timestamp` and the keys are attributes.

    An entity that was not read or written yet has no ETag, so it cannot be written conditionally.

    >>> entity = Entity({"PartitionKey": "Sales", "RowKey": "empid_000223", "Age": 34})
    >>> entity.key, entity["Age"], entity.etag
    (('Sales', 'empid_000223'), 34, None)
    >>> (entity | {"Age": 35}).key
    ('Sales', 'empid_000223')

    Guide: system properties; Timestamp, LMT and ETag.
    """

    __slots__ = ("_reading", "_timestamp", "_write_ids", "etag", "partition_key", "row_key")

    def __init__(self, properties: Mapping[str, Any] | None = None) -> None:
        if properties is not None and not isinstance(properties, Mapping):
            raise BadInput("properties", NOT_SHOWN, "an entity must be a mapping", 'pass {"Age": 34}')
        super().__init__(properties or {})
        self.partition_key: str | None = self.get("PartitionKey")
        """The PartitionKey of its row; None if it was not stored yet."""
        self.row_key: str | None = self.get("RowKey")
        """The RowKey of its row; None if it was not stored yet."""
        self.etag: str | None = None
        """The ETag of the version that was read or written; None if it was not stored yet."""
        self._timestamp: datetime | str | None = None
        self._write_ids: WriteIds = ()
        self._reading: object = None

    @property
    def key(self) -> tuple[str | None, str | None]:
        """The PartitionKey and the RowKey."""
        return self.partition_key, self.row_key

    @property
    def timestamp(self) -> datetime | None:
        """When the service last changed the entity; None if it was not stored yet, or if unknown."""
        timestamp = self._timestamp
        if isinstance(timestamp, str):
            timestamp = self._timestamp = read_timestamp(timestamp)
        elif timestamp is None and self.etag is not None and self.etag != STALE_ETAG:
            # In an ETag of Table storage; those of other services have another form
            with suppress(IndexError, ValueError):
                timestamp = self._timestamp = ticks_of(unquote(self.etag.split("'")[1])).datetime()
        return timestamp

    def copy(self) -> Entity:
        """Return a copy with the same properties, keys and ETag."""
        entity = Entity(self)
        identify(entity, self)
        entity._reading = self._reading
        return entity

    def __or__(self, changes: Mapping[str, Any]) -> Entity:  # type: ignore[override]
        """Return a copy with changes, which can be written back like this one."""
        copy = self.copy()
        copy.update(changes)
        return copy


def entity_from_sdk(sdk_entity: Any) -> Entity:
    """Return an entity that the SDK returned, with its 64-bit integers as `Int64`."""
    entity = Entity()
    for name, value in sdk_entity.items():
        if value is not None:
            entity[name] = _int64_or_same(value)
    entity.partition_key, entity.row_key = entity.get("PartitionKey"), entity.get("RowKey")
    entity.etag = sdk_entity.metadata.get("etag")
    timestamp: datetime | None = sdk_entity.metadata.get("timestamp")
    # The SDK has its own class
    entity._timestamp = datetime.fromisoformat(timestamp.isoformat()) if timestamp else None
    entity._write_ids = write_ids_from(entity.pop(WRITE_ID, None))
    return entity


def entity_of_row(
    properties: Iterable[tuple[str, Any]], etag: str | None, timestamp: str | None, write_ids: WriteIds
) -> Entity:
    """Return an entity with the properties of a row; the timestamp is in the service's format."""
    entity = Entity.__new__(Entity)
    entity.update(properties)
    entity.partition_key, entity.row_key = entity.get("PartitionKey"), entity.get("RowKey")
    entity.etag, entity._timestamp, entity._write_ids, entity._reading = etag, timestamp, write_ids, None
    return entity


def entity_of_keys(partition_key: str, row_key: str, etag: str | None, write_ids: WriteIds) -> Entity:
    entity = Entity.__new__(Entity)
    entity["PartitionKey"], entity["RowKey"] = partition_key, row_key
    entity.partition_key, entity.row_key = partition_key, row_key
    entity.etag, entity._timestamp, entity._write_ids, entity._reading = etag, None, write_ids, None
    return entity


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value: None counts as missing."""
    return {name: value for name, value in fields.items() if value is not None}


def identify(entity: Entity, row: Entity) -> None:
    """Give an entity the keys, the ETag, the Timestamp and the write ids of a row."""
    entity.partition_key, entity.row_key, entity.etag = row.partition_key, row.row_key, row.etag
    entity._timestamp, entity._write_ids = row._timestamp, row._write_ids


def write_ids_of(row: Entity) -> WriteIds:
    return row._write_ids


def write_ids_from(value: Any) -> WriteIds:
    """Return the write ids in a property of a row; none for a row of another program."""
    if not isinstance(value, bytes) or len(value) % _ID_BYTES:
        return ()
    if len(value) == _ID_BYTES:
        return (value,)
    return tuple([value[start : start + _ID_BYTES] for start in range(0, len(value), _ID_BYTES)])


def reading_of(entity: Mapping[str, Any]) -> object:
    """Return the internal state of the set that read an entity; None if it was not read."""
    return entity._reading if isinstance(entity, Entity) else None


def remember(entity: Entity, reading: object) -> None:
    entity._reading = reading


Modify = Callable[[Entity], Mapping[str, Any] | None]
"""Changes an entity in place and returns None, or returns all its new fields."""


def modify(entity: Entity, change: Modify) -> None:
    result: object = change(entity)
    if result is None or result is entity:
        return
    if isinstance(result, Coroutine):
        result.close()
    if not isinstance(result, Mapping):
        rule = "it returns all fields of the entity as a mapping, or changes the entity in place and returns None"
        hint = "return None or a mapping, from a function without async"
        raise BadInput("change", type(result).__name__, rule, hint)
    # Copied, since the function may return a view of the entity
    replace_fields(entity, dict(cast("Mapping[str, Any]", result)))


def replace_fields(entity: Entity, fields: Mapping[str, Any]) -> Entity:
    """Give an entity these fields and no others, in place, and return it; its keys and its ETag stay."""
    entity.clear()
    entity.update(fields)
    return entity


def _int64_or_same(value: Any) -> Any:
    if isinstance(value, EntityProperty) and value.edm_type == EdmType.INT64:
        return Int64(value.value)
    if isinstance(value, datetime):
        # The SDK's datetime has lost the seventh digit, so a key formatted from it would differ
        ticks = ticks_of(getattr(value, "tables_service_value", ""))
        return ticks if ticks % 10 else ticks.datetime()
    return value


class Measured(NamedTuple):
    """An entity whose values are of the types of `edm`."""

    properties: dict[str, Any]
    size: int
    """Its size in bytes, by the published formula."""
    has_room: bool
    """Whether it has room for a write id."""


def measure(entity: Mapping[str, Any]) -> Measured:
    """Return the entity as it is stored, with its size; raise an error for anything that the service would reject.

    A property that is None is omitted, and does not count toward any limit. An `int` beyond 32 bits is stored as
    Edm.Int64. An aware datetime is stored as the same instant in UTC.
    """
    partition_key = check_key("PartitionKey", entity.get("PartitionKey"))
    row_key = check_key("RowKey", entity.get("RowKey"))
    properties: dict[str, Any] = {"PartitionKey": partition_key, "RowKey": row_key}
    size = 4 + 2 * utf16_length(partition_key + row_key)
    for name, value in entity.items():
        if value is None or name in _SYSTEM:
            if name == "Timestamp" and value is not None:
                raise BadProperty(name, value, "the service sets it with every write", "rename the property")
            continue
        if type(name) is not str:
            name = base_value(name)
        # Not cast, which is a call for each value
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        # Most values have one of these types, and are sent unchanged
        if kind is str and len(value) <= _MAX_ASCII and value.isascii():
            size += _name_size(name) + 4 + 2 * len(value)
        elif kind is bool or kind is float or (kind is int and limits.INT32_MIN <= value <= limits.INT32_MAX):
            size += _name_size(name) + SIZES[kind]
        else:
            value = storable(name, value)
            size += _name_size(name) + value_size(value)
        properties[name] = value
    count = len(properties) - 2
    if count > limits.MAX_CUSTOM_PROPERTIES:
        rule = f"an entity has at most {limits.MAX_CUSTOM_PROPERTIES} besides its system properties"
        hint = "spread them over several entities with the wide entities pattern"
        raise LimitExceeded("properties", count, rule, hint)
    if size > limits.MAX_ENTITY_BYTES:
        rule = f"an entity has at most {limits.MAX_ENTITY_BYTES} (1 MiB)"
        hint = "keep large values in blobs (large entities) or spread the entity (wide entities)"
        raise LimitExceeded("size of the entity in bytes", size, rule, hint)
    has_room = count < limits.MAX_CUSTOM_PROPERTIES and size <= limits.MAX_ENTITY_BYTES - _WRITE_ID_BYTES
    return Measured(properties, size, has_room)


def check_key(name: str, value: object) -> str:
    """Return a PartitionKey or RowKey that the service accepts; anything else is a `BadKey`."""
    if not isinstance(value, str):
        raise BadKey(name, value, "a key is a string and every write carries both", "format the value with a Key")
    if match := _FORBIDDEN.search(value):
        rule = f"{match.group()!r} is forbidden in keys, as are / \\ # ? and control characters"
        raise BadKey(name, value, rule, "encode the value with the key format 'escape'")
    if len(value) > limits.MAX_KEY_UNITS or (not value.isascii() and utf16_length(value) > limits.MAX_KEY_UNITS):
        rule = f"a key has at most {limits.MAX_KEY_UNITS} UTF-16 code units (1 KiB)"
        raise BadKey(name, value, rule, "shorten it, or keep the value in a property")
    return value if type(value) is str else str.__str__(value)


def storable(name: str, value: Any) -> Any:
    """Return the value of a property as one of the types of `edm`; raise an error if it cannot be stored."""
    _name_size(name)
    value = typed(name, value)
    # A character takes at most four bytes, so few values have to be measured
    is_long = isinstance(value, (str, bytes)) and len(value) > limits.MAX_STRING_BYTES // 4
    if is_long and value_size(value) - 4 > limits.MAX_STRING_BYTES:
        rule = "a string or binary property has at most 64 KiB, strings counted in UTF-16"
        raise LimitExceeded(name, value, rule, "keep the value in a blob with the large entities pattern")
    return value


@lru_cache(maxsize=4096)
def _name_size(name: object) -> int:
    """Return the size of a property without its value; raise an error for a name that cannot be stored."""
    # The pattern takes milliseconds to compile, and is not needed for ASCII identifiers
    if not isinstance(name, str) or not (
        name.isidentifier() and (name.isascii() or re.fullmatch(limits.PROPERTY_NAME_PATTERN, name))
    ):
        rule = "a property name is a C# identifier that is also a valid XML name: letters, digits, _; no digit first"
        raise BadProperty("property name", name, rule, "rename the property")
    if utf16_length(name) > limits.MAX_PROPERTY_NAME_LENGTH:
        rule = f"at most {limits.MAX_PROPERTY_NAME_LENGTH} characters"
        raise LimitExceeded("property name", name, rule, "shorten the name")
    return 8 + 2 * utf16_length(name)


def typed(name: str, value: Any) -> Any:
    """Return a value as one of the types of `edm`, without checking its size."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, EntityProperty):
        return _explicit(name, value)
    value = base_value(value)
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, (datetime, Ticks)):
        return _instant(name, value)
    if isinstance(value, Enum):
        raise BadProperty(name, value, f"an Enum has no type on the service; {_KEEPS}", "store its .value")
    if isinstance(value, int):
        return value if limits.INT32_MIN <= value <= limits.INT32_MAX else _int64(name, value)
    raise BadProperty(name, value, f"{type(value).__name__} is not a property type; {_KEEPS}", _storage_hint(value))


def _storage_hint(value: object) -> str:
    if isinstance(value, Decimal):
        return "store str(value), which keeps every digit, or an int of the smallest unit"
    try:
        as_json(value)
    except BadProperty:
        return "convert it to a type that is stored, such as str"
    return "use as_json(value)"


def _int64(name: str, value: int) -> Int64:
    try:
        return Int64(value)
    except ValueError as error:
        raise BadProperty(name, value, "an integer has at most 64 bits", "store it as text or as a float") from error


def _instant(name: str, value: datetime | Ticks) -> datetime | Ticks:
    if isinstance(value, datetime) and value.utcoffset() is None:
        rule = "a datetime without a time zone is ambiguous"
        raise BadProperty(name, value, rule, "add tzinfo=timezone.utc, or the zone it was taken in")
    instant = value if isinstance(value, Ticks) else instant_of(value)
    if not _FIRST_INSTANT <= instant <= Ticks.MAX:
        rule = "Edm.DateTime begins at 1601-01-01T00:00:00Z, and ends with the year 9999 in UTC"
        raise BadProperty(name, value, rule, "store it as text")
    return value


_CONVERTED: Final = {EdmType.INT32: Int64, EdmType.INT64: int, EdmType.DOUBLE: int}
"""The other type whose values an explicit property of a type may have."""


def _explicit(name: str, explicit_property: EntityProperty) -> Any:
    """Return the value of a property whose Edm type the caller stated, as that type."""
    try:
        kind = EdmType(explicit_property.edm_type)
    except ValueError as error:
        rule = f"the types are {', '.join(kind.value for kind in EdmType)}"
        raise BadProperty(name, explicit_property.edm_type, rule, "state one of them") from error
    value = base_value(explicit_property.value)
    value_type: type[Any] = value.__class__
    own_type = KINDS.get(value_type)
    if value_type is not _CONVERTED.get(kind) and (own_type is None or own_type.edm != kind.value):
        raise BadProperty(name, value, f"the value is not a {kind.value}", "convert it, or state its own type")
    if kind is EdmType.INT64:
        return _int64(name, value)
    if kind is EdmType.INT32 and not limits.INT32_MIN <= value <= limits.INT32_MAX:
        raise BadProperty(name, value, "Edm.Int32 has 32 bits", "use Int64")
    return float(value) if kind is EdmType.DOUBLE else typed(name, value)


def same_value(fields: Mapping[str, Any], other_fields: Mapping[str, Any], *, apart_from: Collection[str] = ()) -> bool:
    """Whether the service would store the same for both: the same names, types and values, but for some names.

    Types count: 1, 1.0, True and `Int64(1)` are four values. An instant is the same in every time zone. A property that
    is None is ignored.
    """
    return _typed_values(fields, apart_from) == _typed_values(other_fields, apart_from)


def is_equal(one: object, other: object) -> bool:
    """Whether two values are equal; an instant is the same in every time zone, also in an hour that is repeated.

    There, `==` does not tell the instants of one zone apart, and never finds those of two zones equal.
    """
    if isinstance(one, datetime) and isinstance(other, datetime) and None not in (one.utcoffset(), other.utcoffset()):
        return instant_of(one) == instant_of(other)
    return one == other


def _typed_values(properties: Mapping[str, Any], apart_from: Collection[str]) -> dict[str, tuple[type, Any]]:
    return {
        name: _typed_value(typed(name, value))
        for name, value in properties.items()
        if value is not None and name not in apart_from
    }


def _typed_value(value: Any) -> tuple[type, Any]:
    if isinstance(value, datetime):
        # The SDK's datetimes keep the service's own text beside a value that lacks its seventh digit
        text = getattr(value, "tables_service_value", "")
        value = Ticks.parse(text) if text else Ticks.of(value)
    # NaN is not equal to itself, but is stored the same; 0.0 is equal to -0.0, but is not
    return type_of(value), repr(value) if isinstance(value, float) else value


@checked
def as_json(value: object) -> str:
    """Return a list or dict as text, to be kept in one property; `from_json` restores it equal.

    Keys are sorted, so that equal values give equal text.

    >>> as_json({"b": [1, 2], "a": None})
    '{"a":null,"b":[1,2]}'

    :raises BadProperty: the value has no JSON form

    Guide: tables, entities, properties (complex values are kept in serialised form).
    """
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadProperty("value", value, f"it has no JSON form ({error})", "convert it to lists and dicts") from error


@checked
def from_json(text: str) -> Any:
    """Return the value of a text of `as_json`.

    >>> from_json('{"a":null,"b":[1,2]}')
    {'a': None, 'b': [1, 2]}
    """
    return json.loads(text)
