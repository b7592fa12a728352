"""What the tests of the bulk load have in common: a staff to load, and the rows that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from support.employees import jones


def staff(count: int, departments: int = 1, start: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Return so many employees, dealt out to departments in turn."""
    return [
        jones(Department=f"D{number % departments}", EmployeeId=number, Email=f"{number}@contoso.com") | changes
        for number in range(start, start + count)
    ]


def rows_for(entities: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what a table holds that holds these employees and their index by e-mail, and nothing else."""
    rows = {}
    for each in entities:
        rows[each["Department"], f"empid_{each['EmployeeId']:06d}"] = _without(each, "EmployeeId")
        rows[each["Department"], f"email_{each['Email']}"] = _without(each, "Email")
    return rows


def _without(entity: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entity.items() if name not in ("Department", key)}
