"""Shared kinds: derived rows that several entities have a part in, and two kinds of them as a set reads them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadKey
from ..key import Key
from .derived import Derived, Fields, Keys
from .shared_rows import PART, part_of
from .whereabouts import InPartition, InTable, Whereabouts


class SharedRows(Derived):
    """Derived rows that several entities have a part in, or that are those of others; in the partition or elsewhere."""

    whereabouts: Whereabouts
    """Where the rows are."""
    spread: int = 1
    """Over how many rows that which has one value is spread."""
    _name: str

    @property
    def name(self) -> str:
        """The name that errors, reports and messages use."""
        return self._name

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows lie outside the primary's partition."""
        return self.whereabouts.is_elsewhere

    @property
    def shares_rows(self) -> bool:
        """Whether several entities may have a part in one row, which is what these rows are for."""
        return True

    def table(self, primary: str) -> str:
        """Return the name of the table that the rows are in."""
        return self.whereabouts.table(primary)

    def rows_of(self, layout: Key, key: Key, fields: Fields) -> list[Keys]:
        """Return the keys of the row that an entity has a part in; none where it lacks a field of its key.

        :param layout: the key of the rows
        :param key: the key of the set's primary rows
        :raises BadKey: a primary row may have these keys
        """
        values = {name: fields.get(name) for name in layout.fields if name != PART}
        if any(value is None for value in values.values()):
            return []
        if self.spread > 1:
            values[PART] = part_of(key.format({name: fields.get(name) for name in key.fields}), self.spread)
        row = layout.format(values)
        if layout.overlaps(key) and self.may_be_primary(row, key):
            rule = "a primary row may have these keys"
            raise BadKey(self.name, row, rule, "give the rows a RowKey prefix of their own")
        return [row]

    def may_be_primary(self, row: Keys, key: Key) -> bool:
        """Whether a primary row with that primary key may have the keys of such a row."""
        return self.whereabouts in (InPartition(), InTable()) and key.matches(*row)


class Lists(SharedRows):
    """Rows that each list the keys of the entities with one value: `IndexEntities`."""

    @abstractmethod
    def layout(self, primary: Key) -> Key:
        """Return the key of the rows, for entities with that primary key."""


class Totals(SharedRows):
    """Rows that each hold the count of a group, and sums over it: `Summary`."""

    layout: Key
    """The key of the rows."""

    @property
    @abstractmethod
    def properties(self) -> Sequence[str]:
        """The names of the properties that hold totals."""

    @abstractmethod
    def part(self, key: Key, fields: Fields | None) -> dict[Keys, tuple[int, ...]]:
        """Return the group of an entity, and what it adds there: 1, and each of the numbers."""

    @abstractmethod
    def held(self, row: Mapping[str, Any] | None) -> tuple[int, ...]:
        """Return the totals that a row holds, the count first; nothing counts as 0."""

    @abstractmethod
    def named(self, totals: Sequence[int]) -> dict[str, Any]:
        """Return totals, the count first, as properties."""
