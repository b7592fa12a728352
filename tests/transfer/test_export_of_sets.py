"""Exports of a set take the filters and names of the set, and have what its reads return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
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
    Period,
    PeriodTables,
    Rekey,
    Stored,
    connect,
    prop,
)
from tablepatterns.errors import BadFilter, BadInput
from tablepatterns_engine.account import Engine
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


def test_the_sets_of_periods_are_exported_one_by_one(tmp_path: Path) -> None:
    def logins(storage: Any) -> Any:
        key = Key("{User}", "{At:ticks}")
        return PeriodTables(storage, "Logins", Period.DAY, factory=lambda on, table: EntitySet(on, table, key))

    source, days = logins(connect()), [datetime(2026, 11, day, 9, tzinfo=timezone.utc) for day in (1, 2)]
    for day in days:
        for hour in range(3):
            source.insert({"User": "jones", "At": day + timedelta(hours=hour), "Client": f"c{hour}"})
    for day in source.periods():
        assert TableTransfer(source.account, source.of(day)).export(tmp_path / day.date().isoformat()).rows == 3
    target = logins(connect())
    for day in source.periods():
        TableTransfer(target.account, target.of(day)).restore(tmp_path / day.date().isoformat())
    assert target.periods() == source.periods()
    assert [*map(dict, target.range(*days, User="jones"))] == [*map(dict, source.range(*days, User="jones"))]


def test_the_sets_of_a_move_are_exported_and_restored(tmp_path: Path) -> None:
    storage = connect()
    old = EntitySet(storage, "Old", Key("{Department}", "{EmployeeId:06d}"))
    move = Rekey(old, EntitySet(storage, "New", Key("{Email}", "employee")))
    for number in range(5):
        old.insert({"Department": "Sales", "EmployeeId": number, "Email": f"{number}@contoso.com"})
    move.copy()
    move.entities.insert({"Department": "Sales", "EmployeeId": 5, "Email": "5@contoso.com"})
    for entities in (move.old_set, move.new_set):
        TableTransfer(storage, entities).export(tmp_path / entities.table.name)
        target: Any = EntitySet(connect(), entities.table.name, entities.key)
        transfer = TableTransfer(target.account, target)
        assert transfer.restore(tmp_path / entities.table.name).rows == 6
        assert {entity["EmployeeId"] for entity in target.scan()} == set(range(6))
        assert transfer.compare(tmp_path / entities.table.name).are_none


def test_what_has_several_tables_is_rejected_before_any_request() -> None:
    engine = Engine()
    storage = connect(engine)
    key = Key("{Department}", "{EmployeeId:06d}")
    move = Rekey(EntitySet(storage, "Old", key), EntitySet(storage, "New", Key("{Email}", "employee")))
    logins = PeriodTables(storage, "Logins", Period.DAY, factory=lambda on, table: EntitySet(on, table, key))
    for source in (logins, move.entities):
        with pytest.raises(BadInput, match=f"it must be a str or an EntitySet, not {type(source).__name__}"):
            TableTransfer(storage, source)  # type: ignore[arg-type]
    assert not engine.ledger.records
