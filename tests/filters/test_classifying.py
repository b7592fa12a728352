"""The guide's query classes, its rule for `or`, and the rejection of scans."""

from __future__ import annotations

import pytest
from hypothesis import given

from filters.strategies import entities, key_filters
from tablepatterns.errors import BadFilter
from tablepatterns.filters import Interval, KeyBounds, QueryClass, classify, matcher, parse, point_keys, reject_scans

POINT, RANGE, PARTITION_SCAN, TABLE_SCAN = QueryClass
EITHER_ROW = "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"


def class_of(text):
    return classify(parse(text)).query_class


@pytest.mark.guide("G-080")
@pytest.mark.parametrize(
    "text",
    [
        "(PartitionKey eq 'Sales') and (RowKey eq '2')",
        "'2' eq RowKey and 'Sales' eq PartitionKey",
        "PartitionKey eq '' and RowKey eq ''",
        "PartitionKey eq 'Sales' and RowKey eq '2' and Age gt 30",
        "PartitionKey eq 'Sales' and RowKey eq '2' and (Age gt 30 or not (Age lt 5))",
    ],
)
def test_both_keys_are_a_point_query(text):
    assert class_of(text) is POINT


@pytest.mark.guide("G-081")
@pytest.mark.parametrize(
    "text",
    [
        "PartitionKey eq 'Sales' and RowKey ge 'S' and RowKey lt 'T'",
        "PartitionKey eq 'Sales' and RowKey gt 'S'",
        "PartitionKey eq 'Sales' and RowKey le 'S'",
        "PartitionKey eq 'Sales' and RowKey ge 'S' and LastName eq 'Smith'",
        "PartitionKey eq 'Sales' and RowKey ge 'S' and (RowKey eq 'Sa' or RowKey eq 'Sb')",
    ],
)
def test_a_partition_and_bounds_are_a_range_query(text):
    assert class_of(text) is RANGE


@pytest.mark.guide("G-082")
@pytest.mark.parametrize(
    "text",
    [
        "PartitionKey eq 'Sales' and LastName eq 'Smith'",
        "PartitionKey eq 'Sales' and RowKey ne '2'",
        "PartitionKey eq 'Sales' and not (RowKey lt '2')",
        "PartitionKey eq 'Sales' and RowKey ge ''",
    ],
)
def test_a_partition_searched_for_some_of_its_rows_is_a_partition_scan(text):
    assert class_of(text) is PARTITION_SCAN


@pytest.mark.guide("G-081")
def test_a_whole_partition_is_a_range_query():
    found = classify(parse("PartitionKey eq 'Sales'"))
    assert found.query_class is RANGE
    assert "all its rows are returned" in found.reason
    assert reject_scans(parse("PartitionKey eq 'Sales'")) == found


@pytest.mark.guide("G-083")
@pytest.mark.parametrize(
    "text",
    [
        "LastName eq 'Jones'",
        "true",
        "PartitionKey ge 'Sales' and PartitionKey lt 'Salet'",
        "PartitionKey ne 'Sales'",
        "not (PartitionKey eq 'Sales')",
        "PartitionKey eq 'Sales' or LastName eq 'Jones'",
        "PartitionKey eq 'Sales' or PartitionKey eq 'Accounts'",
        "(PartitionKey ge 'B' or PartitionKey ge 'A') and PartitionKey le 'B'",
    ],
)
def test_no_single_partition_is_a_table_scan(text):
    assert class_of(text) is TABLE_SCAN


@pytest.mark.guide("G-084")
@pytest.mark.parametrize("text", ["RowKey eq '2'", "RowKey ge 'S' and RowKey lt 'T'"])
def test_a_row_key_alone_is_a_table_scan(text):
    assert class_of(text) is TABLE_SCAN
    assert "RowKey is indexed only within a partition" in classify(parse(text)).reason


@pytest.mark.guide("G-085")
@pytest.mark.parametrize(
    "text",
    [
        EITHER_ROW,
        "(PartitionKey eq 'Sales' and RowKey eq '121') or (PartitionKey eq 'Sales' and RowKey eq '322')",
    ],
)
def test_row_keys_combined_by_or_are_a_partition_scan(text):
    found = classify(parse(text))
    assert found.query_class is PARTITION_SCAN
    assert "combined by 'or' are not a range" in found.reason
    assert "point query per key" in found.rewrite


def test_a_partition_scan_searches_more_than_the_bounds():
    found = classify(parse(EITHER_ROW))
    assert found.bounds.row_keys == Interval("121", upper="322")
    assert found.searched == KeyBounds(Interval("Sales", upper="Sales"))


