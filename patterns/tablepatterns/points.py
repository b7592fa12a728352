"""Points: the types that the values of a series may have, each stored as one Edm type, and how to add them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Final, SupportsFloat, SupportsIndex, TypeVar, cast

from . import limits
from .edm import Int64
from .errors import BadProperty

V = TypeVar("V", bound="int | float")

DTYPES: Final[dict[type, str]] = {int: "Int32", Int64: "Int64", float: "Float64", bool: "boolean"}
"""The types, and those of pandas that hold the same values and know that one is missing."""


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


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
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
