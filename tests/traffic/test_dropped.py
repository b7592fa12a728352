"""Requests beyond `max_requests`: what would be too low without them is refused; and assertions that could not fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tablepatterns import EntitySet, Key, QueryClass, Traffic, connect, prop
from tablepatterns.errors import BadInput
from tablepatterns.testing import AccountTraffic
from tablepatterns_engine import Engine

pytestmark = pytest.mark.both_sdks

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")


def staff(storage: Any) -> EntitySet[Any]:
    entities = EntitySet(storage, "Staff", STAFF)
    entities.create_table()
    return entities


def insert(employees: EntitySet[Any], number: int) -> None:
    employees.insert_or_replace({"Department": f"d{number % 3}", "EmployeeId": number})


def scan(employees: EntitySet[Any], number: int) -> None:
    list(employees.scan(prop("Age") == number))


def test_reports_say_what_was_dropped() -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, max_requests=2) as traffic:
        for number in range(5):
            insert(employees, number)
    assert "2 requests, 2 storage transactions billed; 3 older ones dropped" in str(traffic)
    assert repr(traffic) == "<Traffic 5 requests, 3 dropped>"


FIGURES: dict[str, Callable[[Traffic], object]] = {
    "overall": lambda traffic: traffic.overall,
    "by_site": Traffic.by_site,
    "by_partition": Traffic.by_partition,
    "partition_loads": Traffic.partition_loads,
    "assert_no_scans": Traffic.assert_no_scans,
    "assert_transactions": lambda traffic: traffic.assert_transactions(at_most=9),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_that_would_be_too_low_are_refused(name: str) -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, max_requests=2) as traffic:
        insert(employees, 1)
        insert(employees, 2)
    FIGURES[name](traffic)
    with traffic:
        scan(employees, 3)
    assert [request.operation for request in traffic.requests] == ["InsertOrReplaceEntity", "QueryEntities"]
    with pytest.raises(BadInput, match="1 requests were dropped"):
        FIGURES[name](traffic)


def test_threads_drop_what_is_too_much() -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, everywhere=True, max_requests=3) as traffic, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: insert(employees, number), range(200)))
    assert (len(traffic.requests), traffic.dropped) == (3, 197)


# ------------------------------------------------------------------ assertions that could not fail


def test_an_assertion_before_any_block_is_refused() -> None:
    storage = connect()
    traffic = Traffic(storage)
    staff(storage)
    for assertion in (traffic.assert_no_scans, lambda: traffic.assert_transactions(at_most=0)):
        with pytest.raises(BadInput, match="recorded no block"):
            assertion()
    with traffic:
        traffic.assert_no_scans()


def test_allowing_every_class_is_refused() -> None:
    storage = connect()
    with Traffic(storage) as traffic:
        staff(storage)
    with pytest.raises(BadInput, match="cannot fail"):
        traffic.assert_no_scans(allow=QueryClass.TABLE_SCAN)


def test_a_block_whose_requests_all_go_through_another_connection_fails() -> None:
    engine = Engine()
    here, there = connect(engine), connect(engine)
    employees = staff(there)
    with Traffic(here) as traffic:
        scan(employees, 1)
    with pytest.raises(AssertionError, match=r"none of the 1 requests .* was recorded"):
        traffic.assert_no_scans()
    with pytest.raises(AssertionError, match="everywhere=True"):
        traffic.assert_transactions(at_most=4)
    with Traffic(here, everywhere=True) as traffic:
        scan(employees, 1)
    with pytest.raises(AssertionError, match="table scan"):
        traffic.assert_no_scans()


def test_a_block_whose_requests_are_all_sent_by_another_thread_fails() -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage) as traffic:
        thread = threading.Thread(target=scan, args=(employees, 1))
        thread.start()
        thread.join()
    with pytest.raises(AssertionError, match="same task"):
        traffic.assert_no_scans()


def test_other_accounts_and_other_times_do_not_count() -> None:
    storage, other = connect(), connect()
    employees = staff(storage)
    with Traffic(other) as traffic:
        scan(employees, 1)
    traffic.assert_no_scans()
    with Traffic(storage) as traffic:
        pass
    scan(employees, 1)
    traffic.assert_no_scans()
    traffic.assert_transactions(at_most=0)


def test_the_traffic_of_an_account_needs_no_span() -> None:
    engine = Engine()
    storage = connect(engine)
    with AccountTraffic(engine) as traffic:
        staff(storage)
    assert traffic.totals.billable == traffic.overall.transactions == 1
    with AccountTraffic(engine) as traffic, engine.ledger.span(traffic):
        scan(staff(storage), 1)
    assert traffic.totals.requests == len(traffic.records) == traffic.overall.requests
    with pytest.raises(AssertionError, match="1 query is worse"):
        traffic.assert_no_scans()


def test_a_range_that_discards_most_of_its_rows_is_found_for_every_client() -> None:
    engine = Engine()
    employees = staff(connect(engine))
    for number in range(150):
        employees.insert({"Department": "Sales", "EmployeeId": number, "Age": number})
    client = connect(engine).tables.get_table_client("Staff")
    where = "PartitionKey eq 'Sales' and RowKey ge 'empid_' and RowKey lt 'empid`' and Age eq 7"
    with AccountTraffic(engine) as traffic:
        # A hook of the call's own, so that only the ledger sees it
        assert len(list(client.query_entities(where, raw_request_hook=lambda call: None))) == 1
    assert traffic.requests == []
    with pytest.raises(AssertionError, match="1 x partition scan without a line"):
        traffic.assert_no_scans()
