"""Properties of all formats and templates: keys parse back, sort like their values, and never collide."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import Ticks, limits
from tablepatterns.edm import ordinal, utf16_length
from tablepatterns.errors import BadKey
from tablepatterns.key import Key, above, after_prefix, at_least, at_most, below, between, inverted_ticks, prefix

FORBIDDEN = re.compile(limits.FORBIDDEN_IN_KEYS)
TRICKY = ' !"#$./0>?@[\\]~\x00\x1f\x7f\x9f\xa0_-aAb9\ud7ff\ue000\uffff🛫\U0010ffff'
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))

any_text = st.text(st.sampled_from(TRICKY) | st.characters(exclude_categories=["Cs"]), max_size=8)
plain_text = any_text.map(lambda text: FORBIDDEN.sub("", text))
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)
instants = moments | st.integers(0, Ticks.MAX).map(Ticks)


def ticks(value: Any) -> int:
    return int(value if isinstance(value, Ticks) else Ticks.of(value))


class Kind(NamedTuple):
    """The values of one format, and what they sort by."""

    values: st.SearchStrategy[Any]
    rank: Any


KINDS = {
    "": Kind(plain_text, ordinal),
    "escape": Kind(any_text, ordinal),
    "03d": Kind(st.integers(0, 999), int),
    "+02d": Kind(st.integers(-99, 99), int),
    "+019d": Kind(st.integers(limits.INT64_MIN, limits.INT64_MAX), int),
    "float": Kind(st.floats(allow_nan=False), float),
    "ticks": Kind(instants, ticks),
    "inverted": Kind(instants, lambda value: -ticks(value)),
    "%Y": Kind(st.dates().map(lambda day: day.replace(month=1, day=1)), date.toordinal),
    "%Y-%m-%d": Kind(st.dates(), date.toordinal),
    "%Y%m%dT%H": Kind(
        moments.map(lambda m: m.astimezone(timezone.utc).replace(minute=0, second=0, microsecond=0)), ticks
    ),
    "%Y-%m-%d %H:%M:%S.%f": Kind(moments, ticks),
    "uuid": Kind(st.uuids(), lambda value: value.int),
}
each_format = pytest.mark.parametrize("spec", KINDS)


class Case(NamedTuple):
    """A key whose row has some fields, and what its formats and separators are."""

    key: Key
    specs: tuple[str, ...]
    separators: tuple[str, ...]

    def values(self) -> st.SearchStrategy[dict[str, Any]]:
        """Values for all fields, none with its separator inside plain text."""
        return st.fixed_dictionaries(
            {f"F{i}": KINDS[spec].values.filter(fits(spec, self.separators[i])) for i, spec in enumerate(self.specs)}
        ).map(lambda fields: {"P": "p"} | fields)

    def rank(self, fields: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(KINDS[spec].rank(fields[f"F{i}"]) for i, spec in enumerate(self.specs))


def fits(spec: str, separator: str) -> Any:
    return lambda value: spec or not separator or separator not in (value + separator)[:-1]


@st.composite
def cases(draw: st.DrawFn, *, plain: bool) -> Case:
    """Any key of one to three row fields; `plain` allows plain text before other fields."""
    specs = tuple(draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3)))
    if not plain:
        specs = tuple("escape" if spec == "" else spec for spec in specs[:-1]) + specs[-1:]
    literals = st.sampled_from(["_", "-", "--", "_a", " ", "!", "0", "🛫"])
    separators = [draw(literals if spec == "" else literals | st.just("")) for spec in specs[:-1]]
    separators.append(draw(st.just("") | literals) if plain or specs[-1] else "")
    fields = "".join(f"{{F{i}:{spec}}}{separators[i]}" for i, spec in enumerate(specs))
    return Case(Key("{P}", draw(st.sampled_from(["", "x_"])) + fields), specs, tuple(separators))


@pytest.mark.guide("G-102", "G-205")
@each_format
@given(data=st.data())
def test_keys_sort_as_their_values_do_and_only_equal_values_share_a_key(spec: str, data: st.DataObject) -> None:
    values, rank = KINDS[spec]
    one, other = data.draw(values), data.draw(values)
    key = Key("p", f"x_{{V:{spec}}}")
    written, written_other = (ordinal(key.format({"V": value})[1]) for value in (one, other))
    assert (written < written_other) == (rank(one) < rank(other))
    assert (written == written_other) == (rank(one) == rank(other))


@pytest.mark.guide("G-101", "G-194", "G-204", "G-252")
@each_format
@given(data=st.data())
def test_a_key_reads_back_as_the_value_it_was_written_from(spec: str, data: st.DataObject) -> None:
    value = data.draw(KINDS[spec].values)
    key = Key("p", f"x_{{V:{spec}}}")
    read = key.parse(*key.format({"V": value}))["V"]
    if isinstance(value, Ticks):
        assert ticks(read) == value
        assert isinstance(read, Ticks) == bool(value % 10)
    else:
        assert read == value
        assert not isinstance(read, datetime) or read.tzinfo is timezone.utc


@given(moment=moments)
def test_the_inverted_ticks_of_an_instant_are_its_key(moment: datetime) -> None:
    assert Key("p", "{When:inverted}").format({"When": moment}) == ("p", inverted_ticks(moment))


@pytest.mark.guide("G-038", "G-194")
@given(case=cases(plain=True), data=st.data())
def test_any_template_reads_back_what_it_wrote(case: Case, data: st.DataObject) -> None:
    fields = data.draw(case.values())
    keys = case.key.format(fields)
    read = case.key.parse(*keys)
    assert case.rank(read) == case.rank(fields)
    assert case.key.format(read) == keys
    assert case.key.matches(*keys)


@pytest.mark.guide("G-038", "G-195")
@given(case=cases(plain=True), data=st.data())
def test_different_values_never_make_the_same_key(case: Case, data: st.DataObject) -> None:
    one, other = data.draw(case.values()), data.draw(case.values())
    assert (case.key.format(one) == case.key.format(other)) == (case.rank(one) == case.rank(other))


@given(case=cases(plain=False), data=st.data())
def test_compound_keys_sort_by_their_fields_from_left_to_right(case: Case, data: st.DataObject) -> None:
    one, other = data.draw(case.values()), data.draw(case.values())
    written, written_other = (ordinal(case.key.format(fields)[1]) for fields in (one, other))
    assert (written < written_other) == (case.rank(one) < case.rank(other))


@pytest.mark.guide("G-031", "G-032", "G-033", "G-034", "G-035", "G-036", "G-039")
@given(value=st.text(st.sampled_from(TRICKY) | st.characters(), max_size=20))
def test_plain_text_is_kept_as_it_is_or_rejected_where_the_service_would_reject_it(value: str) -> None:
    key = Key("{Name}", "", max_units=16)
    if FORBIDDEN.search(value) or re.search("[\ud800-\udfff]", value) or utf16_length(value) > 16:
        with pytest.raises(BadKey):
            key.format({"Name": value})
    else:
        assert key.format({"Name": value}) == (value, "")


@pytest.mark.guide("G-031", "G-032", "G-033", "G-034", "G-035", "G-036", "G-038")
@given(value=any_text)
def test_escaped_text_is_never_rejected_and_holds_nothing_that_a_key_may_not(value: str) -> None:
    written, _ = Key("{Name:escape}", "").format({"Name": value})
    assert not FORBIDDEN.search(written)
    assert " " not in written


@pytest.mark.guide("G-038")
def test_the_escape_gives_every_character_a_code_in_order_and_no_code_begins_another() -> None:
    key = Key("", "{V:escape}")
    characters = [*map(chr, range(0xD800)), "\U00010000", "🛫", "\U0010ffff", *map(chr, range(0xE000, 0x10000))]
    codes = [key.format({"V": character})[1] for character in characters]
    for code, following in pairwise(codes):
        assert ordinal(code) < ordinal(following)
        assert not following.startswith(code)
    assert not any(FORBIDDEN.search(code) or " " in code for code in codes)


@given(row_key=st.text(st.sampled_from("x_!.02fF19\ud7ff a"), max_size=8) | any_text, case=cases(plain=True))
def test_what_is_read_at_all_would_be_written_the_same(row_key: str, case: Case) -> None:
    if case.key.matches("p", row_key):
        assert case.key.format(case.key.parse("p", row_key)) == ("p", row_key)
    else:
        with pytest.raises(BadKey):
            case.key.parse("p", row_key)


@pytest.mark.guide("G-093", "G-198")
@given(beginning=plain_text, other=plain_text)
def test_the_bound_after_a_prefix_parts_the_texts_that_begin_with_it_from_those_above(
    beginning: str, other: str
) -> None:
    bound = after_prefix(beginning)
    for text in (other, beginning + other):
        inside = ordinal(beginning) <= ordinal(text) and (bound is None or ordinal(text) < ordinal(bound))
        assert inside == text.startswith(beginning)


def questions(spec: str, value: Any, other: Any, rank: Any) -> st.SearchStrategy[tuple[Any, Any]]:
    """A question for a field, and which values answer it."""
    forward = (lambda v: -rank(v)) if spec == "inverted" else rank
    low, high = sorted((value, other), key=forward)
    one_sided = [
        (at_least(value), lambda v: forward(v) >= forward(value)),
        (above(value), lambda v: forward(v) > forward(value)),
        (at_most(value), lambda v: forward(v) <= forward(value)),
        (below(value), lambda v: forward(v) < forward(value)),
    ]
    two_sided = [
        (between(low, high), lambda v: forward(low) <= forward(v) <= forward(high)),
        (between(low, high, "left"), lambda v: forward(low) <= forward(v) < forward(high)),
        (between(low, high, "right"), lambda v: forward(low) < forward(v) <= forward(high)),
        (between(low, high, "neither"), lambda v: forward(low) < forward(v) < forward(high)),
    ]
    prefixes = [(prefix(value[:2]), lambda v: v.startswith(value[:2]))] if spec in ("", "escape") else []
    return st.sampled_from([*one_sided, *two_sided, *prefixes, (None, lambda _: True)])


@pytest.mark.guide("G-094")
@given(case=cases(plain=False), data=st.data())
def test_a_range_holds_exactly_the_keys_whose_values_are_in_it(case: Case, data: st.DataObject) -> None:
    rows = data.draw(st.lists(case.values(), min_size=2, max_size=8))
    depth = data.draw(st.integers(0, len(case.specs) - 1))
    name, spec = f"F{depth}", case.specs[depth]
    question, answers = data.draw(questions(spec, rows[0][name], rows[1][name], KINDS[spec].rank))
    known = {field: rows[0][field] for field in ["P", *case.key.row_fields[:depth]]}
    found = case.key.range(known | ({name: question} if question else {}))
    for row in rows:
        same = case.rank(row)[:depth] == case.rank(rows[0])[:depth]
        assert found.contains(*case.key.format(row)) == (same and answers(row[name]))


@given(separator=st.sampled_from(["_", "--", "_a_", " ", "🛫"]), data=st.data())
def test_a_known_text_or_a_prefix_before_a_separator_finds_exactly_its_own(separator: str, data: st.DataObject) -> None:
    key = Key("", f"{{Name}}{separator}{{Year:02d}}")
    names = plain_text.filter(fits("", separator))
    one, other, year = data.draw(names), data.draw(names), data.draw(st.integers(0, 99))
    row = key.format({"Name": other, "Year": year})
    assert key.range({"Name": one}).contains(*row) == (one == other)
    try:
        found = key.range({"Name": prefix(one)})
    except BadKey:
        assert any(one.endswith(separator[:n]) for n in range(1, len(separator) + 1))
    else:
        assert found.contains(*row) == other.startswith(one)
