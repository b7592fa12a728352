"""Throttling: compare the simulation with an in-memory account that enforces targets."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from azure.core.exceptions import HttpResponseError
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import connect
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.faults import RequestInfo
from tablepatterns_engine.targets import Targets
from tablepatterns_review.capacity.hot_partitions import seconds_until_over, throttled_share

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)
INSERT = RequestInfo("table", "InsertEntity", "Log", "hot")


def arrivals(rates: list[int], step: int) -> list[timedelta]:
    """Return the instants of so many requests in each second, at even distances, step by step."""
    return [
        timedelta(seconds=number * step + second + request / rate)
        for number, rate in enumerate(rates)
        for second in range(step)
        for request in range(rate)
    ]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(5, 30), st.integers(5, 20), st.integers(1, 5))
def test_the_share_is_that_of_the_engine_on_the_same_arrivals(
    rates: list[int], target: int, step: int, work: int
) -> None:
    clock = Clock(NOON)
    targets = Targets(partition=target)
    moments = arrivals(rates, step)
    refused = 0
    for moment in moments:
        clock.set(NOON + moment)
        if targets.admit(INSERT, clock) is None:
            targets.count_entities(INSERT, clock, work)
        else:
            refused += 1
    simulated = throttled_share([float(rate * work) for rate in rates], float(target), float(step))
    # Whole requests against work that flows: a request or two at each change of the rate
    assert refused / len(moments) == pytest.approx(simulated, abs=(2 * len(rates) + target / work) / len(moments))


def test_requests_to_an_account_in_memory_are_rejected_in_that_share() -> None:
    engine = Engine(clock=Clock(NOON), targets=Targets(partition=10))
    table = connect(engine, retry_total=0).tables.create_table("Log")
    rates, step = [5, 25, 8, 15], 20
    for number, moment in enumerate(arrivals(rates, step)):
        engine.clock.set(NOON + moment)
        with suppress(HttpResponseError):
            table.create_entity({"PartitionKey": "2014-08-22T12", "RowKey": f"{number:05d}"})
    refused = sum(record.status == 503 for record in engine.ledger.records)
    simulated = throttled_share([float(rate) for rate in rates], target=10.0, step=float(step))
    assert refused == pytest.approx(simulated * sum(rates) * step, abs=4)
    assert refused > 300


@given(st.lists(st.floats(0, 2000), min_size=1))
def test_nothing_is_rejected_that_is_below_the_target(rates: list[float]) -> None:
    assert throttled_share(rates, 2000.0, 300.0) == 0
    assert seconds_until_over(rates, 2000.0, 300.0) is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.integers(0, 19), st.floats(0, 1e6))
def test_more_work_is_never_rejected_less(rates: list[float], at: int, more: float) -> None:
    raised = [rate + (more if number == at else 0) for number, rate in enumerate(rates)]
    before, after = (throttled_share(each, 2000.0, 300.0) * sum(each) for each in (rates, raised))
    assert after >= before - 1e-6 * max(1.0, sum(raised))


def test_a_burst_of_one_second_passes_and_what_a_quiet_time_saves_is_no_more() -> None:
    assert throttled_share([2100.0], target=2000.0, step=20.0) == 0
    assert throttled_share([0.0, 0.0, 2100.0, 0.0], target=2000.0, step=20.0) == 0
    assert throttled_share([0.0, 0.0, 2101.0, 0.0], target=2000.0, step=20.0) == pytest.approx(20 / (2101 * 20))


def test_the_date_when_the_target_is_first_exceeded_is_reported() -> None:
    assert seconds_until_over([1.0, 2000.0, 2001.0, 1.0], target=2000.0, step=300.0) == 600.0
