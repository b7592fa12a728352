"""What the review says of a blob log, beside what `Traffic` measures while real writers log for hours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from heapq import merge

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import BlobLog, Storage, connect
from tablepatterns.traffic import Traffic
from tablepatterns_engine import Clock, Engine
from tablepatterns_review import DeclaredLog, Design, LogRead, LogWrite
from tablepatterns_review.kinds.log import line_bytes, log_of, pace_of
from tablepatterns_review.measure.measure import measure
from tablepatterns_review.model import Measured

BEGIN = datetime(2014, 8, 22, 9, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
SLOW = DeclaredLog(
    name="Log",
    container="log",
    size=60,
    retention_days=2,
    flush_seconds=90.0,
    ahead_seconds=240.0,
    writes=(LogWrite("entry", 0.0971, writers=2),),
)
CASES = {
    "by age": SLOW,
    "by age, faster": replace(SLOW, writes=(LogWrite("entry", 0.4, writers=2),)),
    "by count": replace(SLOW, flush_count=20, flush_seconds=600.0),
    "by bytes": replace(SLOW, flush_bytes=2_000, flush_seconds=600.0),
    "written through": replace(SLOW, write_through=True),
    "one writer": replace(SLOW, writes=(LogWrite("entry", 0.0971),)),
    "exact metadata": replace(SLOW, ahead_seconds=0.0),
    "full by blocks": replace(SLOW, blob_blocks=7),
    "full by bytes": replace(SLOW, blob_bytes=30_000),
    "less than one an hour": replace(SLOW, writes=(LogWrite("entry", 1 / 7_200),)),
    "flushed less than once an hour": replace(
        SLOW, flush_seconds=9_000.0, writes=(LogWrite("entry", 1 / 600, writers=2),)
    ),
    "two kinds of writers": replace(SLOW, writes=(LogWrite("often", 0.0971, writers=2), LogWrite("seldom", 0.01))),
    "large entries": replace(SLOW, size=150_000, writes=(LogWrite("entry", 0.05, writers=2),)),
}


@dataclass(frozen=True)
class Written:
    """A log that writers have filled.

    :param requests: of each kind that the writers sent, per entry
    """

    storage: Storage
    log: BlobLog[Storage]
    requests: float
    transactions: float
    price: float
    entries: int


@lru_cache
def written(declared: DeclaredLog, hours: float) -> Written:
    """Let the writers of a log write for some hours, each entry when it is due."""
    clock = Clock(BEGIN)
    storage = connect(Engine(clock=clock))
    storage.blobs.create_container(declared.container)
    logs, due = list[BlobLog[Storage]](), list[Iterator[tuple[timedelta, BlobLog[Storage]]]]()
    for write in declared.writes:
        for number in range(write.writers):
            logs.append(log_of(storage, declared))
            due.append(entries(logs[-1], write.rate / write.writers, number / write.writers, hours))
    count, last = 0, timedelta()
    with Traffic(storage) as traffic:
        for at, log in merge(*due, key=lambda each: each[0]):
            clock.advance((at - last).total_seconds())
            last = at
            log.append("INFO", "x" * declared.size)
            count += 1
        for log in logs:
            log.flush()
    cost = traffic.overall.cost
    return Written(storage, log_of(storage, declared), traffic.overall.requests, cost.transactions, cost.price(), count)


def entries(
    log: BlobLog[Storage], rate: float, phase: float, hours: float
) -> Iterator[tuple[timedelta, BlobLog[Storage]]]:
    count = int(hours * 3_600 * rate)
    for number in range(count):
        yield timedelta(seconds=(number + 0.3 + 0.6 * phase) / rate), log


def of_entry(declared: DeclaredLog) -> list[Measured]:
    return [each for each in measure(Design("Logs", (), logs=(declared,))) if each.kind == "insert"]


def per_entry(declared: DeclaredLog) -> Sequence[float]:
    """Return the requests, transactions and price of an entry, of all writers."""
    figures = [(each.rate, each.requests, each.transactions, each.cost.price()) for each in of_entry(declared)]
    return [sum(each[0] * each[at] for each in figures) / declared.rate for at in (1, 2, 3)]


ONLY_AT_NIGHT = {"by age, faster", "full by bytes"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in ONLY_AT_NIGHT else ()) for name in CASES]
)
def test_what_an_entry_costs_is_what_writers_pay(name: str) -> None:
    declared = CASES[name]
    hours = 3.0 if declared.rate * 3_600 > 50 else 60.0
    real = written(declared, hours)
    requests, transactions, price = per_entry(declared)
    assert requests == pytest.approx(real.requests / real.entries, rel=0.05)
    assert transactions == pytest.approx(real.transactions / real.entries, rel=0.05)
    assert price == pytest.approx(real.price / real.entries, rel=0.05)


READ = {
    "one blob an hour": (SLOW, 4.0),
    "several writers": (replace(SLOW, writes=(LogWrite("entry", 0.0971, writers=5),)), 4.0),
    "several blobs an hour": (replace(SLOW, blob_blocks=6), 4.0),
    "several pieces of a blob": (
        replace(SLOW, size=150_000, flush_bytes=1_000_000, writes=(LogWrite("entry", 0.0313),)),
        4.0,
    ),
    "an hour without entries": (replace(SLOW, writes=(LogWrite("entry", 1 / 7_200),)), 40.0),
}


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        # Entries of five writers are merged as those of two
        pytest.param(
            name, seconds, marks=[] if (number + at) % 2 and name != "several writers" else pytest.mark.nightly
        )
        for number, name in enumerate(READ)
        for at, seconds in enumerate((600.0, 5_400.0))
    ],
)
def test_what_a_read_takes_is_what_between_sends(name: str, seconds: float) -> None:
    declared, hours = READ[name]
    real = written(declared, hours)
    declared = replace(declared, reads=(LogRead("entries", seconds=seconds),))
    count = 12 if hours < 10 else 60
    at = [BEGIN + HOUR + (hours - 3) * HOUR * (number + 0.5) / count for number in range(count)]
    with Traffic(real.storage) as traffic:
        for begin in at:
            list(real.log.between(begin, begin + timedelta(seconds=seconds)))
    found = next(each for each in measure(Design("Logs", (), logs=(declared,))) if each.kind == "query")
    assert found.requests == pytest.approx(traffic.overall.requests / len(at), rel=0.08)
    assert found.cost.price() == pytest.approx(traffic.overall.cost.price() / len(at), rel=0.08)
    assert found.bytes_out == pytest.approx(traffic.overall.bytes_out / len(at), rel=0.15)


def test_the_deletes_of_a_day_are_those_of_drop_before() -> None:
    declared = replace(SLOW, writes=(LogWrite("entry", 0.003, writers=2),), retention_days=1)
    real = written(declared, 26.0)
    with Traffic(real.storage) as traffic:
        deleted = real.log.drop_before(BEGIN + 24 * HOUR)
    found = next(each for each in measure(Design("Logs", (), logs=(declared,))) if each.is_implied)
    assert deleted == 48
    assert (found.requests, found.blob_deletes) == (traffic.overall.requests, traffic.overall.cost.blob_delete)
    assert found.rate == 1 / 86_400


@settings(examples(5))
@given(
    rate=st.floats(0.004, 0.02),
    writers=st.integers(1, 3),
    count=st.integers(1, 12),
    age=st.floats(0, 900),
    ahead=st.floats(0, 4_000),
    blocks=st.integers(1, 40),
    write_through=st.booleans(),
)
@example(rate=0.05, writers=1, count=12, age=900.0, ahead=0.0, blocks=1, write_through=False)
def test_entries_of_any_log_cost_what_writers_pay(
    rate: float, writers: int, count: int, age: float, ahead: float, blocks: int, write_through: bool
) -> None:
    declared = replace(
        SLOW,
        flush_count=count,
        flush_seconds=age,
        ahead_seconds=ahead,
        blob_blocks=blocks,
        write_through=write_through,
        writes=(LogWrite("entry", rate * writers, writers=writers),),
    )
    real = written(declared, 3.0)
    # Of a few hours, how flushes and hours meet is not yet even
    assert per_entry(declared)[0] == pytest.approx(real.requests / real.entries, rel=0.2)
    pace = pace_of(declared, declared.writes[0])
    assert pace.buffered <= count
    assert pace.blobs <= pace.blocks
    assert line_bytes(declared) > declared.size
