"""The guide's employees, for tests of recipes."""

from __future__ import annotations

from typing import Any

from tablepatterns import EntitySet, IntraPartitionIndex, Key

BY_ID = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = Key("{Department}", "email_{Email}")

by_email = IntraPartitionIndex(BY_EMAIL)


def jones(**changes: Any) -> dict[str, Any]:
    """Return an employee's fields, with some changed."""
    employee = {
        "Department": "Sales",
        "EmployeeId": 223,
        "FirstName": "Jo",
        "LastName": "Jones",
        "Age": 34,
        "Email": "jonesj@contoso.com",
    }
    return employee | changes


def employees_of(storage: Any, table: str, *derived: Any) -> Any:
    """Return the set of employees, by default indexed by email."""
    return EntitySet(storage, table, BY_ID, derived=derived or (by_email,))


async def rows_of(storage: Any, table: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows of a table by key, without system properties and those of recipes."""
    rows = {}
    async for row in storage.table(table).query(None):
        rows[row.key] = {name: value for name, value in row.items() if name not in ("PartitionKey", "RowKey")}
    return rows


async def numbered(storage: Any, table: str, count: int) -> Any:
    """Return a set with this many numbers, written in transactions of a hundred."""
    numbers = EntitySet(storage, table, Key("{Group}", "{Number:06d}"))
    await numbers.table.create()
    writes = [numbers.inserting({"Group": "all", "Number": number}) for number in range(count)]
    for start in range(0, count, 100):
        await numbers.table.submit(*(write.primary() for write in writes[start : start + 100]))
    return numbers
