"""The bounds of keys that a shared access signature is limited to."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tablepatterns import Key, at_least, below, between, prefix
from tablepatterns.errors import BadInput, BadKey
from tablepatterns.filters import Interval
from tablepatterns.key import KeyRange
from tablepatterns.key.formats import FORBIDDEN
from tablepatterns.recipes.grant import KeyScope

EMAILS = Key("{Department}", "email_{Email}")
IDS = Key("{Department}", "empid_{EmployeeId:06d}")
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\uffff"), max_size=6).filter(
    lambda text: not FORBIDDEN.search(text)
)
ends = st.none() | texts.filter(bool)


@given(lower=ends, upper=ends, inclusive=st.tuples(st.booleans(), st.booleans()), row=texts)
def test_a_reach_holds_exactly_the_rows_of_its_range(
    lower: str | None, upper: str | None, inclusive: tuple[bool, bool], row: str
) -> None:
    rows = KeyRange("Sales", Interval(lower or "", lower is None or inclusive[0], upper, inclusive[1]))
    try:
        scope = KeyScope.of(rows)
    except BadInput:
        assume(False)
    for row_key in (row, *(end + row for end in (lower, upper) if end)):
        assert scope.contains("Sales", row_key) == rows.contains("Sales", row_key)
    assert not scope.contains("Sales ", row)


@pytest.mark.parametrize(
    ("end", "below_it"),
    [
        ("b", "a\uffff"),
        ("a0", "a.\uffff"),
        ("a ", "a"),
        ("a\ue000", "a\U0010ffff\uffff"),
        ("a\U00010000", "a\ud7ff\uffff"),
        ("a\xa0", "a~\uffff"),
    ],
)
def test_an_exclusive_end_becomes_the_nearest_key_below_it(end: str, below_it: str) -> None:
    assert KeyScope.of(KeyRange("Sales", Interval(upper=end, upper_inclusive=False))).last_row == below_it


@pytest.mark.parametrize(
    ("scope", "key", "could_contain"),
    [
        (KeyScope(), EMAILS, True),
        (KeyScope("Sales", "Sales"), EMAILS, True),
        (KeyScope("Sales", "Sales"), Key("dept_{Department}", "email_{Email}"), False),
        (KeyScope("Sales", "Sales"), Key("{Department:06d}", "{Email}"), False),
        (KeyScope("A", "M"), Key("dept_{Department}", "{Email}"), False),
        (KeyScope("a", "m"), Key("dept_{Department}", "{Email}"), True),
        (KeyScope.of(IDS.range({"Department": "Sales", "EmployeeId": at_least(5)})), EMAILS, False),
        (KeyScope.of(IDS.range({"Department": "Sales", "EmployeeId": below(5)})), IDS, True),
        (KeyScope.of(EMAILS.range({"Department": "Sales", "Email": prefix("a")})), Key("{D}", "{Anything}"), True),
        (KeyScope("Sales", "Sales", "a", "m"), Key("{D}", "head"), True),
        (KeyScope("Sales", "Sales", "a", "h"), Key("{D}", "head"), False),
        (KeyScope("Sales", "Sales", "heads"), Key("{D}", "head"), False),
    ],
)
def test_rows_of_another_key_that_could_be_in_the_scope_are_found(
    scope: KeyScope, key: Key, could_contain: bool
) -> None:
    assert scope.may_contain(key) is could_contain


def test_across_partitions_rows_limit_the_first_and_the_last_partition() -> None:
    scope = KeyScope("A", "C", "5", "1")
    inside = [(p, r) for p in "ABCD" for r in "159" if scope.contains(p, r)]
    assert inside == [("A", "5"), ("A", "9"), ("B", "1"), ("B", "5"), ("B", "9"), ("C", "1")]
    assert KeyScope(last_partition="B").contains("A", "1")
    assert not KeyScope(last_partition="B").contains("C", "1")


@pytest.mark.guide("G-342")
@pytest.mark.parametrize("ends", [{"first_row": "1"}, {"last_row": "1"}, {"first_partition": "A", "last_row": "1"}])
def test_rows_without_their_partition_are_rejected(ends: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="needs its partition"):
        KeyScope(**ends)


@pytest.mark.parametrize("ends", [("", None), (None, ""), ("A", None, ""), (None, "A", None, "")])
def test_an_empty_end_is_rejected(ends: tuple[str | None, ...]) -> None:
    with pytest.raises(BadInput, match="empty text"):
        KeyScope(*ends)


def test_invalid_ends_are_rejected() -> None:
    with pytest.raises(BadKey):
        KeyScope("a/b", "a/b")
    with pytest.raises(BadInput, match="sorts after"):
        KeyScope("B", "A")
    with pytest.raises(BadKey):
        KeyScope.of(IDS.range({"Department": "Sales", "EmployeeId": between(5, 1)}))
