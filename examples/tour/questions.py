"""The tour's questions, answered with public recipes only, as in any program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Final

from tablepatterns import Entity, prop

from .design import BY_PLANE, Design

NEW_YORK: Final = timezone(timedelta(hours=-5), "EST")
"""New York's time, which is standard time in all of January."""
NEW_YEAR: Final = date(2013, 1, 1)
MIDNIGHT: Final = datetime(2013, 1, 1, tzinfo=NEW_YORK)
ON_NEW_YEAR: Final = (prop("ScheduledAt") >= MIDNIGHT) & (prop("ScheduledAt") < MIDNIGHT + timedelta(days=1))


@dataclass(frozen=True)
class Answer:
    """The entities found, and a short answer."""

    entities: list[Entity]
    words: str


@dataclass(frozen=True)
class Question:
    """A question, the query that answers it, and its lesson."""

    words: str
    ask: Callable[[Design], Answer]
    lesson: str


def flight(design: Design) -> Answer:
    """Get one flight by its key."""
    found = design.flights.get(Carrier="B6", Date=NEW_YEAR, Number=130, Origin="JFK")
    if found is None:
        return Answer([], "there is no such flight")
    left = _clock(found["DepartedAt"])
    words = f"{found['TailNumber']} to {found['Destination']}, off on {left}, {found['DepartureDelay']} min late"
    return Answer([found], words)


def named_by_the_flight(design: Design) -> Answer:
    """Get the entities that the flight refers to."""
    airline = design.airlines.get(Carrier="B6")
    plane = design.planes.get(TailNumber="N281JB")
    airport = design.airports.get(Airport="BUF")
    if not (airline and plane and airport):
        return Answer([found for found in (airline, plane, airport) if found], "not all of them are known")
    words = f"{airline['Name']}, {plane['Manufacturer']} {plane['Model']}, {airport['Name']}"
    return Answer([airline, plane, airport], words)


def flights_of_the_plane(design: Design) -> Answer:
    """Get a plane's flights in time order, from the index."""
    found = list(design.flights.range(BY_PLANE, Carrier="B6", TailNumber="N281JB"))
    airports = [each["Destination"] for each in found]
    return Answer(found, f"{len(found)} flights to {len(set(airports))} airports: {', '.join(airports[:5])} and so on")


def latest_departures(design: Design) -> Answer:
    """Get the newest entries of an airport's log."""
    found = design.departures.latest(10, Origin="JFK")
    times = [_clock(each["DepartedAt"]) for each in found]
    return Answer(found, f"from {times[0]} back to {times[-1]}" if times else "none")


def day_of_the_carrier(design: Design) -> Answer:
    """Get a carrier's day by a prefix of the RowKey."""
    return _day(list(design.flights.range(Carrier="B6", Date=NEW_YEAR)))


def day_by_partition_scan(design: Design) -> Answer:
    """Get the same from the carrier's partition, by a property."""
    return _day(list(design.flights.scan((prop("PartitionKey") == "B6") & ON_NEW_YEAR)))


def day_by_table_scan(design: Design) -> Answer:
    """Get the same from the whole table, by properties only."""
    return _day(list(design.flights.scan((prop("Airline") == "JetBlue Airways") & ON_NEW_YEAR)))


def _clock(moment: datetime) -> str:
    """Return the local time in New York."""
    local = moment.astimezone(NEW_YORK)
    return f"{local.day} {local:%B at %H:%M}"


def _day(found: list[Entity]) -> Answer:
    late = sum(each.get("DepartureDelay", 0) > 15 for each in found)
    return Answer(found, f"{len(found)} flights, {late} of them more than 15 min late")


QUESTIONS: Final = (
    Question(
        "JetBlue's flight 130 of 1 January",
        flight,
        "PartitionKey and RowKey are known: the fastest query, whatever the size of the table.",
    ),
    Question(
        "Its airline, plane and destination",
        named_by_the_flight,
        "There are no joins. An entity whose key another entity holds is one point query away.",
    ),
    Question(
        "The plane's flights in time order",
        flights_of_the_plane,
        "An index is a second copy of each flight in its partition, ordered by plane and time.",
    ),
    Question(
        "The ten latest departures from JFK",
        latest_departures,
        "The RowKey counts time backwards: the newest entries come first, and the query stops after ten.",
    ),
    Question(
        "JetBlue's flights of 1 January",
        day_of_the_carrier,
        "The RowKey begins with the date, so a day is a range: only matching rows are examined.",
    ),
    Question(
        "The same, scanning its partition",
        day_by_partition_scan,
        "A property is not a key: every row of the partition is examined, including the index rows.",
    ),
    Question(
        "The same, scanning the table",
        day_by_table_scan,
        "Without a PartitionKey, every row of the table is examined, so it gets slower as the table grows.",
    ),
)
