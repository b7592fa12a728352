"""`$filter`: build it safely, parse it, evaluate it, classify it. Pure: nothing here makes a request."""

from .bounds import Interval, KeyBounds, key_bounds
from .builder import Property, filter_of, prefix_end, prop
from .expression import And, Comparison, Constant, Filter, Not, Operator, Or, comparisons
from .grammar import FilterSyntaxError, UnsupportedFilter, parse
from .literals import Comparable, Value, literal
from .matching import Getter, Matcher, matcher
from .query_class import Explanation, QueryClass, classify, point_keys, reject_scans

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
    "filter_of",
    "key_bounds",
    "literal",
    "matcher",
    "parse",
    "point_keys",
    "prefix_end",
    "prop",
    "reject_scans",
]
