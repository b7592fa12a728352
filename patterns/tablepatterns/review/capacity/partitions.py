"""Derive the partitions that a key produces from the declared distributions.

What the fields of a PartitionKey are declared to be says it all:

- a field with so many different values makes as many partitions, the one of the most frequent value first;
- a field of which each entity has its own value makes a partition of each entity;
- a field that rises makes the partition of the moment. A date or an hour makes one for its length, after which comes
  the next; a finer one makes a new partition for every entity, but they lie side by side at the end of the table, where
  one node serves them: they count as one, the newest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...key import Key
from ..design.model import Field, Shape
from ..key_parts import Piece, pieces_of
from ..measure.sample import names_one, values_of
from ..zipf import Zipf
from .day import SECONDS, STEP

_LENGTHS: Final = {"Y": 365.25 * SECONDS, "m": 30.44 * SECONDS, "d": float(SECONDS), "H": 3600.0, "M": 60.0, "S": 1.0}


@dataclass(frozen=True)
class Dimension:
    """A part of a PartitionKey that does not change with time: its fields, and how its values occur."""

    names: tuple[str, ...]
    values: Zipf


@dataclass(frozen=True)
class Clock:
    """A part of a PartitionKey that rises.

    :param seconds: for how long one value lasts; None where every entity has its own
    :param values: how many values there are
    """

    name: str
    seconds: float | None
    values: int


@dataclass(frozen=True)
class Partitions:
    """The partitions that a PartitionKey makes.

    :param template: the template of the PartitionKey
    :param dimensions: what does not change with time
    :param clock: what rises, if anything does
    :param buckets: over how many buckets each of them is spread
    :param count: how many there are
    :param multiply: whether there are more of them as there are more entities, each as large as before
    """

    template: str
    dimensions: tuple[Dimension, ...]
    clock: Clock | None
    buckets: int
    count: int
    multiply: bool

    @classmethod
    def of(cls, key: Key, shape: Shape, *, inserts: float = 0.0, buckets: int = 1) -> Partitions:
        """Return the partitions of rows with this key.

        :param shape: what the entities look like, and how many there are
        :param inserts: how many come in a second
        :param buckets: over how many buckets each is spread
        """
        pieces = [piece for piece in pieces_of(key.partition_template) if piece.name]
        rising = [piece for piece in pieces if _rises(piece, shape.fields.get(piece.name or ""))]
        if rising and rising[0] is pieces[0] and _length(rising[0]) is None:
            # What follows changes nothing: all new keys lie at the end
            pieces = rising
        names = [piece.name for piece in pieces if piece.name and piece not in rising]
        is_own = names_one(shape, names)
        dimensions = tuple(Dimension((name,), values_of(shape, name)) for name in names)
        if is_own:
            dimensions = (Dimension(tuple(names), Zipf(max(1, shape.count), 0.0)),)
        # Where each entity has its own partition, that time is a part of it changes nothing
        clock = _clock(rising, shape, inserts) if rising and not is_own else None
        count = math.prod(each.values.count for each in dimensions) * (clock.values if clock else 1)
        multiply = is_own or clock is not None
        return cls(
            key.partition_template, dimensions, clock, buckets, min(count, max(1, shape.count)) * buckets, multiply
        )


def _rises(piece: Piece, field: Field | None) -> bool:
    """Whether new entities have higher values: as declared, or as an instant does that nothing else is said of."""
    if field is not None and field.order == "rising":
        return True
    return piece.is_clock and (field is None or field.distinct is None)


def _length(piece: Piece) -> float | None:
    """Return for how many seconds a rising field keeps its value; None for less than a step."""
    directives = re.findall("%(.)", piece.spec)
    seconds = _LENGTHS.get(directives[-1], 0.0) if directives else 0.0
    return seconds if seconds >= STEP else None


def _clock(rising: Sequence[Piece], shape: Shape, inserts: float) -> Clock:
    """Return the clock of the finest of several rising fields."""
    lengths = [_length(piece) for piece in rising]
    name = rising[-1].name or ""
    field = shape.fields.get(name)
    distinct = field.distinct if field else None
    if None in lengths:
        return Clock(name, None, max(1, distinct or shape.count))
    seconds = min(length for length in lengths if length is not None)
    periods = shape.count / (inserts * seconds) if inserts else 0.0
    # At the end of the day there are those of the day at least
    return Clock(name, seconds, max(1, distinct or max(round(periods), math.ceil(SECONDS / seconds))))
