"""Build filters from Python comparisons, so that values are never concatenated into a text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Final, NoReturn, cast
from uuid import UUID

from ..argument_types import checked
from ..edm import Ticks
from ..errors import NOT_SHOWN, BadFilter, short_repr
from .expression import Comparable, Comparison, Filter, ModelComparison, Operator, Value, check_name, is_of_model

_SYSTEM_TYPES: Final[Mapping[str, type]] = {"PartitionKey": str, "RowKey": str, "Timestamp": Ticks}


@checked
def prop(name: str) -> Property:
    """Return the property of this name, ready to be compared.

    Comparisons behave like the service: an entity without the property matches none of them, not even `!=`. If the
    types differ, the property counts as less than the value. An Int64 or a Double can be compared with an int or its
    own type, an Int32 only with an int of 32 bits. In queries of a set with a model, compare a field with a value of
    its type, such as a date or a member of an enum.

    >>> print((prop("PartitionKey") == "Sales") & prop("RowKey").startswith("email_a"))
    PartitionKey eq 'Sales' and RowKey ge 'email_a' and RowKey lt 'email_b'

    :param name: the property, or PartitionKey, RowKey or Timestamp
    :raises BadFilter: no entity can have a property of this name

    Guide: designing for querying.
    """
    check_name(name)
    return Property(name)


class Property:
    """A property that compares to a filter; get one from `prop`."""

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"prop({self.name!r})"

    def __eq__(self, value: Comparable) -> Comparison:  # type: ignore[override]  # pyright: ignore
        return self._compare("eq", value)

    def __ne__(self, value: Comparable) -> Comparison:  # type: ignore[override]  # pyright: ignore
        return self._compare("ne", value)

    def __gt__(self, value: Comparable) -> Comparison:
        return self._compare("gt", value)

    def __ge__(self, value: Comparable) -> Comparison:
        return self._compare("ge", value)

    def __lt__(self, value: Comparable) -> Comparison:
        return self._compare("lt", value)

    def __le__(self, value: Comparable) -> Comparison:
        return self._compare("le", value)

    def between(self, low: Comparable, high: Comparable) -> Filter:
        """Return the filter for low <= property <= high, both ends included.

        >>> print(prop("RowKey").between("empid_000100", "empid_000199"))
        RowKey ge 'empid_000100' and RowKey le 'empid_000199'

        :param low: the least value that matches
        :param high: the greatest value that matches
        :raises BadFilter: a value has no literal, or the least is above the greatest
        """
        from .matching import matcher

        least, greatest = self >= low, self <= high
        is_ordered = least.kind is greatest.kind and not issubclass(least.kind, Enum)
        if is_ordered and not matcher(greatest)({self.name: least.value}.get):
            rule = f"its least value is above its greatest, {short_repr(high)}, so it would match nothing"
            raise BadFilter(self.name, low, rule, "swap the two")
        return least & greatest

    def startswith(self, prefix: str) -> Filter:
        """Return the filter for strings with this prefix, as a range; the service has no other way.

        "f34" matches "f340" too, unless the prefix ends with a separator. The empty prefix matches every string.

        >>> print(prop("RowKey").startswith("B"))
        RowKey ge 'B' and RowKey lt 'C'

        :param prefix: the prefix; case-sensitive
        :raises BadFilter: the prefix is not a str

        Guide: several entities.
        """
        if not isinstance(prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadFilter(self.name, prefix, "a prefix is a string", "compare other types with between(low, high)")
        end = prefix_end(prefix)
        return self >= prefix if end is None else (self >= prefix) & (self < end)

    def _compare(self, operator: Operator, value: Comparable) -> Comparison:
        if isinstance(value, Property):
            hint = "read the entities and compare in Python"
            raise BadFilter(self.name, value, "a property compares only with a constant", hint)
        of_model = is_of_model(value) and not isinstance(value, (str, int, float, bytes, UUID, datetime))
        kind = ModelComparison if of_model else Comparison
        comparison = kind(self.name, operator, cast("Value", value))
        expected = _SYSTEM_TYPES.get(self.name, comparison.kind)
        if comparison.kind is not expected:
            text = "an instant" if expected is Ticks else "a string"
            raise BadFilter(self.name, value, f"{self.name} is {text}, which never equals another type", f"give {text}")
        return comparison

    def _unbracketed(self, other: object) -> NoReturn:
        hint = "put each comparison in brackets: (prop('A') > 1) & (prop('B') == 2)"
        raise BadFilter(self.name, other, "& and | bind tighter than a comparison in Python", hint)

    __and__ = __rand__ = __or__ = __ror__ = _unbracketed


class _Fields:
    """Stands in for an instance: its attributes are the properties to compare."""

    def __getattr__(self, name: str) -> Property:
        return prop(name)

    __getitem__ = __getattr__


def filter_of(where: object) -> Filter:
    """Return the filter that a function of an instance describes, by calling it once; a filter is returned unchanged.

    >>> print(filter_of(lambda booking: (booking.seats > 3) & (booking.customer == "ann")))
    seats gt 3 and customer eq 'ann'
    """
    condition: object = where(_Fields()) if callable(where) else where
    if not isinstance(condition, Filter):
        rule = f"it must be a condition, not {type(condition).__name__}"
        raise BadFilter("where", NOT_SHOWN, rule, "return comparisons joined by & and |, such as (b.seats > 3)")
    return condition


def prefix_end(prefix: str) -> str | None:
    r"""Return the smallest string greater than all strings with the prefix; None if there is none.

    The service sorts by UTF-16 code unit. The last unit is incremented; surrogates are skipped, since half of a pair
    cannot be sent.

    >>> prefix_end("email_a"), prefix_end("x\uffff"), prefix_end("")
    ('email_b', 'y', None)

    :param prefix: the prefix of the strings
    """
    stem = prefix.rstrip("\uffff")
    if not stem:
        return None
    # The surrogate pairs lie between U+D7FF and U+E000
    next_character = {"\ud7ff": "\U00010000", "\U0010ffff": "\ue000"}.get(stem[-1]) or chr(ord(stem[-1]) + 1)
    return stem[:-1] + next_character
