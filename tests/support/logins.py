"""The guide's sign-ins, with a table for each day, for tests of recipes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from support.backends import awaited
from tablepatterns import EntitySet, Key, LogTail, Period, PeriodTables

NOON = datetime(2014, 7, 31, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
BY_MOMENT = Key("{User}", "{At:ticks}")
BY_SESSION = Key("{User}", "{Session:04d}")


def logins_of(storage: Any, name: str, period: Period = Period.DAY, key: Key = BY_MOMENT, **options: Any) -> Any:
    return PeriodTables(storage, name, period, factory=lambda account, table: EntitySet(account, table, key), **options)


def logs_of(storage: Any, name: str, period: Period = Period.DAY, **options: Any) -> Any:
    return PeriodTables(storage, name, period, factory=lambda on, table: LogTail(on, table, "{User}"), **options)


def login(moment: datetime, user: str = "jo", **fields: Any) -> dict[str, Any]:
    return {"User": user, "At": moment} | fields


async def names_of(storage: Any, series: str) -> list[str]:
    """Return the suffixes of all tables whose names start with that of the series."""
    found = [table.name async for table in awaited(storage.tables).list_tables()]
    return sorted(name.removeprefix(series) for name in found if name.startswith(series))


async def drop_all(storage: Any, series: str) -> None:
    """Delete all tables whose names start with that of a series."""
    for rest in await names_of(storage, series):
        await storage.table(series + rest).drop()
