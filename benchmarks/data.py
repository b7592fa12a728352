"""The amounts to measure, and the data of tables: entities of five properties, spread evenly over the partitions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

from rich.progress import track

_FIRST_BLOCK = 10
_BLOCK = 100
_HIRED = datetime(2014, 8, 22, 0, 50, 32, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Effort:
    """The duration of measurements.

    :param seconds: about how long one contestant works on one case in one round
    :param azurite_seconds: for how long the large data is loaded into Azurite
    """

    rounds: int
    seconds: float
    azurite_seconds: float


@dataclass(frozen=True)
class Scale(Effort):
    """The amounts for tables.

    :param small: rows in each partition of the small table
    :param large: rows in each partition of the large table
    """

    partitions: int
    small: int
    large: int


@dataclass(frozen=True)
class ObjectScale(Effort):
    """The amounts for queues and blobs.

    :param listed: the number of blobs that the list finds; the small container has no others
    :param blobs: the number of blobs in the large container
    """

    listed: int
    blobs: int


@dataclass(frozen=True)
class RecipeScale(Effort):
    """The amounts for recipes.

    :param rows: the approximate number of rows in bulk loads whose entities share no rows
    :param sharing: the number of flights in bulk loads whose entities share rows
    :param keys: the number of keys to read
    :param kept: the number of entities whose derived data is backfilled and verified
    :param inserts: the number of entities that each writer of one list inserts
    """

    rows: int
    sharing: int
    keys: int
    kept: int
    inserts: int


FULL = Scale(partitions=1000, small=10, large=1000, rounds=24, seconds=0.1, azurite_seconds=120)
QUICK = Scale(partitions=100, small=10, large=60, rounds=1, seconds=0.002, azurite_seconds=60)
FULL_OBJECTS = ObjectScale(listed=5000, blobs=100_000, rounds=16, seconds=0.1, azurite_seconds=20)
QUICK_OBJECTS = ObjectScale(listed=50, blobs=500, rounds=2, seconds=0.002, azurite_seconds=5)
FULL_RECIPES = RecipeScale(
    rounds=3, seconds=0, azurite_seconds=0, rows=6000, sharing=400, keys=1000, kept=500, inserts=20
)
QUICK_RECIPES = RecipeScale(rounds=1, seconds=0, azurite_seconds=0, rows=80, sharing=8, keys=8, kept=6, inserts=1)


@dataclass(frozen=True)
class Loaded:
    """The content of a table, or of a container, which counts as one partition.

    :param partitions: the number of partitions
    :param rows: the number of rows in each partition, or of blobs that the list finds
    :param entities: the total number of entities or blobs, including those of an unfinished last block
    """

    partitions: int
    rows: int
    entities: int
    seconds: float


def partition_key(partition: int) -> str:
    return f"partition{partition:04}"


def row_key(row: int) -> str:
    return f"row{row:07}"


def entity(partition: int, row: int) -> dict[str, Any]:
    """Return an entity of five properties: a string of 12 characters, an Int32, a double, a boolean, a datetime."""
    number = partition * 1000 + row
    return {
        "PartitionKey": partition_key(partition),
        "RowKey": row_key(row),
        "Name": f"employee{row:04}",
        "Age": 20 + row,
        "Score": number * 1.5 + 0.25,
        "Active": row % 2 == 0,
        # Each datetime has another second, so that caching formatted values gains nothing
        "Hired": _HIRED + timedelta(seconds=61 * number, milliseconds=row),
    }


def load(
    write: Callable[[list[dict[str, Any]]], object],
    title: str,
    partitions: int,
    rows: int,
    seconds: float = float("inf"),
) -> Loaded:
    """Fill all partitions block by block, so that they are equally full when the time is over.

    :param write: write entities of one partition in one transaction
    """
    start, written, full = time.perf_counter(), 0, 0
    for first, end, partition in track(_blocks(partitions, rows), title):
        if time.perf_counter() - start > seconds:
            break
        write([entity(partition, row) for row in range(first, end)])
        written += end - first
        full = end if partition == partitions - 1 else first
    return Loaded(partitions, full, written, time.perf_counter() - start)


def _blocks(partitions: int, rows: int) -> list[tuple[int, int, int]]:
    """Return the rows of each transaction: first ten in every partition, as in the small table, then hundreds."""
    edges = sorted({0, _FIRST_BLOCK, *range(_BLOCK, rows, _BLOCK), rows})
    return [(first, end, partition) for first, end in pairwise(edges) for partition in range(partitions)]
