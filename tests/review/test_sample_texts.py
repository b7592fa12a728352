"""Sample texts: readable, and of the declared number, order and uniqueness."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import Key
from tablepatterns_review import Field, Shape
from tablepatterns_review.measure.sample import readable_text, sample

names = st.sampled_from(["City", "LastName", "Email", "CustomerEmail", "Day", "IBAN", "C2", "a", "Größe", "Notes_1"])
separators = st.lists(st.text("_-. @0a1elusr", max_size=3), max_size=4)


def texts(name: str, length: int, ranks: int, between: Sequence[str] = ()) -> list[str]:
    return [readable_text(name, length, ranks, between, rank) for rank in range(1, ranks + 1)]


@examples(100)
@given(names, st.integers(0, 400), st.integers(1, 300), separators)
def test_texts_have_their_order_and_none_contains_a_separator(
    name: str, length: int, ranks: int, between: list[str]
) -> None:
    found = texts(name, length, ranks, between)
    assert len(set(found)) == ranks
    assert found == sorted(found)
    assert max(map(len, found)) <= max(length, len(str(ranks)))
    if not any(set(each) <= set("0123456789abcdefghij") for each in between if each):
        assert not any((text + each).find(each) < len(text) for text in found for each in between if each)


@examples(60)
@given(st.integers(1, 200), st.integers(1, 12), st.sampled_from(["{}_{}", "{}-{}", "{:escape}{}", "{}user{}", "{}.{}"]))
def test_texts_of_a_key_can_be_read_back_from_it(count: int, distinct: int, template: str) -> None:
    key = Key("all", template.replace("{", "{City", 1).replace("{}", "{CustomerEmail}"))
    shape = Shape("Customer", count, {"City": Field(distinct=distinct, size=12), "CustomerEmail": Field(size=30)})
    made = sample("s", shape, [key], span=timedelta(365), readable=True)
    for each in made.stored:
        assert key.parse(*key.keys_of(each)) == each
    assert made.ranks == sample("s", shape, [key], span=timedelta(365)).ranks


def test_texts_are_named_after_their_field() -> None:
    assert texts("City", 16, 40)[2] == "city03"
    assert texts("City", 16, 40, ["y0"])[2] == "ad"
    assert texts("LastName", 7, 40)[2] == "lastn03"
    assert texts("Currency", 1, 40)[2] == "03"
    assert texts("Notes", 30, 40)[2] == "notes03xxxxxxxxxxxxxxxxxxxxxxx"
