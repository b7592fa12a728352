"""Data series that are rejected, with the reason and a hint, and the largest that are accepted."""

from __future__ import annotations

from typing import Any

import pytest

from support.hour_series import DAY, KEY, TODAY, series_of
from tablepatterns import Key, connect
from tablepatterns.errors import BadDesign, BadInput, BadKey, BadProperty, BadTableName, LimitExceeded
from tablepatterns.recipes.data_series import DataSeries
from tablepatterns_engine.account import Engine


@pytest.fixture
def messages(storage: Any, table_name: str) -> Any:
    return series_of(storage, table_name)


@pytest.fixture(params=[24, 600], ids=["one row", "several rows"])
def series(request: pytest.FixtureRequest, storage: Any, table_name: str) -> Any:
    """A series in one row, or in three."""
    return series_of(storage, table_name, request.param, split=request.param > 24)


# ------------------------------------------------------------------ what is refused


@pytest.mark.guide("G-230")
def test_251_points_fit_in_an_entity_and_252_are_rejected_with_hints() -> None:
    with connect() as storage:
        series = series_of(storage, "Counts", 251)
        series.set_many(dict.fromkeys(range(251), 1), **TODAY)
        assert series.read(**TODAY) == [1] * 251
        with pytest.raises(LimitExceeded, match=r"251 points.*split=True.*blob"):
            series_of(storage, "Counts", 252)
        with pytest.raises(LimitExceeded, match=r"24849 points.*blob"):
            series_of(storage, "Counts", 24_850, split=True)


async def test_a_series_of_99_full_rows_is_read_at_once(storage: Any, engine: Engine, table_name: str) -> None:
    series = series_of(storage, table_name, 24_849, split=True)
    await series.set_many(dict.fromkeys(range(0, 24_849, 251), 1), **TODAY)
    with engine.ledger.span() as span:
        assert sum(value or 0 for value in await series.read(**TODAY)) == 99
    assert span.totals.requests == 1


async def test_bad_input_is_rejected_before_any_request(storage: Any, engine: Engine, messages: Any) -> None:
    flags = series_of(storage, messages.table.name, value_type=bool)
    await messages.set(9, 2**31 - 1, **TODAY)
    bad: list[tuple[type[Exception], Any]] = [
        (BadInput, lambda: messages.set(24, 1, **TODAY)),
        (BadInput, lambda: messages.set(-1, 1, **TODAY)),
        (BadInput, lambda: messages.set(True, 1, **TODAY)),
        (BadInput, lambda: messages.read([24], **TODAY)),
        (BadProperty, lambda: messages.set(9, None, **TODAY)),
        (BadProperty, lambda: messages.set(9, 0.5, **TODAY)),
        (BadProperty, lambda: messages.set(9, True, **TODAY)),
        (BadProperty, lambda: messages.set(9, 2**31, **TODAY)),
        (BadProperty, lambda: messages.set_many({1: 1, 2: "x"}, **TODAY)),
        (BadProperty, lambda: flags.set(9, 1, **TODAY)),
        (BadProperty, lambda: flags.add(9, True, **TODAY)),
        (BadKey, lambda: messages.set(9, 1, Employee="000223")),
        (BadKey, lambda: messages.read(**TODAY, Hour=9)),
        (BadKey, lambda: messages.add(9, 1, Employee="a/b", Day=DAY)),
    ]
    with engine.ledger.span() as span:
        for refused, call in bad:
            with pytest.raises(refused):
                await call()
    assert span.totals.requests == 0


async def test_a_sum_that_is_too_large_is_rejected_and_nothing_is_written(messages: Any) -> None:
    await messages.set(9, 2**31 - 1, **TODAY)
    with pytest.raises(BadProperty, match="32 bits"):
        await messages.add(9, 1, **TODAY)
    assert await messages.read([9], **TODAY) == [2**31 - 1]


async def test_a_stored_value_of_another_type_is_an_error(storage: Any, messages: Any) -> None:
    reals = series_of(storage, messages.table.name, value_type=float)
    await reals.set(9, 0.5, **TODAY)
    with pytest.raises(BadProperty, match="Hour09"):
        await messages.read(**TODAY)
    with pytest.raises(BadProperty, match="Hour09"):
        await messages.add(9, 1, **TODAY)
    assert await messages.read([8], **TODAY) == [None]


@pytest.mark.parametrize(
    ("error", "key", "options"),
    [
        (LimitExceeded, KEY, {"points": 0}),
        (BadProperty, KEY, {"prefix": "9"}),
        (BadProperty, KEY, {"prefix": "a-b"}),
        (BadDesign, KEY, {"value_type": str}),
        (BadTableName, KEY, {"table": "x"}),
    ],
)
def test_an_invalid_design_is_rejected(error: type[Exception], key: Key, options: dict[str, Any]) -> None:
    given = {"table": "Counts", "points": 24, "prefix": "Hour", "value_type": int} | options
    with connect() as storage, pytest.raises(error):
        DataSeries(storage, key=key, **given)


@pytest.mark.guide("G-103")
def test_the_cosmos_table_api_is_rejected_for_split_series() -> None:
    cosmos = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;TableEndpoint=https://a.table.cosmos.azure.com:443/"
    with connect(cosmos) as storage:
        series_of(storage, "Counts")
        with pytest.raises(BadDesign, match="Cosmos DB"):
            series_of(storage, "Counts", 600, split=True)
