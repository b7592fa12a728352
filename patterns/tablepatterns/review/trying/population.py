"""Population: how many entities a question finds, by what the fields are declared to be; and smaller designs like it.

What is asked for exists. A question about an entity is asked as often of a value as the value occurs; any other is
asked as often of each value; both of the first values more often, where the question is skewed.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from ..declaring.declared import Field, Query, Shape
from ..simulating.zipf import Zipf

RANGE_SHARE: Final = 0.1
"""Which share of what the rest of a question leaves a range holds, where its results are not declared."""
_FEW: Final = 16
"""So many different values a smaller shape keeps, however small it is."""

_BOOLEANS: Final = 2
_CHANCE: Final = 1e-6


def shrunk(shape: Shape, most: int) -> Shape:
    """Return a shape of at most so many entities, in which as many as before share the values of a field.

    :param most: at most so many entities
    """
    if shape.count <= most:
        return shape
    factor = most / shape.count
    fields = {name: _shrunk(field, factor) for name, field in shape.fields.items()}
    return replace(shape, count=most, fields=fields, growth=shape.growth * factor)


def _shrunk(field: Field, factor: float) -> Field:
    if field.distinct is None:
        return field
    return replace(field, distinct=min(field.distinct, max(_FEW, round(field.distinct * factor))))


def different(field: Field) -> int | None:
    """Return how many different values a field has, None if each entity has its own."""
    return _BOOLEANS if field.type == "boolean" and field.distinct is None else field.distinct


def values_of(shape: Shape, name: str) -> Zipf:
    """Return how often the values of a field occur."""
    field = shape.fields.get(name, Field())
    count = max(1, shape.count)
    values = different(field)
    if values is not None:
        return Zipf(max(1, min(values, count)), field.skew)
    if field.within is not None:
        return Zipf(max(1, count // values_of(shape, field.within).count), 0.0)
    return Zipf(count, 0.0)


def names_one(shape: Shape, names: Collection[str]) -> bool:
    """Whether values of these fields are those of one entity."""
    fields = [shape.fields.get(name, Field()) for name in names]
    return any(different(each) is None and (each.within is None or each.within in names) for each in fields)


def skewed_field(shape: Shape, names: Collection[str]) -> str | None:
    """Return the field by which a question is skewed: of those it names, the one with the most values."""
    return max(names, key=lambda name: values_of(shape, name).count, default=None)


def asked_values(shape: Shape, name: str, names: Collection[str], skew: float) -> Zipf:
    """Return how often the values of a field are asked for.

    :param names: all fields of which the question gives one value
    :param skew: how unevenly what is asked for is chosen
    """
    occurring = values_of(shape, name)
    exponent = occurring.exponent if names_one(shape, names) else 0.0
    return Zipf(occurring.count, exponent + (skew if name == skewed_field(shape, names) else 0.0))


def shared(values: Zipf, asked: Zipf) -> float:
    """Return the share of all entities that have the value which is asked for, on average over the questions.

    >>> shared(Zipf(4, 0), Zipf(4, 0))
    0.25
    """
    both = Zipf(values.count, values.exponent + asked.exponent)
    return values.share(1) * asked.share(1) / both.share(1)


def equal(shape: Shape, names: Collection[str], skew: float, asked: Collection[str]) -> float:
    """Return how many entities have the values that are asked for in all of these fields.

    :param names: some of the fields that are asked for
    :param asked: all fields of which the question gives one value
    """
    shares = [shared(values_of(shape, name), asked_values(shape, name, asked, skew)) for name in _told(shape, names)]
    if not shares or not shape.count:
        return float(shape.count)
    if names_one(shape, names):
        return 1.0
    found = shape.count * math.prod(shares)
    if len(shares) == 1:
        return max(1.0, found)
    # Values of several fields meet by chance, and only those are asked for that do
    return found / -math.expm1(-found) if found > _CHANCE else 1.0


def _told(shape: Shape, names: Collection[str]) -> list[str]:
    """Return the fields that tell entities apart: of several that rise together, the finest alone."""
    rising = [name for name in names if shape.fields.get(name, Field()).order == "rising"]
    finest = max(rising, key=lambda name: values_of(shape, name).count, default=None)
    return [name for name in names if name not in rising or name == finest]


def found_by(shape: Shape, query: Query, names: Collection[str] | None = None) -> float:
    """Return how many entities a question finds, on average.

    :param names: the fields to look at; None for all that the question knows something of
    """
    known = {name: how for name, how in query.known.items() if names is None or name in names}
    asked = [name for name, how in query.known.items() if how == "="]
    found = equal(shape, [name for name, how in known.items() if how == "="], query.skew, asked)
    ranges = [how for how in known.values() if how != "="]
    if not ranges or not shape.count:
        return found
    return min(found, max(1.0, found * range_share(shape, query) ** len(ranges)))


def range_share(shape: Shape, query: Query) -> float:
    """Return the share that each range of a question holds of what its single values leave."""
    ranges = sum(how != "=" for how in query.known.values())
    if query.results is None or not ranges:
        return RANGE_SHARE
    asked = [name for name, how in query.known.items() if how == "="]
    rest = equal(shape, asked, query.skew, asked)
    return float(min(1.0, query.results / max(1.0, rest)) ** (1 / ranges))


def scaled_results(query: Query, declared: Shape, sample: Shape) -> Query:
    """Return the question as it is put to a smaller shape: its ranges hold the same share of what the rest leaves."""
    if query.results is None:
        return query
    asked = [name for name, how in query.known.items() if how == "="]
    rest, left = (equal(shape, asked, query.skew, asked) for shape in (declared, sample))
    return replace(query, results=max(1.0, query.results * left / max(1.0, rest)))


def values_in(shape: Shape, names: Collection[str]) -> float:
    """Return how many different combinations of values these fields have."""
    if names_one(shape, names):
        return float(shape.count)
    found = 1.0
    for name in _told(shape, names):
        found *= values_of(shape, name).count
    return min(found, float(max(1, shape.count)))
