"""Sort the rows of a table by kind: by the word that their keys begin with, a type property, and their properties."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...entity import Entity

_LEAD: Final = re.compile(r"([A-Za-z][A-Za-z]*)(?=[_\-|:.~=0-9]|$)")
_MOST_LEADS: Final = 24
"""More words than this are values and not kinds."""
_FEWEST: Final = 0.01
"""A smaller share of the rows is not a kind of its own."""
_ALIKE: Final = 0.6
"""The properties of rows of one kind have so much in common."""
_SEVERAL, _MANY = 2, 10
"""The number of rows from which properties that only one kind has distinguish kinds."""
_MOST_KINDS: Final = 8
_MOST_TYPES: Final = 16
_TYPE_NAMES: Final = ("entitytype", "type", "kind", "$type", "discriminator", "entitykind", "recordtype", "rowtype")
_VERSION: Final = re.compile(r"\.\d+$")
_KEYS: Final = frozenset(("PartitionKey", "RowKey", "Timestamp"))


@dataclass
class Kind:
    """Rows of one kind.

    :param lead: the words that its PartitionKeys and RowKeys begin with, None for no word in particular
    :param type: the value of the type property
    """

    rows: list[Entity]
    lead: tuple[str | None, str | None] = (None, None)
    type: str | None = None
    properties: frozenset[str] = field(init=False)
    """The properties that its rows have, without the keys."""

    def __post_init__(self) -> None:
        self.properties = frozenset(name for row in self.rows for name in row) - _KEYS

    @property
    def always(self) -> frozenset[str]:
        """The properties that each of its rows has."""
        often = Counter(name for row in self.rows for name in row)
        return frozenset(name for name, count in often.items() if count == len(self.rows)) - _KEYS


@dataclass(frozen=True)
class Kinds:
    """The kinds of rows of a table.

    :param type_property: the property that names the kind; None if there is none
    """

    kinds: Sequence[Kind]
    type_property: str | None


def kinds_of(rows: Sequence[Entity]) -> Kinds:
    """Sort rows by kind, the most frequent kind first.

    :param rows: rows of one table, in the order of their keys
    """
    named = _type_property(rows)
    groups: defaultdict[tuple[str | None, str | None, str | None], list[Entity]] = defaultdict(list)
    leads = [_kind_words([row[half] for row in rows]) for half in ("PartitionKey", "RowKey")]
    for row in rows:
        kind = None if named is None else _VERSION.sub("", str(row.get(named, "")))
        groups[_lead(row["PartitionKey"], leads[0]), _lead(row["RowKey"], leads[1]), kind].append(row)
    found = [Kind(each, (first, second), kind) for (first, second, kind), each in groups.items()]
    merged = _merged(found)
    apart = [part for kind in merged for part in _apart(kind)]
    return Kinds(sorted(apart, key=lambda kind: -len(kind.rows)), named)


def _type_property(rows: Sequence[Entity]) -> str | None:
    counts = Counter(name for row in rows for name, value in row.items() if isinstance(value, str))
    for wanted in _TYPE_NAMES:
        for name, often in counts.items():
            if name.lower() == wanted and often == len(rows):
                values = {_VERSION.sub("", str(row[name])) for row in rows}
                if 1 < len(values) <= _MOST_TYPES and len(values) * 2 <= len(rows):
                    return name
    return None


def _kind_words(keys: Sequence[str]) -> Collection[str]:
    """Return the words that keys begin with, and that may name kinds: those of many keys."""
    counts = Counter(found[1] for key in keys if (found := _LEAD.match(key)))
    frequent = [word for word, often in counts.items() if often >= max(2, _FEWEST * len(keys))]
    if len(counts) > 2 * _MOST_LEADS:
        frequent = [word for word in frequent if counts[word] > _FEWEST * 5 * len(keys)]
    return set(frequent) if len(frequent) <= _MOST_LEADS else ()


def _lead(key: str, words: Collection[str]) -> str | None:
    found = _LEAD.match(key)
    return found[1] if found and found[1] in words else None


def _merged(kinds: Iterable[Kind]) -> list[Kind]:
    """Join kinds that differ only in a word of their keys, which is then the value of a field."""
    found: list[Kind] = []
    for kind in sorted(kinds, key=lambda each: -len(each.rows)):
        same = next((each for each in found if _is_same(each, kind)), None)
        if same is None:
            found.append(kind)
        else:
            lead = tuple(mine if mine == other else None for mine, other in zip(same.lead, kind.lead, strict=True))
            found[found.index(same)] = Kind([*same.rows, *kind.rows], (lead[0], lead[1]), same.type)
    return found


def _is_same(one: Kind, other: Kind) -> bool:
    if one.type != other.type or _likeness(one.properties, other.properties) < _ALIKE:
        return False
    if min(len(one.rows), len(other.rows)) >= _SEVERAL:
        lacking = [mine.always - theirs.properties for mine, theirs in ((one, other), (other, one))]
        if all(lacking) or (any(lacking) and min(len(one.rows), len(other.rows)) >= _MANY):
            return False
    for half, mine, theirs in zip(("PartitionKey", "RowKey"), one.lead, other.lead, strict=True):
        if mine == theirs:
            continue
        if _names_property(mine, one) or _names_property(theirs, other):
            return False
        if half == "RowKey" and _shape(one.rows[0][half]) != _shape(other.rows[0][half]):
            return False
    return True


def _likeness(one: Collection[str], other: Collection[str]) -> float:
    """Return the share of properties that two sets have in common."""
    either = set(one) | set(other)
    return len(set(one) & set(other)) / len(either) if either else 1.0


def _names_property(word: str | None, kind: Kind) -> bool:
    """Whether a word in front of keys names a property, as `email_` does."""
    return word is not None and any(word.lower() == name.lower() for name in kind.properties)


def _shape(key: str) -> str:
    """Return what follows the word that a key begins with: nothing, a number or text."""
    found = _LEAD.match(key)
    rest = key[found.end() if found else 0 :].lstrip("_-|:.~=")
    return "" if not rest else "number" if rest[0].isdigit() else "text"


def _apart(kind: Kind) -> list[Kind]:
    """Divide rows of one kind of keys by their properties, if these have little in common."""
    sets = Counter(frozenset(row) - _KEYS for row in kind.rows)
    clusters: list[set[str]] = []
    home: dict[frozenset[str], int] = {}
    for names, _ in sets.most_common():
        at = _nearest(names, clusters)
        if at is None:
            clusters.append(set(names))
            at = len(clusters) - 1
        else:
            clusters[at] |= names
        home[names] = at
    parts: Mapping[int, list[Entity]] = defaultdict(list)
    for row in kind.rows:
        parts[home[frozenset(row) - _KEYS]].append(row)
    small = [part for part in parts.values() if len(part) < max(2, _FEWEST * len(kind.rows))]
    if len(parts) == 1 or len(parts) > _MOST_KINDS or small:
        return [kind]
    return [Kind(part, kind.lead, kind.type) for part in parts.values()]


def _nearest(names: frozenset[str], clusters: Sequence[set[str]]) -> int | None:
    """Return the cluster that some properties belong to; sets that lack some of its properties do."""
    for at, cluster in enumerate(clusters):
        if names <= cluster or cluster <= names or _likeness(names, cluster) >= 1 - _ALIKE:
            return at
    return None