@pytest.mark.guide("G-086")
def test_the_classes_are_ordered_best_first():
    assert sorted([TABLE_SCAN, RANGE, PARTITION_SCAN, POINT]) == [POINT, RANGE, PARTITION_SCAN, TABLE_SCAN]
    assert [c.label for c in QueryClass] == ["point query", "range query", "partition scan", "table scan"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PartitionKey eq 'A' and RowKey eq '1'", "both given"),
        ("PartitionKey eq 'A' and RowKey ge '1'", "RowKey is a range"),
        ("PartitionKey eq 'A' and Age gt 5", "RowKey is not limited to a range"),
        ("PartitionKey eq 'A' and RowKey ne '1'", "only inside 'or' or 'not', with ne"),
        ("PartitionKey eq 'A' or Age gt 5", "does not apply to the whole filter"),
        ("PartitionKey gt 'A'", "not with eq"),
        ("(PartitionKey eq 'A' and RowKey eq '1') or (PartitionKey eq 'B' and RowKey eq '1')", "in several partitions"),
        ("Age gt 5", "every partition is searched"),
        ("PartitionKey eq 'A' and PartitionKey eq 'B'", "no keys satisfy"),
        ("false", "no keys satisfy"),
    ],
)
def test_each_class_has_its_reason(text, reason):
    assert reason in classify(parse(text)).reason


@given(key_filters, entities)
def test_every_match_is_within_the_bounds_and_the_searched_rows(expression, entity):
    if matcher(expression)(entity.get):
        found = classify(expression)
        assert found.bounds.contains(entity["PartitionKey"], entity["RowKey"])
        assert found.searched.contains(entity["PartitionKey"], entity["RowKey"])


@given(key_filters)
def test_a_point_or_range_query_reads_at_most_one_partition(expression):
    found = classify(expression)
    assert found.query_class is TABLE_SCAN or found.bounds.empty or found.bounds.partition is not None


@pytest.mark.guide("G-087")
@pytest.mark.parametrize("text", ["LastName eq 'Jones'", "PartitionKey eq 'Sales' and Age gt 30", EITHER_ROW])
def test_scans_are_rejected_with_class_reason_and_rewrite(text):
    found = classify(parse(text))
    with pytest.raises(BadFilter) as refused:
        reject_scans(parse(text))
    assert found.query_class.label in refused.value.rule
    assert found.reason in refused.value.rule
    assert refused.value.hint == found.rewrite


@pytest.mark.guide("G-087")
@pytest.mark.parametrize("allow", QueryClass)
@pytest.mark.parametrize("text", ["PartitionKey eq 'A' and RowKey eq '1'", "RowKey eq '1'", EITHER_ROW])
def test_the_worst_class_let_through_is_a_choice(text, allow):
    if class_of(text) <= allow:
        assert reject_scans(parse(text), allow) == classify(parse(text))
    else:
        with pytest.raises(BadFilter, match=allow.label):
            reject_scans(parse(text), allow)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (EITHER_ROW, [("Sales", "121"), ("Sales", "322")]),
        ("PartitionKey eq 'A' and RowKey eq '1'", [("A", "1")]),
        ("(RowKey eq '2' or RowKey eq '1' or RowKey eq '2') and PartitionKey eq 'A'", [("A", "2"), ("A", "1")]),
        (
            "(PartitionKey eq 'A' and RowKey eq '1') or (PartitionKey eq 'B' and RowKey eq '2')",
            [("A", "1"), ("B", "2")],
        ),
        ("(PartitionKey eq 'A' or PartitionKey eq 'B') and RowKey eq '1'", [("A", "1"), ("B", "1")]),
        ("PartitionKey eq 'A' and RowKey eq '1' and RowKey eq '2'", []),
    ],
)
def test_a_filter_of_equal_keys_names_them(text, keys):
    assert point_keys(parse(text)) == keys


@pytest.mark.parametrize(
    "text",
    [
        "PartitionKey eq 'A'",
        "RowKey eq '1' or RowKey eq '2'",
        "PartitionKey eq 'A' and RowKey ge '1'",
        "PartitionKey eq 'A' and RowKey eq '1' and Age gt 5",
        "PartitionKey eq 'A' and (RowKey eq '1' or Age gt 5)",
        "PartitionKey eq 'A' and RowKey eq '1' and RowKey ne '1'",
        "PartitionKey eq 'A' and not (RowKey eq '1')",
        "(PartitionKey eq 'A' and RowKey eq '1') or PartitionKey eq 'B'",
        "true",
    ],
)
def test_a_filter_of_anything_else_names_no_keys(text):
    assert point_keys(parse(text)) is None


@given(key_filters, entities)
def test_point_keys_are_exactly_the_keys_that_match(expression, entity):
    keys = point_keys(expression)
    if keys is not None:
        assert ((entity["PartitionKey"], entity["RowKey"]) in keys) is matcher(expression)(entity.get)
