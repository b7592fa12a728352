"""The prepend and append anti-pattern, remedied by the guide's compound key: events by employee, and not by time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tablepatterns import EntitySet, Key, between
from tablepatterns_engine.account import Engine

MORNING = datetime(2014, 7, 31, 8, tzinfo=timezone.utc)


@pytest.mark.guide("G-254")
async def test_the_events_of_one_employee_in_a_span_are_one_range_query(
    storage: Any, engine: Engine, table_name: str
) -> None:
    events = EntitySet(storage, table_name, Key("{Department}_{EmployeeId:06d}", "{Hour:%Y%m%d%H}_{EventId}"))
    for employee in (222, 223, 224):
        for hours in range(6):
            event = {"Department": "Sales", "EmployeeId": employee, "Hour": MORNING + timedelta(hours=hours)}
            written = await events.insert(event | {"EventId": "login"})
    assert written.key == ("Sales_000224", "2014073113_login")
    span = between(MORNING + timedelta(hours=2), MORNING + timedelta(hours=4))
    with engine.ledger.span() as asked:
        found = [event async for event in events.range(Department="Sales", EmployeeId=223, Hour=span)]
    assert [(event["EmployeeId"], event["Hour"]) for event in found] == [
        (223, MORNING + timedelta(hours=hours)) for hours in (2, 3, 4)
    ]
    assert [(record.query_class, record.examined) for record in asked.records] == [("range query", 3)]
