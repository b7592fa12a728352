"""Choose the derived data of a set that answers a query, or that could be declared for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tablepatterns.edm import Ticks
from tablepatterns.entity_set.compatibility import check_compatible
from tablepatterns.entity_set.derived import Derived, profile_of
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.internals import mappings_of
from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.filters import Comparison, Filter, QueryClass
from tablepatterns.key import Key
from tablepatterns.recipe import Account
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex

from .query_plan import KEYS, Better, properties
from .rewrites import conditions, equalities

_FORMATS: Final[Mapping[type, str]] = {
    int: ":019d",
    float: ":float",
    datetime: ":ticks",
    Ticks: ":ticks",
    UUID: ":uuid",
}
_RANGES: Final = frozenset({"gt", "ge", "lt", "le"})


def served(entities: EntitySet[Account, Any], expression: Filter) -> tuple[Better, ...]:
    """Return how the set answers a filter with its derived data, or with new derived data; empty if it cannot."""
    terms = conditions(expression)
    if not properties(expression) or not all(isinstance(term, Comparison) for term in terms):
        return ()
    if any(term.name == "RowKey" for term in terms if isinstance(term, Comparison)):
        return ()
    values = _known(entities.key, expression)
    ranged = {term.name for term in terms if isinstance(term, Comparison) and term.operator in _RANGES}
    better_keys = [better_key for via in entities.derived for better_key in _by(entities.key, via, values, ranged)]
    better_keys = [_with_rest(better_key, expression) for better_key in better_keys]
    better_keys.sort(key=lambda better_key: (better_key.query_class or 0, "find_all" in better_key.code[0]))
    return tuple(better_keys or _declared(entities, expression, values, ranged))


def _known(key: Key, expression: Filter) -> dict[str, object]:
    """Return the fields with a single value in all matches: those compared, and those of the PartitionKey."""
    found: dict[str, object] = {}
    for comparison in equalities(expression):
        if comparison.name == "PartitionKey":
            try:
                found |= Key(key.partition_template, "row").parse(str(comparison.value), "row")
            except BadKey:
                continue
        elif comparison.name not in KEYS:
            found[comparison.name] = comparison.value
    return found


def _with_rest(better_key: Better, expression: Filter) -> Better:
    """State the rest of the filter, which the call does not include."""
    remaining_names = [name for name in properties(expression) if f" {name}=" not in better_key.code[0]]
    return (
        replace(better_key, words=f"{better_key.words}; check {', '.join(remaining_names)} of what it finds")
        if remaining_names
        else better_key
    )


def _by(key: Key, via: Derived, values: Mapping[str, object], ranged: set[str]) -> Iterator[Better]:
    profile = profile_of(via, key)
    if profile.finder == "find_all" and profile.key is not None:
        names = list(profile.key.fields)
        if all(name in values for name in names):
            words = "the set keeps a list for this: 1 transaction, and 1 for each entity found"
            yield Better(
                words, QueryClass.POINT, (_call("find_all", via.name, names, values),), "index entities pattern"
            )
    if profile.layout is not None and all(name in values for name in profile.layout.key.partition_fields):
        yield from _by_index(key, via.name, profile.layout.key, values, ranged)


def _by_index(key: Key, via: str, own: Key, values: Mapping[str, object], ranged: set[str]) -> Iterator[Better]:
    row, words = own.row_fields, "the set keeps an index for this"
    given = next((number for number, name in enumerate(row) if name not in values), len(row))
    names = [*own.partition_fields, *row[:given]]
    try:
        own.range({name: values[name] for name in names})
    except BadKey:
        return
    asked = row[given] if given < len(row) and row[given] in ranged else None
    if asked is None and not set(names).difference(key.partition_fields):
        return
    if given == len(row):
        yield Better(words, QueryClass.POINT, (_call("find", via, names, values),))
    else:
        more = [] if asked is None else [f"{asked}=between(...)"]
        yield Better(words, QueryClass.RANGE, (_call("range", via, names, values, *more),))


def _call(word: str, via: str, names: list[str], values: Mapping[str, object], *more: str) -> str:
    given = ", ".join([f"<{via}>", *(f"{name}={values[name]!r}" for name in names), *more])
    return f"{word}({given})"


def _declared(
    entities: EntitySet[Account, Any], expression: Filter, values: Mapping[str, object], ranged: set[str]
) -> Iterator[Better]:
    """Return the index to declare: in the partition if it is known, otherwise in other partitions."""
    compared = [term for term in conditions(expression) if isinstance(term, Comparison) and term.name != "Timestamp"]
    useful = [
        comparison
        for comparison in compared
        if comparison.name not in KEYS and (comparison.name in values or comparison.name in ranged)
    ]
    if not useful:
        return
    chosen = next((comparison for comparison in useful if comparison.name in values), useful[0])
    key, head = entities.key, f"{chosen.name.lower()}_"
    field = f"{head}{{{chosen.name}{_format_of(chosen, ranged)}}}"
    with suppress(BadDesign):
        via: IntraPartitionIndex | InterPartitionIndex
        if all(name in values for name in key.partition_fields):
            via = IntraPartitionIndex(Key(key.partition_template, f"{field}_{key.row_template}"))
        elif chosen.name in values:
            via = InterPartitionIndex(Key(field, f"{head}{key.partition_template}_{key.row_template}"))
        else:
            return
        check_compatible(entities.table.name, key, (*entities.derived, via), mappings_of(entities))
        words = f"declare an index by {chosen.name}, whose rows end with the primary key"
        place = "intra" if isinstance(via, IntraPartitionIndex) else "inter"
        code = f"{type(via).__name__}({via.key!r})"
        yield Better(words, QueryClass.RANGE, (code,), f"{place}-partition secondary index pattern")


def _format_of(comparison: Comparison, ranged: set[str]) -> str:
    if comparison.kind is str:
        return ":escape" if comparison.name in ranged else ""
    return next((text for kind, text in _FORMATS.items() if issubclass(comparison.kind, kind)), "")
