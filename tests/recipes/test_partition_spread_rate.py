"""Partition spread supports write rates that throttle a single partition, and how that is detected."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import EntitySet, Key, PartitionSpread, Ticks, anti_pattern, hot_partitions
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


@pytest.mark.guide("G-250", "G-106")
async def test_the_hour_as_partition_key_is_throttled(storage: Any, engine: Engine, table_name: str) -> None:
    log = EntitySet(storage, table_name, BY_HOUR)
    await log.create_table()
    with engine.ledger.span() as span:
        for each in events(100):
            await log.insert(each)
    (hot,) = hot_partitions(span.records, target=TARGET)
    assert (hot.partition, hot.share) == ("2014-07-31T18", 1)
    assert hot.throttled == sum(record.status == 503 for record in span.records) > 0
    assert engine.clock.now().datetime() >= HOUR + timedelta(seconds=(100 - TARGET) / TARGET)
    assert f"100% of the table's, {hot.throttled} requests throttled" in str(hot)


@pytest.mark.guide("G-253")
@pytest.mark.parametrize("remedy", ["spread", "compound key"])
async def test_spread_writes_are_not_throttled(storage: Any, engine: Engine, table_name: str, remedy: str) -> None:
    log: Any = EntitySet(storage, table_name, BY_EMPLOYEE)
    if remedy == "spread":
        log = PartitionSpread(storage, table_name, BY_HOUR, buckets=32)
    with engine.ledger.span() as span:
        for each in events(100):
            await log.insert(each)
    assert [record for record in span.records if record.status == 503] == []
    assert hot_partitions(span.records, target=TARGET) == []
    assert engine.clock.now().datetime() == HOUR


@pytest.mark.guide("G-106")
async def test_a_partition_is_hot_from_half_of_the_target_on(storage: Any, engine: Engine, table_name: str) -> None:
    log = EntitySet(storage, table_name, BY_HOUR)
    await log.create_table()
    with engine.ledger.span() as span:
        for each in events(TARGET // 2):
            assert hot_partitions(span.records, target=TARGET) == []
            await log.insert(each)
    (hot,) = hot_partitions(span.records, target=TARGET)
    assert (hot.peak, hot.throttled) == (TARGET // 2, 0)
    assert hot_partitions(span.records) == []
    engine.clock.advance(1)
    with engine.ledger.span() as span:
        assert len([each async for each in log.range(Hour=HOUR)]) == TARGET // 2
    assert [each.peak for each in hot_partitions(span.records, target=TARGET)] == [TARGET // 2]


async def test_work_of_several_seconds_is_not_added_up(storage: Any, engine: Engine, table_name: str) -> None:
    log = EntitySet(storage, table_name, BY_HOUR)
    await log.create_table()
    with engine.ledger.span() as span:
        for each in events(30):
            await log.insert(each)
            engine.clock.advance(0.25)
    assert hot_partitions(span.records, target=TARGET) == []
    assert [each.peak for each in hot_partitions(span.records, target=8)] == [4]


async def test_a_partition_that_was_rejected_anything_is_hot(storage: Any, engine: Engine, table_name: str) -> None:
    log = EntitySet(storage, table_name, BY_HOUR)
    await log.create_table()
    with engine.ledger.span() as span, engine.faults.busy(table=table_name, times=1):
        await log.insert(events(1)[0])
    assert [(each.peak, each.throttled) for each in hot_partitions(span.records)] == [(2, 1)]


# -- the design of a key


@pytest.mark.guide("G-250")
@pytest.mark.parametrize(
    ("partition", "row", "name", "end"),
    [
        ("{Hour:%Y-%m-%dT%H}", "{EventId:06d}", "prepend/append", "the last"),
        ("{At:ticks}", "{EventId:06d}", "prepend/append", "the last"),
        ("log_{At:inverted}", "{EventId:06d}", "prepend/append", "the first"),
        ("log", "{At:ticks}_{EventId:06d}", "prepend/append", "the last"),
        ("log", "{At:inverted}_{EventId:06d}", "prepend/append", "the first"),
        ("", "{Name}", "one partition", "all writes go to one partition"),
    ],
)
def test_a_key_of_time_alone_is_named_for_what_it_is(partition: str, row: str, name: str, end: str) -> None:
    found = anti_pattern(Key(partition, row))
    assert found
    assert found.name == name
    assert end in found.reason
    assert "PartitionSpread" in found.remedy


@pytest.mark.guide("G-250")
@pytest.mark.parametrize(
    ("partition", "row"),
    [
        ("{Department}_{EmployeeId:06d}", "{Hour:%Y-%m-%dT%H}_{EventId:06d}"),
        ("{Bucket:02d}_{Hour:%Y-%m-%dT%H}", "{EventId:06d}"),
        ("{Employee}", "{At:inverted}_{EntryId:uuid}"),
        ("{Day:%Y-%m-%d}_{Employee}", "{At:ticks}"),
    ],
)
def test_a_key_that_spreads_is_not_flagged(partition: str, row: str) -> None:
    assert anti_pattern(Key(partition, row)) is None


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
