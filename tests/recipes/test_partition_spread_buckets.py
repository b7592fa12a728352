"""Spread: one hot partition differs from many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns.errors import BadInput
from tablepatterns.recipes.partition_spread.hot_partitions import spread_of


@pytest.mark.guide("G-106")
@pytest.mark.parametrize(
    ("keys", "hot"),
    [
        (["now"] * 10, True),
        (["now"] * 9, False),
        (["now"] * 6 + list("abcd"), True),
        (["now"] * 5 + list("abcde"), False),
        ([str(number) for number in range(1000)], False),
    ],
)
def test_a_partition_with_more_than_half_of_ten_writes_is_hot(keys: list[str], hot: bool) -> None:
    assert spread_of(keys).is_hot is hot


@pytest.mark.guide("G-106")
@given(st.lists(st.sampled_from("abcde"), min_size=1))
def test_the_busiest_has_the_most_writes_and_its_share(keys: list[str]) -> None:
    spread = spread_of(keys)
    assert keys.count(spread.busiest) == max(keys.count(key) for key in keys)
    assert spread.share == keys.count(spread.busiest) / len(keys)


def test_no_writes_are_no_sample() -> None:
    with pytest.raises(BadInput, match="at least one write"):
        spread_of([])
