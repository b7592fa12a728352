"""Translate conditions on key fields, which rows hold only in their keys, to conditions on PartitionKey and RowKey."""

# The templates of a key are its own
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..edm import Ticks
from ..errors import BadFilter, BadKey
from ..filters import And, Comparison, Filter, Interval, Not, Or, comparisons, key_bounds, prefix_end
from .formats import FORBIDDEN, Calendar, Float, Format, Text, date_of
from .key import Key
from .ranges import Between, Ends, KeyRange, after_prefix
from .template import Template, field_range

_KEYS: Final = ("PartitionKey", "RowKey")


def stored_filter(key: Key, where: Filter, key_values: Mapping[str, object] | None = None) -> Filter:
    """Return a filter with its conditions on fields of a key as conditions on PartitionKey and RowKey.

    Of the key's rows it selects those whose fields match, every one and no other. A field that is not the first one of
    its template needs the fields before it to be known, from `key_values` or from `==` joined by `&`.

    :param key_values: key fields that have this value in all entities that are read
    """
    templates = (key._partition, key._row)
    # A field that is a whole key under the key's own name is stored as the filter says
    places = {
        field.name: (template, position)
        for template in templates
        for position, field in enumerate(template.fields)
        if template.text != f"{{{template.half}}}"
    }
    names = {comparison.name for comparison in comparisons(where)}
    _check_case(names, [field.name for template in templates for field in template.fields])
    if names.isdisjoint(places):
        return where
    return _junction(And, _KeyFilter(places).terms(where, key_values or {}))


def _check_case(names: Iterable[str], fields: Sequence[str]) -> None:
    """Reject names that differ from a part of the key only in their case, because they would match nothing."""
    parts = {name.lower(): name for name in ("PartitionKey", "RowKey", *fields)}
    for name in names:
        part = parts.get(name.lower()) or parts.get(name.lower().replace("_", ""))
        if part is not None and name not in (*_KEYS, *fields):
            raise BadFilter("where", name, f"names are case-sensitive, and the key has {part}", f"use {part}")


class _KeyFilter:
    """Translates a filter; `places` has the template and the position of each field of the key."""

    def __init__(self, places: Mapping[str, tuple[Template, int]]) -> None:
        self._places = places

    def terms(self, where: Filter, key_values: Mapping[str, object]) -> list[Filter]:
        """Return the terms that, joined by `and`, select the entities that match; all have the known values."""
        match where:
            case Comparison() if where.name in self._places:
                return [*self._comparison(where, key_values)]
            case Not(term=term):
                return [Not(_junction(And, self.terms(term, key_values)))]
            case Or(terms=terms):
                return [_junction(Or, [_junction(And, self.terms(term, key_values)) for term in terms])]
            case And(terms=terms):
                return self._all(terms, key_values)
            case _:
                return [where]

    def _all(self, terms: Sequence[Filter], key_values: Mapping[str, object]) -> list[Filter]:
        equal = {term.name: term.value for term in terms if isinstance(term, Comparison) and term.operator == "eq"}
        # Each term needs to be right only where the other terms hold. So a term of `Year` may begin at the text of the
        # `EmployeeId` that another term compares with `==`, although on its own it would need all employees
        key_values = {**key_values, **{name: value for name, value in equal.items() if name in self._places}}
        filters: list[Filter] = []
        pending = list(terms)
        while pending:
            term = pending.pop(0)
            if isinstance(term, Comparison) and (end := self._end_of_prefix(term, pending)) is not None:
                pending.remove(end)
                filters += self._prefix_terms(term, key_values)
            else:
                filters += self.terms(term, key_values)
        return _intersect_ranges(filters)

    def _end_of_prefix(self, term: Comparison, other_terms: Sequence[Filter]) -> Comparison | None:
        """Return the other half of `startswith`, if the term is one half and keys do not sort by the field.

        Neither half is a range of keys then, but together they are: that of the keys with this text at that place.
        """
        if term.name not in self._places or term.operator != "ge":
            return None
        template, position = self._places[term.name]
        if template.fields[position].sorts or not isinstance(term.value, str) or not term.value:
            return None
        end = Comparison(term.name, "lt", prefix_end(term.value) or "")
        return end if end in other_terms else None

    def _prefix_terms(self, term: Comparison, key_values: Mapping[str, object]) -> list[Comparison]:
        template, position = self._places[term.name]
        start = _start(template, position, term, key_values)
        try:
            text = start + template.fields[position].write_prefix(term.value)
        except BadKey as error:
            raise _bad_filter(term, error) from error
        return _within(template.half, KeyRange.beginning_with("", text).row_keys)

    def _comparison(self, comparison: Comparison, key_values: Mapping[str, object]) -> Iterator[Filter]:
        template, position = self._places[comparison.name]
        start = _start(template, position, comparison, key_values)
        field, is_last = template.fields[position], position == len(template.fields) - 1
        operator, value = comparison.operator, _value(field.format, comparison.value)
        try:
            if operator in ("eq", "ne"):
                text = start + field.write(value)
                keys = Interval(text, upper=text) if is_last else KeyRange.beginning_with("", text).row_keys
            elif not field.sorts:
                rule = f"keys do not sort by a text field that is followed by {field.tail!r}"
                hint = f"use ==, startswith, or the format {{{field.name}:escape}}"
                raise BadKey(field.name, comparison.value, rule, hint)
            else:
                if isinstance(field.format, Text) and isinstance(value, str) and (bad := FORBIDDEN.search(value)):
                    # No key holds the character, so the next one that a key may hold bounds the same keys
                    value = after_prefix(value[: bad.end()])
                    operator = "lt" if operator in ("lt", "le") else "ge"
                inclusive: Ends = "both" if operator in ("ge", "le") else "neither"
                is_low = operator in ("gt", "ge")
                bounds = Between(value, None, inclusive) if is_low else Between(None, value, inclusive)
                keys = field_range("", start, field, bounds, last=is_last).row_keys
        except BadKey as error:
            raise _bad_filter(comparison, error) from error
        inside = _within(template.half, keys)
        if operator != "ne":
            yield from inside
        elif keys.exact is not None:
            yield Comparison(template.half, "ne", keys.exact)
        else:
            yield Not(_junction(And, inside))


