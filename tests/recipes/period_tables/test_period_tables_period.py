"""Periods: labels are valid in table names, sort by time and parse back, at every edge of the calendar."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import Ticks
from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.recipes.period import Period, Retention

UTC = timezone.utc
MOMENTS = st.datetimes(datetime(1, 1, 8), datetime(9999, 11, 30), timezones=st.just(UTC))
PERIODS = st.sampled_from(Period)


@pytest.mark.guide("G-214")
@given(PERIODS, MOMENTS)
def test_a_label_round_trips_and_its_period_contains_the_instant(period: Period, moment: datetime) -> None:
    start = period.start(moment)
    assert start <= moment < period.shifted(start, 1)
    assert period.parse(period.label(start)) == start == period.start(start)
    assert re.fullmatch("[0-9]{4}[0-9W][0-9]{1,5}", period.label(start))


@pytest.mark.guide("G-214")
@given(PERIODS, MOMENTS, MOMENTS)
def test_labels_are_unique_and_sort_by_time(period: Period, one: datetime, other: datetime) -> None:
    starts, labels = zip(*[(start, period.label(start)) for start in map(period.start, (one, other))], strict=True)
    assert (starts[0] < starts[1], starts[0] == starts[1]) == (labels[0] < labels[1], labels[0] == labels[1])


@given(PERIODS, PERIODS, MOMENTS)
def test_no_two_kinds_of_period_share_a_label(period: Period, other: Period, moment: datetime) -> None:
    label = period.label(period.start(moment))
    assert (other.parse(label) is None) == (period is not other)


@given(PERIODS, MOMENTS, st.integers(-500, 500))
def test_shifted_counts_periods_in_both_directions(period: Period, moment: datetime, count: int) -> None:
    start = period.start(moment)
    try:
        there = period.shifted(start, count)
    except OverflowError:
        return
    assert period.shifted(there, -count) == start == min(start, period.start(start + timedelta(microseconds=1)))


@pytest.mark.parametrize(
    ("moment", "label"),
    [
        (datetime(2015, 12, 31, tzinfo=UTC), "2015W53"),
        (datetime(2016, 1, 3, 23, tzinfo=UTC), "2015W53"),
        (datetime(2016, 1, 4, tzinfo=UTC), "2016W01"),
        (datetime(2018, 12, 31, tzinfo=UTC), "2019W01"),
    ],
)
def test_a_week_has_the_year_of_its_thursday(moment: datetime, label: str) -> None:
    assert Period.WEEK.label(Period.WEEK.start(moment)) == label


@pytest.mark.parametrize(
    "label",
    [
        "",
        "2014",
        "20140732",
        "20140229",
        "2014W00",
        "2014W54",
        "201400",
        "201413",
        "2014073124",
        "٢٠١٤٠٧٣١",
        " 20140731",
    ],
)
def test_an_invalid_label_parses_to_none(label: str) -> None:
    assert [period.parse(label) for period in Period] == [None] * 4


def test_a_leap_day_and_the_53rd_week_parse_only_in_their_years() -> None:
    assert Period.DAY.parse("20120229") == datetime(2012, 2, 29, tzinfo=UTC)
    assert Period.WEEK.parse("2015W53") == Period.WEEK.parse("2015w53") == datetime(2015, 12, 28, tzinfo=UTC)
    assert Period.WEEK.parse("2014W53") is None


@pytest.mark.parametrize("period", Period)
def test_an_instant_in_the_last_period_is_rejected(period: Period) -> None:
    with pytest.raises(BadKey, match="years 1 to 9999"):
        period.start(datetime.max.replace(tzinfo=UTC))
    with pytest.raises(BadKey, match="years 1 to 9999"):
        period.start(datetime.min.replace(tzinfo=timezone(timedelta(hours=14))))
    with pytest.raises(BadKey, match="is not an instant"):
        period.start("2014-07-31")  # type: ignore[arg-type]
    assert period.start(Ticks.of(datetime(2014, 7, 31, 18, tzinfo=UTC))) <= datetime(2014, 7, 31, 18, tzinfo=UTC)


@pytest.mark.guide("G-215")
@given(PERIODS, MOMENTS, st.timedeltas(timedelta(microseconds=1), timedelta(days=400)))
def test_every_instant_of_an_expired_period_is_older_than_the_retention(
    period: Period, now: datetime, keep: timedelta
) -> None:
    first = Retention(period, keep).first_kept(now)
    if first > datetime(1, 1, 8, tzinfo=UTC) + keep:
        assert first <= now - keep < period.shifted(first, 1)


def test_a_retention_beyond_the_first_year_keeps_everything() -> None:
    now = datetime(2014, 7, 31, tzinfo=UTC)
    for keep in (None, 10**6, timedelta(days=10**6)):
        assert Retention(Period.DAY, keep).first_kept(now) == datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize("keep", [0, -1, timedelta(0), 1.5, True, "60"])
def test_an_invalid_retention_is_rejected(keep: Any) -> None:
    with pytest.raises(BadDesign):
        Retention(Period.DAY, keep)
