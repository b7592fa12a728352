"""The prepend and append anti-pattern, remedied by the guide's compound key: events by employee, and not by time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tablepatterns import EntitySet, Key, between
from tablepatterns.engine.account import Engine

MORNING = datetime(2014, 7, 31, 8, tzinfo=timezone.utc)


@pytest.mark.guide("G-254")
async def test_the_events_of_one_employee_in_a_span_are_one_range_query(
    storage: Any, engine: Engine, table_name: str
) -> None:
    events = EntitySet(storage, table_name, Key("{Department}", "{EmployeeId:06d}_{At:ticks}"))
    for employee in (222, 223, 224):
        for minutes in range(0, 60, 10):
            await events.insert(
                {"Department": "Sales", "EmployeeId": employee, "At": MORNING + timedelta(minutes=minutes)}
            )
    span = between(MORNING + timedelta(minutes=20), MORNING + timedelta(minutes=40))
    with engine.ledger.span() as asked:
        found = [event async for event in events.range(Department="Sales", EmployeeId=223, At=span)]
    assert [(event["EmployeeId"], event["At"]) for event in found] == [
        (223, MORNING + timedelta(minutes=minutes)) for minutes in (20, 30, 40)
    ]
    assert [(record.query_class, record.examined) for record in asked.records] == [("range query", 3)]
