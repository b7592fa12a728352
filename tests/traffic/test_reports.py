"""Reports: by line, by partition, partitions over time; for people and for pandas."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone
from typing import Any

import pandas  # type: ignore[import-untyped]
import pytest
from rich.console import Console

import tablepatterns
from tablepatterns import EntitySet, Key, QueryClass, Traffic, prop
from tablepatterns.cost import Cost
from tablepatterns.errors import BadInput
from tablepatterns.traffic import PartitionLoad
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock

START = datetime(2014, 8, 22, tzinfo=timezone.utc)


def recorded() -> Traffic:
    """Two minutes of traffic: a hot partition, and a scan."""
    engine = Engine(clock=Clock(START))
    storage = tablepatterns.connect(engine)
    employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    employees.create_table()
    with Traffic(storage) as traffic:
        for number in range(5):
            employees.insert({"Department": "Sales", "EmployeeId": number})
        engine.clock.advance(61)
        with engine.faults.busy(times=1):
            employees.insert({"Department": "Sales", "EmployeeId": 9})
        employees.insert({"Department": "Law", "EmployeeId": 9})
        list(employees.query(prop("Age") > 3, allow=QueryClass.TABLE_SCAN))
    return traffic


def test_sums_by_line_begin_with_the_line_that_costs_most() -> None:
    tallies = recorded().by_site()
    found = [(site.function if site else "", tally.transactions, tally.scans) for site, tally in tallies.items()]
    assert found == [("recorded", 5, 0), ("recorded", 1, 0), ("recorded", 1, 0), ("recorded", 1, 1)]
    assert len({site.line for site in tallies if site}) == 4


def test_sums_by_partition_add_up_to_the_whole() -> None:
    traffic = recorded()
    by_partition = traffic.by_partition()
    assert {place: tally.requests for place, tally in by_partition.items()} == {
        "table/Employees/Sales": 7,
        "table/Employees/Law": 1,
        "table/Employees": 1,
    }
    assert next(iter(by_partition)) == "table/Employees/Sales"
    for name in ("requests", "transactions", "scans", "retries", "throttled", "bytes_in", "bytes_out"):
        assert sum(getattr(tally, name) for tally in by_partition.values()) == getattr(traffic.overall, name)


def test_what_costs_more_than_tables_is_reported_by_service_and_comes_first() -> None:
    storage = tablepatterns.connect()
    table = storage.tables.create_table("Staff")
    queue = storage.queues.create_queue("hiring")
    with Traffic(storage) as traffic:
        for number in range(5):
            table.create_entity({"PartitionKey": "Sales", "RowKey": str(number)})
        queue.send_message("1")
    assert traffic.overall.cost == Cost(table=5, queue=1)
    assert list(traffic.by_partition()) == ["queue/hiring", "table/Staff/Sales"]
    first = "6 requests, 6 storage transactions billed (5 table + 1 queue), equivalent to 16 table operations\n"
    assert str(traffic).startswith(first)
    with pytest.raises(AssertionError) as raised:
        traffic.assert_transactions(at_most=5)
    assert "6 storage transactions (5 table + 1 queue, equivalent to 16 table operations)" in str(raised.value)
    assert "1 transaction (1 queue, equivalent to 11 table operations): 1 x PutMessage" in str(raised.value)


def test_partitions_show_their_heat_over_time() -> None:
    minute = timedelta(minutes=1)
    assert recorded().partition_loads(60) == [
        PartitionLoad("table/Employees/Sales", START, 5, 0),
        PartitionLoad("table/Employees/Law", START + minute, 1, 0),
        PartitionLoad("table/Employees/Sales", START + minute, 2, 1),
    ]
    with pytest.raises(BadInput, match="must be above zero"):
        recorded().partition_loads(0)


def test_the_report_has_both_tables_and_rich_prints_the_same() -> None:
    traffic = recorded()
    text = str(traffic)
    assert text.startswith("9 requests, 8 storage transactions billed\n")
    assert "table scan" in text
    assert "table/Employees/Sales" in text
    assert max(map(len, text.splitlines())) <= 120
    out = io.StringIO()
    Console(file=out, width=120).print(traffic)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == text.splitlines()


def test_pandas_gets_a_row_for_each_request() -> None:
    traffic = recorded()
    frame: Any = pandas.DataFrame(traffic.requests)
    assert len(frame) == 9
    assert frame["transactions"].sum() == traffic.overall.transactions
    assert frame.groupby("partition")["transactions"].sum().to_dict() == {"Sales": 6, "Law": 1}
