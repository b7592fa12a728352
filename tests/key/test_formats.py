"""The formats of keys: their text for each value, and rejected values."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from enum import Enum, IntEnum
from uuid import UUID

import pytest

from tablepatterns import Int64, Ticks
from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.key import Key

UTC = timezone.utc
NOON = datetime(2014, 7, 31, 12, 30, 45, 123456, tzinfo=UTC)
SOME_UUID = UUID("6F9619FF-8B86-D011-B42D-00C04FC964FF")


class Grade(IntEnum):
    SENIOR = 7


class Colour(str, Enum):
    RED = "red"


def row_key(spec: str, value: object) -> str:
    return Key("p", f"{{V:{spec}}}").format({"V": value})[1]


@pytest.mark.guide("G-037", "G-098", "G-099", "G-101", "G-120", "G-202", "G-203")
@pytest.mark.parametrize(
    ("spec", "value", "text"),
    [
        ("", "jonesj@contoso.com", "jonesj@contoso.com"),
        ("", "", ""),
        ("", Colour.RED, "red"),
        ("escape", "docs/a#1?", "docs.2fa!231>3f"),
        ("escape", "Jo Ann\\\x00\x7f", "Jo!20Ann[5c!00~7f"),
        ("escape", "plain-text_é🛫", "plain-text_é🛫"),
        ("06d", 223, "000223"),
        ("06d", 0, "000000"),
        ("06d", Int64(5), "000005"),
        ("03d", Grade.SENIOR, "007"),
        ("03d", 999, "999"),
        ("08d", 123, "00000123"),
        ("010d", 1, "0000000001"),
        ("+06d", 123, "1000123"),
        ("+06d", 0, "1000000"),
        ("+06d", -1, "0999999"),
        ("float", 0.0, "8000000000000000"),
        ("float", -0.0, "8000000000000000"),
        ("float", 1.5, "bff8000000000000"),
        ("float", float("-inf"), "000fffffffffffff"),
        ("ticks", datetime(1, 1, 1, tzinfo=UTC), "0000000000000000000"),
        ("ticks", Ticks(Ticks.MAX), "3155378975999999999"),
        ("inverted", datetime(2014, 8, 22, 0, 50, 32, tzinfo=UTC), "2519936321679999999"),
        ("inverted", datetime(1, 1, 1, tzinfo=UTC), "3155378975999999999"),
        ("inverted", datetime.max.replace(tzinfo=UTC), "0000000000000000009"),
        ("inverted", Ticks(Ticks.MAX), "0000000000000000000"),
        ("%Y-%m-%d", date(2014, 7, 31), "2014-07-31"),
        ("%Y%m", date(812, 7, 1), "081207"),
        ("%Y%m%d%H", datetime(2014, 7, 31, 22, tzinfo=UTC), "2014073122"),
        ("%Y%m%d%H", datetime(2014, 7, 31, 22, tzinfo=timezone(timedelta(hours=2))), "2014073120"),
        ("%Y-%m-%dT%H:%M:%S.%f", NOON, "2014-07-31T12:30:45.123456"),
        ("uuid", SOME_UUID, "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
    ],
)
def test_a_format_spells_its_values_so(spec: str, value: object, text: str) -> None:
    assert row_key(spec, value) == text


@pytest.mark.guide("G-030", "G-100")
@pytest.mark.parametrize(
    ("spec", "value", "rule"),
    [
        ("", 123, "must be a str, not int"),
        ("", b"abc", "must be a str, not bytes"),
        ("", None, "cannot be None"),
        ("", "half \ud83d", "surrogate"),
        ("escape", 1.5, "must be a str, not float"),
        ("escape", "half \ud83d", "surrogate"),
        ("06d", "123", "must be an int, not str"),
        ("06d", 12.0, "must be an int, not float"),
        ("06d", True, "must be an int, not bool"),
        ("06d", Ticks(5), "must be an int, not Ticks"),
        ("06d", -1, "cannot be negative"),
        ("06d", 1_000_000, "6 digits"),
        ("+06d", 1_000_000, "6 digits"),
        ("+06d", -1_000_000, "6 digits"),
        ("+06d", None, "cannot be None"),
        ("float", 1, "must be a float, not int"),
        ("float", float("nan"), "NaN"),
        ("ticks", NOON.replace(tzinfo=None), "time zone"),
        ("ticks", 635422200000000000, "must be a datetime or Ticks, not int"),
        ("ticks", date(2014, 7, 31), "must be a datetime or Ticks, not date"),
        ("ticks", Ticks(-1), "years 1 to 9999"),
        ("ticks", Ticks(Ticks.MAX + 1), "years 1 to 9999"),
        ("inverted", Ticks(-1), "years 1 to 9999"),
        ("inverted", Ticks(Ticks.MAX + 1), "years 1 to 9999"),
        ("inverted", datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "years 1 to 9999"),
        ("%Y-%m-%d", NOON, "must be a date, not datetime"),
        ("%Y-%m-%d", "2014-07-31", "must be a date, not str"),
        ("%Y-%m", date(2014, 7, 31), "drop part"),
        ("%Y%m%d%H", NOON, "drop part"),
        ("%Y%m%d%H", NOON.replace(tzinfo=None), "time zone"),
        ("%Y%m%d%H", date(2014, 7, 31), "must be a datetime, not date"),
        ("%Y%m%d%H", datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "years 1 to 9999"),
        ("uuid", str(SOME_UUID), "must be a UUID, not str"),
    ],
)
def test_a_value_of_another_kind_or_out_of_range_is_rejected_and_never_converted(
    spec: str, value: object, rule: str
) -> None:
    with pytest.raises(BadKey) as refused:
        row_key(spec, value)
    assert refused.value.subject == "V"
    assert rule in refused.value.rule
    assert refused.value.hint


@pytest.mark.guide("G-031", "G-032", "G-033", "G-034", "G-035", "G-036")
@pytest.mark.parametrize("character", [*"/\\#?", *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))])
def test_a_forbidden_character_is_rejected_with_the_escape_as_the_way_out(character: str) -> None:
    with pytest.raises(BadKey) as refused:
        row_key("", f"a{character}b")
    assert repr(character) in refused.value.rule
    assert "{V:escape}" in refused.value.hint


@pytest.mark.parametrize("character", ' !"$.>@[]~\xa0')
def test_the_neighbours_of_forbidden_characters_are_kept_in_plain_text(character: str) -> None:
    assert row_key("", f"a{character}b") == f"a{character}b"


def test_a_number_that_overflows_or_is_negative_is_pointed_to_a_format_that_holds_it() -> None:
    with pytest.raises(BadKey, match=re.escape("{V:+06d}")):
        row_key("06d", -1)
    assert Key("p", "{V:+06d}").parse("p", row_key("+06d", -1)) == {"V": -1}


@pytest.mark.parametrize(
    "spec",
    [
        *("d", "6d", "00d", "+6d", "-06d", "06", "06x", "٠6d", "s", "int", "date", "Escape"),
        *("%", "%m-%d", "%d-%m-%Y", "%Y-%d", "%Y%Y", "%Y%", "%Y%%", "%Y/%m", "%Y-%m-%d %I"),
    ],
)
def test_any_other_format_is_a_bad_design(spec: str) -> None:
    with pytest.raises(BadDesign, match=r"the format of \{V\}"):
        Key("p", f"{{V:{spec}}}")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("06d", ""),
        ("06d", "12345"),
        ("06d", "12345 "),
        ("06d", "-12345"),
        ("06d", "1234567"),
        ("06d", "+12345"),
        ("06d", "12_345"),
        ("06d", "٠٠٠١٢٣"),
        ("+02d", "000"),
        ("float", "BFF8000000000000"),
        ("float", "ffffffffffffffff"),
        ("float", "7fffffffffffffff"),
        ("float", "0x00000000000000"),
        ("float", "-bcdef0123456789"),
        ("float", "nonsense"),
        ("ticks", "3155378976000000000"),
        ("inverted", "3155378976000000000"),
        ("inverted", ""),
        ("inverted", "251993632167999999"),
        ("inverted", "-519936321679999999"),
        ("%Y-%m-%d", "2014-02-30"),
        ("%Y-%m-%d", "2014-7-31"),
        ("%Y-%m-%d", "2014-07-31T"),
        ("%Y-%m-%d", "0000-01-01"),
        ("uuid", "6F9619FF-8B86-D011-B42D-00C04FC964FF"),
        ("uuid", "6f9619ff8b86d011b42d00c04fc964ff"),
        ("escape", "a.b"),
        ("escape", "a.2Fb"),
        ("escape", "a.61b"),
        ("escape", "a b"),
        ("", "a/b"),
    ],
)
def test_a_text_that_the_format_would_not_have_written_is_not_read(spec: str, text: str) -> None:
    key = Key("p", f"{{V:{spec}}}")
    assert not key.matches("p", text)
    with pytest.raises(BadKey, match="RowKey"):
        key.parse("p", text)
