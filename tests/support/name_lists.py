"""Shared by tests of index entities: the placements of lists, and what is found with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.derived_tables import DerivedTables
from tablepatterns import InBlobs, IndexEntity, InTable, Key

LIST = ("Sales", "Jones")
SALES = {"Department": "Sales", "LastName": "Jones"}
JONES = {"LastName": "Jones"}
AS_IN_GUIDE = Key("{Department}", "{LastName}")
Make = Callable[[DerivedTables], IndexEntity]
EVENTUAL: dict[str, Make] = {
    "another partition": lambda places: IndexEntity("LastName", store=InTable()),
    "another table": lambda places: IndexEntity("LastName", store=InTable(places.other)),
    "another table, spread": lambda places: IndexEntity("LastName", store=InTable(places.other), spread=4),
    "blobs": lambda places: IndexEntity("LastName", store=InBlobs(places.container)),
}
HERE: dict[str, Make] = {
    "the partition": lambda places: IndexEntity("LastName"),
    "the partition, spread": lambda places: IndexEntity("LastName", spread=4),
}
EVERYWHERE = pytest.mark.parametrize("make", [*HERE.values(), *EVENTUAL.values()], ids=[*HERE, *EVENTUAL])
OUTSIDE = pytest.mark.parametrize("make", list(EVENTUAL.values()), ids=list(EVENTUAL))


def asked(via: IndexEntity, **fields: Any) -> dict[str, Any]:
    """Return the key fields of a list; in the partition, they include the department."""
    return fields | ({} if via.is_eventual else {"Department": "Sales"})


async def numbers(employees: Any, via: IndexEntity, name: str = "Jones") -> list[int]:
    """Return the numbers in a list, and check that the entities found are the same."""
    listed = [keys["EmployeeId"] for keys in await employees.keys_of(via, **asked(via, LastName=name))]
    found = await employees.find_all(via, **asked(via, LastName=name))
    assert [each["EmployeeId"] for each in found] == listed
    assert all(each["LastName"] == name for each in found)
    return listed
