"""Strategies for filters, values and keys, with many edge cases."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tablepatterns import Int64, Ticks
from tablepatterns.filters import And, Comparison, Constant, Filter, Not, Or, Value

OPERATORS = ("eq", "ne", "gt", "ge", "lt", "le")
MISLEADING_NAMES = (
    "and",
    "or",
    "eq",
    "datetime",
    "guid",
    "X",
    "binary",
    "L",
    "e1",
    "_",
    "Größe",
    "क्षि",
    "TRUE",
    "Null",
)

texts = st.text(st.sampled_from("'\"() ,=%&+@aL\\\n\t\0") | st.characters(codec="utf-8"))
edge_texts = st.text(st.sampled_from("a\ud7ff\ue000\ufffe\uffff\U00010000\U000103ff\U00010400\U0010ffff"), max_size=4)
"""Strings from both ends of the blocks whose order differs between code points and UTF-16 units."""

values: SearchStrategy[Value] = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, Ticks.MAX).map(Ticks),
    st.uuids(),
    st.binary(max_size=8),
)
names = st.sampled_from(("PartitionKey", "RowKey", "Timestamp", *MISLEADING_NAMES)) | st.text(min_size=1).filter(
    lambda name: name.isidentifier() and name not in {"true", "false", "null", "not"}
)
keys = st.text(st.sampled_from("ab\ue000\U00010000"), max_size=3)

_few_values = st.sampled_from(
    (1, 2, Int64(1), Int64(2), 1.0, 2.0, "a", "b", True, False, Ticks(1), UUID(int=1), b"\1", b"\1\2")
)


def filters(leaves: SearchStrategy[Comparison]) -> SearchStrategy[Filter]:
    """Combine leaves to filters of at most 15 comparisons."""
    return st.recursive(leaves | st.booleans().map(Constant), _combined, max_leaves=15).filter(_is_small)


def _combined(terms: SearchStrategy[Filter]) -> SearchStrategy[Filter]:
    several = st.lists(terms, min_size=2, max_size=3).filter(lambda some: sum(t.comparisons for t in some) <= 15)
    return st.one_of(terms.map(Not), several.map(lambda some: And(*some)), several.map(lambda some: Or(*some)))


def _is_small(expression: Filter) -> bool:
    return expression.comparisons <= 15


any_filters = filters(st.builds(Comparison, names, st.sampled_from(OPERATORS), values))
key_comparisons = st.builds(
    Comparison, st.sampled_from(("PartitionKey", "RowKey")), st.sampled_from(OPERATORS), keys | st.just(5)
)
key_filters = filters(
    key_comparisons | st.builds(Comparison, st.just("Age"), st.sampled_from(OPERATORS), st.integers(0, 2))
)
entities = st.fixed_dictionaries(
    {"PartitionKey": keys, "RowKey": keys}, optional={"Age": st.integers(0, 2), "Other": _few_values}
)
