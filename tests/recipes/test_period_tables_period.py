"""Periods: labels that are table names, sort as time does and read back, at every edge of the calendar."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import Ticks
from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.recipes.period_tables.period import Period, Retention

UTC = timezone.utc
MOMENTS = st.datetimes(datetime(1, 1, 8), datetime(9999, 11, 30), timezones=st.just(UTC))
PERIODS = st.sampled_from(Period)


@pytest.mark.guide("G-214")
@given(PERIODS, MOMENTS)
def test_a_label_reads_back_and_its_period_holds_the_moment(period: Period, moment: datetime) -> None:
    start = period.start(moment)
    assert start <= moment < period.shifted(start, 1)
    assert period.read(period.label(start)) == start == period.start(start)
    assert re.fullmatch("[0-9]{4}[0-9W][0-9]{1,5}", period.label(start))


@pytest.mark.guide("G-214")
@given(PERIODS, MOMENTS, MOMENTS)
def test_labels_sort_as_their_periods_do_and_no_two_share_one(period: Period, one: datetime, other: datetime) -> None:
    starts, labels = zip(*[(start, period.label(start)) for start in map(period.start, (one, other))], strict=True)
    assert (starts[0] < starts[1], starts[0] == starts[1]) == (labels[0] < labels[1], labels[0] == labels[1])


@given(PERIODS, PERIODS, MOMENTS)
def test_no_label_is_one_of_another_kind(period: Period, other: Period, moment: datetime) -> None:
    label = period.label(period.start(moment))
    assert (other.read(label) is None) == (period is not other)


@given(PERIODS, MOMENTS, st.integers(-500, 500))
def test_periods_are_counted_forth_and_back(period: Period, moment: datetime, count: int) -> None:
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
def test_what_is_no_label_is_none(label: str) -> None:
    assert [period.read(label) for period in Period] == [None] * 4


def test_a_leap_day_and_the_53rd_week_are_labels_where_they_are() -> None:
    assert Period.DAY.read("20120229") == datetime(2012, 2, 29, tzinfo=UTC)
    assert Period.WEEK.read("2015W53") == Period.WEEK.read("2015w53") == datetime(2015, 12, 28, tzinfo=UTC)
    assert Period.WEEK.read("2014W53") is None


@pytest.mark.parametrize("period", Period)
def test_a_moment_at_the_end_of_time_is_refused(period: Period) -> None:
    with pytest.raises(BadKey, match="years 1 to 9999"):
        period.start(datetime.max.replace(tzinfo=UTC))
    with pytest.raises(BadKey, match="years 1 to 9999"):
        period.start(datetime.min.replace(tzinfo=timezone(timedelta(hours=14))))
    with pytest.raises(BadKey, match="no instant"):
        period.start("2014-07-31")  # type: ignore[arg-type]
    assert period.start(Ticks.of(datetime(2014, 7, 31, 18, tzinfo=UTC))) <= datetime(2014, 7, 31, 18, tzinfo=UTC)


@pytest.mark.guide("G-215")
@given(PERIODS, MOMENTS, st.timedeltas(timedelta(microseconds=1), timedelta(days=400)))
def test_what_has_expired_is_older_as_a_whole_and_what_is_kept_is_not(
    period: Period, now: datetime, keep: timedelta
) -> None:
    first = Retention(period, keep).first_kept(now)
    if first > datetime(1, 1, 8, tzinfo=UTC) + keep:
        assert first <= now - keep < period.shifted(first, 1)


def test_more_is_kept_than_there_is_time() -> None:
    now = datetime(2014, 7, 31, tzinfo=UTC)
    for keep in (None, 10**6, timedelta(days=10**6)):
        assert Retention(Period.DAY, keep).first_kept(now) == datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize("keep", [0, -1, timedelta(0), 1.5, True, "60"])
def test_to_keep_nothing_or_no_number_of_periods_is_refused(keep: Any) -> None:
    with pytest.raises(BadDesign):
        Retention(Period.DAY, keep)
