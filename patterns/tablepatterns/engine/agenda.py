"""Things in the order of the moments at which they fall due."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

T = TypeVar("T")


class Agenda(Generic[T]):
    """Things by moment, those of one moment by number; no two have the same number.

    Putting in and taking out cost a binary search, whatever the moment; what is not due yet is never touched.

    >>> agenda = Agenda[str]()
    >>> agenda.add(20, 1, "later")
    >>> agenda.add(10, 2, "sooner")
    >>> list(agenda.due(10)), list(agenda.due(20))
    (['sooner'], ['sooner', 'later'])
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: Any = SortedList()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, moment: int, number: int, thing: T) -> None:
        """Note a thing for a moment."""
        self._entries.add((moment, number, thing))

    def remove(self, moment: int, number: int, thing: T) -> None:
        """Strike out a thing, which must be noted for that moment."""
        self._entries.remove((moment, number, thing))

    def due(self, now: int) -> Iterator[T]:
        """Yield what is due, the earliest first; nothing may be added or removed meanwhile."""
        for moment, _, thing in self._entries:
            if moment > now:
                return
            yield thing

    def check(self) -> None:
        """Assert that the order is sound."""
        self._entries._check()
