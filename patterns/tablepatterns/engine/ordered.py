"""A dictionary of strings that is also walked in key order: the one data structure under tables, partitions, rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

T = TypeVar("T")


class Ordered(Generic[T]):
    """Values by key; keys are compared as Python compares strings.

    Finding is hashing; putting in and taking out cost a binary search; a walk costs one more, and what it yields.

    >>> rows = Ordered[int]()
    >>> rows["b"], rows["a"] = 2, 1
    >>> list(rows.walk()), list(rows.walk("b")), rows.get("c")
    ([1, 2], [2], None)
    """

    __slots__ = ("_order", "_values")

    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._order: Any = SortedList()

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: str) -> T:
        return self._values[key]

    def __setitem__(self, key: str, value: T) -> None:
        if key not in self._values:
            self._order.add(key)
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._order.remove(key)

    def get(self, key: str) -> T | None:
        """Return the value of a key, None if there is none."""
        return self._values.get(key)

    def walk(self, lower: str = "", upper: str | None = None) -> Iterator[T]:
        """Return the values from a key, included, to another, excluded, in key order; None is the end."""
        return map(self._values.__getitem__, self._order.irange(lower, upper, (True, False)))

    def check(self) -> None:
        """Assert that the order is that of the keys, and that nothing is missing from it or in it twice."""
        self._order._check()
        if list(self._order) != sorted(self._values):
            raise AssertionError(f"the order {list(self._order)} is not that of {sorted(self._values)}")
