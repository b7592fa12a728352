"""From the JSON of an entity to typed values."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isinf
from typing import Any, Final, cast
from uuid import UUID

from ...edm import Int64, Ticks
from ...limits import INT32_MAX, INT32_MIN
from .. import texts
from ..entities import Value
from ..refusal import Refusal

_NOTE: Final = "@odata.type"
_BYTE_ORDER_MARK: Final = "\ufeff"
_INT32: Final = range(INT32_MIN, INT32_MAX + 1)
_INTEGER: Final = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_NAMED_DOUBLES: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Body:
    """What the body of a write says.

    :param members: the members of its JSON object
    """

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = members

    def key(self, name: str) -> str:
        """Return a key of what is to be created.

        :raises Refusal: PropertiesNeedValue where it is missing or null, InvalidInput where it is no string
        """
        value = self._members.get(name)
        if value is None:
            raise Refusal(texts.PROPERTIES_NEED_VALUE)
        if not isinstance(value, str) or self._members.get(name + _NOTE, "Edm.String") != "Edm.String":
            raise Refusal(texts.INVALID_INPUT)
        return value

    def properties(self) -> dict[str, Value]:
        """Return the user's properties as typed values; null is no value.

        :raises Refusal: InvalidInput for a value that its type cannot be
        """
        members = self._members
        try:
            return {
                name: _READERS[members.get(note, type(value))](value)
                for name, value in members.items()
                if value is not None and (note := _note_of(name))
            }
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Refusal(texts.INVALID_INPUT) from error


def read_body(body: bytes) -> Body:
    """Return what the body of a write says.

    :raises Refusal: InvalidInput for what is no JSON object, DuplicatePropertiesSpecified for a name given twice
    """
    try:
        value = _DECODER.decode(body.decode().removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError) as error:
        raise Refusal(texts.INVALID_INPUT) from error
    if not isinstance(value, dict):
        raise Refusal(texts.INVALID_INPUT)
    return Body(cast("dict[str, Any]", value))


@lru_cache(maxsize=4096)
def _note_of(name: str) -> str | None:
    """Return the name of the note that tells a property's type, None for what is no property of the user's."""
    if name in _SYSTEM or name.endswith(_NOTE) or name.startswith("odata."):
        return None
    return name + _NOTE


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Refusal(texts.DUPLICATE_PROPERTIES)
    return members


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_constant)
_SYSTEM: Final = frozenset({"PartitionKey", "RowKey", "Timestamp"})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else {"true": True, "false": False}[_text(value).lower()]


def _integer(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if type(value) is int:
        return value
    raise TypeError(value)


def _int32(value: Any) -> int:
    number = _integer(value)
    if number not in _INT32:
        raise ValueError(value)
    return number


def _int64(value: Any) -> Int64:
    # A number in JSON may have lost digits on its way, so the service takes strings only
    return Int64(_integer(_text(value)))


def _double(value: Any) -> float:
    if isinstance(value, str):
        if value in _NAMED_DOUBLES:
            return _NAMED_DOUBLES[value]
        if not _NUMBER.fullmatch(value):
            raise ValueError(value)
    elif type(value) not in (int, float):
        raise TypeError(value)
    number = float(value)
    if isinf(number):
        raise OverflowError(value)
    return number


def _moment(value: Any) -> Ticks:
    return Ticks.parse(_text(value))


def _guid(value: Any) -> UUID:
    if not _GUID.fullmatch(_text(value)):
        raise ValueError(value)
    return UUID(value)


def _binary(value: Any) -> bytes:
    return b64decode(_text(value), validate=True)


def _plain_integer(value: int) -> int | float:
    """Return an integer without a noted type; beyond 32 bits a reader of OData takes it for a double."""
    return value if value in _INT32 else _double(value)


_READERS: Final[dict[Any, Callable[[Any], Value]]] = {
    "Edm.String": _text,
    "Edm.Boolean": _boolean,
    "Edm.Int32": _int32,
    "Edm.Int64": _int64,
    "Edm.Double": _double,
    "Edm.DateTime": _moment,
    "Edm.Guid": _guid,
    "Edm.Binary": _binary,
    str: _text,
    bool: _boolean,
    int: _plain_integer,
    float: _double,
}
