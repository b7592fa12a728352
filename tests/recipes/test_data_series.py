"""Read a series with one request and set a point with one merge, without losing increments."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.hour_series import DAY, KEY, TODAY, series_of
from support.unreliable_transport import connect_unreliable
from tablepatterns import DataSeries, EntitySet, EventualTransaction, Int64, Key, Worker, between, connect
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    BadProperty,
    BadTableName,
    LimitExceeded,
    OutcomeUnknown,
    TooMuchContention,
)
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
    with pytest.raises(TooMuchContention) as refusal:
        await messages.add(9, 1, retry_for=0.5, **TODAY)
    attempts = refusal.value.attempts
    # On a slow machine, one attempt may take all the time
    effort = f"each of {attempts} attempts in" if attempts > 1 else "the only attempt;"
    assert f"another writer was faster at {effort}" in str(refusal.value)
    assert await messages.read([9], **TODAY) == [10 * attempts]


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


# ------------------------------------------------------------------ the layout of points in rows


@pytest.mark.guide("G-230")
async def test_8000_points_fit_in_one_property_and_9000_need_a_blob(storage: Any, table_name: str) -> None:
    series = EntitySet(storage, table_name, Key("{Employee}", "{Year:04d}"))
    jones: dict[str, Any] = {"Employee": "000223", "Year": 2014}
    entity = await series.insert(jones | {"Points": array("d", [0.5] * 8000).tobytes()})

    def change(entity: dict[str, Any]) -> None:
        points = array("d", entity["Points"])
        points[7999] = 1.5
        entity["Points"] = points.tobytes()

    await series.update(change, **jones)
    assert array("d", (await series.get(**jones))["Points"])[-2:] == array("d", [0.5, 1.5])
    with pytest.raises(LimitExceeded, match="blob"):
        await series.merge(entity, {"Points": array("d", [0.5] * 9000).tobytes()})


# ------------------------------------------------------------------ series in blobs


POINTS = list(range(1000))
OF_JULY = {"Employee": "000223", "Month": "2014-07"}


class Readings:
    """A long series per employee and month: its points in a blob, its sum and the blob's name in an entity."""

    def __init__(self, account: Any, table: str) -> None:
        self.entities = EntitySet(account, table, Key("{Employee}", "{Month}"))
        self.blobs = account.container(f"c{table[-40:]}")
        self.fails = False
        steps = [self.write_blob, self.write_entity]
        self.writing = EventualTransaction(account, f"q{table[-40:]}", "series", steps)

    def name(self, body: dict[str, Any]) -> str:
        return f"{body['Employee']}/{body['Month']}"

    async def write_blob(self, body: dict[str, Any]) -> None:
        await self.blobs.upload(self.name(body), array("i", body["Points"]).tobytes())

    async def write_entity(self, body: dict[str, Any]) -> None:
        if self.fails:
            raise ConnectionError("the process crashed between its two writes")
        total = sum(body["Points"])
        key = {"Employee": body["Employee"], "Month": body["Month"]}
        await self.entities.insert_or_replace({**key, "Total": total, "Blob": self.name(body)})

    async def read(self, **key: Any) -> tuple[int, list[int]]:
        entity = await self.entities.get(**key)
        return entity["Total"], array("i", await self.blobs.download(entity["Blob"])).tolist()


@pytest.mark.guide("G-231")
async def test_a_series_in_a_blob_and_its_entity_are_brought_together(
    storage: Any, engine: Engine, table_name: str
) -> None:
    readings = Readings(storage, table_name)
    worker = Worker(storage, [readings.writing], retry_after=10)
    await readings.writing.start({**OF_JULY, "Points": POINTS})
    readings.fails = True
    assert (await worker.run_once()).failed == 1
    assert await readings.entities.get(**OF_JULY) is None

    readings.fails = False
    engine.clock.advance(10)
    assert (await worker.run_once()).handled == 1
    assert await readings.read(**OF_JULY) == (sum(POINTS), POINTS)
