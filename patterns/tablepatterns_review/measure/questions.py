"""Choose sample values for the calls of an access pattern."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from tablepatterns.entity_set.range_query import range_filter
from tablepatterns.filters import And, Comparison, Filter, Not, Or, comparisons, parse, prop
from tablepatterns.key import Key, between, prefix
from tablepatterns.key.ranges import Between, Prefix

from ..design.distribution import equal_names, names_one, range_share, skewed_field
from ..design.model import DeclaredSet, Query, Shape
from ..kinds import kind_of
from ..kinds.kind import SampleCall
from ..plans.planner import Way, mistakes_of, names_period, partition_as_row
from .sample import Sample

_MOST_VALUES: Final = 16
_LETTERS: Final = 4
_ROUNDING: Final = 1e-9
_GOLDEN: Final = 0.618
"""A step that distributes the chosen values evenly."""


def questions(
    shape: Shape, query: Query, sample: Sample, names: Sequence[str], first: Sequence[str], most: int
) -> list[tuple[int, float]]:
    """Return the entities, by number, of about `most` sample calls of an access pattern; of few, each is made.

    With each is its weight, the share of the pattern's calls.

    :param names: the fields that the call gives single values for
    :param first: those that determine the partition
    """
    skewed = skewed_field(shape, names)
    if skewed is None or not sample.stored:
        return [(0, 1.0)]
    by = tuple(first) if names_one(shape, names) else tuple(dict.fromkeys((*first, *names)))
    groups: dict[tuple[int, ...], list[int]] = {}
    for number in range(len(sample.stored)):
        groups.setdefault(tuple(sample.ranks[name][number] for name in by), []).append(number)
    partitions = Counter[tuple[int, ...]]()
    for ranks, numbers in groups.items():
        partitions[ranks[: len(first)]] += len(numbers)

    def size(ranks: tuple[int, ...]) -> tuple[Any, ...]:
        return partitions[ranks[: len(first)]], ranks[: len(first)], len(groups[ranks]), ranks

    # By size, so that those which are picked have the mean size
    weights = _weights({ranks: groups[ranks] for ranks in sorted(groups, key=size)}, by, skewed, query.skew)
    total, picks = math.fsum(weights.values()), max(1, min(most, _MOST_VALUES))
    chosen = [(ranks, weight / total) for ranks, weight in weights.items()]
    if len(chosen) > picks:
        sizes = {ranks: (partitions[ranks[: len(first)]], len(groups[ranks])) for ranks in weights}
        chosen = [(ranks, 1 / picks) for ranks in _picked(weights, sizes, picks)]
    return [
        (groups[ranks][int((at * _GOLDEN + 0.5) % 1 * len(groups[ranks]))], weight)
        for at, (ranks, weight) in enumerate(chosen)
    ]


def _weights(
    groups: Mapping[tuple[int, ...], Sequence[int]], by: Sequence[str], skewed: str, skew: float | None
) -> dict[tuple[int, ...], float]:
    """Return how often each group is requested: as often as an entity is of it, or by the rank of its skewed value."""
    if skew is None or skewed not in by:
        return {ranks: float(len(numbers)) for ranks, numbers in groups.items()}
    at, occurring = by.index(skewed), Counter[int]()
    for ranks, numbers in groups.items():
        occurring[ranks[at]] += len(numbers)
    return {ranks: len(numbers) / occurring[ranks[at]] * ranks[at] ** -skew for ranks, numbers in groups.items()}


def _picked(
    weights: Mapping[tuple[int, ...], float], sizes: Mapping[tuple[int, ...], tuple[int, int]], picks: int
) -> Iterator[tuple[int, ...]]:
    """Yield one group of each of `picks` parts of equal weight, so that together they have the mean sizes of all.

    :param sizes: the number of entities of the partition of each group, and of the group
    """
    part = math.fsum(weights.values()) / picks
    means = [math.fsum(weights[ranks] * sizes[ranks][at] for ranks in weights) / part / picks for at in range(2)]
    groups, passed, missing = list[tuple[int, ...]](), 0.0, [0.0, 0.0]

    def add(ranks: tuple[int, ...], share: float) -> None:
        for at, size in enumerate(sizes[ranks]):
            missing[at] += size / means[at] * share

    def excess(ranks: tuple[int, ...]) -> float:
        return sum(abs(missing[at] - size / means[at]) for at, size in enumerate(sizes[ranks]))

    for ranks, weight in weights.items():
        groups.append(ranks)
        while weight > (left := part - passed) - part * _ROUNDING:
            # A group of more weight than is left is in the next part, too
            add(ranks, left / part)
            group = min(groups, key=excess)
            add(group, -1.0)
            yield group
            weight, passed, groups = weight - left, 0.0, [ranks]
        passed += weight
        add(ranks, weight / part)


def sample_call(declared_set: DeclaredSet, way: Way, sample: Sample, number: int, shape: Shape) -> SampleCall:
    """Return the parameters of a call for the entity of this number; `shape` is that of the sample."""
    query = way.query
    # For an empty set, a spare entity
    about = (sample.stored or sample.spare)[number]
    # The rows of an index that are completed from their entities have to tell the keys of these
    select = None if way.completes else query.select or None
    if query.filter is not None:
        fixed = {comparison for comparison, _ in mistakes_of(declared_set, query.filter)}
        sent = filled(parse(query.filter), declared_set.key, about, sample, fixed)
        return SampleCall("filter", where=sent, select=select)
    values = {name: _asked(query, name, sample, about, shape) for name in query.known}
    arguments = {name: values[name] for name in way.key_fields if way.via is None or name in values}
    at = kind_of(declared_set).time_field(declared_set)
    is_of_period = at not in arguments and names_period(declared_set, query)
    moment = about[at] if at is not None and is_of_period else None
    where = _conditions(declared_set, way, values)
    return SampleCall(way.method, way.via, arguments, where, way.take, select, way.completes, moment)


def _asked(query: Query, name: str, sample: Sample, about: Mapping[str, Any], shape: Shape) -> Any:
    """Return the argument for a field: the entity's value, or a range or a prefix that contains it."""
    value, how = about[name], query.known[name]
    share = range_share(shape, query)
    if how in ("=", "contains"):
        return value
    if how == "prefix" and isinstance(value, str):
        # What all values begin with narrows nothing down
        texts = [row[name] for row in sample.stored] or [value]
        shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False))))
        return prefix(value[: shared + min(_LETTERS, max(1, round(-math.log10(share))))])
    single = equal_names(query)
    alike = [row for row in sample.stored if all(row[field] == about[field] for field in single)]
    values = sorted(row[name] for row in alike) or [value]
    width = max(1, round(share * len(values)))
    start = min(max(0, values.index(value) - width // 2), len(values) - width)
    return between(values[start], values[start + width - 1])


def _conditions(declared_set: DeclaredSet, way: Way, values: Mapping[str, Any]) -> Filter | None:
    conditions: list[Filter] = []
    key, is_scan = declared_set.key, way.method == "scan"
    row = [name for name in way.where if name in key.row_fields and is_scan]
    lead = [name for name in way.where if name in key.partition_fields and is_scan]
    if lead:
        bounds = _bounds(partition_as_row(key), {name: values[name] for name in lead})
        conditions += [Comparison("PartitionKey", comparison.operator, comparison.value) for comparison in bounds]
    if row:
        conditions += _bounds(Key("any", key.row_template), {name: values[name] for name in row})
    conditions += [_condition(name, values[name]) for name in way.where if name not in (*row, *lead)]
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(*conditions)


def _bounds(key: Key, arguments: Mapping[str, Any]) -> list[Comparison]:
    return [comparison for comparison in comparisons(range_filter(key.range(arguments))) if comparison.name == "RowKey"]


def _condition(name: str, asked: Any) -> Filter:
    match asked:
        case Prefix():
            return prop(name).startswith(asked.text)
        case Between():
            low: Any = asked.low
            high: Any = asked.high
            return prop(name).between(low, high)
        case _:
            return Comparison(name, "eq", asked)


def filled(
    expression: Filter, key: Key, about: dict[str, Any], sample: Sample, fixed: Collection[Comparison] = ()
) -> Filter:
    """Return a declared filter with values of the sample.

    `eq` and `ne` compare with the entity's value, a further RowKey with that of the next entity in the partition, and
    another PartitionKey with the next partition. A lower and an upper bound contain a tenth of the sample's values.

    :param fixed: the comparisons that are sent as they are
    """
    start = next((number for number, row in enumerate(sample.stored) if row is about), 0)
    partitions: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in [*sample.stored[start:], *sample.stored[:start]] or [about]:
        partitions.setdefault(tuple(row[name] for name in key.partition_fields), []).append(row)
    return _Filling(key, list(partitions.values()), sample.stored, fixed).fill(expression)


@dataclass
class _Filling:
    key: Key
    partitions: Sequence[Sequence[Mapping[str, Any]]]
    stored: Sequence[Mapping[str, Any]]
    fixed: Collection[Comparison]
    numbers: dict[object, int] = field(default_factory=dict[object, int])
    """The partition for each PartitionKey of the declared filter."""
    current: int = 0
    """The partition of the next RowKey."""
    rows: int = 0
    """The number of compared RowKeys so far."""

    def fill(self, expression: Filter) -> Filter:
        match expression:
            case And(terms=terms):
                return And(*map(self.fill, terms))
            case Or(terms=terms):
                return Or(*map(self.fill, terms))
            case Not(term=term):
                return Not(self.fill(term))
            case Comparison() if expression not in self.fixed:
                value = self._value(expression)
                return expression if value is None else Comparison(expression.name, expression.operator, value)
            case _:
                return expression

    def _value(self, comparison: Comparison) -> Any:
        is_row = comparison.name == "RowKey"
        if comparison.name == "PartitionKey" and comparison.operator == "eq":
            self.current = self.numbers.setdefault(comparison.value, len(self.numbers) % len(self.partitions))
        partition = self.partitions[self.current]
        if comparison.operator in ("eq", "ne"):
            at = self.rows % len(partition) if is_row else 0
            self.rows += is_row
            return self._of(comparison.name, partition[at])
        of = partition if is_row else self.stored
        values = sorted(value for row in of if (value := self._of(comparison.name, row)) is not None)
        middle = 0.45 if comparison.operator in ("gt", "ge") else 0.55
        return values[min(len(values) - 1, int(middle * len(values)))] if values else None

    def _of(self, name: str, fields: Mapping[str, Any]) -> Any:
        if name in ("PartitionKey", "RowKey"):
            keys = self.key.format({name: fields[name] for name in self.key.fields})
            return keys[name == "RowKey"]
        return fields.get(name)
