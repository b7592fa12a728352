"""Choose the call that answers an access pattern, and sample values for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived, RowLayout, RowProfile
from tablepatterns.entity_set.range_query import range_filter
from tablepatterns.filters import And, Comparison, Filter, Not, Or, comparisons, parse, prop
from tablepatterns.key import Key, between, prefix
from tablepatterns.key.ranges import Between, Prefix

from ..design.model import DeclaredSet, Match, Query, Shape
from ..key_parts import Piece, pieces_of
from ..kinds import kind_of
from ..kinds.kind import SampleCall, Way
from .sample import Sample, names_one, range_share, skewed_field

_LEVELS: Final[Mapping[Way, int]] = {"get": 0, "totals": 0, "find": 1, "range": 2, "find_all": 3, "scan": 5}
_PARTITION: Final = 4
_SHOWN: Final[Mapping[Match, str]] = {
    "=": "...",
    "range": "between(...)",
    "prefix": "prefix(...)",
    "contains": "...",
}


@dataclass(frozen=True)
class Answer:
    """The call that answers an access pattern.

    :param way: the method of the recipe
    :param via: the derived data that is read; None for the primary rows
    :param key: the key that is searched, or None
    :param given: the given fields of the key, from left to right
    :param where: the fields that are conditions on properties
    :param client: the fields that the caller filters by
    :param bounds: whether the RowKey is bounded by a field
    :param ordered: whether results have the declared order
    :param completes: whether the entity of each row is read too
    """

    way: Way
    via: Derived | None = None
    key: Key | None = None
    given: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    bounds: bool = True
    ordered: bool = True
    completes: bool = False

    @property
    def follows(self) -> bool:
        """Whether the derived data that is read is eventually consistent."""
        return self.via is not None and self.via.is_eventual

    @property
    def sent(self) -> tuple[str, ...]:
        """The fields that the service filters by."""
        return (*self.given, *self.where)

    def takes(self, query: Query) -> int | None:
        """Return how many entities the call requests; None for all."""
        if query.take is None or not self.ordered or self.client or self.way not in ("range", "scan"):
            return None
        return query.take + query.skip

    def is_scan(self, query: Query) -> bool:
        """Whether a range in fact searches the whole partition."""
        remaining_names = self.where or self.client
        return self.way == "range" and not self.bounds and bool(remaining_names or not self.ordered)


def answer(declared_set: DeclaredSet, query: Query) -> Answer:
    """Return the best call for an access pattern.

    :param declared_set: the set
    :param query: the access pattern
    """
    if query.filter is not None:
        return Answer("filter")
    answers = [answer for answer in _answers(declared_set, query) if answer is not None]
    return min(answers, key=lambda answer: _rank(answer, query))


def call_text(answer: Answer, query: Query) -> str:
    """Return the call as shown in reports."""
    if query.filter is not None:
        return f"query({query.filter})"
    via = [] if answer.via is None else [f"<{answer.via.name}>"]
    argument_names = [f"{name}={_SHOWN[query.known.get(name, '=')]}" for name in answer.given]
    where = [f"where=({' & '.join(answer.where)})"] if answer.where else []
    count = answer.takes(query)
    way = "take" if answer.way == "range" and count is not None else answer.way
    call = f"{way}({', '.join([*([str(count)] if way == 'take' else []), *via, *argument_names, *where])})"
    after: list[str] = []
    if answer.completes:
        after.append("the entity of each row is read")
    if answer.client:
        after.append(f"{', '.join(answer.client)} checked by the caller")
    if not answer.ordered:
        after.append("sorted by the caller")
    return "; ".join([call, *after])


def _rank(answer: Answer, query: Query) -> tuple[float, ...]:
    is_late = answer.follows and query.max_staleness == 0
    level = _PARTITION if answer.is_scan(query) else _LEVELS[answer.way]
    rest = len(answer.where) + len(answer.client)
    return level, rest, not answer.ordered, answer.completes, is_late, answer.via is not None


def _answers(declared_set: DeclaredSet, query: Query) -> Iterator[Answer | None]:
    mapped = {name for mapping in declared_set.mappings for name in mapping.fields}
    primary = RowLayout(declared_set.key)
    yield _by_key(declared_set, query, None, primary, mapped)
    for via, profile in declared_set.profiles():
        if profile.layout is not None:
            yield _by_key(declared_set, query, via, profile.layout, mapped)
        elif profile.finder is not None:
            yield (_by_totals if profile.totals else _by_list)(declared_set, query, via, profile)
    yield _by_scan(declared_set, query, mapped)


def _by_key(
    declared_set: DeclaredSet, query: Query, via: Derived | None, shape: RowLayout, mapped: set[str]
) -> Answer | None:
    key = shape.key
    own = str(declared_set.settings.get("bucket", ""))
    partition = [name for name in key.partition_fields if name != own]
    if any(query.known.get(name) != "=" for name in partition):
        return None
    row = _row_given(key, query)
    argument_names = (*partition, *row)
    other_names = [name for name in query.known if name not in argument_names]
    at = kind_of(declared_set).time_field(declared_set)
    if at in other_names:
        # The time determines the table, whether it is part of the key or not
        argument_names = (*argument_names, at)
        other_names.remove(at)
    where = tuple(name for name in other_names if shape.holds(name) and name not in mapped and _is_sent(query, name))
    client = tuple(name for name in other_names if name not in where)
    is_point = len(row) == len(key.row_fields) and all(query.known[name] == "=" for name in row)
    way: Way = "range"
    if is_point and not kind_of(declared_set).is_spread:
        way = "get" if via is None else "find"
    elif is_point:
        way = "get" if via is None else "range"
    completes = via is not None and not _holds_all(declared_set, query, shape, client)
    ordered = way != "range" or query.order is None or _sorts(key, row, query)
    return Answer(way, via, key, argument_names, where, client, bool(row), ordered, completes)


def _is_sent(query: Query, name: str) -> bool:
    """Whether the service can filter by a condition; it cannot search for a substring."""
    return query.known[name] != "contains"


def _row_given(key: Key, query: Query) -> list[str]:
    """Return the fields that bound the RowKey: single values from left to right, then a range."""
    names = list[str]()
    pieces = [piece for piece in pieces_of(key.row_template) if piece.name]
    for number, piece in enumerate(pieces):
        name = piece.name or ""
        match_kind = query.known.get(name)
        if (
            match_kind == "="
            or (match_kind == "prefix" and piece.width is None)
            or (match_kind == "range" and is_sorted(key, number))
        ):
            names.append(name)
        if match_kind != "=":
            break
    return names


def is_sorted(key: Key, number: int) -> bool:
    """Whether rows sort by a field of the RowKey; they do not if it is plain text followed by more of the key."""
    pieces = pieces_of(key.row_template)
    named = [at for at, piece in enumerate(pieces) if piece.name]
    piece = pieces[named[number]]
    return piece.width is not None or piece.spec == "escape" or named[number] == len(pieces) - 1


def _sorts(key: Key, row: list[str], query: Query) -> bool:
    """Whether rows have the declared order, which is that of the first field with more than one value."""
    order = (query.order or "").lstrip("-")
    single = [name for name in row if query.known[name] == "="]
    if order in single:
        return True
    pieces: list[Piece] = [piece for piece in pieces_of(key.row_template) if piece.name]
    if len(single) >= len(pieces):
        return True
    first = pieces[len(single)]
    descends = (query.order or "").startswith("-")
    return first.name == order and (first.spec == "inverted") == descends and is_sorted(key, len(single))


def _holds_all(declared_set: DeclaredSet, query: Query, shape: RowLayout, client: tuple[str, ...]) -> bool:
    """Whether a row of an index has all requested fields."""
    if shape.is_complete:
        return True
    wanted_names = set(query.select or declared_set.shape.fields).union(client)
    return all(name in shape.key.fields or shape.holds(name) for name in wanted_names)


def _by_list(declared_set: DeclaredSet, query: Query, via: Derived, profile: RowProfile) -> Answer | None:
    names = [name for name in profile.groups if name != declared_set.settings.get("bucket")]
    if any(query.known.get(name) != "=" for name in names):
        return None
    client = tuple(name for name in query.known if name not in names)
    return Answer("find_all", via, profile.key, tuple(names), (), client, True, query.order is None)


def _by_totals(declared_set: DeclaredSet, query: Query, via: Derived, profile: RowProfile) -> Answer | None:
    names = [name for name in profile.groups if name != declared_set.settings.get("bucket")]
    wanted_names = set(query.select) or set(profile.totals[: int(query.count_only)])
    if not wanted_names or not wanted_names.issubset(profile.totals) or set(names) != set(query.known):
        return None
    return Answer("totals", via, profile.key, tuple(names))


def partition_as_row(key: Key) -> Key:
    """Return a key whose RowKey has the template of this PartitionKey, for ranges of partitions."""
    return Key("any", key.partition_template, max_units=key.max_units)


def _by_scan(declared_set: DeclaredSet, query: Query, mapped: set[str]) -> Answer:
    """Return the scan of the table, or of a range of partitions if the start of the PartitionKey is known.

    A known start of the RowKey is a condition too, but does not reduce what is read.
    """
    row = _row_given(declared_set.key, query)
    lead = [] if kind_of(declared_set).is_spread else _row_given(partition_as_row(declared_set.key), query)
    at = kind_of(declared_set).time_field(declared_set)
    given = (at,) if at is not None and at in query.known else ()
    if set(given).intersection((*row, *lead)):
        row = lead = []
    held = RowLayout(declared_set.key)
    names = [name for name in query.known if name not in given]
    sent_names = [name for name in names if held.holds(name) and name not in mapped and _is_sent(query, name)]
    where = tuple(name for name in names if name in (*row, *lead) or name in sent_names)
    client = tuple(name for name in query.known if name not in (*given, *where))
    return Answer("scan", None, declared_set.key, given, where, client, False, query.order is None)


_MOST_VALUES: Final = 16
_LETTERS: Final = 4
_GOLDEN: Final = 0.618
"""A step that distributes the chosen values evenly."""


@dataclass(frozen=True)
class Question:
    """One sample call of an access pattern, for an entity that exists.

    :param about: the number of the entity in the sample
    :param weight: the share of the pattern's calls that it represents
    """

    about: int
    weight: float


def questions(
    shape: Shape, query: Query, sample: Sample, names: Sequence[str], first: Sequence[str], most: int
) -> list[Question]:
    """Return sample calls of an access pattern, with weights.

    If there are few partitions, each is read; otherwise, as many as given, evenly distributed.

    :param shape: the shape of the sample
    :param names: the fields that the call gives single values for
    :param first: those that determine the partition
    :param most: the approximate number of calls
    """
    skewed = skewed_field(shape, names)
    if skewed is None or not sample.stored:
        return [Question(0, 1.0)]
    grouped_by, as_entity = tuple(first) or (skewed,), names_one(shape, names)
    groups: dict[tuple[int, ...], list[int]] = {}
    for number in range(len(sample.stored)):
        groups.setdefault(tuple(sample.ranks[name][number] for name in grouped_by), []).append(number)
    weights = {
        ranks: (len(each) if as_entity else 1) * _lean(ranks, grouped_by, skewed, query.skew)
        for ranks, each in sorted(groups.items())
    }
    total = math.fsum(weights.values())
    remaining_names = [] if as_entity else [name for name in names if name not in grouped_by]
    if len(groups) <= min(most, _MOST_VALUES):
        chosen = [(ranks, weight / total) for ranks, weight in weights.items()]
    else:
        picks = max(1, min(most, _MOST_VALUES))
        chosen = [(ranks, 1 / picks) for ranks in _quantiles(weights, total, picks)]
    return [
        Question(_one_of(groups[ranks], sample, remaining_names, at), weight)
        for at, (ranks, weight) in enumerate(chosen)
    ]


def _lean(ranks: Sequence[int], grouped_by: Sequence[str], skewed: str, skew: float) -> float:
    """Return how much more often a skewed access pattern uses the first values of its field."""
    return float(ranks[grouped_by.index(skewed)] ** -skew) if skewed in grouped_by else 1.0


def _one_of(numbers: Sequence[int], sample: Sample, remaining_names: Sequence[str], at: int) -> int:
    """Return an entity of a partition, with other values of the remaining fields each time."""
    by_values = (
        {tuple(sample.ranks[name][number] for name in remaining_names): number for number in numbers}
        if remaining_names
        else {}
    )
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


def sample_call(
    declared_set: DeclaredSet, query: Query, answer: Answer, sample: Sample, question: Question, shape: Shape
) -> SampleCall:
    """Return the parameters of a call.

    :param shape: the shape of the sample
    """
    # For an empty set, a spare entity
    about = (sample.stored or sample.spare)[question.about]
    select = query.select or None
    if query.filter is not None:
        sent = filled(parse(query.filter), declared_set.key, about, sample)
        return SampleCall("filter", where=sent, select=select)
    values = {name: _asked(query, name, sample, about, shape) for name in query.known}
    arguments = {name: values[name] for name in answer.given if answer.via is None or name in values}
    where = _conditions(declared_set, answer, values)
    return SampleCall(answer.way, answer.via, arguments, where, answer.takes(query), select, answer.completes)


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
    single = [equal_name for equal_name, match_kind in query.known.items() if match_kind == "="]
    alike = [row for row in sample.stored if all(row[field] == about[field] for field in single)]
    values = sorted(row[name] for row in alike) or [value]
    width = max(1, round(share * len(values)))
    start = min(max(0, values.index(value) - width // 2), len(values) - width)
    return between(values[start], values[start + width - 1])


def _conditions(declared_set: DeclaredSet, answer: Answer, values: Mapping[str, Any]) -> Filter | None:
    conditions: list[Filter] = []
    key, is_scan = declared_set.key, answer.way == "scan"
    row = [name for name in answer.where if name in key.row_fields and is_scan]
    lead = [name for name in answer.where if name in key.partition_fields and is_scan]
    if lead:
        bounds = _bounds(partition_as_row(key), {name: values[name] for name in lead})
        conditions += [Comparison("PartitionKey", comparison.operator, comparison.value) for comparison in bounds]
    if row:
        conditions += _bounds(Key("any", key.row_template), {name: values[name] for name in row})
    conditions += [_condition(name, values[name]) for name in answer.where if name not in (*row, *lead)]
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return And(*conditions)


def _bounds(key: Key, arguments: Mapping[str, Any]) -> list[Comparison]:
    """Return the bounds of the RowKey."""
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


def filled(expression: Filter, key: Key, about: dict[str, Any], sample: Sample) -> Filter:
    """Return a declared filter with values of the sample.

    `eq` and `ne` compare with the entity's value, a further RowKey with that of the next entity in the partition. A
    lower and an upper bound contain a tenth of the sample's values.
    """
    partition = [row for row in sample.stored if all(row[name] == about[name] for name in key.partition_fields)]
    start = next((number for number, row in enumerate(partition) if row is about), 0)
    turned = [*partition[start:], *partition[:start]] or [about]
    return _Filling(key, turned, sample.stored).fill(expression)


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
        values = sorted(value for row in of if (value := self._of(comparison.name, row)) is not None)
        middle = 0.45 if comparison.operator in ("gt", "ge") else 0.55
        return values[min(len(values) - 1, int(middle * len(values)))] if values else None

    def _of(self, name: str, fields: Mapping[str, Any]) -> Any:
        if name in ("PartitionKey", "RowKey"):
            keys = self._key.format({name: fields[name] for name in self._key.fields})
            return keys[name == "RowKey"]
        return fields.get(name)
