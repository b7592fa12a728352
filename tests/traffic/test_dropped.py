"""Requests beyond `max_requests`: sums and assertions count them, and what would be too low without them is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from hypothesis import given
from hypothesis import strategies as st

import tablepatterns.aio
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


def search(employees: EntitySet[Any], number: int) -> None:
    list(employees.query((prop("PartitionKey") == "d1") & (prop("Age") == number), allow=QueryClass.TABLE_SCAN))


def conflict(employees: EntitySet[Any], number: int) -> None:
    table = employees.account.tables  # type: ignore[attr-defined]
    with pytest.raises(HttpResponseError):
        table.create_table("Staff")


CALLS: tuple[Callable[[EntitySet[Any], int], None], ...] = (insert, scan, search, conflict)


@given(st.lists(st.sampled_from(CALLS), max_size=12), st.integers(1, 14))
def test_sums_and_assertions_are_those_of_all_requests(calls: list[Any], max_requests: int) -> None:
    with connect() as storage:
        employees = staff(storage)
        with Traffic(storage) as everything, Traffic(storage, max_requests=max_requests) as newest:
            for number, call in enumerate(calls):
                call(employees, number)
        assert newest.dropped == max(0, len(everything.requests) - max_requests)
        assert newest.requests == everything.requests[-max_requests:]
        assert newest.overall == everything.overall
        assert newest.by_site() == everything.by_site()
        for allow in (QueryClass.POINT, QueryClass.RANGE, QueryClass.PARTITION_SCAN):
            assert fails(newest.assert_no_scans, allow) == fails(everything.assert_no_scans, allow)
        for limit in (everything.overall.transactions, everything.overall.transactions - 1):
            assert fails(newest.assert_transactions, at_most=limit) == fails(
                everything.assert_transactions, at_most=limit
            )


def fails(assertion: Callable[..., None], *args: Any, **kwargs: Any) -> bool:
    try:
        assertion(*args, **kwargs)
    except AssertionError:
        return True
    return False


def test_a_scan_that_was_dropped_fails_with_its_class_and_what_to_do() -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, max_requests=100) as traffic:
        scan(employees, 1)
        for number in range(150):
            insert(employees, number)
    with pytest.raises(AssertionError) as failure:
        traffic.assert_no_scans()
    assert "1 x table scan" in str(failure.value)
    assert "51 requests dropped; raise max_requests" in str(failure.value)
    with pytest.raises(AssertionError) as failure:
        traffic.assert_transactions(at_most=120)
    assert str(failure.value).startswith("151 storage transactions, but at most 120 allowed:")
    assert "51 transactions" in str(failure.value)
    traffic.assert_transactions(at_most=151)


def test_reports_say_what_was_dropped() -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, max_requests=2) as traffic:
        for number in range(5):
            insert(employees, number)
    assert "5 requests, 5 storage transactions billed; 3 dropped" in str(traffic)
    assert repr(traffic) == "<Traffic 5 requests, 3 dropped>"


@pytest.mark.parametrize(
    "figures",
    [Traffic.by_partition, Traffic.partition_loads],
    ids=lambda function: function.__name__,
)
def test_figures_that_would_be_too_low_are_refused(figures: Callable[[Traffic], Any]) -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, max_requests=2) as traffic:
        insert(employees, 1)
        insert(employees, 2)
    assert traffic.by_partition()
    with traffic:
        insert(employees, 3)
    with pytest.raises(BadInput, match="1 requests were dropped"):
        figures(traffic)


async def test_requests_that_end_after_they_were_dropped_are_counted() -> None:
    storage = tablepatterns.aio.connect()
    employees = EntitySet(storage, "Staff", STAFF)
    await employees.create_table()
    with Traffic(storage, max_requests=1) as traffic:
        await asyncio.gather(*(employees.insert({"Department": "Sales", "EmployeeId": number}) for number in range(20)))
    assert traffic.overall.transactions == traffic.overall.requests == 20
    assert traffic.overall.lost == 0


def test_threads_drop_no_sums() -> None:
    storage = connect()
    employees = staff(storage)
    with Traffic(storage, everywhere=True, max_requests=3) as traffic, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: insert(employees, number), range(200)))
    assert traffic.overall.requests == traffic.dropped + 3 == 200


def test_lost_requests_are_counted_once_they_are_dropped() -> None:
    engine = Engine()
    storage = connect(engine, retry_total=0)
    employees = staff(storage)
    with engine.faults.lose_response(operation="QueryEntity"), Traffic(storage, max_requests=1) as traffic:
        for number in range(3):
            with pytest.raises(Exception):  # noqa: B017, PT011 - whichever the SDK raises
                employees.get(Department="Sales", EmployeeId=number)
    assert traffic.overall.lost == traffic.overall.requests > 2


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
