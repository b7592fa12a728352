"""Shared by tests of bulk load: employees to load, and their expected rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from support.employees import jones


def staff(count: int, departments: int = 1, start: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Return this many employees, distributed over the departments in turn."""
    return [
        jones(Department=f"D{number % departments}", EmployeeId=number, Email=f"{number}@contoso.com") | changes
        for number in range(start, start + count)
    ]


def rows_for(entities: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of a table with exactly these employees and their index by email."""
    rows = {}
    for each in entities:
        rows[each["Department"], f"empid_{each['EmployeeId']:06d}"] = _without(each, "EmployeeId")
        rows[each["Department"], f"email_{each['Email']}"] = _without(each, "Email")
    return rows


def _without(entity: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entity.items() if name not in ("Department", key)}
