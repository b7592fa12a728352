"""Asking: the values of the questions that are put to a sample, and the filters that they are sent as."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...filters import And, Comparison, Filter, Not, Or, comparisons, parse, prop
from ...key import Key, between, prefix
from ...key.ranges import Between, Prefix
from ...reading.question import range_filter
from ..declaring.declared import DeclaredSet, Query, Shape
from .answering import Answer, partition_as_row
from .keeping import Ask
from .population import names_one, range_share, skewed_field
from .sampling import Sample

_MOST_VALUES: Final = 16
_LETTERS: Final = 4
_GOLDEN: Final = 0.618
"""A step by which values are chosen that come evenly from everywhere."""


@dataclass(frozen=True)
class Question:
    """One question of an access pattern: it is asked about an entity that exists.

    :param about: the number of that entity in the sample
    :param weight: the share of the pattern's questions that it stands for
    """

    about: int
    weight: float


def questions(
    shape: Shape, query: Query, made: Sample, names: Sequence[str], first: Sequence[str], most: int
) -> list[Question]:
    """Return questions that stand for all of an access pattern, with their weights.

    Of few partitions each is asked for; of many, as many as are given, evenly over the questions.

    :param shape: the shape of the sample
    :param names: the fields of which the question gives one value
    :param first: those of them that make the partition that is searched
    :param most: about how many questions to ask
    """
    skewed = skewed_field(shape, names)
    if skewed is None or not made.stored:
        return [Question(0, 1.0)]
    told, as_entity = tuple(first) or (skewed,), names_one(shape, names)
    groups: dict[tuple[int, ...], list[int]] = {}
    for number in range(len(made.stored)):
        groups.setdefault(tuple(made.ranks[name][number] for name in told), []).append(number)
    weights = {
        ranks: (len(each) if as_entity else 1) * _lean(ranks, told, skewed, query.skew)
        for ranks, each in sorted(groups.items())
    }
    total = math.fsum(weights.values())
    rest = [] if as_entity else [name for name in names if name not in told]
    if len(groups) <= min(most, _MOST_VALUES):
        chosen = [(ranks, weight / total) for ranks, weight in weights.items()]
    else:
        picks = max(1, min(most, _MOST_VALUES))
        chosen = [(ranks, 1 / picks) for ranks in _quantiles(weights, total, picks)]
    return [Question(_one_of(groups[ranks], made, rest, at), weight) for at, (ranks, weight) in enumerate(chosen)]


def _lean(ranks: Sequence[int], told: Sequence[str], skewed: str, skew: float) -> float:
    """Return how much more often the first values of the field by which a question is skewed are asked for."""
    return float(ranks[told.index(skewed)] ** -skew) if skewed in told else 1.0


def _one_of(numbers: Sequence[int], made: Sample, rest: Sequence[str], at: int) -> int:
    """Return an entity of a partition: of the values that the question gives besides, another one each time."""
    by_values = {tuple(made.ranks[name][number] for name in rest): number for number in numbers} if rest else {}
    choices = [by_values[values] for values in sorted(by_values)] or list(numbers)
    return choices[int((at * _GOLDEN + 0.5) % 1 * len(choices))]


def _quantiles(weights: Mapping[tuple[int, ...], float], total: float, picks: int) -> list[tuple[int, ...]]:
    found, passed, ranks = list[tuple[int, ...]](), 0.0, iter(weights.items())
    rank, weight = next(ranks)
    for pick in range(picks):
        while passed + weight < (pick + 0.5) / picks * total:
            passed += weight
            rank, weight = next(ranks, (rank, total))
        found.append(rank)
    return found


def ask_of(declared: DeclaredSet, query: Query, answer: Answer, made: Sample, question: Question, shape: Shape) -> Ask:
    """Return a question as it is put to a set.

    :param shape: the shape of the sample
    """
    # Of an empty set, an entity that is still to come
    about = (made.stored or made.spare)[question.about]
    select = query.select or None
    if query.filter is not None:
        sent = filled(parse(query.filter), declared.key, about, made)
        return Ask("filter", where=sent, select=select)
    known = {name: _asked(query, name, made, about, shape) for name in query.known}
    given = {name: known[name] for name in answer.given if answer.via is None or name in known}
    where = _conditions(declared, answer, known)
    return Ask(answer.way, answer.via, given, where, answer.takes(query), select, answer.completes)


def _asked(query: Query, name: str, made: Sample, about: Mapping[str, Any], shape: Shape) -> Any:
    """Return what is asked of a field: the value of the entity, or a range or a beginning that it is in."""
    value, how = about[name], query.known[name]
    share = range_share(shape, query)
    if how == "=":
        return value
    if how == "prefix" and isinstance(value, str):
        return prefix(value[: min(_LETTERS, max(1, round(-math.log10(share))))])
    single = [each for each, known in query.known.items() if known == "="]
    alike = [each for each in made.stored if all(each[field] == about[field] for field in single)]
    values = sorted(each[name] for each in alike) or [value]
    width = max(1, round(share * len(values)))
    start = min(max(0, values.index(value) - width // 2), len(values) - width)
    return between(values[start], values[start + width - 1])


def _conditions(declared: DeclaredSet, answer: Answer, known: Mapping[str, Any]) -> Filter | None:
    conditions: list[Filter] = []
    key, is_scan = declared.key, answer.way == "scan"
    row = [name for name in answer.where if name in key.row_fields and is_scan]
    lead = [name for name in answer.where if name in key.partition_fields and is_scan]
    if lead:
        bounds = _bounds(partition_as_row(key), {name: known[name] for name in lead})
        conditions += [Comparison("PartitionKey", each.operator, each.value) for each in bounds]
    if row:
        conditions += _bounds(Key("any", key.row_template), {name: known[name] for name in row})
    conditions += [_condition(name, known[name]) for name in answer.where if name not in (*row, *lead)]
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(*conditions)


def _bounds(key: Key, given: Mapping[str, Any]) -> list[Comparison]:
    """Return the bounds of a RowKey, without its partition."""
    return [each for each in comparisons(range_filter(key.range(given))) if each.name == "RowKey"]


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


def filled(expression: Filter, key: Key, about: dict[str, Any], made: Sample) -> Filter:
    """Return a declared filter with values of the sample in place of its own, which the sample does not have.

    What it compares with `eq` or `ne` is the value of the entity that is asked about, a further RowKey that of the next
    entity in the partition. A lower and an upper bound hold a tenth of the sample's values between them.
    """
    partition = [each for each in made.stored if all(each[name] == about[name] for name in key.partition_fields)]
    start = next((number for number, each in enumerate(partition) if each is about), 0)
    turned = [*partition[start:], *partition[:start]] or [about]
    return _Filling(key, turned, made.stored).fill(expression)


class _Filling:
    def __init__(self, key: Key, partition: Sequence[Mapping[str, Any]], stored: Sequence[Mapping[str, Any]]) -> None:
        self._key = key
        self._partition = partition
        self._stored = stored
        self._rows = 0

    def fill(self, expression: Filter) -> Filter:
        match expression:
            case And(terms=terms):
                return And(*map(self.fill, terms))
            case Or(terms=terms):
                return Or(*map(self.fill, terms))
            case Not(term=term):
                return Not(self.fill(term))
            case Comparison():
                return self._filled(expression)
            case _:
                return expression

    def _filled(self, comparison: Comparison) -> Filter:
        value = self._value(comparison)
        return comparison if value is None else Comparison(comparison.name, comparison.operator, value)

    def _value(self, comparison: Comparison) -> Any:
        is_row = comparison.name == "RowKey"
        if comparison.operator in ("eq", "ne"):
            if is_row:
                self._rows += 1
            at = (self._rows - 1) % len(self._partition) if is_row else 0
            return self._of(comparison.name, self._partition[at])
        of = self._partition if is_row else self._stored
        values = sorted(value for each in of if (value := self._of(comparison.name, each)) is not None)
        middle = 0.45 if comparison.operator in ("gt", "ge") else 0.55
        return values[min(len(values) - 1, int(middle * len(values)))] if values else None

    def _of(self, name: str, fields: Mapping[str, Any]) -> Any:
        if name in ("PartitionKey", "RowKey"):
            keys = self._key.format({each: fields[each] for each in self._key.fields})
            return keys[name == "RowKey"]
        return fields.get(name)
