"""The sign-ins of the guide, a table for each day, as the tests of the recipes use them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from support.backends import awaited
from tablepatterns import EntitySet, Key, LogTail
from tablepatterns.recipes.period_tables.period import Period
from tablepatterns.recipes.period_tables.period_tables import PeriodTables

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
    """Return what follows the series' name in the names of all tables that begin with it."""
    found = [table.name async for table in awaited(storage.tables).list_tables()]
    return sorted(name.removeprefix(series) for name in found if name.startswith(series))


async def drop_all(storage: Any, series: str) -> None:
    """Delete every table whose name begins with that of a series."""
    for rest in await names_of(storage, series):
        await storage.table(series + rest).drop()
