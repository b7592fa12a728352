"""Evaluate filters like the service: compile once per query, call once per entity.

| property against literal                    | eq    | ne    | gt    | ge    | lt    | le    |
|---------------------------------------------|-------|-------|-------|-------|-------|-------|
| the entity lacks the property               | false | false | false | false | false | false |
| another type: counts as property < literal  | false | true  | false | false | true  | true  |
| same type, or promoted                      | by value                                      |

Only integers are promoted: a literal `5` also matches Int64 and Double properties, a literal `5L` also Double ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..edm import Int64, ordinal
from .expression import And, Comparison, Constant, Filter, Not, Or, Value, not_a_filter

Getter: TypeAlias = Callable[[str], "Value | None"]
"""A function that returns a property of an entity, such as `entity.get`; None if it is missing."""

Matcher: TypeAlias = Callable[[Getter], bool]

_Compare: TypeAlias = Callable[[Any, Any], bool]
_TRUE_WHERE_LESS: Final = frozenset({"ne", "lt", "le"})


def matcher(expression: Filter) -> Matcher:
    """Return a function that evaluates the filter on an entity.

    Values must have the exact types of `Value`: a datetime is `Ticks`, a 64-bit integer `Int64`.

    >>> is_match = matcher(Comparison("Age", "gt", 30))
    >>> is_match({"Age": 31}.get), is_match({"Age": Int64(31)}.get), is_match({}.get)
    (True, True, False)
    """
    match expression:
        case Comparison():
            return _comparison(expression)
        case Constant(value=value):
            return lambda get: value
        case Not(term=term):
            inner = matcher(term)
            return lambda get: not inner(get)
        case And(terms=terms):
            return _junction([matcher(term) for term in terms], decisive=False)
        case Or(terms=terms):
            return _junction([matcher(term) for term in terms], decisive=True)
        case _:
            raise not_a_filter(expression)


def _comparison(comparison: Comparison) -> Matcher:
    name = comparison.name
    literals = _literal_by_type(comparison.value)
    compare = _compare(comparison)
    on_mismatch = comparison.operator in _TRUE_WHERE_LESS

    def matches(get: Getter) -> bool:
        value = get(name)
        literal = literals.get(value.__class__)
        return compare(value, literal) if literal is not None else on_mismatch and value is not None

    return matches


def _literal_by_type(value: Value) -> Mapping[type, Value]:
    """Return the literal converted for each property type; types that are missing do not match."""
    if type(value) is int:
        return {int: value, Int64: value, float: float(value)}
    if type(value) is Int64:
        return {Int64: value, float: float(value)}
    return {type(value): value}


def _compare(comparison: Comparison) -> _Compare:
    # Python's functions have the names of the service's operators
    compare: _Compare = getattr(operator, comparison.operator)
    text = comparison.value
    # Below the surrogates, code points and UTF-16 units compare with the literal in the same way
    if not isinstance(text, str) or text.isascii() or max(text) < "\ud800":
        return compare
    return lambda value, literal: compare(ordinal(value), ordinal(literal))


def _junction(terms: list[Matcher], *, decisive: bool) -> Matcher:
    """Return the matcher of an `and`, which a False term decides, or of an `or`, which a True term decides."""

    def matches(get: Getter) -> bool:
        # A loop instead of nested closures, so that a long `true or true or ...` does not exhaust the stack
        for term in terms:
            if term(get) is decisive:
                return decisive
        return not decisive

    return matches
