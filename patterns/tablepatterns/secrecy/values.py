"""Values as bytes and back: each keeps its type, which is encrypted with it."""

from __future__ import annotations

import struct
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ..edm import Int64, Ticks
from ..entity import typed
from ..errors import NOT_SHOWN, BadInput, BadProperty

_STRUCTS: Final = {b"?": "?", b"i": ">i", b"l": ">q", b"d": ">d", b"t": ">q"}


def to_bytes(name: str, value: Any) -> bytes:
    r"""Return a value with its type, in a form that never changes.

    A text or bytes may be longer than a property; every other type is one that the service stores.

    >>> to_bytes("Salary", Int64(5))
    b'l\x00\x00\x00\x00\x00\x00\x00\x05'

    :raises BadProperty: it is no property type; the value is not shown
    """
    try:
        return _written(typed(name, value))
    except BadInput as error:
        # Its own text would show what is to be kept secret
        raise BadProperty(name, NOT_SHOWN, error.rule, error.way_out) from None


def from_bytes(written: bytes) -> Any:
    """Return the value that `to_bytes` was given.

    :raises ValueError: there is no such type
    """
    kind, rest = written[:1], written[1:]
    if kind == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if kind == b"b":
        return rest
    if kind == b"g":
        return UUID(bytes=rest)
    if kind not in _STRUCTS:
        raise ValueError(f"{kind!r} is no type that this version knows")
    (value,) = struct.unpack(_STRUCTS[kind], rest)
    if kind == b"t":
        return Ticks(value) if value % 10 else Ticks(value).datetime()
    return Int64(value) if kind == b"l" else value


def _written(value: Any) -> bytes:
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, UUID):
        return b"g" + value.bytes
    if isinstance(value, datetime):
        # The SDK's datetimes keep the service's own text beside a value that lacks its seventh digit
        text = getattr(value, "tables_service_value", "")
        value = Ticks.parse(text) if text else Ticks.of(value)
    kinds = {bool: b"?", Int64: b"l", Ticks: b"t", float: b"d"}
    kind = next((kind for type_, kind in kinds.items() if isinstance(value, type_)), b"i")
    return kind + struct.pack(_STRUCTS[kind], value)
