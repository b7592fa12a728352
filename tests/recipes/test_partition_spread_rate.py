"""Partition spread supports write rates that throttle a single partition, and `Traffic` shows which one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import EntitySet, Key, PartitionSpread, Ticks, Traffic
from tablepatterns.recipes.partition_spread.partition_spread import Buckets
from tablepatterns_engine import Targets
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock

HOUR = datetime(2014, 7, 31, 18, tzinfo=timezone.utc)
BY_HOUR = Key("{Hour:%Y-%m-%dT%H}", "{EventId:06d}")
BY_EMPLOYEE = Key("{Department}_{EmployeeId:06d}", "{Hour:%Y-%m-%dT%H}_{EventId:06d}")
TARGET = 20


@pytest.fixture
def engine() -> Engine:
    """An account whose clock stands still, with partitions that take 20 entities per second."""
    return Engine(clock=Clock(HOUR), targets=Targets(partition=TARGET))


def events(count: int) -> list[dict[str, Any]]:
    """Return events of one hour, of as many employees."""
    staff = ({"Department": "Sales", "EmployeeId": number} for number in range(count))
    return [{"Hour": HOUR, "EventId": number, **who} for number, who in enumerate(staff)]


@pytest.mark.guide("G-106")
async def test_the_hour_as_partition_key_is_throttled(storage: Any, engine: Engine, table_name: str) -> None:
    log = EntitySet(storage, table_name, BY_HOUR)
    await log.create_table()
    with Traffic(storage) as traffic, engine.ledger.span() as span:
        for each in events(100):
            await log.insert(each)
    loads = traffic.partition_loads(1)
    assert {load.place for load in loads} == {f"table/{table_name}/2014-07-31T18"}
    assert sum(load.throttled for load in loads) == sum(record.status == 503 for record in span.records) > 0
    assert engine.clock.now().datetime() >= HOUR + timedelta(seconds=(100 - TARGET) / TARGET)


@pytest.mark.guide("G-106", "G-253")
@pytest.mark.parametrize("remedy", ["spread", "compound key"])
async def test_spread_writes_are_not_throttled(storage: Any, engine: Engine, table_name: str, remedy: str) -> None:
    log: Any = EntitySet(storage, table_name, BY_EMPLOYEE)
    if remedy == "spread":
        log = PartitionSpread(storage, table_name, BY_HOUR, buckets=32)
    with Traffic(storage) as traffic, engine.ledger.span() as span:
        for each in events(100):
            await log.insert(each)
    assert [record for record in span.records if record.status == 503] == []
    loads = traffic.partition_loads(1)
    assert len(loads) > 20
    assert max(load.requests for load in loads) < TARGET / 2
    assert engine.clock.now().datetime() == HOUR


# -- which bucket


@given(st.integers(1, 200), st.text(min_size=1).filter(lambda text: text.isalnum()))
def test_the_bucket_follows_from_the_key_alone(count: int, name: str) -> None:
    buckets = Buckets(Key("{Day:%Y-%m-%d}", "{Name}_{EventId:06d}"), count, ["Name", "EventId"])
    number = buckets.of({"Name": name, "EventId": 7})
    assert 0 <= number < count
    assert number == buckets.of({"EventId": 7, "Name": name, "Other": 1})


def test_the_same_instant_is_in_the_same_bucket_whatever_its_zone() -> None:
    buckets = Buckets(Key("log", "{At:ticks}"), 1000, ["At"])
    east = HOUR.astimezone(timezone(timedelta(hours=5)))
    assert buckets.of({"At": HOUR}) == buckets.of({"At": east}) == buckets.of({"At": Ticks.of(HOUR)})


def test_buckets_fill_evenly_whatever_the_pattern_of_the_keys() -> None:
    for step in (1, 16, 1000):
        buckets = Buckets(Key("log", "{EventId:012d}"), 16, ["EventId"])
        filled = [buckets.of({"EventId": number * step}) for number in range(4000)]
        assert {filled.count(number) > 180 for number in range(16)} == {True}


def test_the_number_of_a_bucket_never_changes() -> None:
    # As `printf 'web\0000635424264000000000\000%06d' "$number" | sha256sum` says
    buckets = Buckets(Key("{Service}", "{At:ticks}_{EventId:06d}"), 16, ["Service", "At", "EventId"])
    assert [buckets.of({"Service": "web", "At": HOUR, "EventId": number}) for number in range(8)] == [
        9,
        0,
        15,
        12,
        13,
        2,
        10,
        11,
    ]
