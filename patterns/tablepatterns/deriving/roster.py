"""Roster: a list of entities by their keys, each with a note, in the properties of one row.

An entry is the entity's PartitionKey and RowKey with `#` between them, and behind a `?` its note; entries have a `/`
between them. No key may hold any of the three. They are sorted, and none is there twice. Where all entities of a list
share the row's partition, the PartitionKey is left out. A list goes on in a second property where 64 KiB are full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..edm import ordinal, utf16_length
from ..limits import MAX_STRING_UNITS
from .derived import Keys

_BETWEEN: Final = "/"
_INSIDE: Final = "#"
_NOTE: Final = "?"


@dataclass(frozen=True)
class Roster:
    """How lists are kept in rows.

    >>> names = Roster("EmployeeIDs", local=True)
    >>> names.properties("Sales", {("Sales", "000223"): "", ("Sales", "000152"): ""})
    {'EmployeeIDs': '000152/000223'}

    :param name: the name of the property; those that follow it have a number behind it
    :param local: whether all entities of a list share the partition of its row
    :param cut: whether a list goes on in further properties
    """

    name: str
    local: bool
    cut: bool = True

    def is_in(self, row: Mapping[str, Any]) -> bool:
        """Whether a row has a list at all."""
        return isinstance(row.get(self.name), str)

    def entries(self, row: Mapping[str, Any]) -> dict[Keys, str]:
        """Return the keys that a row lists, with their notes."""
        texts = [text for part in self._parts(row) for text in part.split(_BETWEEN) if text]
        return dict(self._entry(row["PartitionKey"], text) for text in texts)

    def properties(self, partition_key: str, entries: Mapping[Keys, str]) -> dict[str, str]:
        """Return the properties of a row that lists these keys, in their order."""
        ordered = sorted(entries, key=lambda keys: (ordinal(keys[0]), ordinal(keys[1])))
        texts = [self._text(partition_key, keys, entries[keys]) for keys in ordered]
        parts = _filled(texts) if self.cut or not texts else [_BETWEEN.join(texts)]
        return {self._property(number): part for number, part in enumerate(parts, 1)}

    def without(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a row holds besides its list."""
        parts = {self._property(number) for number, _ in enumerate(self._parts(row), 1)}
        return {name: value for name, value in row.items() if name not in parts}

    def _parts(self, row: Mapping[str, Any]) -> Iterator[str]:
        number = 1
        while isinstance(part := row.get(self._property(number)), str):
            yield part
            number += 1

    def _property(self, number: int) -> str:
        return self.name if number == 1 else f"{self.name}{number}"

    def _text(self, partition_key: str, keys: Keys, note: str) -> str:
        own, row_key = keys
        key = row_key if self.local and row_key and own == partition_key else f"{own}{_INSIDE}{row_key}"
        return f"{key}{_NOTE}{note}" if note else key

    def _entry(self, partition_key: str, text: str) -> tuple[Keys, str]:
        key, _, note = text.partition(_NOTE)
        own, inside, row_key = key.partition(_INSIDE)
        return ((own, row_key) if inside else (partition_key, own)), note


def _filled(texts: Iterable[str]) -> Iterator[str]:
    """Join entries into as few texts as may be, none of which is too long for a property."""
    part: list[str] = []
    length = 0
    for text in texts:
        units = utf16_length(text) + 1
        if part and length + units - 1 > MAX_STRING_UNITS:
            yield _BETWEEN.join(part)
            part, length = [], 0
        part.append(text)
        length += units
    if part:
        yield _BETWEEN.join(part)
