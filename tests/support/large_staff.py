"""Employees with photos and reports that are too large for an entity, for tests of large properties."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from support.backends import awaited
from support.employees import BY_ID
from tablepatterns import EntitySet, LargeProperties

JONES = {"Department": "Sales", "EmployeeId": 223}
HOUR = timedelta(hours=1)
LIMIT = 64 * 1024


def staff_of(storage: Any, table: str, *more: Any, derived: Any = (), **options: Any) -> Any:
    """Return the set of employees; its container has the name of the table in lower case."""
    large = LargeProperties(["Photo", "Report"], **({"container": container_of(table)} | options))
    return EntitySet(storage, table, BY_ID, derived=derived, mappings=[large, *more])


def container_of(table: str) -> str:
    """Return the name of the container for a table."""
    return table.lower()


async def row_of(storage: Any, table: str, number: int = 223) -> dict[str, Any]:
    """Return the stored row of an employee."""
    client = awaited(storage.tables.get_table_client(table))
    return dict(await client.get_entity("Sales", f"empid_{number:06d}"))


async def blobs_of(storage: Any, table: str) -> list[str]:
    """Return the names of the blobs."""
    return [blob.name async for blob in storage.container(container_of(table)).blobs()]


@pytest.fixture(autouse=True)
def no_container_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delete the container of the test's table afterwards, in all tests of a module that imports this fixture."""
    if "table_name" not in request.fixturenames:
        yield
        return
    backend, table = request.getfixturevalue("backend"), request.getfixturevalue("table_name")
    storage = request.getfixturevalue("storage")
    yield
    if backend.kind != "memory":
        backend.run(storage.container(container_of(table)).drop())
