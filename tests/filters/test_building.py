"""Building filters: their text, and what is rejected."""

from __future__ import annotations

import copy
import pickle
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from functools import reduce
from operator import and_, or_
from uuid import UUID

import pytest
from hypothesis import assume, given

from filters.strategies import OPERATORS, any_filters
from tablepatterns import Int64, Ticks
from tablepatterns.errors import BadFilter
from tablepatterns.filters import And, Comparison, Constant, Not, Or, matcher, parse, prefix_end, prop
from tablepatterns.limits import MAX_FILTER_COMPARISONS

SALES = prop("PartitionKey") == "Sales"


@pytest.mark.guide("G-077")
def test_a_point_query_names_both_keys():
    assert (SALES & (prop("RowKey") == "2")) == parse("(PartitionKey eq 'Sales') and (RowKey eq '2')")


@pytest.mark.guide("G-078")
def test_a_range_query_bounds_the_row_key():
    ranged = SALES & (prop("RowKey") >= "S") & (prop("RowKey") < "T")
    assert str(ranged) == "PartitionKey eq 'Sales' and RowKey ge 'S' and RowKey lt 'T'"


@pytest.mark.guide("G-079")
def test_a_partition_scan_asks_for_another_property():
    assert str(SALES & (prop("LastName") == "Smith")) == "PartitionKey eq 'Sales' and LastName eq 'Smith'"


@pytest.mark.guide("G-089")
def test_each_python_comparison_has_its_operator():
    age = prop("Age")
    built = [age == 5, age != 5, age > 5, age >= 5, age < 5, age <= 5]
    assert [str(comparison) for comparison in built] == [f"Age {operator} 5" for operator in OPERATORS]


def test_a_comparison_may_be_written_the_other_way_round():
    assert (30 < prop("Age")) == Comparison("Age", "gt", 30)
    assert ("x" == prop("Name")) == Comparison("Name", "eq", "x")


@pytest.mark.guide("G-089")
@pytest.mark.parametrize("operator", ["EQ", "startswith", "add", "", "eq 1 or Age"])
def test_no_other_operator_can_be_sent(operator):
    with pytest.raises(BadFilter, match="eq ne gt ge lt le"):
        Comparison("Age", operator, 5)


@pytest.mark.guide("G-090")
def test_an_or_inside_an_and_keeps_its_brackets():
    either = (prop("RowKey") == "121") | (prop("RowKey") == "322")
    assert str(SALES & either) == "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')"
    assert str(either | (SALES & ~either)) == (
        "RowKey eq '121' or RowKey eq '322' or (PartitionKey eq 'Sales' and not (RowKey eq '121' or RowKey eq '322'))"
    )


@given(any_filters, any_filters, any_filters)
def test_and_and_or_are_associative(a, b, c):
    assume(a.comparisons + b.comparisons + c.comparisons <= MAX_FILTER_COMPARISONS)
    assert (a & b) & c == a & (b & c) == And(a, b, c)
    assert (a | b) | c == a | (b | c) == Or(a, b, c)


@pytest.mark.guide("G-091")
def test_quotes_in_strings_are_doubled():
    assert str(prop("LastName") == "O'Brien") == "LastName eq 'O''Brien'"


@pytest.mark.guide("G-092")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", "'it''s'"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (0, "0"),
        (2**31 - 1, "2147483647"),
        (2**31, "2147483648L"),
        (-(2**31), "-2147483648"),
        (-(2**31) - 1, "-2147483649L"),
        (Int64(5), "5L"),
        (-(2**63), "-9223372036854775808L"),
        (0.0, "0.0"),
        (1.0, "1.0"),
        (1e20, "1.0e+20"),
        (-1.5e-07, "-1.5e-07"),
        (5e-324, "5.0e-324"),
        (datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc), "datetime'2014-08-22T00:50:32Z'"),
        (
            datetime(2014, 8, 22, 2, 50, 32, 5, tzinfo=timezone(timedelta(hours=2))),
            "datetime'2014-08-22T00:50:32.000005Z'",
        ),
        (Ticks(1), "datetime'0001-01-01T00:00:00.0000001Z'"),
        (UUID("C9DA6455-213D-42C9-9A79-3E9149A57833"), "guid'c9da6455-213d-42c9-9a79-3e9149a57833'"),
        (b"\x00\xff", "X'00ff'"),
        (b"", "X''"),
    ],
)
def test_each_type_has_its_own_literal(value, text):
    assert str(prop("P") == value) == f"P eq {text}"
    assert parse(f"P eq {text}") == (prop("P") == value)


