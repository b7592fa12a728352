"""Typed values, for the SDK and in JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty

from tablepatterns import Int64, Ticks
from tablepatterns.filters import Value

_NAMED_DOUBLES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def for_sdk(properties: Mapping[str, Value]) -> dict[str, Any]:
    """Return the properties as the SDK takes them."""
    return {name: _sdk_value(value) for name, value in properties.items()}


def for_wire(properties: Mapping[str, Value]) -> dict[str, Any]:
    """Return the properties as members of a JSON object, each with a note of its type where it needs one."""
    return {member: value for name, typed in properties.items() for member, value in _members(name, typed)}


def _sdk_value(value: Value) -> Any:
    if isinstance(value, Int64):
        return EntityProperty(int(value), EdmType.INT64)
    return EntityProperty(value.iso(), EdmType.DATETIME) if isinstance(value, Ticks) else value


def _members(name: str, value: Value) -> Iterator[tuple[str, Any]]:
    note, text = _noted(value)
    if note:
        yield f"{name}@odata.type", note
    yield name, text


def _noted(value: Value) -> tuple[str, Any]:
    match value:
        case Int64():
            return "Edm.Int64", str(int(value))
        case Ticks():
            return "Edm.DateTime", value.iso()
        case UUID():
            return "Edm.Guid", str(value)
        case bytes():
            return "Edm.Binary", b64encode(value).decode()
        case float():
            return "Edm.Double", value if isfinite(value) else _NAMED_DOUBLES[repr(value)]
        case _:
            return "", value
