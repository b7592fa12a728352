"""Explain: what a query costs and what would be better, from its filter alone."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from rich.console import Console

from filters.strategies import any_filters, entities, key_filters
from tablepatterns.errors import BadInput
from tablepatterns.filters import Filter, FilterSyntaxError, QueryClass, classify, matcher, parse, prop
from tablepatterns_review import explain

SALES = prop("PartitionKey") == "Sales"
OR_OF_ROWS = "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"


@pytest.mark.guide("G-085")
@pytest.mark.guide("G-088")
def test_an_or_of_row_keys_becomes_point_queries_for_the_same_keys() -> None:
    plan = explain(OR_OF_ROWS)
    assert (plan.query_class, plan.is_scan) == (QueryClass.PARTITION_SCAN, True)
    assert plan.rule.startswith("RowKeys combined by 'or' are not treated as a range")
    (better,) = plan.better
    assert better.query_class is QueryClass.POINT
    assert [classify(parse(query)).bounds.key for query in better.code] == [("Sales", "121"), ("Sales", "322")]
    assert "2 transactions" in better.words


def test_an_or_of_keys_in_several_partitions_becomes_point_queries_too() -> None:
    first, second = ("PartitionKey eq 'A' and RowKey eq '1'", "PartitionKey eq 'B' and RowKey eq '2'")
    plan = explain(f"({first}) or ({second})")
    assert plan.query_class is QueryClass.TABLE_SCAN
    assert plan.better[0].code == (first, second)


@pytest.mark.parametrize(
    ("text", "asked", "query_class"),
    [
        (
            "PartitionKey eq 'A' or PartitionKey eq 'B'",
            ("PartitionKey eq 'A'", "PartitionKey eq 'B'"),
            QueryClass.RANGE,
        ),
        (
            "PartitionKey eq 'S' and (RowKey lt 'B' or RowKey ge 'X')",
            ("PartitionKey eq 'S' and RowKey lt 'B'", "PartitionKey eq 'S' and RowKey ge 'X'"),
            QueryClass.RANGE,
        ),
    ],
)
def test_an_or_is_asked_term_by_term_where_each_alone_is_better(
    text: str, asked: tuple[str, ...], query_class: QueryClass
) -> None:
    (better,) = explain(text).better
    assert (better.code, better.query_class) == (asked, query_class)


def test_a_property_under_or_that_makes_no_term_better_is_not_asked_apart() -> None:
    plan = explain("PartitionKey eq 'Sales' and (Age gt 60 or Age lt 20)")
    assert all("each term" not in better.words for better in plan.better)


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("PartitionKey eq 'Sales' and LastName eq 'Smith'", ["intra-partition secondary index", "index entities"]),
        ("LastName eq 'Jones'", ["inter-partition secondary index", "index entities"]),
        ("PartitionKey eq 'Sales' and Age gt 60", ["intra-partition secondary index"]),
        ("Age gt 60", ["inter-partition secondary index"]),
        ("Timestamp ge datetime'2014-08-22T00:00:00Z'", ["log tail"]),
        ("PartitionKey eq 'Sales' and RowKey lt 'T' and LastName eq 'Smith'", ["intra-partition secondary index"]),
    ],
)
def test_a_condition_on_a_property_names_the_pattern_that_makes_a_key_of_it(text: str, patterns: list[str]) -> None:
    named = [better.pattern for better in explain(text).better]
    assert named[: len(patterns)] == [f"{name} pattern" for name in patterns]


def test_no_list_of_entities_is_proposed_for_a_range_of_values_which_it_could_not_answer() -> None:
    for text in ("Age gt 60", "PartitionKey eq 'Sales' and Age gt 60"):
        assert all("IndexEntity" not in code for better in explain(text).better for code in better.code)


def test_a_missing_partition_key_is_asked_for() -> None:
    plan = explain("RowKey eq '2'")
    assert plan.query_class is QueryClass.TABLE_SCAN
    assert plan.better[0].words.startswith("add PartitionKey")
    assert explain("PartitionKey gt 'A'").better[0].words.startswith("use PartitionKey eq")


def test_what_is_unequal_is_helped_by_no_index() -> None:
    (better,) = explain("PartitionKey eq 'Sales' and LastName ne 'Jones'").better
    assert better.pattern is None


def test_a_contradiction_need_not_be_asked_at_all() -> None:
    plan = explain("PartitionKey eq 'A' and PartitionKey eq 'B'")
    assert plan.reads.startswith("nothing")
    assert plan.better[0].words.startswith("remove the query")


def test_no_filter_reads_the_whole_table() -> None:
    plan = explain(" ")
    assert (plan.query, plan.query_class) == ("", QueryClass.TABLE_SCAN)
    assert plan.reads == "every entity of the table, in every partition"
    assert str(plan).startswith("(no filter)\n")


@pytest.mark.parametrize(
    ("where", "read"),
    [
        (SALES & (prop("RowKey") >= "S") & (prop("RowKey") < "T"), "of partition 'Sales' with 'S' <= RowKey < 'T'"),
        (SALES & (prop("RowKey") > "S"), "of partition 'Sales' with 'S' < RowKey"),
        (SALES & (prop("RowKey") <= "S"), "of partition 'Sales' with RowKey <= 'S'"),
        (SALES & (prop("Age") > 3), "every entity of partition 'Sales'; each is checked for Age"),
    ],
)
def test_what_is_read_is_reported_with_its_bounds(where: Filter, read: str) -> None:
    assert read in explain(where).reads


@given(key_filters | any_filters)
def test_the_class_and_the_reason_are_those_by_which_scans_are_rejected(where: Filter) -> None:
    plan, found = explain(where), classify(where)
    assert (plan.query_class, plan.reason) == (found.query_class, found.reason)
    assert explain(str(where)) == plan
    assert all(better.words for better in plan.better)
    assert plan.query_class is not QueryClass.POINT or not plan.better


@given(key_filters, entities)
def test_queries_that_are_proposed_find_the_same_and_are_of_the_class_that_is_promised(
    where: Filter, entity: dict[str, object]
) -> None:
    for better in explain(where).better:
        if better.code and better.pattern is None:
            asked = [parse(query) for query in better.code]
            assert max(classify(query).query_class for query in asked) == better.query_class
            assert any(matcher(query)(entity.get) for query in asked) == matcher(where)(entity.get)


def test_the_text_has_every_part_and_rich_prints_the_same() -> None:
    plan = explain(OR_OF_ROWS)
    text = str(plan)
    labels = ["Class", "Why", "Reads", "Transactions", "Rule", "Guide", "Better"]
    assert [line.split()[0] for line in text.splitlines()[2:9]] == labels
    out = io.StringIO()
    Console(file=out, width=200).print(plan)
    assert [line.strip() for line in out.getvalue().splitlines()] == [line.strip() for line in text.splitlines()]


def test_a_point_query_says_that_nothing_is_faster() -> None:
    assert str(explain("PartitionKey eq 'Sales' and RowKey eq '2'")).endswith("nothing is faster")


def test_a_wrong_filter_gets_the_error_of_the_parser_with_its_position() -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        explain("aaa bbb ccc")
    assert caught.value.position == 7


def test_what_cannot_be_explained_is_rejected() -> None:
    with pytest.raises(BadInput, match="it must be a str or a Filter or an EntitySet, not int"):
        explain(3)  # type: ignore[call-overload]