class Place(Enum):
    HERE = "here"


@pytest.mark.parametrize("value", [Decimal("1.5"), date(2014, 8, 22), timedelta(1), Place.HERE])
def test_a_value_that_only_models_store_has_no_text(value):
    condition = (prop("Age") >= value) & (prop("LastName") == "Jones")
    assert "Age" in repr(condition)
    with pytest.raises(BadFilter, match=r"no literal for .* query a set with a model"):
        str(condition)
    with pytest.raises(BadFilter, match="is a string"):
        _ = prop("RowKey") == date(2014, 8, 22)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (None, "no literal for NoneType"),
        (datetime(2014, 8, 22), "no time zone"),
        (float("nan"), "NaN"),
        (float("-inf"), "infinities"),
        (2**63, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        ("\ud800", "surrogate"),
        (prop("Other"), "only with a constant"),
    ],
)
def test_a_value_without_a_literal_is_rejected(value, rule):
    with pytest.raises(BadFilter, match=rule):
        prop("P").between(value, value)


class Department(str, Enum):
    SALES = "Sales"


class Grade(IntEnum):
    SENIOR = 7


class Checksum(bytes):
    pass


@pytest.mark.parametrize(
    ("value", "plain"), [(Department.SALES, "Sales"), (Grade.SENIOR, 7), (Checksum(b"x"), b"x"), (Int64(7), Int64(7))]
)
def test_a_value_of_a_derived_type_counts_as_its_base(value, plain):
    assert (prop("P") == value) == (prop("P") == plain)
    assert matcher(prop("P") == value)({"P": plain}.get)


@pytest.mark.parametrize("ticks", [-1, Ticks.MAX + 1])
def test_an_instant_outside_the_calendar_is_rejected(ticks):
    with pytest.raises(BadFilter, match="years 1 to 9999"):
        prop("P").between(Ticks(ticks), Ticks(ticks))


def test_values_of_different_types_make_different_comparisons():
    made = {Comparison("P", "eq", value) for value in (1, True, 1.0, Int64(1), Ticks(1), "1", b"1")}
    assert len(made) == 7


@pytest.mark.parametrize("value", [5, True, b"x", Ticks(1)])
def test_a_key_compares_only_with_a_string(value):
    for name in ("PartitionKey", "RowKey"):
        with pytest.raises(BadFilter, match=f"{name} is a string"):
            prop(name).between(value, value)


def test_the_timestamp_compares_only_with_an_instant():
    with pytest.raises(BadFilter, match="Timestamp is an instant"):
        prop("Timestamp").between("2014-08-22", "2014-08-23")
    assert str(prop("Timestamp") < Ticks(0)) == "Timestamp lt datetime'0001-01-01T00:00:00Z'"


@pytest.mark.parametrize(
    "name", ["", "a b", "1st", "a-b", "odata.etag", "x eq 1 or y", "a'b", "true", "false", "null", "not"]
)
def test_a_name_the_service_would_not_read_is_rejected(name):
    for build in (prop, lambda name: Comparison(name, "eq", 1)):
        with pytest.raises(BadFilter, match="name = "):
            build(name)


def test_a_name_may_have_255_characters():
    assert parse(str(prop("x" * 255) == 1)) == (prop("x" * 255) == 1)
    with pytest.raises(BadFilter, match="255"):
        prop("x" * 256)


