"""Versions of entities on two accounts: their ETags differ, but each has one counterpart on the other side."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from differential.operations import Key

Place: TypeAlias = tuple[str, Key]
"""Where an entity is: the table's name in lower case, and the entity's keys."""


class Versions:
    """The versions that were seen, in pairs: the engine's ETag and Azurite's."""

    def __init__(self) -> None:
        self._of_engine: dict[tuple[Place, str], str] = {}
        self._of_azurite: dict[tuple[Place, str], str] = {}
        self._written: defaultdict[Place, list[tuple[str, str]]] = defaultdict(list)

    def same(self, place: Place, engine: str, azurite: str) -> bool:
        """Return whether these are one version: neither was ever seen with another counterpart."""
        there = self._of_engine.setdefault((place, engine), azurite)
        back = self._of_azurite.setdefault((place, azurite), engine)
        return (engine, azurite) == (back, there)

    def write(self, place: Place, engine: str, azurite: str) -> None:
        """Note that an entity has a new version."""
        self._written[place].append((engine, azurite))

    def written(self, place: Place, age: int) -> tuple[str, str] | None:
        """Return the version that was written so many versions ago, None where there are not as many."""
        seen = self._written[place]
        return seen[-1 - age] if age < len(seen) else None
