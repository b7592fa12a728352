"""Tests of the fleet: they run in memory, move the clock, and count requests."""

# -- imports
from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from fleet import Alarm, Fleet, Level

from tablepatterns import EntitySet, Key, Storage
from tablepatterns.testing import AccountTraffic
from tablepatterns_engine import Clock

MIDNIGHT = datetime(2026, 8, 22, tzinfo=timezone.utc)


# -- clock
@pytest.fixture
def azure_clock() -> Clock:
    return Clock(MIDNIGHT + timedelta(hours=6))


def test_a_chart_continues_across_midnight(azure_storage: Storage) -> None:
    fleet = Fleet(azure_storage)
    for number in range(-3, 3):
        fleet.read("oslo", 7, MIDNIGHT + timedelta(minutes=10 * number), 20.0 + number)
    chart = fleet.last_hours("oslo", 7, MIDNIGHT + timedelta(minutes=20), 1)
    assert chart == [17.0, 18.0, 19.0, 20.0, 21.0, 22.0]


# -- alarm
def test_a_reading_that_arrives_twice_raises_one_alarm(azure_storage: Storage) -> None:
    fleet = Fleet(azure_storage)
    for _ in range(2):
        fleet.read("oslo", 7, MIDNIGHT, 93.5)
    assert fleet.latest_alarms("oslo", MIDNIGHT, 9) == [Alarm("oslo", 7, MIDNIGHT, Level.CRITICAL, 93.5)]


# -- cost
def test_a_reading_is_one_request(azure_storage: Storage, azure_traffic: AccountTraffic) -> None:
    fleet = Fleet(azure_storage)
    fleet.read("oslo", 7, MIDNIGHT, 20.0)
    before = len(azure_traffic.requests)
    fleet.read("oslo", 7, MIDNIGHT + timedelta(minutes=10), 21.0)
    assert len(azure_traffic.requests) - before == 1


# -- retention
def test_readings_are_dropped_after_60_days(azure_storage: Storage, azure_clock: Clock) -> None:
    fleet = Fleet(azure_storage)
    fleet.read("oslo", 7, MIDNIGHT, 20.0)
    azure_clock.advance(60 * 86_400)
    assert fleet.readings.drop_expired() == []
    azure_clock.advance(2 * 86_400)
    assert fleet.readings.drop_expired() == ["Readings20260822"]


# -- hot
def test_heartbeats_have_no_hot_partition(azure_storage: Storage, azure_traffic: AccountTraffic) -> None:
    fleet = Fleet(azure_storage)
    by_day = EntitySet(azure_storage, "Naive", Key("{day:%Y-%m-%d}", "{at:ticks}_{device_id:06d}"))
    for device in range(400):
        fleet.beat(device, MIDNIGHT)
        by_day.insert({"day": MIDNIGHT.date(), "at": MIDNIGHT, "device_id": device})
    # A real partition takes 2,000 entities per second; the test sends less
    hot = [load.place for load in azure_traffic.partition_loads(1) if load.requests >= 150]
    assert hot == ["table/Naive/2026-08-22"]
