"""`$filter`: build it safely, parse it, evaluate it, classify it. Pure: nothing here makes a request."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .bounds import Interval, KeyBounds, key_bounds
from .builder import Property, prefix_end, prop
from .expression import And, Comparable, Comparison, Constant, Filter, Not, Operator, Or, Value, comparisons, literal
from .query_class import Explanation, QueryClass, classify, point_keys, reject_scans

if TYPE_CHECKING:
    from .grammar import FilterSyntaxError, UnsupportedFilter, parse
    from .matching import Getter, Matcher, matcher

_MODULES: Final = dict.fromkeys(("FilterSyntaxError", "UnsupportedFilter", "parse"), "grammar") | dict.fromkeys(
    ("Getter", "Matcher", "matcher"), "matching"
)
"""The modules that are imported when one of their names is first used: a program that parses no text needs neither."""

__all__ = [
    "And",
    "Comparable",
    "Comparison",
    "Constant",
    "Explanation",
    "Filter",
    "FilterSyntaxError",
    "Getter",
    "Interval",
    "KeyBounds",
    "Matcher",
    "Not",
    "Operator",
    "Or",
    "Property",
    "QueryClass",
    "UnsupportedFilter",
    "Value",
    "classify",
    "comparisons",
    "key_bounds",
    "literal",
    "matcher",
    "parse",
    "point_keys",
    "prefix_end",
    "prop",
    "reject_scans",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
