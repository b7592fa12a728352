"""Filters as values: a comparison, `and`, `or`, `not` and the two constants.

A filter is immutable and hashable. Its `str()` is the text for `$filter`, and `parse(str(f)) == f` for each filter `f`.
A filter that the service would reject cannot be built: an invalid name or value, or more than 15 comparisons.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import chain
from math import isfinite
from typing import ClassVar, Final, Literal, NoReturn, TypeAlias, get_args
from uuid import UUID

from ..edm import KINDS, Int64, Ticks, base_value, type_of
from ..errors import BadFilter, message_of
from ..limits import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, MAX_FILTER_COMPARISONS, MAX_PROPERTY_NAME_LENGTH

Value: TypeAlias = str | bool | int | float | UUID | bytes
"""A value of an entity; `Int64` and `Ticks` are distinct integer types."""

Address: TypeAlias = IPv4Address | IPv6Address | IPv4Network | IPv6Network
Comparable: TypeAlias = Value | datetime | date | time | Decimal | timedelta | Enum | Address
"""A value that callers can compare with a property; an aware datetime becomes `Ticks`."""

_MODEL_TYPES: Final = (date, time, Decimal, timedelta, Enum, IPv4Address, IPv6Address, IPv4Network, IPv6Network)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


Operator: TypeAlias = Literal["eq", "ne", "gt", "ge", "lt", "le"]
OPERATORS: Final[frozenset[str]] = frozenset(get_args(Operator))
RESERVED_WORDS: Final = frozenset({"true", "false", "null", "not"})
"""Words that cannot be names of properties in the grammar."""

MAX_DEPTH: Final = 100
"""A limit of this library, so that recursion over a filter does not exhaust Python's stack."""


