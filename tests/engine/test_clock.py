"""Virtual time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest

from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput
from tablepatterns_engine.clock import Clock

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)


def test_a_frozen_clock_moves_only_when_it_is_advanced() -> None:
    clock = Clock(NOON)
    assert clock.now() == clock.now() == Ticks.of(NOON)
    clock.advance(0.5)
    assert clock.now().datetime() == NOON + timedelta(seconds=0.5)
    clock.set(NOON - timedelta(days=1))
    assert clock.now().datetime() == NOON - timedelta(days=1)


def test_a_running_clock_is_within_a_second_of_the_systems() -> None:
    assert abs(Clock().now().datetime() - datetime.now(timezone.utc)) < timedelta(seconds=1)


def test_a_running_clock_continues_from_the_time_it_is_set_to() -> None:
    clock = Clock()
    clock.set(NOON)
    clock.advance(60)
    first = clock.now()
    assert timedelta(seconds=60) <= first.datetime() - NOON < timedelta(seconds=62)
    while clock.now() == first:
        pass


def test_sleeping_passes_time_without_taking_any() -> None:
    clock = Clock(NOON)
    clock.sleep(7 * 24 * 3600)
    assert clock.now().datetime() == NOON + timedelta(days=7)


def test_time_is_kept_to_100_nanoseconds() -> None:
    clock = Clock(NOON)
    clock.advance(0.000_000_1)
    assert clock.now().iso() == "2014-08-22T12:00:00.0000001Z"


@pytest.mark.parametrize("seconds", [-0.001, float("nan")])
def test_a_clock_does_not_advance_backwards(seconds: float) -> None:
    with pytest.raises(BadInput, match="zero seconds or more"):
        Clock(NOON).advance(seconds)


def test_a_moment_without_a_time_zone_is_rejected() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        Clock(datetime(2014, 8, 22))
    with pytest.raises(ValueError, match="no time zone"):
        Clock(NOON).set(datetime(2014, 8, 22))


def test_stamps_increase_even_when_the_clock_stands_or_goes_back() -> None:
    clock = Clock(NOON)
    first, second = clock.stamp(), clock.stamp()
    clock.set(NOON - timedelta(days=1))
    third = clock.stamp()
    clock.set(NOON + timedelta(days=1))
    fourth = clock.stamp()
    assert first < second < third < fourth == clock.now()


def test_threads_never_get_the_same_stamp() -> None:
    clock = Clock(NOON)
    with ThreadPoolExecutor(4) as pool:
        stamps = [*pool.map(lambda _: clock.stamp(), range(2000))]
    assert len(set(stamps)) == 2000
