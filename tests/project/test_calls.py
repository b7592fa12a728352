"""Hold public calls to a number of calls of the package's own functions, so that layers cannot grow unnoticed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tablepatterns
from tablepatterns import EntitySet, InterPartitionIndex, IntraPartitionIndex, Key, LogTail, Storage, connect
from tablepatterns.entity_set.derived import Derived
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock

PACKAGE = Path(tablepatterns.__file__).parent
NOT_COUNTED = (PACKAGE / "traffic",)
"""What stands in for the service, and what watches it."""
PRIMARY = Key("{Department}", "empid_{EmployeeId:06d}")
INTRA = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
INTER = InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail")

LIMITS = {
    # 24 of them write the request and read the entity, in place of some 160 of the SDK's
    "get": 48,
    "find": 53,
    # 28 of them write the request and read the response, in place of some 190 of the SDK's
    "insert": 89,
    "merge": 102,
    # 20 of them encode and read the transaction, in place of some 8,000 of the SDK's
    "insert with an intra-partition index": 140,
    # 24 of them send the message, in place of some 400 of the SDK's
    "insert with an inter-partition index": 318,
    "LogTail.append": 98,
    # 23 of them write the request and read the page, in place of some 150 of the SDK's
    "LogTail.latest(2)": 118,
}
"""The calls that each took when this was written, and a few more. Raise one only with a reason."""


def calls_of(work: Callable[[], object]) -> int:
    """Return how many calls of functions of the package some work takes; resuming a generator counts as one."""
    count = 0

    def counting(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE) and not any(map(file.is_relative_to, NOT_COUNTED)):
            count += 1

    before = sys.getprofile()
    # Otherwise, finalizers of what earlier tests left are counted too
    gc.disable()
    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def employee(number: int) -> Mapping[str, Any]:
    return {"Department": "Sales", "EmployeeId": number, "Email": f"e{number}@x", "LastName": "L", "Age": 3}


def storage() -> Storage:
    """Return a storage account whose clock stands still: a timestamp in whole microseconds takes another path."""
    return connect(Engine(clock=Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))))


def employees(*derived: Derived) -> EntitySet[Any]:
    """Return a set with two entities, whose caches are as warm as those of a program that runs."""
    entities = EntitySet(storage(), "Employees", PRIMARY, derived=derived)
    for number in (1, 2):
        entities.insert(employee(number))
    entities.get(Department="Sales", EmployeeId=1)
    return entities


def counted() -> Iterator[tuple[str, Callable[[], object]]]:
    plain, intra, inter = employees(), employees(INTRA), employees(INTER)
    log = LogTail(storage(), "Log", "{Employee}")
    for amount in range(3):
        log.append({"Employee": "e", "Amount": amount})
    intra.find(INTRA, Department="Sales", Email="e1@x")
    log.latest(2, Employee="e")
    held = plain.insert(employee(4))
    plain.merge(held, {"Age": 4})
    yield "get", lambda: plain.get(Department="Sales", EmployeeId=1)
    yield "find", lambda: intra.find(INTRA, Department="Sales", Email="e1@x")
    yield "insert", lambda: plain.insert(employee(3))
    yield "merge", lambda: plain.merge(held, {"Age": 5})
    yield "insert with an intra-partition index", lambda: intra.insert(employee(3))
    yield "insert with an inter-partition index", lambda: inter.insert(employee(3))
    yield "LogTail.append", lambda: log.append({"Employee": "e", "Amount": 3})
    yield "LogTail.latest(2)", lambda: log.latest(2, Employee="e")


@pytest.mark.parametrize("name", LIMITS)
def test_a_public_call_takes_few_calls_of_the_package(name: str) -> None:
    work = dict(counted())[name]
    assert calls_of(work) <= LIMITS[name]
