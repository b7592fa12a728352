"""A table of data series for each day: points are set and read, also across midnight, and old days are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hour_series import series_of
from support.logins import DAY, NOON, drop_all, logs_of, names_of
from tablepatterns import DataSeries, EntitySet, Key, Period, PeriodTables, connect
from tablepatterns.errors import BadDesign, BadInput, BadKey, PeriodExpired
from tablepatterns.recipes.period import slots_before
from tablepatterns_engine.account import Engine

HOUR = timedelta(hours=1)
HOURS = Key("{Employee}", "hours")
BY_DAY = Key("{Employee}", "{Day:%Y-%m-%d}")
JO = {"Employee": "000223"}


def daily(storage: Any, name: str, key: Key = HOURS, points: int = 24, **options: Any) -> Any:
    def make(account: Any, table: str) -> Any:
        return DataSeries(account, table, key, points, prefix="Hour", value_type=int)

    return PeriodTables(storage, name, Period.DAY, factory=make, **options)


@pytest.fixture
def name(backend: Any, storage: Any, new_name: Callable[..., str]) -> Iterator[str]:
    made = new_name("Messages") + "x"
    yield made
    if backend.kind != "memory":
        backend.run(drop_all(storage, made))


def set_at(series: Any, moment: datetime, value: int, **fields: Any) -> Any:
    return series.of(moment).set(moment.hour, value, **{**JO, **fields})


@pytest.mark.parametrize("key", [HOURS, BY_DAY], ids=["hours", "by day"])
@pytest.mark.guide("G-360")
async def test_the_preceding_24_hours_include_yesterdays_table(storage: Any, name: str, key: Key) -> None:
    messages = daily(storage, name, key, at="Day" if key is BY_DAY else "At")
    for back in (0, 3, 12, 13, 23, 24):
        moment = NOON - back * HOUR
        await set_at(messages, moment, back, **({"Day": moment.date()} if key is BY_DAY else {}))
    assert await names_of(storage, name) == ["20140730", "20140731"]
    found = await messages.preceding(24, NOON + HOUR / 2, **JO)
    assert found == [{0: 0, 3: 3, 12: 12, 13: 13, 23: 23}.get(back) for back in range(23, -1, -1)]
    assert await messages.preceding(1, NOON, **JO) == [0]
    assert await messages.preceding(2, NOON, Employee="nobody") == [None, None]


async def test_each_day_is_read_and_dropped_with_one_request_each(storage: Any, engine: Engine, name: str) -> None:
    messages = daily(storage, name, retention=2)
    engine.clock.set(NOON)
    for back in (0, 1):
        await set_at(messages, NOON - back * DAY, back)
    with engine.ledger.span() as span:
        await messages.preceding(24, NOON, **JO)
    assert [record.operation for record in span.records] == ["QueryEntity"] * 2
    engine.clock.advance(86_400)
    assert await messages.drop_expired() == [f"{name}20140730"]
    assert await messages.preceding(49, NOON, **JO) == [None] * 48 + [0]
    with pytest.raises(PeriodExpired):
        await set_at(messages, NOON - DAY, 1)


async def test_a_point_is_not_written_to_the_table_of_another_day(storage: Any, name: str) -> None:
    messages = daily(storage, name, BY_DAY, at="Day")
    with pytest.raises(BadKey, match="the table of the day"):
        await messages.of(NOON).set(9, 1, **JO, Day=(NOON - DAY).date())


async def test_methods_for_entities_reject_tables_of_series(storage: Any, name: str) -> None:
    messages = daily(storage, name)
    for call in (
        lambda: messages.insert({**JO, "At": NOON}),
        lambda: messages.get(At=NOON, **JO),
        lambda: drained(messages.range(NOON, NOON, **JO)),
    ):
        with pytest.raises(BadInput, match="data series, which have no entities"):
            await call()
    logs = logs_of(storage, name + "y")
    with pytest.raises(BadInput, match="hold entities"):
        await logs.preceding(1, NOON, User="jo")


async def drained(entities: Any) -> list[Any]:
    return [each async for each in entities]


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda _, __: None, "returned a NoneType"),
        (lambda account, _: EntitySet(account, "Other", HOURS), "returned a set of the table 'Other'"),
        (lambda account, _: series_of(account, "Other"), "returned a set of the table 'Other'"),
    ],
)
def test_a_factory_that_returns_something_else_is_rejected(make: Any, part: str) -> None:
    with pytest.raises(BadDesign, match=part):
        PeriodTables(connect(), "Messages", Period.DAY, factory=make)


# ------------------------------------------------------------------ series of one table, across midnight


@pytest.mark.parametrize("key", ["{Day:%Y-%m-%d}", "{Day:ticks}", "{Day:%Y%m%d%H}"])
@pytest.mark.guide("G-360")
async def test_a_series_of_days_is_read_across_midnight(
    storage: Any, engine: Engine, table_name: str, key: str
) -> None:
    messages: Any = DataSeries(storage, table_name, Key("{Employee}", key), 24, prefix="Hour", value_type=int)
    midnight = NOON.replace(hour=0)
    for back in range(-1, 26):
        moment = midnight - back * HOUR
        start = moment.replace(hour=0)
        await messages.set(moment.hour, back, **JO, Day=start.date() if key.endswith("d}") else start)
    with engine.ledger.span() as span:
        found = await messages.preceding(24, midnight + HOUR / 3, "Day", **JO)
    assert found == list(range(23, -1, -1))
    assert [record.operation for record in span.records] == ["QueryEntity"] * 2


def test_slots_that_cannot_exist_are_rejected() -> None:
    messages = series_of(connect(), "Messages")
    for count, until, at, part in (
        (0, NOON, "Day", "at least 1"),
        (1, NOON, "Date", "names the key field"),
        (1, NOON.replace(tzinfo=None), "Day", "time zone"),
    ):
        with pytest.raises((BadInput, BadKey), match=part):
            messages.preceding(count, until, at, Employee="000223")
    with pytest.raises(BadInput, match="must be a Period"):
        messages.preceding(1, NOON, "Day", "day", Employee="000223")
    with pytest.raises(BadInput, match="evenly"):
        series_of(connect(), "Messages", points=7).preceding(1, NOON, "Day", Employee="000223")


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)),
    st.sampled_from([1, 24, 48, 96]),
    st.integers(1, 200),
    st.sampled_from([Period.HOUR, Period.DAY, Period.WEEK]),
)
def test_the_slots_are_the_last_ones_without_a_gap(at: datetime, points: int, count: int, period: Period) -> None:
    until = at.replace(tzinfo=timezone.utc)
    length = (period.shifted(period.start(until), 1) - period.start(until)) / points
    instants = [start + slot * length for start, slots in slots_before(period, points, count, until) for slot in slots]
    assert len(instants) == count
    assert {after - before for before, after in pairwise(instants)} <= {length}
    assert instants[-1] <= until < instants[-1] + length
