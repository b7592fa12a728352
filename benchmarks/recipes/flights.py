"""The flights of bulk loads, and their derived data."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import Any, Final
from zipfile import ZipFile

from examples.tour.data import Source, _flight

from tablepatterns import EntitySet, IntraPartitionIndex, Key, Storage
from tablepatterns.entity_set.derived import Derived
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.summary import Summary

Flight = dict[str, Any]

TABLE: Final = "Flights"
FLIGHT: Final = Key("{Carrier}", "flight_{Date:%Y-%m-%d}_{Number:04d}_{Origin}")
BY_PLANE: Final = IntraPartitionIndex(
    Key("{Carrier}", "tail_{TailNumber}_{Date:%Y-%m-%d}_{ScheduledAt:ticks}_{Number:04d}")
)
BY_DESTINATION: Final = IntraPartitionIndex(Key("{Carrier}", "to_{Destination}_{Date:%Y-%m-%d}_{Number:04d}_{Origin}"))
BY_ORIGIN: Final = IntraPartitionIndex(Key("{Carrier}", "from_{Origin}_{Date:%Y-%m-%d}_{Number:04d}"))
ELSEWHERE: Final = InterPartitionIndex(
    Key("to_{Destination}", "{Date:%Y-%m-%d}_{Carrier}_{Number:04d}_{Origin}"), table="FlightsByDestination"
)
PER_DAY: Final = Summary(Key("{Carrier}", "day_{Date:%Y-%m-%d}"), sums={"Miles": "MilesFlown"})
TO: Final = IndexEntity("Destination")


def january(count: int) -> list[Flight]:
    """Return the first flights of January."""
    found = list(islice(Source.installed().flights(), count))
    if len(found) != count:
        raise ValueError(f"January has {len(found):,} flights, and not {count:,}")
    return found


def year() -> Iterator[Flight]:
    """Yield all flights of the year; the tour reads January only."""
    with ZipFile(Source.installed().folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        yield from map(_flight, csv.DictReader(TextIOWrapper(file, "utf-8")))


def flights(storage: Storage, *derived: Derived, backfilling: Sequence[Derived] = ()) -> EntitySet[Storage]:
    return EntitySet(storage, TABLE, FLIGHT, derived=derived, backfilling=backfilling)
