"""A fleet of devices: their data, a reading every ten minutes, and alarms."""

# -- imports
from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum

from tablepatterns import (
    BulkLoad,
    DataSeries,
    EntitySet,
    IntraPartitionIndex,
    Key,
    PartitionSpread,
    Period,
    PeriodTables,
    Storage,
    connect,
)


# -- models
class Level(Enum):
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass
class Device:
    site: str
    device_id: int
    product: str
    firmware: str
    installed: date


@dataclass
class Alarm:
    site: str
    device_id: int
    at: datetime
    level: Level
    celsius: float


# -- devices
BY_FIRMWARE = IntraPartitionIndex(Key("{site}", "firmware_{firmware}_{device_id:06d}"), name="by_firmware")
SLOTS = 24 * 6  # One for each ten minutes of a day
RETENTION = timedelta(days=60)


def devices_in(storage: Storage) -> EntitySet[Storage, Device]:
    key = Key("{site}", "device_{device_id:06d}")
    return EntitySet(storage, "Devices", key, model=Device, derived=[BY_FIRMWARE])


# -- readings
def readings_of_day(storage: Storage, table: str) -> DataSeries[Storage, float]:
    """Return the readings of one day: an entity for each device, with a property for each reading."""
    key = Key("{site}_{device_id:06d}", "celsius")
    return DataSeries(storage, table, key, SLOTS, prefix="T", value_type=float)


# -- alarms
def alarms_of_month(storage: Storage, table: str) -> EntitySet[Storage, Alarm]:
    """Return the alarms of one month."""
    return EntitySet(storage, table, Key("{site}", "{at:inverted}_{device_id:06d}"), model=Alarm)


# -- fleet
class Fleet:
    def __init__(self, storage: Storage) -> None:
        self.devices = devices_in(storage)
        self.readings = PeriodTables(storage, "Readings", Period.DAY, factory=readings_of_day, retention=RETENTION)
        self.alarms = PeriodTables(storage, "Alarms", Period.MONTH, factory=alarms_of_month, at="at", retention=12)
        self.seen = heartbeats_in(storage)

    # -- bulk
    def register(self, devices: Iterable[Device]) -> int:
        """Store many devices, up to 50 with their index rows in each transaction; return how many."""
        loaded = BulkLoad(self.devices).load(self.devices.entity_of(device) for device in devices)
        return loaded.entities

    # -- read
    def read(self, site: str, device_id: int, at: datetime, celsius: float) -> None:
        """Store a reading, with one request; raise an alarm above 80 degrees."""
        slot = (at.hour * 60 + at.minute) // 10
        self.readings.of(at).set(slot, celsius, site=site, device_id=device_id)
        if celsius > 80:
            level = Level.CRITICAL if celsius > 90 else Level.WARNING
            self.alarms.of(at).insert_or_replace(Alarm(site, device_id, at, level, celsius))

    def beat(self, device_id: int, at: datetime) -> None:
        """Note that a device is alive."""
        self.seen.insert({"day": at.date(), "at": at, "device_id": device_id})

    def last_hours(self, site: str, device_id: int, until: datetime, hours: int) -> list[float]:
        """Return the readings of some hours, also across midnight, oldest first."""
        found = self.readings.preceding(hours * 6, until, site=site, device_id=device_id)
        return [celsius for celsius in found if celsius is not None]

    def latest_alarms(self, site: str, now: datetime, count: int) -> list[Alarm]:
        """Return the newest alarms of this month."""
        return self.alarms.of(now).take(count, site=site)


# -- spread
def heartbeats_in(storage: Storage) -> PartitionSpread[Storage]:
    """Return the heartbeats of all devices, in order of time, over 4 partitions."""

    def made(account: Storage, table: str, key: Key) -> EntitySet[Storage]:
        return EntitySet(account, table, key)

    key = Key("{day:%Y-%m-%d}", "{at:ticks}_{device_id:06d}")
    return PartitionSpread(storage, "Heartbeats", key, buckets=4, factory=made)


# -- demo
NOON = datetime(2026, 8, 22, 12, tzinfo=timezone.utc)


def demo(fleet: Fleet, now: datetime) -> None:
    day = now.replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    count = fleet.register(
        Device(site, number, "pump", f"2.{number % 3}", date(2024, 1, 1))
        for site in ("oslo", "rome")
        for number in range(1000)
    )
    print(count, "devices")
    old = fleet.devices.range(BY_FIRMWARE, site="oslo", firmware="2.0")
    print(sum(1 for _ in old), "devices of oslo have the firmware 2.0")
    for minutes in range(0, 24 * 60, 10):
        fleet.read("oslo", 7, day + timedelta(minutes=minutes), 60.0 + minutes / 40)
    print(fleet.last_hours("oslo", 7, day + timedelta(hours=13), 1))
    for alarm in fleet.latest_alarms("oslo", day + timedelta(hours=23), 2):
        print(alarm.level.value, alarm.celsius)


# -- main
fleet = Fleet(connect(os.environ.get("STORAGE", "memory://fleet")))
devices, readings, alarms = fleet.devices, fleet.readings, fleet.alarms

if __name__ == "__main__":
    demo(fleet, datetime.now(timezone.utc))