def test_a_filter_has_no_truth_value():
    age = prop("Age")
    with pytest.raises(BadFilter, match="brackets, with"):
        assert (age > 1) and (age < 5)  # noqa: PT018
    with pytest.raises(BadFilter, match="between"):
        assert 1 < age < 5
    with pytest.raises(BadFilter, match="no truth value"):
        assert not (age > 1)


def test_forgotten_brackets_are_named():
    with pytest.raises(BadFilter, match="brackets"):
        assert prop("A") == 1 & prop("B") == 2
    with pytest.raises(BadFilter, match="brackets"):
        assert prop("A") == "x" | prop("B") == "y"
    with pytest.raises(BadFilter, match="brackets"):
        (prop("A") == 1) | (prop("B") & 2)


@pytest.mark.parametrize(
    "combine", [lambda f: f & True, lambda f: f | "Age gt 5", lambda f: Not(None), lambda f: And(f, 1)]
)
def test_only_filters_combine(combine):
    with pytest.raises(BadFilter, match="is not a filter"):
        combine(SALES)


@pytest.mark.parametrize("junction", [And, Or])
def test_a_junction_joins_at_least_two_conditions(junction):
    with pytest.raises(BadFilter, match="at least two"):
        junction(SALES)


@pytest.mark.parametrize("join", [and_, or_])
def test_15_comparisons_are_built_and_16_rejected(join):
    fifteen = reduce(join, [prop("Age") == n for n in range(15)])
    assert fifteen.comparisons == 15
    with pytest.raises(BadFilter, match="at most 15"):
        join(fifteen, ~SALES)


def test_a_filter_is_nested_100_deep_and_no_deeper():
    deep = reduce(lambda inner, _: ~inner, range(99), SALES)
    assert parse(str(deep)) == deep
    with pytest.raises(BadFilter, match="100 deep"):
        Not(deep)


@given(any_filters)
def test_a_filter_survives_copying(expression):
    for twin in (copy.deepcopy(expression), pickle.loads(pickle.dumps(expression))):  # noqa: S301
        assert (twin, hash(twin), twin.comparisons) == (expression, hash(expression), expression.comparisons)


def test_a_filter_cannot_be_changed():
    with pytest.raises(AttributeError):
        SALES.value = "Accounts"


def test_the_repr_of_a_filter_is_the_call_that_makes_it():
    assert repr(Constant(True) & SALES) == """parse("true and PartitionKey eq 'Sales'")"""


@pytest.mark.guide("G-093")
def test_a_prefix_is_a_range():
    assert str(prop("RowKey").startswith("email_a")) == "RowKey ge 'email_a' and RowKey lt 'email_b'"


@pytest.mark.guide("G-094")
def test_each_bound_is_inclusive_or_exclusive():
    row = prop("RowKey")
    assert str(row.between("empid_000100", "empid_000199")) == "RowKey ge 'empid_000100' and RowKey le 'empid_000199'"
    assert str((row > "a") & (row < "b")) == "RowKey gt 'a' and RowKey lt 'b'"
    assert str((row > "a") & (row <= "b")) == "RowKey gt 'a' and RowKey le 'b'"


def test_a_prefix_that_is_no_string_is_rejected():
    with pytest.raises(BadFilter, match="a prefix is a string"):
        prop("Age").startswith(5)


def test_the_empty_prefix_leaves_out_nothing_but_other_types():
    assert str(prop("Name").startswith("")) == "Name ge ''"


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("a", "b"),
        ("a\ud7ff", "a\U00010000"),
        ("a\ue000", "a\ue001"),
        ("a\uffff\uffff", "b"),
        ("\uffff", None),
        ("\U0001f6eb", "\U0001f6ec"),
        ("\U000103ff", "\U00010400"),
        ("a\U0010ffff", "a\ue000"),
    ],
)
def test_the_end_of_a_prefix_is_its_successor_in_utf_16(prefix, end):
    assert prefix_end(prefix) == end
