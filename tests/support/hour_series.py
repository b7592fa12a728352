"""Shared by tests of data series: the messages of a day, with a point for each hour."""

from __future__ import annotations

from datetime import date
from typing import Any

from tablepatterns import DataSeries, Key

DAY = date(2014, 8, 22)
TODAY = {"Employee": "000223", "Day": DAY}
KEY = Key("{Employee}", "{Day:%Y-%m-%d}")


def series_of(storage: Any, table: str, points: int = 24, **options: Any) -> Any:
    """Return series, one for each employee and day."""
    return DataSeries(storage, table, KEY, points, **({"prefix": "Hour", "value_type": int} | options))
