"""What can be asked of a field besides one known value, and the range of rows that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..edm import ordinal
from ..errors import BadKey
from .formats import FORBIDDEN

Ends = Literal["both", "left", "right", "neither"]
"""Which ends of a range belong to it, in the words of pandas."""


@dataclass(frozen=True)
class Prefix:
    """Every text that begins like this one; made by `prefix`."""

    text: str


@dataclass(frozen=True)
class Between:
    """Every value from one end to the other, where None is an open end; made by `between` and its neighbours."""

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
        """Return the same values as seen by a format that puts the greatest first."""
        ends: dict[Ends, Ends] = {"left": "right", "right": "left"}
        return Between(self.high, self.low, ends.get(self.inclusive, self.inclusive))


def prefix(text: str) -> Prefix:
    """Ask for every text that begins like this one, itself included.

    Only text has prefixes: a number is asked for with `between`, since its first digits say nothing.

    >>> prefix("a")
    Prefix(text='a')

    :param text: the beginning, which may be empty

    Guide: intra-partition secondary index.
    """
    return Prefix(text)


def between(low: object, high: object, inclusive: Ends = "both") -> Between:
    """Ask for every value from `low` to `high`, both included unless `inclusive` says otherwise.

    The ends are values of the field, also where its format puts the greatest first.

    >>> between(100, 200, "left")
    Between(low=100, high=200, inclusive='left')

    :param low: the least value
    :param high: the greatest value
    :param inclusive: which ends belong to the range: both, left, right or neither
    :raises BadKey: where an end is None, or `inclusive` is another word

    Guide: intra-partition secondary index.
    """
    if inclusive not in get_args(Ends):
        raise BadKey(
            "inclusive", inclusive, "it names the ends that belong to the range", f"use one of {get_args(Ends)}"
        )
    return Between(_end("low", low), _end("high", high), inclusive)


def at_least(low: object) -> Between:
    """Ask for `low` and every greater value.

    >>> at_least(100)
    Between(low=100, high=None, inclusive='both')

    :param low: the least value
    :raises BadKey: where it is None

    Guide: intra-partition secondary index.
    """
    return Between(_end("low", low), None, "both")


def above(low: object) -> Between:
    """Ask for every value greater than `low`, which itself is left out.

    >>> above(100)
    Between(low=100, high=None, inclusive='neither')

    :param low: the value below the least
    :raises BadKey: where it is None

    Guide: intra-partition secondary index.
    """
    return Between(_end("low", low), None, "neither")


def at_most(high: object) -> Between:
    """Ask for `high` and every smaller value.

    >>> at_most(199)
    Between(low=None, high=199, inclusive='both')

    :param high: the greatest value
    :raises BadKey: where it is None

    Guide: intra-partition secondary index.
    """
    return Between(None, _end("high", high), "both")


def below(high: object) -> Between:
    """Ask for every value smaller than `high`, which itself is left out.

    >>> below(200)
    Between(low=None, high=200, inclusive='neither')

    :param high: the value above the greatest
    :raises BadKey: where it is None

    Guide: intra-partition secondary index.
    """
    return Between(None, _end("high", high), "neither")


def _end(name: str, value: object) -> object:
    if value is None:
        raise BadKey(
            name, value, "an end is a value", "leave the end open with at_least(), above(), at_most() or below()"
        )
    return value


@dataclass(frozen=True)
class KeyRange:
    """The rows of one partition between two RowKeys; a bound that is None is open.

    >>> rows = KeyRange("Sales", "email_a", True, "email_b", False)
    >>> rows.contains("Sales", "email_alice@contoso.com"), rows.contains("Sales", "email_b")
    (True, False)

    :param partition_key: the partition
    :param lower: the first RowKey, or None
    :param lower_inclusive: whether `lower` itself belongs to the range
    :param upper: the last RowKey, or None
    :param upper_inclusive: whether `upper` itself belongs to the range
    """

    partition_key: str
    lower: str | None = None
    lower_inclusive: bool = True
    upper: str | None = None
    upper_inclusive: bool = False

    @classmethod
    def beginning_with(cls, partition_key: str, text: str) -> KeyRange:
        """Return the range of the RowKeys that begin with the text; all rows of the partition for an empty one."""
        return cls(partition_key, text or None, True, after_prefix(text), False)

    @property
    def row_key(self) -> str | None:
        """The one RowKey of a range that is a single row, or None: such a range is a point query."""
        return self.lower if self.lower == self.upper and self.lower_inclusive and self.upper_inclusive else None

    def contains(self, partition_key: str, row_key: str) -> bool:
        """Whether these keys lie in the range, in the order of the service: by UTF-16 code unit."""
        return partition_key == self.partition_key and self._from_lower(row_key) and self._to_upper(row_key)

    def _from_lower(self, row_key: str) -> bool:
        if self.lower is None:
            return True
        return ordinal(row_key) > ordinal(self.lower) or (self.lower_inclusive and row_key == self.lower)

    def _to_upper(self, row_key: str) -> bool:
        if self.upper is None:
            return True
        return ordinal(row_key) < ordinal(self.upper) or (self.upper_inclusive and row_key == self.upper)


def after_prefix(text: str) -> str | None:
    """Return the least key text that sorts after every key beginning with the text; None where nothing does.

    It is the next character in UTF-16 order that a key may hold, so that the bound itself is sound in a filter.

    >>> after_prefix("email_a"), after_prefix("empid_000199"), after_prefix("")
    ('email_b', 'empid_00019:', None)
    """
    stem = text.rstrip("\uffff")
    if not stem:
        return None
    following = _next(stem[-1])
    while FORBIDDEN.match(following):
        following = _next(following)
    return stem[:-1] + following


def _next(character: str) -> str:
    """Return the next character in UTF-16 order, where the surrogate pairs lie between U+D7FF and U+E000."""
    return {"\ud7ff": "\U00010000", "\U0010ffff": "\ue000"}.get(character) or chr(ord(character) + 1)
