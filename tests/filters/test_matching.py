"""Evaluating filters: the service's two-valued logic, type by type."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import assume, given

from filters.strategies import any_filters, edge_texts, entities, key_filters, texts
from tablepatterns import Int64, Ticks
from tablepatterns.errors import BadFilter
from tablepatterns.filters import And, Comparison, Constant, Not, Or, matcher, parse, prop
from tablepatterns.limits import MAX_FILTER_COMPARISONS

OPERATORS = ("eq", "ne", "gt", "ge", "lt", "le")
LESS, EQUAL, GREATER = {"ne", "lt", "le"}, {"eq", "ge", "le"}, {"ne", "gt", "ge"}
MISMATCH = LESS

LITERALS = (
    "'m'",
    "true",
    "5",
    "5L",
    "5.0",
    "datetime'2014-08-22T00:00:00Z'",
    "guid'00000000-0000-0000-0000-000000000005'",
    "X'0505'",
    "binary'0505'",
)
_NOON = int(Ticks.parse("2014-08-22"))
PROPERTIES = {
    # type: a value below the literals of its type, one equal to them, one above (there is nothing above true)
    "String": ("l", "m", "n"),
    "Boolean": (False, True, None),
    "Int32": (4, 5, 6),
    "Int64": (Int64(4), Int64(5), Int64(6)),
    "Double": (4.5, 5.0, 5.5),
    "DateTime": (Ticks(_NOON - 1), Ticks(_NOON), Ticks(_NOON + 1)),
    "Guid": (UUID(int=4), UUID(int=5), UUID(int=6)),
    "Binary": (b"\5", b"\5\5", b"\5\5\0"),
}
COMPARED_BY_VALUE = {
    # rows as PROPERTIES, columns as LITERALS: x is compared by value, . is a mismatch
    #           's' true 5 5L 5.0 datetime guid X binary
    "String":   "x  .    . .  .   .        .    . .",
    "Boolean":  ".  x    . .  .   .        .    . .",
    "Int32":    ".  .    x .  .   .        .    . .",
    "Int64":    ".  .    x x  .   .        .    . .",
    "Double":   ".  .    x x  x   .        .    . .",
    "DateTime": ".  .    . .  .   x        .    . .",
    "Guid":     ".  .    . .  .   .        x    . .",
    "Binary":   ".  .    . .  .   .        .    x x",
}  # fmt: skip
CELLS = [
    (name, text, cell == "x")
    for name, row in COMPARED_BY_VALUE.items()
    for text, cell in zip(LITERALS, row.split(), strict=True)
]


def operators_that_match(value, text):
    row = {"P": value} if value is not None else {}
    return {operator for operator in OPERATORS if matcher(parse(f"P {operator} {text}"))(row.get)}


@pytest.mark.guide("G-089")
@pytest.mark.parametrize(("name", "text", "by_value"), CELLS)
def test_the_matrix_of_types_literals_and_operators(name, text, by_value):
    below, same, above = PROPERTIES[name]
    assert operators_that_match(below, text) == (LESS if by_value else MISMATCH)
    assert operators_that_match(same, text) == (EQUAL if by_value else MISMATCH)
    if above is not None:
        assert operators_that_match(above, text) == (GREATER if by_value else MISMATCH)


def test_the_matrix_is_complete():
    assert len(CELLS) * len(OPERATORS) == 8 * 9 * 6


@pytest.mark.parametrize("text", LITERALS)
def test_a_missing_property_matches_no_comparison(text):
    assert operators_that_match(None, text) == set()


def test_true_is_greater_than_false():
    assert operators_that_match(True, "false") == GREATER


def test_a_missing_property_matches_a_negated_comparison():
    assert matcher(parse("not (P eq 'x')"))({}.get)
    assert matcher(parse("not (P eq 'x' or Q eq 'y')"))({}.get)


def test_a_double_meets_a_long_literal_as_a_double():
    assert operators_that_match(float(2**53), f"{2**53 + 1}L") == EQUAL


def test_instants_differ_by_100_nanoseconds():
    assert (
        operators_that_match(Ticks.parse("2014-08-22T00:00:00.0000001Z"), "datetime'2014-08-22T00:00:00Z'") == GREATER
    )


def test_strings_compare_with_case_and_without_culture():
    assert operators_that_match("a", "'B'") == GREATER
    assert operators_that_match("é", "'z'") == GREATER
    assert operators_that_match("e\u0301", "'é'") == LESS


@given(edge_texts, edge_texts)
def test_strings_order_by_utf_16_unit(value, other):
    left, right = value.encode("utf-16-be"), other.encode("utf-16-be")
    expected = LESS if left < right else GREATER if left > right else EQUAL
    row = {"P": value}
    assert {o for o in OPERATORS if matcher(Comparison("P", o, other))(row.get)} == expected


@given(key_filters, key_filters, entities)
def test_and_or_and_not_are_two_valued(a, b, entity):
    assume(a.comparisons + b.comparisons <= MAX_FILTER_COMPARISONS)
    x, y = matcher(a)(entity.get), matcher(b)(entity.get)
    assert matcher(And(a, b))(entity.get) is (x and y)
    assert matcher(Or(a, b))(entity.get) is (x or y)
    assert matcher(Not(a))(entity.get) is (not x)


@given(any_filters, entities)
def test_a_filter_and_its_text_match_the_same_entities(expression, entity):
    assert matcher(expression)(entity.get) is matcher(parse(str(expression)))(entity.get)


@given(edge_texts | texts, edge_texts | texts)
def test_a_prefix_matches_as_startswith_does(prefix, text):
    for value in (text, prefix + text, prefix[:-1] + text):
        assert matcher(prop("P").startswith(prefix))({"P": value}.get) is value.startswith(prefix)


def test_a_prefix_matches_no_other_type():
    assert not matcher(prop("P").startswith("5"))({"P": 5}.get)


def test_constants_match_all_and_none():
    assert matcher(Constant(True))({}.get) is True
    assert matcher(Constant(False))({}.get) is False


def test_a_long_chain_of_constants_does_not_use_up_the_stack():
    assert matcher(parse(" or ".join(["false"] * 3_000)))({}.get) is False
    assert matcher(parse(" and ".join(["true"] * 3_000)))({}.get) is True


def test_a_text_is_no_filter_to_match_with():
    with pytest.raises(BadFilter, match="parse"):
        matcher("P eq 5")
