"""Compare the rows of two sources, both in the order of their keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Final

from tablepatterns.edm import key_order
from tablepatterns.entity import Entity, same_value
from tablepatterns.entity_set.derived import Keys, keys_of
from tablepatterns.figures import counted

_APART_FROM: Final = ("Timestamp",)
MOST_KEYS: Final = 10_000
"""How many keys of each kind are listed; all are counted."""


@dataclass
class Differences:
    """How the second of two sources differs from the first.

    :param equal: how many rows are equal; their Timestamps are not compared
    :param added: the keys of rows that only the second has; the first 10,000, as in the other lists
    :param removed: the keys of rows that only the first has
    :param changed: the keys of rows with other properties
    :param counts: how many there are of each kind
    """

    equal: int = 0
    added: list[Keys] = field(default_factory=list[Keys])
    removed: list[Keys] = field(default_factory=list[Keys])
    changed: list[Keys] = field(default_factory=list[Keys])
    counts: dict[str, int] = field(default_factory=lambda: {"added": 0, "removed": 0, "changed": 0})

    @property
    def are_none(self) -> bool:
        """Whether both have the same rows."""
        return not any(self.counts.values())

    @property
    def is_empty(self) -> bool:
        """Whether neither has any row."""
        return not self.equal and self.are_none

    @property
    def summary(self) -> str:
        """The counts as text."""
        counts = ", ".join(f"{number} {kind}" for kind, number in self.counts.items())
        return f"{counted(self.equal, 'equal row')}, {counts}"

    def add(self, kind: str, keys: Keys) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= MOST_KEYS:
            getattr(self, kind).append(keys)


async def differences(first: AsyncIterator[Entity], second: AsyncIterator[Entity]) -> Differences:
    """Return how the second of two sorted sources differs from the first."""
    result, old, new = Differences(), await anext(first, None), await anext(second, None)
    while old is not None or new is not None:
        old_order, new_order = _order(old), _order(new)
        if old is not None and old_order < new_order:
            result.add("removed", keys_of(old))
        elif new is not None and new_order < old_order:
            result.add("added", keys_of(new))
        elif old is not None and new is not None and not _are_same(old, new):
            result.add("changed", keys_of(new))
        else:
            result.equal += 1
        if old_order <= new_order:
            old = await anext(first, None)
        if new_order <= old_order:
            new = await anext(second, None)
    return result


def _are_same(old: Entity, new: Entity) -> bool:
    # Nearly all rows are equal, also in the order of their properties, and dicts are compared in a tenth of the time.
    # An equal value of the same type is stored the same, since the instants of rows that were read are in UTC; only 0.0
    # and -0.0 are not
    is_equal = old == new and [*old] == [*new] and [*map(type, old.values())] == [*map(type, new.values())]
    return (is_equal and 0.0 not in new.values()) or same_value(old, new, apart_from=_APART_FROM)


def _order(row: Entity | None) -> tuple[bool, object]:
    """Return what sorts rows by their keys, and the end of a source after all of them."""
    return row is None, None if row is None else key_order(keys_of(row))


async def as_stream(rows: Iterator[Entity]) -> AsyncIterator[Entity]:
    for row in rows:
        yield row
