"""Filters as values: a comparison, `and`, `or`, `not` and the two constants.

A filter is immutable and hashable. Its `str()` is the text for `$filter`, and `parse(str(f)) == f` for each filter `f`.
A filter that the service would reject cannot be built: an invalid name or value, or more than 15 comparisons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, Final, Literal, NoReturn, TypeAlias, get_args

from ..errors import BadFilter
from ..limits import MAX_FILTER_COMPARISONS, MAX_PROPERTY_NAME_LENGTH
from .literals import Value, literal, typed

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