@dataclass(frozen=True, slots=True, repr=False)
class Filter(ABC):
    """A filter of `$filter`; combine filters with `&`, `|` and `~`.

    >>> from tablepatterns.filters import prop
    >>> print((prop("Age") > 30) & ~(prop("LastName") == "O'Brien"))
    Age gt 30 and not (LastName eq 'O''Brien')
    """

    comparisons: int = field(init=False, compare=False)
    """The number of comparisons in the filter; the service allows 15."""
    depth: int = field(init=False, compare=False)

    def __and__(self, other: Filter) -> And:
        return And(self, other)

    def __or__(self, other: Filter) -> Or:
        return Or(self, other)

    def __invert__(self) -> Not:
        return Not(self)

    def __bool__(self) -> NoReturn:
        hint = "combine comparisons, each in brackets, with & | ~; instead of low <= x <= high use x.between(low, high)"
        raise BadFilter("filter", str(self), "a filter has no truth value", hint)

    @abstractmethod
    def __str__(self) -> str:
        """Return the text for `$filter`."""

    def __repr__(self) -> str:
        if any(isinstance(comparison, ModelComparison) for comparison in comparisons(self)):
            return f"<{type(self).__name__} of {', '.join(comparison.name for comparison in comparisons(self))}>"
        return f"parse({str(self)!r})"

    def _measure(self, comparisons: int, depth: int) -> None:
        if comparisons > MAX_FILTER_COMPARISONS:
            rule = f"a filter may make at most {MAX_FILTER_COMPARISONS} comparisons"
            raise BadFilter("comparisons", comparisons, rule, "use several queries, or point queries for known keys")
        if depth > MAX_DEPTH:
            raise BadFilter("nesting", depth, f"a filter may be nested {MAX_DEPTH} deep", "remove unneeded `not`")
        object.__setattr__(self, "comparisons", comparisons)
        object.__setattr__(self, "depth", depth)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Filter):
    """A comparison of a property with a constant; equal only to a comparison with a value of the same type.

    >>> print(Comparison("RowKey", "ge", "S"))
    RowKey ge 'S'

    :param name: the property, or PartitionKey, RowKey or Timestamp
    :param operator: one of eq ne gt ge lt le
    :param value: the constant; an int beyond 32 bits becomes an `Int64`
    :raises BadFilter: the name, the operator or the value is not valid in a filter
    """

    name: str
    operator: Operator
    value: Value
    kind: type = field(init=False)
    """The type of the value; without it, `Age eq 1` would equal `Age eq true`."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.operator not in OPERATORS:
            raise BadFilter("operator", self.operator, "not an operator of the service", "use eq ne gt ge lt le")
        value = typed(self.name, self.value)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "kind", type(value))
        self._measure(1, 1)

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {literal(self.value)}"


@dataclass(frozen=True, slots=True, repr=False)
class ModelComparison(Comparison):
    """A comparison with a value whose type the service lacks, such as a date.

    A set with a model replaces it with a comparison of the stored form. It has no text of its own.
    """

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "kind", type(self.value))
        self._measure(1, 1)

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {literal(typed(self.name, self.value))}"


@dataclass(frozen=True, slots=True, repr=False)
class Constant(Filter):
    """`true`, which matches every entity, or `false`, which matches none.

    >>> print(Constant(True))
    true
    """

    value: bool

    def __post_init__(self) -> None:
        self._measure(0, 1)

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, slots=True, repr=False)
class Not(Filter):
    """Entities that do not match the term, including those that lack its properties.

    >>> print(Not(Comparison("Age", "lt", 30)))
    not (Age lt 30)
    """

    term: Filter

    def __post_init__(self) -> None:
        _check_term(self.term)
        self._measure(self.term.comparisons, self.term.depth + 1)

    def __str__(self) -> str:
        return f"not ({self.term})"


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Junction(Filter):
    """The base class of `And` and `Or`: two or more terms, none of the same class."""

    word: ClassVar[str]
    terms: tuple[Filter, ...]

    def __init__(self, *terms: Filter) -> None:
        if len(terms) < 2:
            hint = "pass a single condition directly"
            raise BadFilter("terms", len(terms), f"'{self.word}' joins at least two conditions", hint)
        for term in terms:
            _check_term(term)
        flat = (term.terms if isinstance(term, type(self)) else (term,) for term in terms)
        object.__setattr__(self, "terms", tuple(chain.from_iterable(flat)))
        self._measure(sum(term.comparisons for term in terms), 1 + max(term.depth for term in self.terms))

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({t})" if isinstance(t, Junction) else str(t) for t in self.terms)


class And(Junction):
    """Entities that match every term.

    >>> print(And(Comparison("PartitionKey", "eq", "Sales"), Comparison("RowKey", "eq", "2")))
    PartitionKey eq 'Sales' and RowKey eq '2'
    """

    __slots__ = ()
    word = "and"


class Or(Junction):
    """Entities that match at least one term.

    >>> sales = Comparison("PartitionKey", "eq", "Sales")
    >>> print(And(sales, Or(Comparison("RowKey", "eq", "121"), Comparison("RowKey", "eq", "322"))))
    PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')
    """

    __slots__ = ()
    word = "or"


def comparisons(expression: Filter) -> Iterator[Comparison]:
    """Yield the comparisons of a filter, from left to right."""
    match expression:
        case Comparison():
            yield expression
        case Not(term=term):
            yield from comparisons(term)
        case Junction(terms=terms):
            for term in terms:
                yield from comparisons(term)
        case Constant():
            return
        case _:
            raise not_a_filter(expression)


def map_comparisons(expression: Filter, change: Callable[[Comparison], Filter]) -> Filter:
    """Return a filter with another filter in place of each comparison."""
    match expression:
        case Comparison():
            return change(expression)
        case Not(term=term):
            return Not(map_comparisons(term, change))
        case Junction(terms=terms):
            return type(expression)(*(map_comparisons(term, change) for term in terms))
        case _:
            return expression


def check_name(name: str) -> None:
    """Reject a name that the service does not accept as the name of a property."""
    if len(name) > MAX_PROPERTY_NAME_LENGTH:
        rule = f"a property name has at most {MAX_PROPERTY_NAME_LENGTH} characters"
        raise BadFilter("name", name, rule, "no entity can have this property")
    if not name.isidentifier():
        raise BadFilter("name", name, "a property name is an identifier", "use letters, digits and _, no digit first")
    if name in RESERVED_WORDS:
        raise BadFilter("name", name, "this word is a literal or an operator in a filter", "rename the property")


def not_a_filter(value: object) -> BadFilter:
    """Return the error for a value that was given in place of a filter."""
    hint = "parse() a text, or compare a property: prop('Age') > 30"
    return BadFilter("filter", value, f"a {type(value).__name__} is not a filter", hint)


def _check_term(term: object) -> None:
    if not isinstance(term, Filter):
        raise not_a_filter(term)


def is_of_model(value: object) -> bool:
    """Whether the service lacks the type of a value, and a set with a model compares its stored form."""
    # A URL of pydantic is told by its method
    return isinstance(value, _MODEL_TYPES) or hasattr(value, "unicode_string")


def typed(name: str, value: object) -> Value:
    """Return the value in the Python type of its Edm type, or reject it."""
    value = base_value(value)
    match value:
        case bool() | UUID() | bytes():
            return value
        case str():
            if not value.isascii() and _SURROGATE.search(value):
                raise BadFilter(name, value, "half of a surrogate pair cannot be sent as UTF-8", "use whole characters")
            return value
        case datetime() | Ticks():
            return _instant(name, value)
        case int():
            if not INT64_MIN <= value <= INT64_MAX:
                raise BadFilter(name, value, "the integer does not fit in 64 bits", "compare with a float or a text")
            return value if isinstance(value, Int64) or INT32_MIN <= value <= INT32_MAX else Int64(value)
        case float():
            if not isfinite(value):
                raise BadFilter(name, value, "NaN and the infinities have no literal", "compare with a finite number")
            return value
        case _:
            hint = "compare with str, bool, int, Int64, float, an aware datetime, Ticks, UUID or bytes"
            if is_of_model(value):
                hint += ", or query a set with a model"
            elif value is None:
                hint = "no condition asks for a missing property: read the entities and check this in Python"
            elif issubclass(type(value), Collection):
                hint = f"join several with |: (prop({name!r}) == first) | (prop({name!r}) == second)"
            raise BadFilter(name, value, f"a filter has no literal for {type(value).__name__}", hint)


def _instant(name: str, value: datetime | Ticks) -> Ticks:
    try:
        instant = value if isinstance(value, Ticks) else Ticks.of(value)
    except ValueError as error:
        raise BadFilter(name, value, message_of(error), "use datetime(..., tzinfo=timezone.utc)") from error
    if not 0 <= instant <= Ticks.MAX:
        raise BadFilter(name, int(instant), "the instant is outside the years 1 to 9999", "use another one")
    return instant


def literal(value: Value) -> str:
    r"""Return the text of a typed value in a filter; quotes in it are escaped.

    >>> literal("O'Brien"), literal(Int64(5)), literal(1e20), literal(b"\x2a")
    ("'O''Brien'", '5L', '1.0e+20', "X'2a'")
    """
    kind = KINDS.get(type(value)) or KINDS[type_of(value)]
    return kind.literal(value)
