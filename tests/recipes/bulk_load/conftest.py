"""Employees to load."""

from __future__ import annotations

from typing import Any

import pytest

from support.employees import BY_ID, employees_of
from tablepatterns import EntitySet


@pytest.fixture
def employees(storage: Any, table_name: str) -> Any:
    return employees_of(storage, table_name)


@pytest.fixture
def plain(storage: Any, table_name: str) -> Any:
    """The same set without an index."""
    return EntitySet(storage, table_name, BY_ID)
