"""The ledger: requests, costs, and complete totals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tablepatterns.edm import Ticks
from tablepatterns_engine.ledger import Ledger, Record, Totals


def record(operation: str = "GetEntity", query_class: str | None = None, error: str | None = None) -> Record:
    return Record(
        service="table",
        operation=operation,
        table="People",
        partition="Sales",
        query_class=query_class,
        examined=3,
        returned=2,
        bytes_in=10,
        bytes_out=20,
        status=200 if error is None else 404,
        error=error,
        billable=1,
        moment=Ticks(0),
    )


def test_records_are_kept_in_order_and_counted() -> None:
    ledger = Ledger()
    records = [record(), record("QueryEntities", "range query"), record(error="ResourceNotFound")]
    for each in records:
        ledger.add(each)
    assert list(ledger.records) == records
    assert ledger.totals == Totals(
        requests=3,
        billable=3,
        examined=9,
        returned=6,
        bytes_in=30,
        bytes_out=60,
        errors=1,
        by_operation={"GetEntity": 2, "QueryEntities": 1},
        by_query_class={"range query": 1},
    )


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_old_records_are_dropped_and_still_counted(keep: int) -> None:
    ledger = Ledger(keep=keep)
    for operation in "abc":
        ledger.add(record(operation))
    assert [each.operation for each in ledger.records] == list("abc")[3 - keep :]
    ledger.records.clear()
    assert ledger.totals.requests == 3


def test_a_span_holds_what_was_added_within_it_and_spans_nest() -> None:
    ledger = Ledger(keep=1)
    ledger.add(record("before"))
    with ledger.span() as outer:
        ledger.add(record("one"))
        with ledger.span() as inner:
            ledger.add(record("two"))
        ledger.add(record("three"))
    ledger.add(record("after"))
    assert [each.operation for each in outer.records] == ["one", "two", "three"]
    assert [each.operation for each in inner.records] == ["two"]
    assert (outer.totals.requests, outer.totals.examined) == (3, 9)


def test_a_span_ends_with_its_block_even_when_the_block_fails() -> None:
    ledger = Ledger()
    with pytest.raises(ZeroDivisionError), ledger.span() as span:
        raise ZeroDivisionError
    ledger.add(record())
    assert span.records == []


def test_clearing_starts_the_count_again_and_leaves_open_spans_alone() -> None:
    ledger = Ledger()
    with ledger.span() as span:
        ledger.add(record())
        ledger.clear()
        ledger.add(record())
    assert (len(ledger.records), ledger.totals.requests, len(span.records)) == (1, 1, 2)


def test_totals_that_were_looked_at_do_not_grow() -> None:
    ledger = Ledger()
    ledger.add(record())
    before = ledger.totals
    ledger.add(record())
    assert (before.requests, before.by_operation) == (1, {"GetEntity": 1})


def test_threads_lose_no_count() -> None:
    ledger = Ledger(keep=10)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(2000):
            pool.submit(ledger.add, record())
    assert (ledger.totals.requests, ledger.totals.by_operation["GetEntity"], len(ledger.records)) == (2000, 2000, 10)
