"""What the values of a property look like: their type, their size, and how many different ones there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from ..design.model import Field, FieldType
from .rows import type_of
from .templates import Slot

_UNIQUE: Final = 0.9
"""If so large a share of the values is different, each entity has its own."""
_SPREAD: Final = 1.25
"""A largest value is named if it is so many times the usual size."""
_RISES: Final = 0.9
_ORDERED: Final = 20
"""The number of values that show whether they rise with time."""


def field_of(values: Sequence[Any], count: int, *, is_whole: bool) -> Field:
    """Return what some values of a property look like.

    :param values: those of the entities that were read and have the property
    :param count: how many entities there are
    :param is_whole: whether all of them were read
    """
    kind = Counter[FieldType](map(type_of, values)).most_common(1)[0][0]
    found = Field(kind, distinct=distinct_of(values, count, is_whole=is_whole))
    if kind not in ("string", "binary"):
        return replace(found, distinct=None) if kind == "boolean" else found
    sizes = [len(each) for each in values if isinstance(each, (str, bytes))]
    usual, largest = round(sum(sizes) / len(sizes)), max(sizes)
    return replace(found, size=usual, largest=largest if largest > _SPREAD * usual else None)


def distinct_of(values: Sequence[Hashable], count: int, *, is_whole: bool) -> int | None:
    """Return how many different values a property has, estimated from a sample; None if each entity has its own.

    This is the Chao1 estimator: the numbers of values seen once and seen twice estimate how many were not seen.
    """
    often = Counter(values)
    seen, read = len(often), len(values)
    if is_whole:
        return None if seen == read > 1 else seen
    if seen > _UNIQUE * read:
        return None
    times = Counter(often.values())
    once, twice = times[1], times[2]
    return min(count, seen + round(once * once / (2 * twice) if twice else once * (once - 1) / 2))


def key_field(slot: Slot, count: int, *, is_whole: bool) -> Field:
    """Return what the values of a field of the key look like."""
    found = Field(slot.type, distinct=distinct_of(slot.texts, count, is_whole=is_whole))
    if slot.type == "datetime":
        return replace(found, order="rising")
    if slot.type != "string":
        return found
    sizes = [len(str(slot.value(each))) for each in slot.texts]
    usual, largest = round(sum(sizes) / len(sizes)), max(sizes)
    return replace(found, size=max(1, usual), largest=largest if largest > _SPREAD * usual else None)


def rises(values: Sequence[Any], times: Sequence[Any]) -> bool:
    """Whether values rise with the time at which their entities were written last."""
    pairs = [(time, value) for time, value in zip(times, values, strict=True) if time is not None]
    if len(pairs) < _ORDERED or len({time for time, _ in pairs}) < len(pairs) // 2:
        return False
    ordered = [value for _, value in sorted(pairs, key=lambda pair: pair[0])]
    steps = [later >= earlier for earlier, later in pairwise(ordered)]
    return sum(steps) >= _RISES * len(steps) and bool(ordered[0] < ordered[-1])


def types_of(values: Sequence[Any]) -> list[FieldType]:
    """Return the types that some values have, the most frequent first."""
    return [kind for kind, _ in Counter[FieldType](map(type_of, values)).most_common()]
