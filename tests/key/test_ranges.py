"""Ranges of keys: the guide's bounds, conditions on fields, and conditions that are not a single range."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tablepatterns.errors import BadKey
from tablepatterns.key import Key, KeyRange, above, after_prefix, at_least, at_most, below, between, prefix

EMPLOYEE = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = Key("{Department}", "email_{Email}")
REVIEW = Key("{Department}", "empid_{EmployeeId:06d}_{Year:04d}")
CLAIM = Key("{EmployeeId}", "{When:inverted}")
SALES = {"Department": "Sales"}
EARLY, LATE = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2014, 2015))


def shown(rows: KeyRange) -> str:
    """Return the bounds as the guide writes them."""
    bounds = []
    keys = rows.row_keys
    if keys.lower or keys.exact is not None:
        bounds.append(f"{'ge' if keys.lower_inclusive else 'gt'} {keys.lower}")
    if keys.upper is not None:
        bounds.append(f"{'le' if keys.upper_inclusive else 'lt'} {keys.upper}")
    return " ".join(bounds)


@pytest.mark.guide("G-093", "G-094", "G-116", "G-117")
@pytest.mark.parametrize(
    ("key", "fields", "bounds"),
    [
        (EMPLOYEE, {"EmployeeId": between(100, 199)}, "ge empid_000100 le empid_000199"),
        (EMPLOYEE, {"EmployeeId": between(100, 199, "left")}, "ge empid_000100 lt empid_000199"),
        (EMPLOYEE, {"EmployeeId": between(100, 199, "right")}, "gt empid_000100 le empid_000199"),
        (EMPLOYEE, {"EmployeeId": between(100, 199, "neither")}, "gt empid_000100 lt empid_000199"),
        (EMPLOYEE, {"EmployeeId": at_least(100)}, "ge empid_000100 lt empid`"),
        (EMPLOYEE, {"EmployeeId": above(100)}, "gt empid_000100 lt empid`"),
        (EMPLOYEE, {"EmployeeId": at_most(199)}, "ge empid_ le empid_000199"),
        (EMPLOYEE, {"EmployeeId": below(199)}, "ge empid_ lt empid_000199"),
        (EMPLOYEE, {"EmployeeId": 123}, "ge empid_000123 le empid_000123"),
        (EMPLOYEE, {}, "ge empid_ lt empid`"),
        (BY_EMAIL, {"Email": prefix("a")}, "ge email_a lt email_b"),
        (BY_EMAIL, {"Email": prefix("")}, "ge email_ lt email`"),
        (BY_EMAIL, {"Email": prefix("z~")}, "ge email_z~ lt email_z\xa0"),
        (BY_EMAIL, {"Email": between("a", "b")}, "ge email_a le email_b"),
        (REVIEW, {"EmployeeId": 123}, "ge empid_000123_ lt empid_000123`"),
        (REVIEW, {"EmployeeId": 123, "Year": at_least(2012)}, "ge empid_000123_2012 lt empid_000123`"),
        (REVIEW, {"EmployeeId": between(100, 199)}, "ge empid_000100_ lt empid_000199`"),
        (REVIEW, {"EmployeeId": between(100, 199, "neither")}, "ge empid_000100` lt empid_000199_"),
        (Key("{Department}", "{EmployeeId:06d}"), {}, ""),
        (Key("{Department}", "{EmployeeId:06d}"), {"EmployeeId": between(100, 199)}, "ge 000100 le 000199"),
        (Key("{Department}", "{Email}"), {"Email": prefix("a")}, "ge a lt b"),
        (Key("{Department}", "{Email}"), {"Email": at_least("a")}, "ge a"),
        (Key("{Department}", "profile"), {}, "ge profile le profile"),
        (Key("{Department}", ""), {}, "ge  le "),
    ],
)
def test_a_range_has_the_bounds_that_the_guide_writes(key: Key, fields: dict[str, Any], bounds: str) -> None:
    rows = key.range(SALES | fields)
    assert rows.partition_key == "Sales"
    assert shown(rows) == bounds


def test_a_range_follows_utf16_units_where_code_points_sort_otherwise() -> None:
    rows = Key("", "{Name}").range({"Name": between("🛫", "\ue000")})
    assert rows.contains("", "🛬")
    assert not rows.contains("", "\uffff")
    assert not Key("", "{Name}").range({"Name": at_least("\ue000")}).contains("", "🛫")


def test_a_range_is_within_one_partition() -> None:
    assert not EMPLOYEE.range(SALES | {"EmployeeId": 5}).contains("Marketing", "empid_000005")


@pytest.mark.parametrize(
    ("rows", "row_key"),
    [
        (EMPLOYEE.range(SALES | {"EmployeeId": 5}), "empid_000005"),
        (EMPLOYEE.range(SALES | {"EmployeeId": between(5, 5)}), "empid_000005"),
        (EMPLOYEE.range(SALES | {"EmployeeId": between(5, 5, "left")}), None),
        (EMPLOYEE.range(SALES), None),
        (Key("{Department}", "").range(SALES), ""),
        (Key("{Department}", "{Email}").range(SALES), None),
    ],
)
def test_a_range_of_a_single_row_knows_its_row_key(rows: KeyRange, row_key: str | None) -> None:
    assert rows.row_keys.exact == row_key


def test_a_half_open_range_between_equal_ends_is_empty() -> None:
    for key in (EMPLOYEE, REVIEW):
        rows = key.range(SALES | {"EmployeeId": between(5, 5, "left")})
        assert not rows.contains("Sales", "empid_000005")
        assert not rows.contains("Sales", "empid_000005_2012")


@pytest.mark.guide("G-197", "G-198", "G-201")
@pytest.mark.parametrize(
    ("employee", "bounds"),
    [
        (123, "ge empid_000123 lt empid_000124"),
        (199, "ge empid_000199 lt empid_00019:"),
        (999_999, "ge empid_999999 lt empid_99999:"),
    ],
)
def test_a_family_is_the_employee_with_all_reviews_and_a_range_the_reviews_alone(employee: int, bounds: str) -> None:
    known = SALES | {"EmployeeId": employee}
    family, reviews = EMPLOYEE.family(known), REVIEW.range(known)
    assert shown(family) == bounds
    assert REVIEW.family(known) == family
    itself = EMPLOYEE.format(known)
    review = REVIEW.format(known | {"Year": 2012})
    assert (family.contains(*itself), family.contains(*review)) == (True, True)
    assert (reviews.contains(*itself), reviews.contains(*review)) == (False, True)
    for other in {employee - 1, min(employee + 1, 999_999)} - {employee}:
        assert not family.contains(*EMPLOYEE.format(SALES | {"EmployeeId": other}))
        assert not family.contains(*REVIEW.format(SALES | {"EmployeeId": other, "Year": 2012}))


def test_a_family_of_a_whole_key_keeps_its_last_literal() -> None:
    key = Key("{Department}", "empid_{EmployeeId:06d}_profile")
    assert shown(key.family(SALES | {"EmployeeId": 5})) == "ge empid_000005_profile lt empid_000005_profilf"
    assert shown(key.family(SALES)) == "ge empid_ lt empid`"


@pytest.mark.parametrize(
    ("key", "fields", "subject", "rule"),
    [
        (BY_EMAIL, {"Email": "a"}, "Email", "longer text"),
        (REVIEW, {"Year": 2012}, "Year", "left to right"),
        (REVIEW, {"EmployeeId": between(1, 2)}, "EmployeeId", "only exact values"),
        (REVIEW, {"Nothing": 1}, "Nothing", "no such field"),
    ],
)
def test_a_family_takes_known_values_of_fixed_width_only(
    key: Key, fields: dict[str, Any], subject: str, rule: str
) -> None:
    with pytest.raises(BadKey) as refused:
        key.family(SALES | fields)
    assert refused.value.subject == subject
    assert rule in refused.value.rule


@pytest.mark.parametrize(
    ("key", "fields", "subject", "rule"),
    [
        (EMPLOYEE, {"Department": prefix("S")}, "Department", "one partition"),
        (EMPLOYEE, {"Department": at_least("S")}, "Department", "one partition"),
        (EMPLOYEE, {"EmployeeId": 5}, "Department", "needs this field"),
        (EMPLOYEE, SALES | {"Nothing": 5}, "Nothing", "no such field"),
        (EMPLOYEE, SALES | {"EmployeeId": None}, "EmployeeId", "None"),
        (EMPLOYEE, SALES | {"EmployeeId": "123"}, "EmployeeId", "must be an int"),
        (EMPLOYEE, SALES | {"EmployeeId": prefix("1")}, "EmployeeId", "only text has prefixes"),
        (EMPLOYEE, SALES | {"EmployeeId": between(5, 1_000_000)}, "EmployeeId", "6 digits"),
        (EMPLOYEE, SALES | {"EmployeeId": between(200, 100)}, "EmployeeId", "above its upper bound"),
        (CLAIM, {"EmployeeId": "7", "When": between(LATE, EARLY)}, "When", "above its upper bound"),
        (REVIEW, SALES | {"Year": 2012}, "Year", "EmployeeId, to its left"),
        (REVIEW, SALES | {"EmployeeId": at_least(5), "Year": 2012}, "Year", "EmployeeId, to its left"),
        (BY_EMAIL, SALES | {"Email": prefix("a/")}, "Email", "may not contain '/'"),
        (BY_EMAIL, SALES | {"Email": prefix(7)}, "Email", "must be a str"),  # type: ignore[arg-type]
        (Key("", "{A}_{B}"), {"A": prefix("x_")}, "A", "separator"),
        (Key("", "{A}--{B}"), {"A": prefix("x-")}, "A", "separator"),
        (Key("", "{A}", max_units=4), {"A": "abcde"}, "RowKey", "at most 4"),
        (Key("", "{A}"), {"A": between("\uffff", "🛫")}, "A", "above its upper bound"),
        (Key("", "{A}_{B}"), {"A": between("x", "y")}, "A", "do not sort"),
    ],
)
def test_what_is_no_single_range_of_rows_is_rejected(key: Key, fields: dict[str, Any], subject: str, rule: str) -> None:
    with pytest.raises(BadKey) as refused:
        key.range(fields)
    assert refused.value.subject == subject
    assert rule in refused.value.rule
    assert refused.value.hint


def test_a_question_is_no_value() -> None:
    for question in (prefix("a"), at_least("a")):
        with pytest.raises(BadKey, match="must be a str"):
            BY_EMAIL.format(SALES | {"Email": question})


def test_an_end_is_a_value_and_the_ends_are_named_in_words() -> None:
    for ask in (at_least, above, at_most, below, lambda end: between(end, 5), lambda end: between(5, end)):
        with pytest.raises(BadKey, match="a bound must be a value"):
            ask(None)
    with pytest.raises(BadKey, match="inclusive"):
        between(1, 2, "lower")  # type: ignore[arg-type]


@pytest.mark.guide("G-093")
@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("email_a", "email_b"),
        ("a9", "a:"),
        ("a.", "a0"),
        ("a~", "a\xa0"),
        ("a\ud7ff", "a\U00010000"),
        ("a🛫", "a🛬"),
        ("a\U0010ffff", "a\ue000"),
        ("a\uffff", "b"),
        ("\uffff\uffff", None),
        ("", None),
    ],
)
def test_the_bound_after_a_prefix_is_the_next_text_that_a_key_may_hold(text: str, bound: str | None) -> None:
    assert after_prefix(text) == bound
