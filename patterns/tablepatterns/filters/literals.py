"""Convert the values in filters between Python and the text of `$filter`."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from math import isfinite
from typing import Final, TypeAlias
from uuid import UUID

from ..edm import KINDS, Int64, Ticks, type_of
from ..errors import BadFilter, message_of
from ..limits import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

Value: TypeAlias = str | bool | int | float | UUID | bytes
"""A value of an entity; `Int64` and `Ticks` are distinct integer types."""

Address: TypeAlias = IPv4Address | IPv6Address | IPv4Network | IPv6Network
Comparable: TypeAlias = Value | datetime | date | time | Decimal | timedelta | Enum | Address
"""A value that callers can compare with a property; an aware datetime becomes `Ticks`."""

_MODEL_TYPES: Final = (date, time, Decimal, timedelta, Enum, IPv4Address, IPv6Address, IPv4Network, IPv6Network)

_INTEGER: Final = re.compile(r"-?[0-9]+L?")
_DOUBLE: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")
_GUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def is_of_model(value: object) -> bool:
    """Whether the service lacks the type of a value, and a set with a model compares its stored form."""
    # A URL of pydantic is told by its method
    return isinstance(value, _MODEL_TYPES) or hasattr(value, "unicode_string")


def typed(name: str, value: object) -> Value:
    """Return the value in the Python type of its Edm type, or reject it."""
    match value:
        case bool() | UUID():
            return value
        case str():
            return _text(name, value)
        case datetime() | Ticks():
            return _instant(name, value)
        case int():
            return _integer(name, value)
        case float():
            return _double(name, value)
        case bytes():
            return bytes(value)
        case _:
            hint = "compare with str, bool, int, Int64, float, an aware datetime, Ticks, UUID or bytes"
            if is_of_model(value):
                hint += ", or query a set with a model"
            elif value is None:
                hint = "no condition asks for a missing property: read the entities and check this in Python"
            elif issubclass(type(value), Collection):
                hint = f"join several with |: (prop({name!r}) == first) | (prop({name!r}) == second)"
            raise BadFilter(name, value, f"a filter has no literal for {type(value).__name__}", hint)


def _text(name: str, value: str) -> str:
    if not value.isascii() and _SURROGATE.search(value):
        raise BadFilter(name, value, "half of a surrogate pair cannot be sent as UTF-8", "use whole characters")
    return str.__str__(value)


def _instant(name: str, value: datetime | Ticks) -> Ticks:
    try:
        instant = value if isinstance(value, Ticks) else Ticks.of(value)
    except ValueError as error:
        raise BadFilter(name, value, message_of(error), "use datetime(..., tzinfo=timezone.utc)") from error
    if not 0 <= instant <= Ticks.MAX:
        raise BadFilter(name, int(instant), "the instant is outside the years 1 to 9999", "use an earlier one")
    return instant


def _integer(name: str, value: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise BadFilter(name, value, "the integer does not fit in 64 bits", "compare with a float or a text")
    return Int64(value) if isinstance(value, Int64) or not INT32_MIN <= value <= INT32_MAX else int(value)


def _double(name: str, value: float) -> float:
    if not isfinite(value):
        raise BadFilter(name, value, "NaN and the infinities have no literal", "compare with a finite number")
    return float(value)


def literal(value: Value) -> str:
    r"""Return the text of a typed value in a filter; quotes in it are escaped.

    >>> literal("O'Brien"), literal(Int64(5)), literal(1e20), literal(b"\x2a")
    ("'O''Brien'", '5L', '1.0e+20', "X'2a'")
    """
    kind = KINDS.get(type(value)) or KINDS[type_of(value)]
    return kind.literal(value)


def read_number(word: str) -> int | float | None:
    """Return the number in an unquoted word, or None if it is not a number; ValueError if it is out of range."""
    if _INTEGER.fullmatch(word):
        number = int(word.removesuffix("L"))
        return number if word[-1] != "L" and INT32_MIN <= number <= INT32_MAX else Int64(number)
    if not _DOUBLE.fullmatch(word):
        return None
    double = float(word)
    if not isfinite(double):
        raise ValueError(f"{word} is beyond the range of a double")
    return double


def read_quoted(prefix: str, content: str) -> Value:
    """Return the value of a quoted literal; ValueError for an unknown prefix or malformed content."""
    match prefix:
        case "":
            return content.replace("''", "'")
        case "datetime":
            return Ticks.parse(content)
        case "guid" if _GUID.fullmatch(content):
            return UUID(content)
        case "X" | "binary" if _HEX.fullmatch(content):
            return bytes.fromhex(content)
        case _:
            raise ValueError(f"{prefix}'{content}' is not a literal")
