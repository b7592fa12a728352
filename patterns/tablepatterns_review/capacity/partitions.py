"""Derive the partitions of a key from the declared distributions of its fields.

- A field with a number of different values makes as many partitions, the one of the most frequent value first.
- A unique field makes a partition per entity.
- A field that rises makes the current partition. A date or an hour makes one for its duration; a finer field makes a
  partition for every entity, but these are adjacent at the end of the table, where one node serves them, so they count
  as one, the newest.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import product
from typing import Final, Literal

from tablepatterns.key import Key

from ..design.distribution import Zipf, names_one, values_of
from ..design.key_parts import Piece, pieces_of, span_of
from ..design.model import DAY, Field, Shape

STEP: Final = 300
"""The length of a step in seconds."""
STEPS: Final = round(DAY) // STEP
BUSIEST: Final = STEPS // 2
"""The step of all peaks: noon, so that they coincide."""
BEGINS: Final = datetime(2014, 8, 22, tzinfo=timezone.utc)
"""The start of the simulated day, which is in the names of partitions by time."""


@lru_cache(maxsize=256)
def day_curve(rate: float, peak: float) -> Sequence[float]:
    """Return the calls per second of each step of a day, with the mean `rate` and the maximum `peak`, at least `rate`.

    The curve is a raised cosine: lowest at midnight, highest at noon. If the peak is more than twice the rate, it is a
    power of the raised cosine, which is narrower. The peak lasts at least five minutes, even if the day's calls do not.

    >>> curve = day_curve(10, 15)
    >>> min(curve), round(sum(curve) / len(curve), 9), max(curve)
    (5.0, 10.0, 15.0)
    """
    peak = max(rate, peak)
    if peak <= 2 * rate:
        return tuple(rate + (peak - rate) * (2 * height - 1) for height in _heights())
    # At other rates the ratio is the same, apart from its last digits
    power = _power(round(rate / peak, 12))
    return tuple(peak * height**power for height in _heights())


@lru_cache(maxsize=1)
def _heights() -> Sequence[float]:
    """Return the raised cosine from 0 to 1, one value for each step."""
    return tuple((1 + math.cos(2 * math.pi * (step - BUSIEST) / STEPS)) / 2 for step in range(STEPS))


@lru_cache(maxsize=256)
def _power(mean: float) -> float:
    """Return the power of the raised cosine that has this mean."""
    low, high = 1.0, 1.0
    while _mean(high) > mean and high < 1e9:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _mean(middle) > mean else (low, middle)
    return high


def _mean(power: float) -> float:
    return math.fsum(height**power for height in _heights()) / STEPS


@dataclass(frozen=True)
class Dimension:
    """A part of a PartitionKey that does not change with time: its fields, and the distribution of its values."""

    names: tuple[str, ...]
    values: Zipf


@dataclass(frozen=True)
class Clock:
    """A part of a PartitionKey that rises.

    :param seconds: the duration of a value; None if every entity has its own
    """

    name: str
    seconds: float | None
    values: int


@dataclass(frozen=True)
class Partitions:
    """The partitions of a PartitionKey.

    :param clock: the part that rises, if any
    :param buckets: the number of buckets of each
    :param entities: the number of entities in all of them
    :param multiply: whether their number grows with the number of entities, and not their size
    """

    template: str
    dimensions: tuple[Dimension, ...]
    clock: Clock | None
    buckets: int
    count: int
    entities: int
    multiply: bool

    @property
    def names(self) -> set[str]:
        clock = set[str]() if self.clock is None else {self.clock.name}
        return clock.union(*(dimension.names for dimension in self.dimensions))

    @classmethod
    def of(cls, key: Key, shape: Shape, *, inserts: float = 0.0, buckets: int = 1) -> Partitions:
        pieces = [piece for piece in pieces_of(key.partition_template) if piece.name]
        rising = [piece for piece in pieces if _rises(piece, shape.fields.get(piece.name or ""))]
        if rising and rising[0] is pieces[0] and _length(rising[0]) is None:
            # Later fields change nothing: all new keys are at the end
            pieces = rising
        names = [piece.name for piece in pieces if piece.name and piece not in rising]
        is_own = names_one(shape, names)
        dimensions = tuple(Dimension((name,), values_of(shape, name)) for name in names)
        if is_own:
            dimensions = (Dimension(tuple(names), Zipf(max(1, shape.count), 0.0)),)
        # If each entity has its own partition, a time in its key changes nothing
        clock = _clock(rising, shape, inserts) if rising and not is_own else None
        count = math.prod(dimension.values.count for dimension in dimensions) * (clock.values if clock else 1)
        entities, multiply = max(1, shape.count), is_own or clock is not None
        return cls(
            key.partition_template, dimensions, clock, buckets, min(count, entities) * buckets, entities, multiply
        )


def _rises(piece: Piece, field: Field | None) -> bool:
    """Whether new entities have higher values: if declared, and by default for instants."""
    if field is not None and field.order == "rising":
        return True
    return piece.is_clock and (field is None or field.distinct is None)


def _length(piece: Piece) -> float | None:
    """Return the seconds for which a rising field keeps its value; None if less than a step."""
    seconds, _ = span_of(piece)
    return seconds if seconds >= STEP else None


def _clock(rising: Sequence[Piece], shape: Shape, inserts: float) -> Clock:
    """Return the clock of the finest rising field."""
    lengths = [_length(piece) for piece in rising]
    name = rising[-1].name or ""
    field = shape.fields.get(name)
    distinct = field.distinct if field else None
    if None in lengths:
        return Clock(name, None, max(1, distinct or shape.count))
    seconds = min(length for length in lengths if length is not None)
    periods = shape.count / (inserts * seconds) if inserts else 0.0
    # There are at least those of the simulated day
    return Clock(name, seconds, max(1, distinct or max(round(periods), math.ceil(DAY / seconds))))


# -- The distribution of calls over partitions

Choice = Literal["new", "entity", "row", "partition", "all"]
"""What a call uses: a new entity, an existing one, one of a skewed choice of rows, a whole partition, or everything."""

_EXPLICIT: Final = 32
"""The number of the busiest partitions of a key that are simulated individually."""
_EXPLICIT_AT_A_TIME: Final = 8
"""The same, if each period has its own partition; and for buckets, which are all equal."""


@dataclass(frozen=True)
class Share:
    """The share of calls of a partition during a part of the day; `last` is the step after the last one."""

    first: int
    last: int
    of: float


@lru_cache(maxsize=32)
def shares(partitions: Partitions, choice: Choice, skew: float | None) -> Sequence[tuple[str, Share]]:
    """Return the names of the busiest partitions and their shares, which are the same at other rates.

    Entities and partitions are chosen by the distribution of their key values; the higher `skew` is, the less even
    that is. A call that uses everything loads every partition by its size.

    :param skew: how uneven the choice is: over time, the newest first, or else over the field with the most values;
        None to choose partitions as entities are, and of the periods of time the current one
    """
    clock, shares = partitions.clock, list[tuple[str, Share]]()
    moments = list(_moments(clock, choice, skew))
    most = _EXPLICIT if clock is None or clock.seconds is None else _EXPLICIT_AT_A_TIME
    for ranks, share in _busiest(partitions, choice, None if clock and choice != "new" else skew, most):
        for first, last, start, of in moments:
            name = _name(partitions, ranks, start)
            for bucket in _buckets(partitions.buckets):
                shares.append((bucket + name, Share(first, last, share * of / partitions.buckets)))
    return tuple(shares)


def _busiest(
    partitions: Partitions, choice: Choice, skew: float | None, most: int
) -> list[tuple[Mapping[str, int], float]]:
    """Return the values of the busiest partitions, as ranks by field, and the share of each."""
    largest = max(partitions.dimensions, key=lambda dimension: dimension.values.count, default=None)
    ranges: list[list[tuple[int, float]]] = []
    for dimension in partitions.dimensions:
        skew_here = skew if dimension is largest else None
        chosen = _chosen(dimension, choice, skew_here)
        part = [(rank, chosen.share(rank)) for rank in range(1, min(chosen.count, most) + 1)]
        if choice == "row" and skew_here is not None:
            # The busiest row is in one partition, and the others are spread over all
            rows, values = Zipf(partitions.entities, skew_here), dimension.values
            part = [(rank, min(share, rows.share(rank) + values.share(rank))) for rank, share in part]
        ranges.append(part)
    combinations = (
        (tuple(rank for rank, _ in values), math.prod(share for _, share in values)) for values in product(*ranges)
    )
    names = [dimension.names for dimension in partitions.dimensions]
    return [
        ({name: rank for group, rank in zip(names, ranks, strict=True) for name in group}, share)
        for ranks, share in heapq.nsmallest(most, combinations, key=lambda ranked: (-ranked[1], ranked[0]))
    ]


def _chosen(dimension: Dimension, choice: Choice, skew: float | None) -> Zipf:
    """Return the distribution of the requested values: as often as they occur, unless a skew is declared.

    Of entities, those that are chosen most may be in any partition: the more uneven of the two distributions decides.
    """
    if choice == "all" or skew is None:
        return dimension.values
    occurs = 0.0 if choice == "partition" else dimension.values.exponent
    return Zipf(dimension.values.count, max(occurs, skew))


def _moments(clock: Clock | None, choice: Choice, skew: float | None) -> Iterator[tuple[int, int, int, float]]:
    """Yield the first and last step of a partition, the step at which its time starts, and its share."""
    if clock is None:
        yield 0, STEPS, 0, 1.0
        return
    is_current = choice == "new" or (skew is None and choice != "all")
    recent = Zipf(clock.values, 0.0 if choice == "all" else skew or 0.0)
    if clock.seconds is None:
        yield 0, STEPS, 0, 1.0 if choice == "new" else recent.share(1)
        return
    length = round(min(clock.seconds, DAY) / STEP)
    for now in range(0, STEPS, length):
        last = min(now + length, STEPS)
        if is_current:
            yield now, last, now, 1.0
        else:
            for start in range(now, -1, -length):
                yield now, last, start, recent.share((now - start) // length + 1)


def _name(partitions: Partitions, ranks: Mapping[str, int], start: int) -> str:
    """Return the name of a partition in reports: values by their rank, times of the simulated day."""
    clock = partitions.clock
    text = ""
    for piece in pieces_of(partitions.template):
        text += piece.literal
        if piece.name and piece.name in ranks:
            text += f"{piece.name} {ranks[piece.name]}"
        elif piece.name and clock and clock.seconds is not None:
            text += (BEGINS + timedelta(seconds=start * STEP)).strftime(piece.spec)
        elif piece.name:
            text += f"newest {piece.name}"
    return text


def _buckets(count: int) -> list[str]:
    if count == 1:
        return [""]
    width = max(2, len(str(count - 1)))
    return [f"{number:0{width}d}_" for number in range(min(count, _EXPLICIT_AT_A_TIME))]
