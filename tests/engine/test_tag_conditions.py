"""Conditions on tags (`x-ms-if-tags`), compared with Python expressions."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns_engine.blobs.conditions import parse_tag_condition

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NAMES, VALUES = st.sampled_from(["a", "team", "b_1"]), st.sampled_from(["", "a", "b", "B", "a b", "10", "9"])
COMPARISONS = st.tuples(NAMES, st.sampled_from(list(COMPARE)), VALUES)
TAGS = st.dictionaries(NAMES, VALUES)


@given(st.lists(st.lists(COMPARISONS, min_size=1, max_size=3), min_size=1, max_size=3), TAGS, st.data())
def test_a_condition_is_what_python_makes_of_it(
    choices: list[list[tuple[str, str, str]]], tags: dict[str, str], data: st.DataObject
) -> None:
    def written(name: str, sign: str, value: str) -> str:
        quote, blank = data.draw(st.sampled_from(['"', ""])), data.draw(st.sampled_from(["", " "]))
        return f"{quote}{name}{quote}{blank}{sign}{blank}'{value}'"

    def meets(name: str, sign: str, value: str) -> bool:
        return COMPARE[sign](tags[name], value) if name in tags else sign == "<>"

    both, either = data.draw(st.sampled_from([("AND", "OR"), ("and", "or")]))
    text = f" {either} ".join(f" {both} ".join(written(*each) for each in choice) for choice in choices)
    assert parse_tag_condition(text)(tags) is any(all(meets(*each) for each in choice) for choice in choices)


@pytest.mark.parametrize(
    "text", ["", " ", "a", "a =", "a = b", "a == 'b'", "a = 'b' AND", "a = 'b' c = 'd'", "a = 'b' XOR c = 'd'", "= 'b'"]
)
def test_what_is_no_condition_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="position"):
        parse_tag_condition(text)


@pytest.mark.parametrize("text", ["(a = 'b')", "a = 'b' AND (a = 'c')"])
def test_parentheses_are_not_supported(text: str) -> None:
    with pytest.raises(NotImplementedError):
        parse_tag_condition(text)
