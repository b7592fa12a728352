"""Values that each account generates, such as ETags and ids: each has one counterpart on the other side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple


class Own(NamedTuple):
    """Something that an account made for itself.

    :param of: what it is, and of what: an ETag of one entity is never compared with that of another
    """

    of: Hashable
    text: str


class Counterparts:
    """What was seen, in pairs: the engine's and Azurite's."""

    def __init__(self) -> None:
        self._of_engine: dict[Own, Own] = {}
        self._of_azurite: dict[Own, Own] = {}
        self._noted: defaultdict[Hashable, list[tuple[str, str]]] = defaultdict(list)

    def same(self, engine: Own, azurite: Own) -> bool:
        """Return whether these are one thing: neither was ever seen with another counterpart."""
        if engine.of != azurite.of:
            return False
        there = self._of_engine.setdefault(engine, azurite)
        back = self._of_azurite.setdefault(azurite, engine)
        return (engine, azurite) == (back, there)

    def note(self, of: Hashable, engine: str, azurite: str) -> None:
        """Note that there is a new one."""
        self._noted[of].append((engine, azurite))

    def noted(self, of: Hashable, age: int) -> tuple[str, str] | None:
        """Return the one that was noted so many ago, None where there are not as many."""
        seen = self._noted[of]
        return seen[-1 - age] if age < len(seen) else None
