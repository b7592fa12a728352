"""The tour's design: three tables, with keys for the questions.

Flights     PartitionKey the carrier: its flights by date and number, the same flights again by plane and time, and
            the airline beside them. Sixteen partitions share the writes, and a question about a carrier stays in one.
Airports    PartitionKey the airport: its departures, newest first, and the airport itself. A departure is a
            copy of its flight, since an index within a carrier's partition reaches no other. The two share no
            transaction: the load writes both. All that leaves an airport goes to the front of one partition, which
            some three hundred flights a day do not come near to filling.
Planes      One partition: a few thousand rows that hardly ever change and are read one by one. With many more, the
            tail number would be the PartitionKey.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from tablepatterns import EntitySet, IntraPartitionIndex, Key, LogTail, Storage

# A flight number may depart twice a day from two of New York's airports, but not from one
FLIGHT = Key("{Carrier}", "flight_{Date:%Y-%m-%d}_{Number:04d}_{Origin}")
# A date is not a property type, so a copy can hold the flight's date only in its key
BY_PLANE = IntraPartitionIndex(
    Key("{Carrier}", "tail_{TailNumber}_{Date:%Y-%m-%d}_{ScheduledAt:ticks}_{Number:04d}"),
    include=["Destination", "DepartedAt", "DepartureDelay"],
)

_LOGGED = ("Origin", "DepartedAt", "Carrier", "Number", "Airline", "TailNumber", "Destination", "DepartureDelay")
_DEPARTURES = UUID("5b0e2a46-94f0-4f0a-8d0c-2f1f3e6a7c11")


@dataclass(frozen=True)
class Design:
    """The entity sets of the tour."""

    airlines: EntitySet[Storage]
    flights: EntitySet[Storage]
    airports: EntitySet[Storage]
    departures: LogTail[Storage]
    planes: EntitySet[Storage]

    @classmethod
    def on(cls, storage: Storage, suffix: str = "") -> Design:
        """Declare the sets on an account, without a request.

        :param suffix: the end of the table names, for a shared account
        """
        flights, airports, planes = f"Flights{suffix}", f"Airports{suffix}", f"Planes{suffix}"
        return cls(
            airlines=EntitySet(storage, flights, Key("{Carrier}", "airline")),
            flights=EntitySet(storage, flights, FLIGHT, derived=[BY_PLANE]),
            airports=EntitySet(storage, airports, Key("{Airport}", "airport")),
            departures=LogTail(storage, airports, "{Origin}", at="DepartedAt", row_prefix="departed_"),
            planes=EntitySet(storage, planes, Key("planes", "{TailNumber}")),
        )

    @property
    def table_names(self) -> tuple[str, ...]:
        """The names of the tables."""
        sets = (self.flights, self.airports, self.planes)
        return tuple(each.table.name for each in sets)


def departures(flights: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the log entries of all departed flights.

    The entry's id follows from the flight's key, so that to load a flight again is to write the same entry.
    """
    for flight in flights:
        if flight["DepartedAt"] is not None:
            entry = uuid5(_DEPARTURES, "/".join(FLIGHT.format({name: flight[name] for name in FLIGHT.fields})))
            yield {name: flight[name] for name in _LOGGED} | {"EntryId": entry}
