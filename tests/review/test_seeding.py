"""Seeding: rows that are stored without requests are the same as those that recipes write."""

from __future__ import annotations

from typing import Any

import pytest

from tablepatterns import (
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    Storage,
    Summary,
    connect,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InTable
from tablepatterns.jobs import recount, verify
from tablepatterns_review.kinds.plain import fill, rows_of

STAFF = Key("{Department}", "empid_{EmployeeId:06d}")
MADE = [
    {
        "Department": f"d{number % 3}",
        "EmployeeId": number,
        "Email": f"e{number}",
        "Name": f"n{number % 4}",
        "Pay": number,
    }
    for number in range(12)
]
DERIVED: dict[str, Derived] = {
    "an index": IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=["Name"]),
    "an index elsewhere": InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail"),
    "a unique index": InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail", unique=True),
    "lists": IndexEntity("Name"),
    "lists elsewhere": IndexEntity("Name", key=Key("{Name}", "list"), store=InTable("Names"), spread=2),
    "totals": Summary(Key("{Department}", "total"), count="Count", sums={"Pay": "Payroll"}),
    "totals elsewhere": Summary(Key("{Name}", "total"), sums={"Pay": "Payroll"}, store=InTable("Totals"), spread=2),
}


def rows(storage: Storage) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return every row of an account by its table and its keys, without the ids of the writes."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    service: Any = storage.tables
    for table in service.list_tables():
        for row in service.get_table_client(table.name).list_entities():
            place = (table.name, row.pop("PartitionKey"), row.pop("RowKey"))
            assert row.pop("WriteId")
            found[place] = dict(row)
    return found


@pytest.mark.parametrize("kind", DERIVED)
def test_rows_are_those_that_the_recipe_writes(kind: str) -> None:
    written, seeded = connect(), connect()
    for storage in (written, seeded):
        entities = EntitySet(storage, "Employees", STAFF, derived=[DERIVED[kind]])
        if storage is written:
            for fields in MADE:
                entities.insert(fields)
        else:
            fill(storage, rows_of(entities, MADE))
    assert rows(seeded) == rows(written)
    assert len(rows(seeded)) > len(MADE)


@pytest.mark.parametrize("kind", DERIVED)
def test_the_recipe_finds_what_was_seeded_right(kind: str) -> None:
    storage, derived = connect(), DERIVED[kind]
    entities = EntitySet(storage, "Employees", STAFF, derived=[derived])
    fill(storage, rows_of(entities, MADE))
    if isinstance(derived, Summary) and not derived.is_eventual:
        assert recount(entities, derived, Department="d0") == []
    else:
        assert verify(entities, derived).drifts == ()
