"""The exact types that the patterns give, on sync and async accounts; never run, only checked."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from typing_extensions import assert_type

import tablepatterns.aio
from tablepatterns import (
    Archive,
    BlobLog,
    DataSeries,
    EncryptedProperties,
    Entity,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    Key,
    KeyRotation,
    LargeProperties,
    LocalKey,
    LogEntry,
    LogTail,
    Lookup,
    ParallelReads,
    ParallelResult,
    PartitionMove,
    Period,
    PeriodTables,
    Rekey,
    Storage,
    Summary,
    WideEntity,
    Worker,
)
from tablepatterns.recipes.rekey.entities import RekeyedEntities
from tablepatterns.recipes.rekey.mirror import RekeyReport
from tablepatterns.recipes.rekey.rekey import RekeyStatus
from tablepatterns.recipes.worker import Report

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = InterPartitionIndex(Key("email_{Department}", "{Email}"))
BY_NAME = IndexEntity("LastName")
TOTAL = Summary(Key("{Department}", "total"), sums={"Total": "Salary"})


def derived_data_on_a_sync_account(storage: Storage) -> None:
    employees = EntitySet(
        storage,
        "Employees",
        KEY,
        derived=[BY_EMAIL, BY_NAME, TOTAL],
        mappings=[
            EncryptedProperties(["Ssn"], keys=LocalKey.generate("2026")),
            LargeProperties(["Photo"], container="photos"),
        ],
    )
    assert_type(employees.find(BY_EMAIL, Department="Sales", Email="jo"), "Entity | None")
    assert_type(employees.find_all(BY_NAME, Department="Sales", LastName="Jones"), list[Entity])
    assert_type(employees.keys_of(BY_NAME, Department="Sales", LastName="Jones"), list[dict[str, Any]])
    assert_type(employees.totals(TOTAL, Department="Sales"), dict[str, Any])
    assert_type(Lookup(employees).get(Department="Sales", EmployeeId=1), "Entity | None")
    assert_type(ParallelReads(employees).points([]), ParallelResult)
    archive = Archive(employees, EntitySet(storage, "Former", KEY))
    assert_type(archive.children(Department="Sales", EmployeeId=1), Iterator[Entity])
    assert_type(Worker(storage, [archive]).run_once(), Report)


async def derived_data_on_an_async_account(storage: tablepatterns.aio.Storage) -> None:
    employees = EntitySet(storage, "Employees", KEY, derived=[BY_EMAIL, BY_NAME, TOTAL])
    assert_type(await employees.find_all(BY_NAME, Department="Sales", LastName="Jones"), list[Entity])
    assert_type(await Lookup(employees).get(Department="Sales", EmployeeId=1), "Entity | None")
    assert_type(await ParallelReads(employees).points([]), ParallelResult)
    assert_type(PartitionMove(employees), PartitionMove[tablepatterns.aio.Storage])
    working = Worker(storage, {"q": []}).run_once()
    _ = assert_type(working, Coroutine[Any, Any, Report])
    assert_type(await working, Report)


def time_and_volume(storage: Storage, day: dt.datetime) -> None:
    logins = PeriodTables(storage, "Logins", Period.DAY, factory=lambda account, table: EntitySet(account, table, KEY))
    assert_type(logins.of(day), EntitySet[Storage])
    assert_type(logins.range(day, Department="Sales"), Iterator[Entity])
    logs = PeriodTables(
        storage, "Logs", Period.HOUR, factory=lambda account, table: LogTail(account, table, "{Service}")
    )
    assert_type(logs.of(day).latest(3, Service="web"), list[Entity])

    def hours(on: Storage, table: str) -> DataSeries[Storage, int]:
        return DataSeries(on, table, KEY, 24, prefix="H", value_type=int)

    daily = PeriodTables(storage, "Daily", Period.DAY, factory=hours)
    assert_type(daily.of(day).read(Department="Sales", EmployeeId=1), "list[int | None]")
    counts = DataSeries(storage, "Counts", Key("{Employee}", ""), 24, prefix="Hour", value_type=int)
    assert_type(counts.read(Employee="1"), "list[int | None]")
    assert_type(counts.preceding(3, day, "Day", Employee="1"), "list[int | None]")
    assert_type(WideEntity(storage, "Wide", Key("{Employee}", "")).get(Employee="1"), "Entity | None")
    assert_type(KeyRotation(WideEntity(storage, "Wide", Key("{Employee}", ""))).in_use(), "dict[str, int]")
    with BlobLog(storage, "logs", "queue") as log:
        assert_type(log.append("INFO", "x"), LogEntry)
        assert_type(log.between(day), Iterator[LogEntry])


async def time_and_volume_on_an_async_account(storage: tablepatterns.aio.Storage, day: dt.datetime) -> None:
    counts = DataSeries(storage, "Counts", Key("{Employee}", ""), 24, prefix="Hour", value_type=float)
    assert_type(await counts.read(Employee="1"), "list[float | None]")
    log = BlobLog(storage, "logs", "queue")
    assert_type(await log.append("INFO", "x"), LogEntry)
    assert_type(log.between(day), AsyncIterator[LogEntry])


@dataclass
class Member:
    Department: str
    EmployeeId: int
    Email: str


BY_ADDRESS = Key("{Email}", "member")


def new_keys(storage: Storage) -> None:
    move = Rekey(EntitySet(storage, "Old", KEY), EntitySet(storage, "New", BY_ADDRESS))
    assert_type(move.entities, RekeyedEntities[Storage, Entity])
    assert_type(move.entities.get(Email="jo@contoso.com"), "Entity | None")
    assert_type(move.entities.insert({"Department": "Sales"}), Entity)
    assert_type(move.entities.range(Department="Sales"), Iterator[Entity])
    assert_type(move.copy(), RekeyReport)
    assert_type(move.cut_over(), RekeyStatus)
    members = Rekey(
        EntitySet(storage, "Members", KEY, model=Member), EntitySet(storage, "MembersNew", BY_ADDRESS, model=Member)
    ).entities
    found = members.get(Email="jo@contoso.com")
    assert_type(found, "Member | None")
    if found is not None:
        assert_type(members.replace(found), Member)
        assert_type(members.update(found, Email="jones@contoso.com"), Member)
    assert_type(members.range(Email="jo@contoso.com"), Iterator[Member])


async def new_keys_async(storage: tablepatterns.aio.Storage) -> None:
    move = Rekey(
        EntitySet(storage, "Members", KEY, model=Member), EntitySet(storage, "MembersNew", BY_ADDRESS, model=Member)
    )
    assert_type(await move.verify(), RekeyReport)
    assert_type(await move.entities.get(Email="jo@contoso.com"), "Member | None")
    assert_type(await move.entities.insert(Member("Sales", 1, "jo@contoso.com")), Member)
