"""Read a series with one request and set a point with one merge, without losing increments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.hour_series import DAY, TODAY, series_of
from support.unreliable_transport import connect_unreliable
from tablepatterns import Int64, between, connect
from tablepatterns.errors import BadProperty, OutcomeUnknown, TooMuchContention
from tablepatterns.sdk.operation import Operation
from tablepatterns_engine.account import Engine


async def rows_of(storage: Any, table: str) -> dict[str, dict[str, Any]]:
    rows = [row async for row in storage.table(table).query(None)]
    return {row.row_key: {name: row[name] for name in row if name not in ("PartitionKey", "RowKey")} for row in rows}


@pytest.fixture
def messages(storage: Any, table_name: str) -> Any:
    return series_of(storage, table_name)


@pytest.fixture(params=[24, 600], ids=["one row", "several rows"])
def series(request: pytest.FixtureRequest, storage: Any, table_name: str) -> Any:
    """A series in one row, or in three."""
    return series_of(storage, table_name, request.param, split=request.param > 24)


# ------------------------------------------------------------------ points and series


@pytest.mark.guide("G-224", "G-227")
async def test_a_day_is_one_entity_with_a_property_for_each_hour(messages: Any, storage: Any, table_name: str) -> None:
    await messages.set_many({hour: hour * hour for hour in range(24)}, **TODAY)
    rows = await rows_of(storage, table_name)
    assert rows == {"2014-08-22": {f"Hour{hour:02d}": hour * hour for hour in range(24)}}
    assert all(name.isidentifier() for name in rows["2014-08-22"])
    assert await messages.read(**TODAY) == [hour * hour for hour in range(24)]


@pytest.mark.guide("G-225")
async def test_setting_a_point_is_one_merge_and_leaves_the_others(series: Any, engine: Engine) -> None:
    last = series.points - 1
    await series.set_many({0: 1, 9: 5, last: 7}, **TODAY)
    with engine.ledger.span() as span:
        await series.set(9, 12, **TODAY)
    assert [(record.operation, record.billable) for record in span.records] == [("InsertOrMergeEntity", 1)]
    assert await series.read([0, 8, 9, last], **TODAY) == [1, None, 12, 7]


@pytest.mark.guide("G-226")
async def test_the_whole_series_is_one_request(series: Any, engine: Engine) -> None:
    await series.set_many({0: 1, series.points - 1: 7}, **TODAY)
    with engine.ledger.span() as span:
        assert await series.read(**TODAY) == [1, *[None] * (series.points - 2), 7]
    rows = 2 if series.split else 1
    assert (span.totals.requests, span.totals.billable, span.totals.examined) == (1, 1, rows)


async def test_a_range_of_points_is_read_without_the_others(series: Any, engine: Engine) -> None:
    await series.set_many(dict.fromkeys(range(series.points), 1_000_000), **TODAY)
    with engine.ledger.span() as whole:
        await series.read(**TODAY)
    with engine.ledger.span() as part:
        assert await series.read(range(8, 12), **TODAY) == [1_000_000] * 4
    assert part.totals.requests == 1
    assert part.totals.bytes_out < whole.totals.bytes_out - 12 * (min(series.points, 251) - 4)


async def test_points_of_two_rows_change_in_one_transaction(storage: Any, engine: Engine, table_name: str) -> None:
    series = series_of(storage, table_name, 600, split=True)
    await series.set_many({0: 1, 300: 2}, **TODAY)
    with engine.ledger.span() as span:
        await series.set_many({1: 3, 599: 4}, **TODAY)
    assert span.totals.requests == 1
    assert await rows_of(storage, table_name) == {
        "2014-08-22_01": {"Hour000": 1, "Hour001": 3},
        "2014-08-22_02": {"Hour300": 2},
        "2014-08-22_03": {"Hour599": 4},
    }


async def test_what_was_never_set_is_none(series: Any) -> None:
    assert await series.read(**TODAY) == [None] * series.points
    await series.set(3, 5, **TODAY)
    assert await series.read([2, 3], **TODAY) == [None, 5]
    assert await series.read([], **TODAY) == []
    assert await series.read(Employee="000224", Day=DAY) == [None] * series.points


@pytest.mark.guide("G-228", "G-229")
async def test_add_retries_after_a_lost_race(backend: Any, engine: Engine, series: Any) -> None:
    rival = series_of(backend.connect(), series.table.name, series.points, split=series.split)
    await series.add(9, 1, **TODAY)
    submit, rivals = series.table.submit, [3, 1]

    async def late(*operations: Operation) -> Any:
        if rivals:
            await rival.add(rivals.pop(), 10, **TODAY)
        return await submit(*operations)

    series.table.submit = late
    with engine.ledger.span() as span:
        assert await series.add(9, 4, **TODAY) == 5
    assert await series.read([1, 3, 9], **TODAY) == [10, 10, 5]
    assert span.totals.requests == 2 * 3 + 2 * 2


async def test_add_gives_up_when_its_time_is_over(storage: Any, backend: Any, messages: Any) -> None:
    rival = series_of(backend.connect(), messages.table.name)
    submit = messages.table.submit

    async def late(*operations: Operation) -> Any:
        await rival.add(9, 10, **TODAY)
        return await submit(*operations)

    messages.table.submit = late
    with pytest.raises(TooMuchContention, match="attempts in") as refusal:
        await messages.add(9, 1, retry_for=0.5, **TODAY)
    assert await messages.read([9], **TODAY) == [10 * refusal.value.attempts]


async def test_add_costs_two_requests(series: Any, engine: Engine) -> None:
    await series.table.create()
    for total in (5, 10):
        with engine.ledger.span() as span:
            assert await series.add(9, 5, **TODAY) == total
        assert (span.totals.requests, span.totals.billable) == (2, 2)
    assert await series.add(9, -3, **TODAY) == 7


@pytest.mark.guide("G-229")
@pytest.mark.parametrize("fate", ["response lost", "request lost", "timed out", "busy"])
async def test_an_add_with_a_lost_response_counts_once(backend: Any, engine: Engine, messages: Any, fate: str) -> None:
    flaky = series_of(
        connect_unreliable(backend, engine, lambda number: fate if number % 2 == 0 else None), messages.table.name
    )
    await messages.table.create()
    for total in (2, 4, 6):
        assert await flaky.add(9, 2, **TODAY) == total
    await flaky.set(3, 8, **TODAY)
    assert await messages.read([3, 9], **TODAY) == [8, 6]


def overtaken(backend: Any, engine: Engine, others: Callable[[Any], None]) -> Any:
    """Return a storage whose first write is carried out and its response lost, and others write before the second."""

    def plan(number: int) -> str | None:
        if number == 1:
            others(connect(engine))
        return None if number else "response lost"

    return connect_unreliable(backend, engine, plan)


@pytest.mark.guide("G-229")
async def test_an_add_with_a_lost_response_is_recognized_after_other_adds(
    backend: Any, engine: Engine, messages: Any
) -> None:
    await messages.set(9, 1, **TODAY)

    def add(other: Any) -> None:
        for slot in (9, 3, 9):
            series_of(other, messages.table.name).add(slot, 10, **TODAY)

    assert await series_of(overtaken(backend, engine, add), messages.table.name).add(9, 1, **TODAY) == 2
    assert await messages.read([9], **TODAY) == [22]


async def test_a_lost_response_followed_by_another_set_is_an_unknown_outcome(
    backend: Any, engine: Engine, messages: Any
) -> None:
    await messages.set(9, 1, **TODAY)
    flaky = series_of(
        overtaken(backend, engine, lambda other: series_of(other, messages.table.name).set(3, 1, **TODAY)),
        messages.table.name,
    )
    with pytest.raises(OutcomeUnknown):
        await flaky.add(9, 1, **TODAY)
    assert await messages.read([9], **TODAY) == [2]


@pytest.mark.parametrize(
    ("of", "value", "stored"),
    [
        (int, 2**31 - 1, 2**31 - 1),
        (Int64, 5, Int64(5)),
        (Int64, 2**40, Int64(2**40)),
        (float, 5, 5.0),
        (float, -0.5, -0.5),
        (bool, False, False),
    ],
)
async def test_points_have_the_type_that_was_declared(
    storage: Any, table_name: str, of: Any, value: Any, stored: Any
) -> None:
    series = series_of(storage, table_name, value_type=of)
    await series.set(9, value, **TODAY)
    (found,) = await series.read([9], **TODAY)
    assert (found, type(found)) == (stored, type(stored))


async def test_numbers_of_numpy_are_taken_for_what_they_are(storage: Any, table_name: str) -> None:
    numpy = pytest.importorskip("numpy")
    series = series_of(storage, table_name)
    await series.set_many({0: numpy.int64(5), 1: numpy.int8(-1)}, **TODAY)
    assert await series.read(range(2), **TODAY) == [5, -1]
    reals = series_of(storage, table_name, prefix="Real", value_type=float)
    await reals.set(0, numpy.float32(0.5), **TODAY)
    assert await reals.read([0], **TODAY) == [0.5]
    with pytest.raises(BadProperty):
        await series.set(0, numpy.bool_(True), **TODAY)


async def test_clear_takes_points_their_values(series: Any, engine: Engine) -> None:
    last = series.points - 1
    await series.set_many({0: 1, 9: 5, last: 7}, **TODAY)
    with engine.ledger.span() as span:
        await series.clear(9, last, **TODAY)
    assert span.totals.billable == 2
    assert await series.read([0, 9, last], **TODAY) == [1, None, None]
    await series.clear(3, **TODAY)
    await series.clear(**TODAY)
    await series.clear(0, Employee="000224", Day=DAY)
    assert await series.read([0], Employee="000224", Day=DAY) == [None]


async def test_delete_removes_a_series_and_no_other(series: Any, storage: Any) -> None:
    tomorrow = TODAY | {"Day": DAY + timedelta(days=1)}
    for day in (TODAY, tomorrow):
        await series.set_many({0: 1, series.points - 1: 7}, **day)
    assert await series.delete(**TODAY)
    assert not await series.delete(**TODAY)
    assert await series.read([0], **TODAY) == [None]
    assert await series.read([0], **tomorrow) == [1]
    assert len(await rows_of(storage, series.table.name)) == (2 if series.split else 1)


async def test_several_days_are_one_range_query(series: Any, engine: Engine) -> None:
    days = [DAY + timedelta(days=number) for number in range(5)]
    for number, day in enumerate(days):
        await series.set_many({0: number, series.points - 1: 10 + number}, Employee="000223", Day=day)
    await series.set(0, 99, Employee="000224", Day=DAY)
    with engine.ledger.span() as span:
        found = [each async for each in series.range(Employee="000223", Day=between(days[1], days[3]))]
    assert span.totals.requests == 1
    assert [fields for fields, _ in found] == [{"Employee": "000223", "Day": day} for day in days[1:4]]
    assert [(values[0], values[-1]) for _, values in found] == [(1, 11), (2, 12), (3, 13)]
    assert [each async for each in series.range(Employee="nobody")] == []


# ------------------------------------------------------------------ whatever the steps


SLOTS = st.integers(0, 299)
STEPS = st.one_of(
    st.tuples(st.just("set"), SLOTS, st.integers(-9, 9)),
    st.tuples(st.just("add"), SLOTS, st.integers(-9, 9)),
    st.tuples(st.just("clear"), SLOTS, st.none()),
)


@examples(25)
@given(steps=st.lists(STEPS, max_size=8))
async def test_whatever_the_steps_a_series_is_as_a_list(
    storage: Any, new_name: Any, steps: list[tuple[str, int, Any]]
) -> None:
    series = series_of(storage, new_name(), 300, split=True)
    expected: list[int | None] = [None] * 300
    for word, slot, number in steps:
        if word == "clear":
            await series.clear(slot, **TODAY)
            expected[slot] = None
        elif word == "set":
            await series.set(slot, number, **TODAY)
            expected[slot] = number
        else:
            expected[slot] = await series.add(slot, number, **TODAY)
            assert expected[slot] is not None
    assert await series.read(**TODAY) == expected
    assert [values async for _, values in series.range(Employee="000223")] in ([expected], [])
