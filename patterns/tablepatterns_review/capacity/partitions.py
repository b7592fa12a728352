"""Derive the partitions of a key from the declared distributions of its fields.

- A field with a number of different values makes as many partitions, the one of the most frequent value first.
- A unique field makes a partition per entity.
- A field that rises makes the current partition. A date or an hour makes one for its duration; a finer field makes a
  partition for every entity, but these are adjacent at the end of the table, where one node serves them, so they count
  as one, the newest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tablepatterns.key import Key

from ..design.model import Field, Shape
from ..key_parts import Piece, pieces_of
from ..measure.sample import names_one, values_of
from ..zipf import Zipf
from .day import SECONDS, STEP

_LENGTHS: Final = {"Y": 365.25 * SECONDS, "m": 30.44 * SECONDS, "d": float(SECONDS), "H": 3600.0, "M": 60.0, "S": 1.0}


@dataclass(frozen=True)
class Dimension:
    """A part of a PartitionKey that does not change with time: its fields, and the distribution of its values."""

    names: tuple[str, ...]
    values: Zipf


@dataclass(frozen=True)
class Clock:
    """A part of a PartitionKey that rises.

    :param seconds: the duration of a value; None if every entity has its own
    :param values: the number of values
    """

    name: str
    seconds: float | None
    values: int


@dataclass(frozen=True)
class Partitions:
    """The partitions of a PartitionKey.

    :param template: the template of the PartitionKey
    :param dimensions: the parts that do not change with time
    :param clock: the part that rises, if any
    :param buckets: the number of buckets of each
    :param count: their number
    :param multiply: whether their number grows with the number of entities, and not their size
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

        :param shape: the shape and the number of the entities
        :param inserts: inserts per second
        :param buckets: the number of buckets of each
        """
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
        multiply = is_own or clock is not None
        return cls(
            key.partition_template, dimensions, clock, buckets, min(count, max(1, shape.count)) * buckets, multiply
        )


def _rises(piece: Piece, field: Field | None) -> bool:
    """Whether new entities have higher values: if declared, and by default for instants."""
    if field is not None and field.order == "rising":
        return True
    return piece.is_clock and (field is None or field.distinct is None)


def _length(piece: Piece) -> float | None:
    """Return the seconds for which a rising field keeps its value; None if less than a step."""
    directives = re.findall("%(.)", piece.spec)
    seconds = _LENGTHS.get(directives[-1], 0.0) if directives else 0.0
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
    return Clock(name, seconds, max(1, distinct or max(round(periods), math.ceil(SECONDS / seconds))))
