"""Ranges of a key field's values, and of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import BadKey
from ..filters import Interval, prefix_end
from ..filters.bounds import ANY_KEY
from .formats import FORBIDDEN

Ends = Literal["both", "left", "right", "neither"]
"""Which bounds of a range are inclusive, as in pandas."""


@dataclass(frozen=True)
class Prefix:
    text: str


@dataclass(frozen=True)
class Between:
    """All values between two bounds, of which None is open; returned by `between`, `at_least` and so on."""

    low: object
    high: object
    inclusive: Ends

    @property
    def low_inclusive(self) -> bool:
        return self.inclusive in ("both", "left")

    @property
    def high_inclusive(self) -> bool:
        return self.inclusive in ("both", "right")

    def reversed(self) -> Between:
        """Return the same values for a format that sorts in descending order."""
        ends: dict[Ends, Ends] = {"left": "right", "right": "left"}
        return Between(self.high, self.low, ends.get(self.inclusive, self.inclusive))


def prefix(text: str) -> Prefix:
    """Match all texts that begin with this one.

    Only text has prefixes: a number is asked for with `between`, since its first digits say nothing.

    >>> prefix("a")
    Prefix(text='a')

    :param text: the prefix, which may be empty

    Guide: intra-partition secondary index.
    """
    return Prefix(text)


def between(low: object, high: object, inclusive: Ends = "both") -> Between:
    """Match all values from `low` to `high`, both inclusive by default.

    The ends are values of the field, also where its format puts the greatest first.

    >>> between(100, 200, "left")
    Between(low=100, high=200, inclusive='left')

    :param low: the lower bound
    :param high: the upper bound
    :param inclusive: which bounds are inclusive: both, left, right or neither
    :raises BadKey: a bound is None, or `inclusive` has another value

    Guide: intra-partition secondary index.
    """
    if inclusive not in get_args(Ends):
        raise BadKey("inclusive", inclusive, "unknown value", f"use one of {get_args(Ends)}")
    return Between(_end("low", low), _end("high", high), inclusive)


def at_least(low: object) -> Between:
    """Match `low` and all greater values.

    >>> at_least(100)
    Between(low=100, high=None, inclusive='both')

    :param low: the lower bound
    :raises BadKey: it is None

    Guide: intra-partition secondary index.
    """
    return Between(_end("low", low), None, "both")


def above(low: object) -> Between:
    """Match all values greater than `low`.

    >>> above(100)
    Between(low=100, high=None, inclusive='neither')

    :param low: the exclusive lower bound
    :raises BadKey: it is None

    Guide: intra-partition secondary index.
    """
    return Between(_end("low", low), None, "neither")


def at_most(high: object) -> Between:
    """Match `high` and all smaller values.

    >>> at_most(199)
    Between(low=None, high=199, inclusive='both')

    :param high: the upper bound
    :raises BadKey: it is None

    Guide: intra-partition secondary index.
    """
    return Between(None, _end("high", high), "both")


def below(high: object) -> Between:
    """Match all values smaller than `high`.

    >>> below(200)
    Between(low=None, high=200, inclusive='neither')

    :param high: the exclusive upper bound
    :raises BadKey: it is None

    Guide: intra-partition secondary index.
    """
    return Between(None, _end("high", high), "neither")


def _end(name: str, value: object) -> object:
    if value is None:
        hint = "for an open range, use at_least(), above(), at_most() or below()"
        raise BadKey(name, value, "a bound must be a value", hint)
    return value


@dataclass(frozen=True)
class KeyRange:
    """The rows of one partition whose RowKeys are in an interval; by default all of them."""

    partition_key: str
    row_keys: Interval = ANY_KEY

    @classmethod
    def beginning_with(cls, partition_key: str, text: str) -> KeyRange:
        """Return the range of the RowKeys with this prefix; all rows of the partition if it is empty."""
        return cls(partition_key, Interval(text, upper=after_prefix(text), upper_inclusive=False))

    def contains(self, partition_key: str, row_key: str) -> bool:
        """Whether these keys are in the range, by the order of UTF-16 code units, as in the service."""
        return partition_key == self.partition_key and self.row_keys.contains(row_key)


def after_prefix(text: str) -> str | None:
    """Return the smallest text that sorts after all texts with this prefix; None if there is none.

    It is the next character in UTF-16 order that a key may hold, so that the bound itself is sound in a filter.
    """
    end = prefix_end(text)
    while end is not None and FORBIDDEN.match(end[-1]):
        end = prefix_end(end)
    return end
