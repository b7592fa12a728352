"""Key bounds: never too narrow, and as narrow as the conditions on the keys allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filters.strategies import entities, key_filters, keys
from tablepatterns.errors import BadFilter
from tablepatterns.filters import And, Comparison, Interval, KeyBounds, key_bounds, matcher, parse

bounding_comparisons = st.builds(
    Comparison, st.sampled_from(("PartitionKey", "RowKey")), st.sampled_from(("eq", "gt", "ge", "lt", "le")), keys
)
ranges = st.builds(Interval, keys, st.booleans(), st.none() | keys, st.booleans())


@given(key_filters, entities)
def test_every_match_is_within_the_bounds(expression, entity):
    if matcher(expression)(entity.get):
        assert key_bounds(expression).contains(entity["PartitionKey"], entity["RowKey"])
        assert not key_bounds(expression).empty


@given(st.lists(bounding_comparisons, min_size=2, max_size=5), keys, keys)
def test_bounds_joined_by_and_are_exact(terms, partition_key, row_key):
    expression = And(*terms)
    row = {"PartitionKey": partition_key, "RowKey": row_key}
    assert key_bounds(expression).contains(partition_key, row_key) is matcher(expression)(row.get)


@given(ranges, ranges, keys)
def test_ranges_intersect_exactly_and_span_safely(a, b, key):
    assert (a & b).contains(key) is (a.contains(key) and b.contains(key))
    assert (a | b).contains(key) or not (a.contains(key) or b.contains(key))


@given(ranges, keys)
def test_an_empty_range_has_no_key_and_an_exact_one_has_one(a, key):
    assert not (a.empty and a.contains(key))
    if a.exact is not None:
        assert a.contains(key) is (key == a.exact)


@given(ranges, keys)
def test_a_range_that_is_not_bounded_has_every_key(a, key):
    assert a.bounded or a.contains(key)


@pytest.mark.parametrize(
    ("text", "partition", "rows"),
    [
        ("PartitionKey eq 'A'", "A", Interval()),
        ("PartitionKey eq 'A' and RowKey eq '1'", "A", Interval("1", upper="1")),
        ("PartitionKey eq 'A' and RowKey gt '1'", "A", Interval("1", lower_inclusive=False)),
        ("PartitionKey eq 'A' and RowKey le '1'", "A", Interval(upper="1")),
        ("PartitionKey eq 'A' and Age gt 5", "A", Interval()),
        ("PartitionKey eq 'A' and RowKey ne '1'", "A", Interval()),
        ("PartitionKey eq 'A' and not (RowKey lt '1')", "A", Interval()),
        ("PartitionKey eq 'A' and (RowKey eq '1' or RowKey eq '3')", "A", Interval("1", upper="3")),
        ("PartitionKey eq 'A' and (RowKey eq '1' or Age gt 5)", "A", Interval()),
        ("(PartitionKey eq 'A' and RowKey eq '1') or false", "A", Interval("1", upper="1")),
        ("PartitionKey ge 'A' and PartitionKey le 'A'", "A", Interval()),
        ("PartitionKey eq 'A' or PartitionKey eq 'B'", None, Interval()),
        ("RowKey lt '1'", None, Interval(upper="1", upper_inclusive=False)),
        ("true", None, Interval()),
    ],
)
def test_bounds_are_what_the_conditions_say(text, partition, rows):
    bounds = key_bounds(parse(text))
    assert (bounds.partition, bounds.row_keys) == (partition, rows)
    assert not bounds.empty


def test_a_range_of_partitions_is_bounded_on_both_sides():
    bounds = key_bounds(parse("PartitionKey gt 'A' and PartitionKey le 'C'"))
    assert bounds.partition_keys == Interval("A", False, "C", True)


def test_only_both_keys_make_one_key():
    assert key_bounds(parse("PartitionKey eq 'A' and RowKey eq ''")).key == ("A", "")
    assert key_bounds(parse("RowKey eq '1'")).key is None
    assert KeyBounds().key is None


@pytest.mark.parametrize(
    "text",
    [
        "PartitionKey eq 'A' and PartitionKey eq 'B'",
        "RowKey gt 'B' and RowKey lt 'A'",
        "RowKey gt 'A' and RowKey le 'A'",
        "RowKey lt ''",
        "RowKey eq 5",
        "PartitionKey gt datetime'2014-08-22'",
        "false",
        "(RowKey eq '1' and RowKey eq '2') or (PartitionKey eq 'A' and false)",
    ],
)
def test_a_contradiction_is_empty(text):
    assert key_bounds(parse(text)).empty


@pytest.mark.parametrize("text", ["RowKey ne 5", "RowKey lt 5", "PartitionKey le 5"])
def test_another_type_counts_as_greater_than_any_key(text):
    assert key_bounds(parse(text)) == KeyBounds()


def test_a_text_is_no_filter_to_bound():
    with pytest.raises(BadFilter, match="parse"):
        key_bounds("PartitionKey eq 'A'")
