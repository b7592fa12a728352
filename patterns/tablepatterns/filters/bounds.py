"""Derive the ranges of PartitionKey and RowKey that contain every match of a filter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

from ..edm import ordinal
from .expression import And, Comparison, Constant, Filter, Not, Or, not_a_filter


@dataclass(frozen=True, slots=True)
class Interval:
    """A range of keys in the order of the service. An upper bound of None or a lower bound of '' means unbounded.

    >>> Interval("S", upper="T", upper_inclusive=False).contains("Sales")
    True
    """

    lower: str = ""
    lower_inclusive: bool = True
    upper: str | None = None
    upper_inclusive: bool = True

    @property
    def exact(self) -> str | None:
        """The only key in the range; None if there is not exactly one."""
        includes_ends = self.lower_inclusive and self.upper_inclusive
        return self.lower if includes_ends and self.lower == self.upper else None

    @property
    def bounded(self) -> bool:
        """Whether the range excludes any key."""
        return self != ANY_KEY

    @property
    def empty(self) -> bool:
        """Whether the range contains no key."""
        return self.upper is not None and self.exact is None and ordinal(self.lower) >= ordinal(self.upper)

    def contains(self, key: str) -> bool:
        """Return whether the key is in the range."""
        if self.lower == self.upper:
            return key == self.exact
        place, lower = ordinal(key), ordinal(self.lower)
        if place < lower or (place == lower and not self.lower_inclusive):
            return False
        if self.upper is None:
            return True
        return place < ordinal(self.upper) or (key == self.upper and self.upper_inclusive)

    def comparisons(self, name: str) -> list[Comparison]:
        """Return the comparisons of PartitionKey or RowKey that only keys in the range satisfy; none for every key."""
        if self.exact is not None:
            return [Comparison(name, "eq", self.exact)]
        bounds: list[Comparison] = []
        if self.lower or not self.lower_inclusive:
            bounds.append(Comparison(name, "ge" if self.lower_inclusive else "gt", self.lower))
        if self.upper is not None:
            bounds.append(Comparison(name, "le" if self.upper_inclusive else "lt", self.upper))
        return bounds

    def __and__(self, other: Interval) -> Interval:
        return max(self, other, key=Interval._start)._until(min(self, other, key=Interval._end))

    def __or__(self, other: Interval) -> Interval:
        """Return the smallest range that contains both; it may also contain keys of neither."""
        return min(self, other, key=Interval._start)._until(max(self, other, key=Interval._end))

    def _start(self) -> tuple[str, bool]:
        return (ordinal(self.lower), not self.lower_inclusive)

    def _end(self) -> tuple[bool, str, bool]:
        return (self.upper is None, ordinal(self.upper or ""), self.upper_inclusive)

    def _until(self, other: Interval) -> Interval:
        return Interval(self.lower, self.lower_inclusive, other.upper, other.upper_inclusive)


ANY_KEY: Final = Interval()
NO_KEY: Final = Interval(upper="", upper_inclusive=False)


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """The ranges of PartitionKeys and RowKeys that contain every match."""

    partition_keys: Interval = ANY_KEY
    row_keys: Interval = ANY_KEY

    @property
    def partition(self) -> str | None:
        """The only partition that can contain matches; None if there is not exactly one."""
        return self.partition_keys.exact

    @property
    def key(self) -> tuple[str, str] | None:
        """The only key (PartitionKey, RowKey) that can match; None if there is not exactly one."""
        partition, row = self.partition_keys.exact, self.row_keys.exact
        return None if partition is None or row is None else (partition, row)

    @property
    def empty(self) -> bool:
        """Whether no entity can match: the conditions on the keys contradict one another."""
        return self.partition_keys.empty or self.row_keys.empty

    def contains(self, partition_key: str, row_key: str) -> bool:
        """Return whether an entity with these keys can match."""
        return self.partition_keys.contains(partition_key) and self.row_keys.contains(row_key)

    def __and__(self, other: KeyBounds) -> KeyBounds:
        return KeyBounds(self.partition_keys & other.partition_keys, self.row_keys & other.row_keys)


ANYWHERE: Final = KeyBounds()
NOWHERE: Final = KeyBounds(NO_KEY, NO_KEY)

Union: TypeAlias = Callable[[list[KeyBounds]], KeyBounds]
"""A function from the bounds of the terms of an `or` to those of the whole; `false` is an `or` without terms."""


def key_bounds(expression: Filter) -> KeyBounds:
    """Return key ranges that contain every matching entity.

    They are exact for key comparisons joined by `and`. For an `or`, they span the ranges of all terms, and may contain
    keys of none of them. `ne`, `not` and conditions on other properties do not narrow them.

    >>> from tablepatterns.filters import parse
    >>> bounds = key_bounds(parse("PartitionKey eq 'Sales' and RowKey ge 'S' and RowKey lt 'T'"))
    >>> bounds.partition, bounds.row_keys
    ('Sales', Interval(lower='S', lower_inclusive=True, upper='T', upper_inclusive=False))
    """
    return fold_bounds(expression, _hull)


def fold_bounds(expression: Filter, union: Union) -> KeyBounds:
    """Return the bounds of a filter, with the given treatment of `or`."""
    match expression:
        case Comparison(name="PartitionKey"):
            return KeyBounds(partition_keys=_range(expression))
        case Comparison(name="RowKey"):
            return KeyBounds(row_keys=_range(expression))
        case And(terms=terms):
            return reduce(KeyBounds.__and__, [fold_bounds(term, union) for term in terms])
        case Or(terms=terms):
            return union([fold_bounds(term, union) for term in terms])
        case Constant(value=False):
            return union([])
        case Comparison() | Constant() | Not():
            return ANYWHERE
        case _:
            raise not_a_filter(expression)


def _hull(boxes: list[KeyBounds]) -> KeyBounds:
    possible = [box for box in boxes if not box.empty]
    if not possible:
        return NOWHERE
    partitions = reduce(Interval.__or__, [box.partition_keys for box in possible])
    return KeyBounds(partitions, reduce(Interval.__or__, [box.row_keys for box in possible]))


def _range(comparison: Comparison) -> Interval:
    key, operator = comparison.value, comparison.operator
    if not isinstance(key, str):
        # A key is a string, so a value of another type never equals it and always counts as greater
        return NO_KEY if operator in ("eq", "gt", "ge") else ANY_KEY
    match operator:
        case "eq":
            return Interval(key, upper=key)
        case "gt" | "ge":
            return Interval(key, operator == "ge")
        case "lt" | "le":
            return Interval(upper=key, upper_inclusive=operator == "le")
        case "ne":
            return ANY_KEY
