"""Recording takes little of what a request takes: counted in calls of functions, which do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

import tablepatterns
from tablepatterns import EntitySet, Key, Traffic

MOST = 0.05
JONES = {"Department": "Sales", "EmployeeId": 223}


def calls(block: AbstractContextManager[object], work: Callable[[], object]) -> int:
    """Return how many functions are called, those of C included, to do the work in the block."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    with block:
        work()
        sys.setprofile(count)
        try:
            work()
        finally:
            sys.setprofile(None)
    return made


def test_recording_a_point_operation_takes_less_than_a_twentieth_of_its_calls() -> None:
    storage = tablepatterns.connect()
    employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    jones = employees.insert(JONES)
    works: list[Callable[[], object]] = [lambda: employees.get(**JONES), lambda: employees.replace(jones)]
    for work in works:
        plain, recorded = calls(nullcontext(), work), calls(Traffic(storage), work)
        assert plain > 300
        assert recorded - plain < MOST * plain, (plain, recorded)
