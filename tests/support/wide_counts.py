"""Shared by tests of wide entities: the messages of a year, with a property for each day."""

from __future__ import annotations

from typing import Any

from tablepatterns import Key, WideEntity

DAYS = [f"Day{day:03d}" for day in range(1, 366)]
JONES = {"Employee": "000223"}


def counts_of(storage: Any, table: str, **options: Any) -> Any:
    """Return wide entities, one for each employee."""
    return WideEntity(storage, table, Key("{Employee}", ""), **options)


def year(**changes: int) -> dict[str, Any]:
    """Return a year of messages sent."""
    return JONES | {day: number for number, day in enumerate(DAYS)} | changes
