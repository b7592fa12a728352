"""Points: the types that the values of a series may have, how to add them, and how to pack them. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from operator import index
from typing import Final, SupportsFloat, SupportsIndex, TypeVar, cast

from . import limits
from .edm import Int64
from .errors import BadProperty

V = TypeVar("V", bound="int | float")

DTYPES: Final[dict[type, str]] = {int: "Int32", Int64: "Int64", float: "Float64", bool: "boolean"}
"""The types, and those of pandas that hold the same values and know that one is missing."""
_CODES: Final[dict[type, str]] = {int: "i", Int64: "q", float: "d", bool: "?"}
_HEAD: Final = struct.Struct("<cI")


def typed(of: type[V], name: str, value: object) -> V:
    """Return a value as the type that is declared; numbers of numpy are converted.

    >>> typed(float, "Hour09", 12)
    12.0

    :param of: one of `DTYPES`
    :param name: the property that the value is for
    :raises BadProperty: the value is not of the type, or too large for it
    """
    try:
        return cast("V", _CONVERSIONS[of](value))
    except (TypeError, ValueError, OverflowError) as error:
        rule = f"the values are of type {of.__name__}, and this one is not: {error}"
        raise BadProperty(name, value, rule, "convert it, or declare another type") from error


def added(of: type[V], name: str, value: object, amount: V) -> V:
    """Return the sum of a stored value and an amount.

    :raises BadProperty: the stored value or the sum is not of the type
    """
    plain = float if of is float else int
    return typed(of, name, plain(typed(of, name, value)) + plain(amount))


def packed(of: type[V], values: Iterable[V | None]) -> bytes:
    """Return a whole series as bytes, to be kept in one property: a bit for each point, and each value that is there.

    So a series of some 8,000 values of 64 bits, too long for a property each, still fits in a single one; a longer one
    is for a blob. A point is then set by reading the entity and replacing it, as `EntitySet.update` does.

    >>> data = packed(int, [3, None, 5])
    >>> len(data), unpacked(int, data)
    (14, [3, None, 5])

    :param of: the type of the values, one of `DTYPES`
    :param values: the points in order, None for each without a value
    :raises BadProperty: a value is not of the type

    Guide: data series pattern; large entities pattern.
    """
    points = [None if value is None else typed(of, "series", value) for value in values]
    there = [value for value in points if value is not None]
    mask = bytearray((len(points) + 7) // 8)
    for number, value in enumerate(points):
        mask[number // 8] |= (value is not None) << number % 8
    code = _CODES[of]
    return _HEAD.pack(code.encode(), len(points)) + mask + struct.pack(f"<{len(there)}{code}", *there)


def unpacked(of: type[V], data: bytes) -> list[V | None]:
    """Return the points that `packed` made the bytes of, None for each without a value.

    :param of: the type that they were packed with
    :raises BadProperty: they are not the bytes of a series of this type
    """
    try:
        code, count = _HEAD.unpack_from(data)
        start = _HEAD.size + (count + 7) // 8
        bits = int.from_bytes(data[_HEAD.size : start], "little")
        kind = f"<{bits.bit_count()}{_CODES[of]}"
        if code != _CODES[of].encode() or bits.bit_length() > count or len(data) != start + struct.calcsize(kind):
            raise ValueError("the type or the length differs")
        there = iter(struct.unpack_from(kind, data, start))
    except (struct.error, ValueError) as error:
        rule = f"it is no packed series of {of.__name__}: {error}"
        raise BadProperty("series", data, rule, "unpack what packed() returned, with the same type") from error
    mask = data[_HEAD.size : start]
    return [typed(of, "series", next(there)) if mask[each // 8] >> each % 8 & 1 else None for each in range(count)]


def _int(value: object) -> int:
    # NumPy's booleans have names of their own, and older ones are taken for an index
    if type(value).__name__ in ("bool", "bool_") or not isinstance(value, SupportsIndex):
        raise TypeError("it is no integer")
    return index(value)


def _int32(value: object) -> int:
    number = _int(value)
    if not limits.INT32_MIN <= number <= limits.INT32_MAX:
        raise ValueError("it has more than 32 bits, which Int64 is for")
    return number


def _int64(value: object) -> Int64:
    return Int64(_int(value))


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError("it is no number")
    return float(value)


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("it is neither True nor False")
    return value


_CONVERSIONS: Final[dict[type, Callable[[object], int | float]]] = {
    int: _int32,
    Int64: _int64,
    float: _float,
    bool: _bool,
}
