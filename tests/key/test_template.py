"""Keys from two templates: formatting, parsing, and what is rejected at construction and in use."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.key import Key

EMPLOYEE = Key("{Department}", "empid_{EmployeeId:06d}")
REVIEW = Key("{Department}", "empid_{EmployeeId:06d}_{Year:04d}")
HOUR = datetime(2014, 7, 31, 22, tzinfo=timezone.utc)


@pytest.mark.guide("G-037", "G-104", "G-120", "G-193", "G-251", "G-252")
@pytest.mark.parametrize(
    ("key", "fields", "keys"),
    [
        (EMPLOYEE, {"Department": "Sales", "EmployeeId": 223}, ("Sales", "empid_000223")),
        (
            Key("{Department}", "email_{Email}"),
            {"Department": "Sales", "Email": "jonesj@contoso.com"},
            ("Sales", "email_jonesj@contoso.com"),
        ),
        (
            Key("email_{Department}", "{Email}"),
            {"Department": "Sales", "Email": "jonesj@contoso.com"},
            ("email_Sales", "jonesj@contoso.com"),
        ),
        (REVIEW, {"Department": "Sales", "EmployeeId": 123, "Year": 2012}, ("Sales", "empid_000123_2012")),
        (Key("", "{Id:06d}_{Year:04d}"), {"Id": 123, "Year": 2012}, ("", "000123_2012")),
        (Key("{Employee}", "profile"), {"Employee": "jonesj"}, ("jonesj", "profile")),
        (
            Key("{Department}_{EmployeeId:06d}", "{Hour:%Y%m%d%H}_{EventId}"),
            {"Department": "Sales", "EmployeeId": 223, "Hour": HOUR, "EventId": "login"},
            ("Sales_000223", "2014073122_login"),
        ),
        (Key("{{{Name}}}", "}}{{"), {"Name": "x"}, ("{x}", "}{")),
        (Key("", ""), {}, ("", "")),
        (
            Key("{Y:04d}{M:02d}", "{Path:escape}{Part:escape}"),
            {"Y": 1, "M": 2, "Path": "a/", "Part": ""},
            ("000102", "a.2f "),
        ),
    ],
)
def test_the_keys_of_the_guide_come_out_character_for_character_and_read_back(
    key: Key, fields: dict[str, object], keys: tuple[str, str]
) -> None:
    assert key.format(fields) == keys
    assert key.parse(*keys) == fields
    assert key.matches(*keys)


def test_a_key_names_its_fields_from_left_to_right() -> None:
    assert REVIEW.fields == ("Department", "EmployeeId", "Year")
    assert REVIEW.partition_fields == ("Department",)
    assert REVIEW.row_fields == ("EmployeeId", "Year")


def test_keys_of_the_same_templates_are_equal() -> None:
    assert Key("{A}", "x") == Key("{A}", "x")
    assert len({Key("{A}", "x"), Key("{A}", "x"), Key("{B}", "x"), Key("{A}", "x", max_units=1024)}) == 3
    assert repr(REVIEW) == "Key('{Department}', 'empid_{EmployeeId:06d}_{Year:04d}')"


@pytest.mark.guide("G-193")
def test_a_child_key_continues_its_parent_in_the_same_partition() -> None:
    assert EMPLOYEE.extended("_{Year:04d}") == REVIEW
    assert Key("{A}", "{B:02d}", max_units=7).extended("_x").max_units == 7


@pytest.mark.parametrize("parent", ["{Name}", "{Id:06d}_{Name:escape}", "{Id:06d}_end", "profile"])
def test_a_parent_that_a_longer_key_could_be_taken_for_is_a_bad_design(parent: str) -> None:
    with pytest.raises(BadDesign, match="fixed width"):
        Key("{Department}", parent).extended("_{Year:04d}")


@pytest.mark.guide("G-194", "G-201")
@pytest.mark.parametrize(
    ("partition_key", "row_key"),
    [
        ("Sales", "empid_000123"),
        ("Sales", "empid_000123_"),
        ("Sales", "empid_000123_20123"),
        ("Sales", "empid_000123-2012"),
        ("Sales", "email_000123_2012"),
        ("Sales", "empid_000123_2012_"),
        ("Sal/es", "empid_000123_2012"),
        ("Sales", ""),
    ],
)
def test_a_key_of_another_kind_does_not_match_and_is_not_parsed(partition_key: str, row_key: str) -> None:
    assert not REVIEW.matches(partition_key, row_key)
    with pytest.raises(BadKey, match="it is not a key of"):
        REVIEW.parse(partition_key, row_key)


@pytest.mark.guide("G-195")
@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{A}_{B:02d}", "x_y"),
        ("{A}_{B:02d}", "_"),
        ("{A}--{B:02d}", "x--y"),
        ("{A}--{B:02d}", "x-"),
        ("{A}_end", "a_end"),
    ],
)
def test_text_that_holds_the_separator_is_rejected_with_the_escape_as_the_way_out(template: str, value: str) -> None:
    key = Key("", template)
    with pytest.raises(BadKey, match="separator") as refused:
        key.format({"A": value} | ({"B": 1} if "B" in key.fields else {}))
    assert (refused.value.subject, refused.value.value) == ("A", value)
    assert "{A:escape}" in refused.value.hint


@pytest.mark.guide("G-195")
def test_text_that_holds_only_a_part_of_the_separator_or_ends_the_key_is_kept() -> None:
    assert Key("", "{A}--{B}").format({"A": "x-y", "B": "a--b"}) == ("", "x-y--a--b")


@pytest.mark.guide("G-029")
@pytest.mark.parametrize(
    ("fields", "subject"),
    [
        ({"Department": "Sales"}, "EmployeeId"),
        ({"EmployeeId": 5}, "Department"),
        ({"Department": None, "EmployeeId": 5}, "Department"),
        ({"Department": "Sales", "EmployeeId": 5, "Email": "x"}, "Email"),
    ],
)
def test_a_missing_an_empty_and_an_unknown_field_are_rejected_by_name(fields: dict[str, object], subject: str) -> None:
    with pytest.raises(BadKey) as refused:
        EMPLOYEE.format(fields)
    assert refused.value.subject == subject


@pytest.mark.parametrize(
    "template",
    [
        "{A}{B}",
        "{A}{B:04d}",
        "{}",
        "{0}",
        "{A.b}",
        "{A[0]}",
        "{A!r}",
        "{A",
        "A}",
        "{A b}",
        "a/{A}",
        "{A}#{B}",
        "\t",
        "\x7f",
    ],
)
def test_a_template_that_cannot_be_read_back_is_a_bad_design(template: str) -> None:
    with pytest.raises(BadDesign):
        Key("", template)


@pytest.mark.parametrize(("partition_key", "row_key"), [("{A}", "{A}"), ("", "{A}_{A}"), ("{A}", "{B}_{A:06d}")])
def test_a_field_that_is_named_twice_is_a_bad_design(partition_key: str, row_key: str) -> None:
    with pytest.raises(BadDesign, match="twice"):
        Key(partition_key, row_key)


@pytest.mark.guide("G-039")
@pytest.mark.parametrize(
    ("key", "fitting"),
    [
        (Key("{A}", "{B}"), "x" * 512),
        (Key("{A}", "{B}"), "é" * 512),
        (Key("{A}", "{B}"), "🛫" * 256),
        (Key("{A}", "{B}", max_units=1024), "🛫" * 512),
        (Key("{A}", "{B}", max_units=1), "x"),
    ],
)
def test_a_key_has_as_many_utf16_units_as_the_setting_says_and_not_one_more(key: Key, fitting: str) -> None:
    assert key.format({"A": fitting, "B": fitting}) == (fitting, fitting)
    for half, longer in (("PartitionKey", {"A": fitting + "x", "B": ""}), ("RowKey", {"A": "", "B": fitting + "x"})):
        with pytest.raises(BadKey, match=half):
            key.format(longer)
    assert not key.matches(fitting, fitting + "x")


@pytest.mark.guide("G-039")
@pytest.mark.parametrize("max_units", [0, -1, 1025])
def test_the_size_limit_is_set_to_1_through_1024(max_units: int) -> None:
    with pytest.raises(BadDesign, match="max_units"):
        Key("{A}", "{B}", max_units=max_units)


def test_the_literal_text_counts_towards_the_size() -> None:
    key = Key("", "email_{Email}", max_units=10)
    assert key.format({"Email": "abcd"}) == ("", "email_abcd")
    with pytest.raises(BadKey, match="11"):
        key.format({"Email": "abcde"})
