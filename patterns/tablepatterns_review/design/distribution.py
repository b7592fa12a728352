"""How the values of fields are distributed over entities and calls, and how many entities a call finds by them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from .model import Field, Query, Shape

_EXACT: Final = 10_000
RANGE_SHARE: Final = 0.1
"""The share of the remaining entities that a range contains, if its results are not declared."""
_BOOLEANS: Final = 2
_CHANCE: Final = 1e-6


@dataclass(frozen=True)
class Zipf:
    """A Zipf distribution: the value of rank r has a frequency proportional to 1 / r ** exponent.

    >>> Zipf(4, 0).share(1), round(Zipf(4, 1).share(1), 2)
    (0.25, 0.48)

    :param count: the number of values, at least one
    :param exponent: how unevenly they occur; 0 if all are equally frequent
    """

    count: int
    exponent: float

    def share(self, rank: int) -> float:
        """Return the share of the value of a rank, starting at 1; 0 after the last rank."""
        return rank**-self.exponent / _total(self.count, self.exponent) if rank <= self.count else 0.0

    @property
    def coincidence(self) -> float:
        """The probability that two random values are equal.

        >>> Zipf(4, 0).coincidence
        0.25
        """
        return _total(self.count, 2 * self.exponent) / _total(self.count, self.exponent) ** 2


@lru_cache(maxsize=1024)
def _total(count: int, exponent: float) -> float:
    """Return the sum of all weights; ranks beyond 10,000 are approximated by the integral."""
    if exponent == 0:
        return float(count)
    head = math.fsum(rank**-exponent for rank in range(1, min(count, _EXACT) + 1))
    if count <= _EXACT:
        return head
    low, high = _EXACT + 0.5, count + 0.5
    if exponent == 1:
        return head + math.log(high / low)
    return head + float(high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)


def different(field: Field) -> int | None:
    """Return how many different values a field has; None if it is unique."""
    return _BOOLEANS if field.type == "boolean" and field.distinct is None else field.distinct


def values_of(shape: Shape, name: str) -> Zipf:
    field = shape.fields.get(name, Field())
    count = max(1, shape.count)
    values = different(field)
    if values is not None:
        return Zipf(max(1, min(values, count)), field.skew)
    if field.within is not None:
        return Zipf(max(1, count // values_of(shape, field.within).count), 0.0)
    return Zipf(count, 0.0)


def coincidence_of(shape: Shape, names: Iterable[str]) -> float:
    """Return the share of pairs of entities that have the same values of these fields, if these are independent."""
    return math.prod(values_of(shape, name).coincidence for name in names)


def names_one(shape: Shape, names: Collection[str]) -> bool:
    fields = [shape.fields.get(name, Field()) for name in names]
    return any(different(field) is None and (field.within is None or field.within in names) for field in fields)


def skewed_field(shape: Shape, names: Collection[str]) -> str | None:
    """Return the field that an access pattern is skewed by: of its fields, the one with the most values."""
    return max(names, key=lambda name: values_of(shape, name).count, default=None)


def asked_values(shape: Shape, name: str, names: Collection[str], skew: float | None) -> Zipf:
    """Return the distribution of the values of a field over calls that give single values for all `names`.

    Callers request the values of a random entity, unless the access pattern declares its skew: for points and ranges.
    """
    occurring = values_of(shape, name)
    return occurring if skew is None or name != skewed_field(shape, names) else Zipf(occurring.count, skew)


def shared(values: Zipf, zipf: Zipf) -> float:
    """Return the share of entities that have the requested value, on average over the calls.

    >>> shared(Zipf(4, 0), Zipf(4, 0))
    0.25
    """
    both = Zipf(values.count, values.exponent + zipf.exponent)
    return values.share(1) * zipf.share(1) / both.share(1)


def equal(shape: Shape, names: Collection[str], skew: float | None, single: Collection[str]) -> float:
    """Return how many entities have the requested values in these fields, if the call gives those of all `single`."""
    shares = [
        shared(values_of(shape, name), asked_values(shape, name, single, skew))
        for name in _distinguishing(shape, names)
    ]
    if not shares or not shape.count:
        return float(shape.count)
    if names_one(shape, names):
        return 1.0
    if skew is None and shape.count > 1:
        # The entity whose values are requested, and of the others those that agree with it: in several fields by chance
        others = shape.count - 1
        return 1 + others * math.prod(max(0.0, shape.count * share - 1) / others for share in shares)
    found = shape.count * math.prod(shares)
    if len(shares) == 1:
        return max(1.0, found)
    # Values of several fields combine by chance, and only existing combinations are requested
    return found / -math.expm1(-found) if found > _CHANCE else 1.0


def _distinguishing(shape: Shape, names: Collection[str]) -> list[str]:
    """Return the fields that distinguish entities: of several that rise together, only the finest."""
    rising = [name for name in names if shape.fields.get(name, Field()).order == "rising"]
    finest = max(rising, key=lambda name: values_of(shape, name).count, default=None)
    return [name for name in names if name not in rising or name == finest]


def equal_names(query: Query) -> list[str]:
    return [name for name, how in query.known.items() if how == "="]


def found_by(shape: Shape, query: Query, names: Collection[str] | None = None) -> float:
    """Return how many entities a call finds on average, by these fields; None for all fields of the call."""
    matches = {name: how for name, how in query.known.items() if names is None or name in names}
    single = equal_names(query)
    found = equal(shape, [name for name in matches if name in single], query.skew, single)
    ranges = len(set(matches).difference(single))
    if not ranges or not shape.count:
        return found
    return min(found, max(1.0, found * range_share(shape, query) ** ranges))


def range_share(shape: Shape, query: Query) -> float:
    """Return the share of each range in the entities that match the single values."""
    single = equal_names(query)
    ranges = len(query.known) - len(single)
    if query.results is None or not ranges:
        return RANGE_SHARE
    rest = equal(shape, single, query.skew, single)
    return float(min(1.0, query.results / max(1.0, rest)) ** (1 / ranges))


def scaled_results(query: Query, declared: Shape, sample: Shape) -> Query:
    """Return the access pattern for a smaller shape, with ranges that contain the same share."""
    if query.results is None:
        return query
    names = equal_names(query)
    rest, left = (equal(shape, names, query.skew, names) for shape in (declared, sample))
    return replace(query, results=max(1.0, query.results * left / max(1.0, rest)))


def values_in(shape: Shape, names: Collection[str]) -> float:
    """Return the number of different combinations of values of these fields."""
    if names_one(shape, names):
        return float(shape.count)
    return min(combinations(shape, names), float(max(1, shape.count)))


def combinations(shape: Shape, names: Collection[str]) -> float:
    return float(math.prod(values_of(shape, name).count for name in _distinguishing(shape, names)))


def busiest_share(shape: Shape, names: Iterable[str]) -> float:
    """Return the share of the entities that have the most frequent value of each field."""
    return math.prod(values_of(shape, name).share(1) for name in names)
