"""Pack a series into bytes and unpack it, and reject any other bytes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import EntitySet, Int64, Key
from tablepatterns.errors import BadProperty, LimitExceeded
from tablepatterns.recipes.data_series import packed, unpacked

VALUES: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**31), 2**31 - 1),
    Int64: st.integers(-(2**63), 2**63 - 1).map(Int64),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
}
SERIES = st.sampled_from(list(VALUES)).flatmap(
    lambda of: st.tuples(st.just(of), st.lists(st.none() | VALUES[of], max_size=40))
)


@given(series=SERIES)
def test_a_series_comes_back_equal_with_its_type(series: tuple[Any, list[Any]]) -> None:
    of, points = series
    found = unpacked(of, packed(of, points))
    assert found == points
    assert {type(value) for value in found} <= {of, type(None)}


@given(series=SERIES, of=st.sampled_from(list(VALUES)), junk=st.binary(min_size=1, max_size=3))
def test_other_bytes_are_rejected(series: tuple[Any, list[Any]], of: Any, junk: bytes) -> None:
    kind, points = series
    data = packed(kind, points)
    wrong = [data + junk, data[:-1], b""] + ([data] if of is not kind else [])
    for bad in wrong:
        with pytest.raises(BadProperty, match="not a packed series"):
            unpacked(of, bad)


def test_a_mask_with_more_bits_than_points_is_rejected() -> None:
    data = packed(bool, [True] * 7)
    with pytest.raises(BadProperty):
        unpacked(bool, data[:5] + b"\xff" + data[6:] + b"\x01")


def test_not_a_number_is_kept() -> None:
    (found,) = unpacked(float, packed(float, [math.nan]))
    assert found is not None
    assert math.isnan(found)


def test_a_value_of_another_type_is_rejected() -> None:
    with pytest.raises(BadProperty):
        packed(int, [1, True])
    with pytest.raises(BadProperty):
        packed(int, [2**31])


@pytest.mark.guide("G-230")
async def test_8000_points_fit_in_one_property_and_9000_need_a_blob(storage: Any, table_name: str) -> None:
    series = EntitySet(storage, table_name, Key("{Employee}", "{Year:04d}"))
    jones: dict[str, Any] = {"Employee": "000223", "Year": 2014}
    entity = await series.insert(jones | {"Points": packed(float, [0.5] * 8000)})

    def change(entity: dict[str, Any]) -> None:
        points = unpacked(float, entity["Points"])
        points[7999] = 1.5
        entity["Points"] = packed(float, points)

    await series.update(change, **jones)
    assert unpacked(float, (await series.get(**jones))["Points"])[-2:] == [0.5, 1.5]
    with pytest.raises(LimitExceeded, match="blob"):
        await series.merge(entity, {"Points": packed(float, [0.5] * 9000)})
