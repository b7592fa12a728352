"""Shared kinds: the two kinds of derived rows that several entities have a part in, as the reads of a set see them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ..key import Key
from .derived import Derived, Fields, Keys


class Lists(Derived):
    """Rows that each list the keys of the entities with one value: `IndexEntities`."""

    spread: int
    """Over how many rows each list is spread."""

    @abstractmethod
    def layout(self, primary: Key) -> Key:
        """Return the key of the rows, for entities with that primary key."""


class Totals(Derived):
    """Rows that each hold the count of a group, and sums over it: `Summary`."""

    spread: int
    """Over how many rows each group is spread."""
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
