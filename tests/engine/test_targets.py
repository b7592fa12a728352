"""Scalability targets: what is accepted and throttled in virtual time, and how the SDK sees it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from hypothesis import given
from hypothesis import strategies as st

from support.backends import awaited
from tablepatterns.errors import BadInput
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.faults import ACCOUNT_OVER_TARGET, PARTITION_OVER_TARGET, RequestInfo
from tablepatterns_engine.ledger import Span
from tablepatterns_engine.targets import Targets

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
INSERT = RequestInfo("table", "InsertEntity", "Log", "hot")


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON)


@pytest.fixture
def engine(clock: Clock) -> Engine:
    """An account with the documented targets and one empty table, Log; its time passes only in back-offs."""
    engine = Engine(clock=clock, targets=Targets())
    engine.tables.create("Log")
    return engine


def elapsed(engine: Engine) -> timedelta:
    return engine.clock.now().datetime() - NOON


def rejected(span: Span) -> int:
    return sum(record.status == 503 for record in span.records)


def admitted(targets: Targets, clock: Clock, requests: int, info: RequestInfo = INSERT) -> int:
    return sum(targets.admit(info, clock) is None for _ in range(requests))


def batch(partition: str, number: int) -> list[Any]:
    """Return a transaction that writes 100 entities."""
    return [("upsert", {"PartitionKey": partition, "RowKey": f"{number:03d}_{row:02d}"}) for row in range(100)]


# -- What a notebook shows


@pytest.mark.guide("G-107", "G-221")
async def test_a_hot_partition_is_throttled_and_the_same_load_spread_over_ten_is_not(
    storage: Any, engine: Engine
) -> None:
    table = awaited(storage.tables.get_table_client("Log"))
    with engine.ledger.span() as spread:
        for number in range(22):
            await table.submit_transaction(batch(f"P{number % 10}", number))
    assert (rejected(spread), elapsed(engine)) == (0, timedelta(0))
    with engine.ledger.span() as hot:
        for number in range(22):
            await table.submit_transaction(batch("hot", number))
    # The first 2,000 entities pass at once; the back-off of the SDK makes room for the others
    assert [record.status for record in hot.records] == [202] * 20 + [503, 503, 202, 202]
    assert [record.fault for record in hot.records if record.status == 503] == ["partition over its target"] * 2
    assert elapsed(engine) == timedelta(seconds=1.6)
    assert hot.totals.written == spread.totals.written == 2200


async def test_entities_sent_one_by_one_are_throttled_at_the_same_rate(storage: Any, engine: Engine) -> None:
    engine.targets = Targets(partition=20)
    table = awaited(storage.tables.get_table_client("Log"))
    with engine.ledger.span() as span:
        for row in range(20):
            await table.create_entity({"PartitionKey": "hot", "RowKey": str(row)})
    assert (rejected(span), elapsed(engine)) == (0, timedelta(0))
    with engine.ledger.span() as span:
        await table.create_entity({"PartitionKey": "hot", "RowKey": "20"})
    assert [record.status for record in span.records] == [503, 503, 201]


async def test_what_is_rejected_is_not_done_and_not_billed(backend: Any, engine: Engine) -> None:
    engine.targets = Targets(partition=1)
    table = awaited(backend.connect(engine, retry_total=0).tables.get_table_client("Log"))
    await table.create_entity({"PartitionKey": "hot", "RowKey": "1"})
    with pytest.raises(HttpResponseError, match="The server is busy"):
        await table.create_entity({"PartitionKey": "hot", "RowKey": "2"})
    record = engine.ledger.records[-1]
    assert (record.error, record.fault, record.billable) == ("ServerBusy", "partition over its target", 0)
    assert [entity.row_key for entity in engine.tables.query("Log").entities] == ["1"]


async def test_an_account_has_a_target_for_all_its_requests_together(backend: Any, engine: Engine) -> None:
    engine.targets = Targets(account=3)
    table = awaited(backend.connect(engine, retry_total=0).tables.get_table_client("Log"))
    for partition in "abc":
        await table.create_entity({"PartitionKey": partition, "RowKey": ""})
    with pytest.raises(HttpResponseError, match="Operations per second is over the account limit"):
        await table.create_entity({"PartitionKey": "d", "RowKey": ""})
    assert engine.ledger.records[-1].fault == "account over its target"


async def test_targets_are_off_unless_asked_for_and_can_be_taken_away(storage: Any, engine: Engine) -> None:
    assert Engine().targets is None
    engine.targets = Targets(partition=1)
    table = awaited(storage.tables.get_table_client("Log"))
    await table.create_entity({"PartitionKey": "hot", "RowKey": "1"})
    engine.targets = None
    await table.create_entity({"PartitionKey": "hot", "RowKey": "2"})
    assert elapsed(engine) == timedelta(0)


async def test_reads_count_what_they_examine_in_their_partition_and_scans_count_for_none(
    storage: Any, engine: Engine
) -> None:
    table = awaited(storage.tables.get_table_client("Log"))
    await table.submit_transaction(batch("hot", 0))
    await table.submit_transaction(batch("cold", 0))
    engine.targets = Targets(partition=150)

    async def statuses(*filters: str) -> list[int]:
        with engine.ledger.span() as span:
            for each in filters:
                assert [entity async for entity in table.query_entities(each)]
        return [record.status for record in span.records]

    assert await statuses("RowKey ge ''", "RowKey ge ''") == [200, 200]
    assert await statuses(*["PartitionKey eq 'hot'"] * 2) == [200, 200]
    # 200 of 150 were examined, which leaves nothing for a third
    assert (await statuses("PartitionKey eq 'hot'"))[0] == 503
    assert await statuses("PartitionKey eq 'cold'") == [200]


# -- The rates


def test_the_documented_target_of_a_partition_is_2000_entities_per_second(clock: Clock) -> None:
    targets = Targets()
    assert admitted(targets, clock, 2001) == 2000
    assert targets.admit(INSERT, clock) == PARTITION_OVER_TARGET
    assert targets.admit(INSERT._replace(partition="cold"), clock) is None
    assert targets.admit(INSERT._replace(name="Other"), clock) is None
    assert targets.admit(INSERT._replace(name="LOG"), clock) == PARTITION_OVER_TARGET


def test_the_documented_target_of_an_account_is_20000_requests_per_second(clock: Clock) -> None:
    targets = Targets()
    spread = [INSERT._replace(partition=str(number)) for number in range(20)]
    assert sum(admitted(targets, clock, 1000, info) for info in spread) == 20_000
    assert targets.admit(INSERT._replace(partition="new"), clock) == ACCOUNT_OVER_TARGET
    assert targets.admit(RequestInfo("blob", "GetBlob", "photos", None), clock) == ACCOUNT_OVER_TARGET


def test_a_queue_is_one_partition_of_2000_messages_per_second(clock: Clock) -> None:
    targets = Targets(partition=1)
    put = RequestInfo("queue", "PutMessage", "work", None)
    assert admitted(targets, clock, 2001, put) == 2000
    assert targets.admit(put._replace(operation="GetMessages"), clock) == PARTITION_OVER_TARGET
    assert targets.admit(put._replace(name="other"), clock) is None
    assert targets.admit(put._replace(operation="ListQueues", name=""), clock) is None


def test_time_brings_back_as_much_as_the_rate_and_never_more_than_a_second_of_it(clock: Clock) -> None:
    targets = Targets(partition=10)
    assert admitted(targets, clock, 11) == 10
    clock.advance(0.099)
    assert admitted(targets, clock, 1) == 0
    clock.advance(0.001)
    assert admitted(targets, clock, 2) == 1
    clock.advance(0.35)
    assert admitted(targets, clock, 10) == 3
    clock.advance(3600)
    assert admitted(targets, clock, 11) == 10


def test_a_request_may_draw_ahead_and_the_next_ones_wait_the_longer(clock: Clock) -> None:
    targets = Targets(partition=10)
    assert admitted(targets, clock, 10) == 10
    clock.advance(0.1)
    assert targets.admit(INSERT, clock) is None
    targets.count_entities(INSERT, clock, 100)
    clock.advance(9.9)
    assert admitted(targets, clock, 1) == 0
    clock.advance(0.1)
    assert admitted(targets, clock, 2) == 1


steps = st.tuples(st.sampled_from([0, 0.01, 0.1, 0.5, 2]), st.integers(1, 30))


@given(rate=st.sampled_from([0.5, 1, 3, 10, 2000]), steps=st.lists(steps, max_size=60))
def test_no_more_passes_than_the_rate_times_the_time_and_what_one_request_overdraws(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    clock, targets = Clock(NOON), Targets(partition=rate)
    passed = 0
    for pause, size in steps:
        clock.advance(pause)
        if targets.admit(INSERT, clock) is None:
            targets.count_entities(INSERT, clock, size)
            passed += size
    seconds = (clock.now().datetime() - NOON).total_seconds()
    assert passed < rate * (seconds + 1) + 30


@given(rate=st.sampled_from([1, 3, 10, 2000]), pauses=st.lists(st.floats(1, 5), max_size=30))
def test_a_client_below_the_target_is_never_throttled(rate: float, pauses: list[float]) -> None:
    clock, targets = Clock(NOON), Targets(partition=rate)
    for pause in pauses:
        assert targets.admit(INSERT, clock) is None
        clock.advance(pause / rate)


def test_a_target_can_be_left_out(clock: Clock) -> None:
    targets = Targets(partition=None, account=None)
    assert admitted(targets, clock, 30_000) == 30_000


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
@pytest.mark.parametrize("which", ["partition", "queue", "account"])
def test_a_rate_that_lets_nothing_pass_is_rejected(which: Any, rate: float) -> None:
    with pytest.raises(BadInput, match="above 0"):
        Targets(**{which: rate})


def test_a_clock_that_is_put_back_does_not_stop_the_account(clock: Clock) -> None:
    targets = Targets(partition=10)
    admitted(targets, clock, 10)
    clock.set(NOON - timedelta(days=1))
    assert admitted(targets, clock, 11) == 10


def test_many_partitions_do_not_make_a_busy_one_free(clock: Clock) -> None:
    targets = Targets(partition=2, account=None)
    assert admitted(targets, clock, 2) == 2
    for number in range(25_000):
        targets.admit(INSERT._replace(partition=str(number)), clock)
    assert admitted(targets, clock, 1) == 0


def test_partitions_that_are_idle_again_take_no_memory(clock: Clock) -> None:
    targets = Targets(account=None)
    for number in range(50_000):
        targets.admit(INSERT._replace(partition=str(number)), clock)
        clock.advance(0.001)
    assert len(targets._free) <= 10_001


def test_threads_together_get_no_more_than_the_target(clock: Clock) -> None:
    targets = Targets(partition=500)
    with ThreadPoolExecutor(4) as pool:
        met = list(pool.map(lambda _: targets.admit(INSERT, clock), range(2000)))
    assert met.count(None) == 500
