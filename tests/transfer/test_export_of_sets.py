"""Exports of a set take the filters and names of the set, and have what its reads return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest

from tablepatterns import (
    Encrypted,
    EncryptedProperties,
    EntitySet,
    IntraPartitionIndex,
    Key,
    Large,
    LocalKey,
    Stored,
    connect,
    prop,
)
from tablepatterns.errors import BadFilter
from tablepatterns_transfer import Export, TableTransfer


class Role(Enum):
    CLERK = "clerk"
    MANAGER = "manager"


@dataclass
class Employee:
    department: str
    number: int
    email: Annotated[str, Stored("Email")]
    hired: date
    role: Role
    salary: Annotated[int, Encrypted()]
    photo: Annotated[bytes, Large()] = b""


KEY = Key("{department}", "empid_{number:03d}")
FILTERS: dict[str, Any] = {
    "a field of the RowKey": prop("number") > 2,
    "the fields of both keys": (prop("department") == "Sales") & (prop("number") == 1),
    "the keys": (prop("PartitionKey") == "Sales") & (prop("RowKey") < "empid_002"),
    "a field with a stored name": prop("email") == "1@contoso.com",
    "a date": prop("hired") >= date(2026, 1, 3),
    "an enum": prop("role") != Role.CLERK,
}


@pytest.fixture
def employees() -> Any:
    by_email = IntraPartitionIndex(Key("{department}", "email_{email}"))
    encrypted = EncryptedProperties(keys=LocalKey("payroll", bytes(32)))
    entities = EntitySet(connect(), "Staff", KEY, model=Employee, derived=[by_email], mappings=[encrypted])
    for number in range(5):
        email, role = f"{number}@contoso.com", Role.MANAGER if number % 2 else Role.CLERK
        entities.insert(Employee("Sales", number, email, date(2026, 1, 1 + number), role, 100 * number))
    return entities


@pytest.mark.parametrize("name", FILTERS)
def test_an_export_has_the_entities_that_a_scan_returns(employees: Any, tmp_path: Path, name: str) -> None:
    transfer = TableTransfer(employees.account, employees)
    transfer.export(tmp_path / "new", where=FILTERS[name])
    numbers = [row["number"] for row in Export.open(tmp_path / "new").all_rows()]
    assert numbers == [employee.number for employee in employees.scan(FILTERS[name])] != []
    assert transfer.compare(tmp_path / "new").are_none


@pytest.mark.parametrize("where", [prop("salary") > 5, prop("photo") == b"", prop("salry") > 5, prop("hired") > "2026"])
def test_an_export_rejects_the_filters_that_a_scan_rejects(employees: Any, tmp_path: Path, where: Any) -> None:
    calls: list[Any] = [
        partial(exported, employees, tmp_path / "new", where=where),
        lambda: list(employees.scan(where)),
    ]
    for call in calls:
        with employees.account.engine.ledger.span() as span, pytest.raises(BadFilter):
            call()
        assert span.totals.requests == 0
    assert not (tmp_path / "new").exists()


def test_selected_fields_can_be_decrypted(employees: Any, tmp_path: Path) -> None:
    decrypted = exported(employees, tmp_path / "new", select=["salary"], decrypt=True)
    assert [row["salary"] for row in decrypted] == [0, 100, 200, 300, 400]
    stored = exported(employees, tmp_path / "stored", select=["salary"])
    assert {"salary", "EncryptedWith"} <= set(stored[0])


def exported(employees: Any, folder: Path, **options: Any) -> list[Any]:
    TableTransfer(employees.account, employees).export(folder, **options)
    return list(Export.open(folder).all_rows())
