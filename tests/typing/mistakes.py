"""31 typical mistakes with a set that has a model; a type checker reports those marked WRONG, see check_bad.py.

Those marked RUN TIME are rejected before any request, which tests/test_model_mistakes.py checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from tablepatterns import EntitySet, IntraPartitionIndex, Key, LogTail, connect, prop


@dataclass
class Employee:
    department: str
    employee_id: int
    email: str
    hired: date = date(2024, 1, 1)


@dataclass
class Review:
    department: str
    year: int


storage = connect()
BY_EMAIL = IntraPartitionIndex(Key("{department}", "email_{email}"))
people = EntitySet(
    storage, "People", Key("{department}", "empid_{employee_id:06d}"), model=Employee, derived=[BY_EMAIL]
)
jones = Employee("Sales", 223, "jonesj@contoso.com")

REPORTED: list[Callable[[], Any]] = [
    lambda: EntitySet(storage, "People", "{department}", model=Employee),  # WRONG
    lambda: EntitySet(storage, "People", model=Employee),  # WRONG
    lambda: EntitySet(storage, "People", people.key, model=jones),  # WRONG
    lambda: EntitySet(storage, "People", people.key, modle=Employee),  # WRONG
    lambda: EntitySet(storage, "People", people.key, versions=[lambda fields: fields]),  # WRONG
    lambda: people.insert({"department": "Sales", "employee_id": 223}),  # WRONG
    lambda: people.insert(Review("Sales", 2014)),  # WRONG
    lambda: people.insert(Employee("Sales", "223", "a")),  # WRONG
    lambda: people.insert(Employee("Sales", 223)),  # WRONG
    lambda: people.insert(Employee("Sales", 223, "a", hird=date(2024, 1, 1))),  # WRONG
    lambda: people.insert([jones]),  # WRONG
    lambda: people.replace(jones, etga="a"),  # WRONG
    lambda: people.replace("Sales"),  # WRONG
    lambda: people.delete(223),  # WRONG
    lambda: people.merge(jones),  # WRONG
    lambda: people.update(lambda each: each.emial, department="Sales", employee_id=223),  # WRONG
    lambda: people.update(lambda each: "a", department="Sales", employee_id=223),  # WRONG
    lambda: people.find("email", department="Sales"),  # WRONG
    lambda: people.get(department="Sales", employee_id=223).email,  # WRONG
    lambda: people.insert(jones).emial,  # WRONG
    lambda: people.take("3", department="Sales"),  # WRONG
    lambda: [each["email"] for each in people.range(department="Sales")],  # WRONG
    lambda: people.range(department="Sales", where="hired ge '2024'"),  # WRONG
    lambda: LogTail(storage, "Log", "{department}", model=Employee).append({"department": "Sales"}),  # WRONG
]
REJECTED_AT_RUN_TIME: list[Callable[[], Any]] = [
    lambda: people.get(department="Sales"),  # RUN TIME
    lambda: people.get(department="Sales", emplyee_id=223),  # RUN TIME
    lambda: people.get(department="Sales", employee_id="223"),  # RUN TIME
    lambda: people.update(jones, emial="a"),  # RUN TIME
    lambda: people.update(jones, hired="2024"),  # RUN TIME
    lambda: list(people.range(department="Sales", where=prop("hird") >= date(2024, 1, 1))),  # RUN TIME
    lambda: list(people.range(department="Sales", where=prop("hired") >= "2024")),  # RUN TIME
]
