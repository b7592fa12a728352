"""Whether a row could match two keys, decided from literal text and formats without false negatives."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect
from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.jobs import verify

# Few characters and short numbers, so that templates of different kinds often meet
TEXT = st.text(st.sampled_from("01_-a. "), max_size=6)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "": TEXT,
    ":escape": TEXT,
    ":01d": st.integers(0, 9),
    ":02d": st.integers(0, 99),
    ":+01d": st.integers(-9, 9),
    ":float": st.sampled_from([0.0, 1.5, -1.0]),
    ":ticks": st.just(datetime(2014, 7, 31, tzinfo=timezone.utc)),
    ":inverted": st.just(datetime(2014, 7, 31, tzinfo=timezone.utc)),
    ":%Y": st.just(date(1100, 1, 1)),
    ":%Y-%m": st.just(date(1010, 1, 1)),
    ":uuid": st.just(UUID(int=0)),
}
LITERALS = st.text(st.sampled_from("01_-a"), max_size=2)
PIECES = st.lists(st.tuples(LITERALS, st.sampled_from(sorted(VALUES))), max_size=3)


@st.composite
def keys(draw: st.DrawFn) -> tuple[Key, dict[str, str]]:
    """Draw a key, and the formats of its fields."""
    pieces, last = draw(PIECES), draw(LITERALS)
    formats = {f"F{number}": spec for number, (_, spec) in enumerate(pieces)}
    row = "".join(f"{literal}{{F{number}{spec}}}" for number, (literal, spec) in enumerate(pieces)) + last
    try:
        return Key("p", row), formats
    except BadDesign:
        assume(False)  # two texts with nothing between them
        raise


@given(one=keys(), other=keys(), data=st.data())
def test_rows_of_keys_that_do_not_overlap_are_never_taken_for_each_other(
    one: tuple[Key, dict[str, str]], other: tuple[Key, dict[str, str]], data: st.DataObject
) -> None:
    overlap = one[0].overlaps(other[0])
    assert other[0].overlaps(one[0]) == overlap
    for key, formats, another in ((*one, other[0]), (*other, one[0])):
        try:
            row = key.format({name: data.draw(VALUES[spec]) for name, spec in formats.items()})
        except BadKey:
            continue
        assert key.overlaps(key)
        assert overlap or not another.matches(*row), (row, key, another)


TEXTS = st.lists(st.tuples(LITERALS, st.sampled_from(["", ":02d"])), max_size=2)


@given(text=st.text(st.sampled_from("01_-a"), max_size=8), other=keys(), pieces=TEXTS)
def test_templates_overlap_if_both_read_the_same_text(
    text: str, other: tuple[Key, dict[str, str]], pieces: list[tuple[str, str]]
) -> None:
    row = "".join(f"{literal}{{F{number}{spec}}}" for number, (literal, spec) in enumerate(pieces))
    try:
        key = Key("p", row)
    except BadDesign:
        return
    if key.matches("p", text) and other[0].matches("p", text):
        assert key.overlaps(other[0])


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("p_{Person}", "p_{Person}_{Day}", True),
        ("{Number:06d}", "email_{Email}", False),
        ("{Number:06d}", "{Number:07d}", False),
        ("{Number:06d}", "{Number:06d}_{Year:04d}", False),
        ("{Number:06d}", "{Text}", True),
        ("{Number:06d}", "00012{Text}", True),
        ("{Number:02d}", "{Text}123", False),
        ("{Number:+05d}", "{Number:06d}", True),
        ("{Number:+05d}", "2{Number:05d}", False),
        ("{Day:%Y-%m-%d}", "{Hour:%Y-%m-%dT%H}", False),
        ("{Day:%Y-%m-%d}", "{Year:04d}-{Rest}", True),
        ("{At:inverted}_{Id:uuid}", "{Number:06d}", False),
        ("{At:inverted}", "{At:ticks}", True),
        ("{Id:uuid}", "{Price:float}", False),
        ("{Name}_{Year:04d}", "{Name}_{Year:06d}", False),
        ("{Name}__{Year:04d}", "{Name}__{Year:06d}", False),
        ("{Name}_{Year:04d}", "{Name}-{Year:04d}", False),
        ("{Name:escape}{Year:04d}", "{Year:04d}", False),
        ("{Name:escape}x", "{Name}", True),
        ("{Name:escape}x", "a b{Name}", False),
        ("", "{Name}", True),
        ("", "profile", False),
    ],
)
def test_the_formats_decide(one: str, other: str, overlap: bool) -> None:
    assert Key("{P}", one).overlaps(Key("{P}", other)) == overlap


@pytest.mark.parametrize(("one", "other", "overlap"), [("a_{X}", "b_{X}", False), ("{X}", "b_{X}", True)])
def test_partitions_keep_rows_apart_too(one: str, other: str, overlap: bool) -> None:
    assert Key(one, "{Name}").overlaps(Key(other, "{Name}")) == overlap


def test_an_index_beside_a_primary_key_of_digits() -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    with connect() as storage:
        staff = EntitySet(storage, "Staff", Key("{Department}", "{Number:06d}"), derived=[by_email])
        for number in (1, 2):
            staff.insert({"Department": "Sales", "Number": number, "Email": f"{9 - number}@contoso.com"})
        assert [each["Number"] for each in staff.range(Department="Sales")] == [1, 2]
        assert [each["Number"] for each in staff.range(by_email, Department="Sales")] == [2, 1]
        found = staff.find(by_email, Department="Sales", Email="8@contoso.com")
        assert found is not None
        assert found["Number"] == 1
        assert verify(staff, by_email).is_clean


def test_an_index_whose_copies_could_be_primaries_is_rejected() -> None:
    for row in ("{Email}", "{Rating:06d}", "0{Email}"):
        index = IntraPartitionIndex(Key("{Department}", row))
        with connect() as storage, pytest.raises(BadDesign, match="could have the key of a primary"):
            EntitySet(storage, "Staff", Key("{Department}", "{Number:06d}"), derived=[index])
