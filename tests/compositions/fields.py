"""The employees, with fields for every part."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Final
from uuid import UUID

DEPARTMENT: Final = "Sales"
SHOWN: Final = ("Department", "EmployeeId", "LastName", "Email", "Salary", "Ssn", "Notes", "Photo")
NOON: Final = datetime(2026, 8, 22, 12, tzinfo=timezone.utc)


def employee(number: int, **changes: Any) -> dict[str, Any]:
    """Return an employee with a unique email and secret; all have the same last name."""
    fields = {
        "Department": DEPARTMENT,
        "EmployeeId": number,
        "LastName": "Jones",
        "Email": f"{number}@contoso.com",
        "Salary": 1000 + number,
        "Ssn": f"078-05-{number:04d}",
        "Notes": f"{number} likes long walks. " * 5,
        "Photo": bytes([number % 256]) * 100,
    }
    return fields | changes


def changed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return an employee with all fields changed except the number and the department."""
    number = fields["EmployeeId"]
    return employee(number) | {
        "LastName": "Smith",
        "Email": f"new{number}@contoso.com",
        "Salary": 5000,
        "Ssn": f"219-09-{number:04d}",
        "Notes": f"{number} prefers the sea. " * 5,
        "Photo": b"GIF89a" * 30,
    }


def moment(fields: dict[str, Any]) -> datetime:
    """Return the timestamp of an employee: a different day for each."""
    return NOON + timedelta(days=fields["EmployeeId"] % 7)


def ident(fields: dict[str, Any]) -> UUID:
    return UUID(int=fields["EmployeeId"])


def shown(entity: Any) -> dict[str, Any]:
    """Return the fields of an entity that must be as they were given."""
    return {name: entity[name] for name in SHOWN if entity.get(name) is not None}
