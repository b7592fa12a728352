"""Instants of 100 nanoseconds: how they are written and read."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns.edm import Ticks

INSTANTS = st.integers(0, Ticks.MAX).map(Ticks)


@given(INSTANTS)
def test_an_instant_is_written_as_a_datetime_is_with_up_to_seven_digits(instant: Ticks) -> None:
    seconds, fraction = divmod(int(instant), 10_000_000)
    written = Ticks(seconds * 10_000_000).datetime().isoformat().removesuffix("+00:00")
    digits = f".{fraction:07d}".rstrip("0") if fraction else ""
    assert instant.iso() == f"{written}{digits}Z"


@given(INSTANTS)
def test_an_instant_reads_back_as_itself(instant: Ticks) -> None:
    assert Ticks.parse(instant.iso()) == instant


@given(st.datetimes(timezones=st.timezones()))
def test_an_instant_of_any_zone_is_read_as_python_reads_it(moment: datetime) -> None:
    offset = moment.utcoffset()
    if offset is None or offset.total_seconds() % 60 or not 1 < moment.year < 9999:
        return
    assert Ticks.parse(moment.isoformat()) == Ticks.of(moment.astimezone(timezone.utc))


@pytest.mark.parametrize("clock", ["24:00", "23:60", "23:59:60", "2:00", "02:00:00.", "02:00:00Z0"])
def test_a_time_that_no_clock_shows_is_rejected(clock: str) -> None:
    with pytest.raises(ValueError, match="is not an ISO 8601 instant"):
        Ticks.parse(f"2014-08-22T{clock}")


@pytest.mark.parametrize("day", ["2014-02-29", "2014-13-01", "0000-01-01"])
def test_a_day_that_no_calendar_has_is_rejected(day: str) -> None:
    with pytest.raises(ValueError, match=r"day|month|year"):
        Ticks.parse(f"{day}T00:00:00Z")