def _start(template: Template, position: int, comparison: Comparison, key_values: Mapping[str, object]) -> str:
    """Return the text of the key up to a field; the fields before it must have known values."""
    before = template.fields[:position]
    unknown = [field.name for field in before if field.name not in key_values]
    if unknown:
        names = " and ".join(unknown)
        rule = f"{comparison.name} is stored only inside the {template.half} {template.text!r}, after {names}"
        hint = f"also compare {names} with ==, joined by &, or read without this condition and filter in Python"
        raise BadFilter("where", _text(comparison), rule, hint)
    try:
        return template.head + "".join(field.write(_value(field.format, key_values[field.name])) for field in before)
    except BadKey as error:
        raise _bad_filter(comparison, error) from error


def _value(form: Format, value: object) -> object:
    match form, value:
        case Float(), int() if not isinstance(value, (bool, Ticks)):
            # The service compares a Double with an integer literal by value
            return float(value)
        case Calendar(), Ticks() if not value % 10:
            return value.datetime()
        case Calendar(), str():
            # A text filter has no literal for a date
            return date_of(value)
        case _:
            return value


def _within(half: str, keys: Interval) -> list[Comparison]:
    """Return the comparisons of a key with a range; at least one, which may always be true."""
    return keys.comparisons(half) or [Comparison(half, "ge", "")]


def _intersect_ranges(terms: Sequence[Filter]) -> list[Filter]:
    """Join the ranges of each key, because a filter may make only 15 comparisons."""
    limits = [term for term in terms if isinstance(term, Comparison) and term.name in _KEYS and term.operator != "ne"]
    filters: list[Filter] = []
    for half in _KEYS:
        ranges = [term for term in limits if term.name == half]
        bounds = key_bounds(_junction(And, ranges)) if ranges else None
        if bounds is None or bounds.empty:
            filters += ranges
        else:
            filters += _within(half, bounds.partition_keys if half == "PartitionKey" else bounds.row_keys)
    return filters + [term for term in terms if term not in limits]


def _junction(kind: type[And | Or], terms: Sequence[Filter]) -> Filter:
    return terms[0] if len(terms) == 1 else kind(*terms)


def _bad_filter(comparison: Comparison, error: BadKey) -> BadFilter:
    return BadFilter("where", _text(comparison), f"{error.subject} is stored in the key, and {error.rule}", error.hint)


def _text(comparison: Comparison) -> str:
    return f"{comparison.name} {comparison.operator} {comparison.value!r}"
