"""A dictionary whose values can be walked in the order of their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, TypeVar

from sortedcontainers import SortedList  # pyright: ignore[reportMissingTypeStubs]

T = TypeVar("T")


class OrderedMap(dict[str, T]):
    """Values by key, in the order of the keys as Python compares strings.

    A lookup costs one hash, a change a binary search, and a walk a binary search plus what it yields. Change it with
    `[]`, `del` and `replace` only: the other methods of a dictionary would not note the order.
    """

    __slots__ = ("_order",)

    def __init__(self) -> None:
        super().__init__()
        self._order: Any = SortedList()

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __setitem__(self, key: str, value: T) -> None:
        if key not in self:
            self._order.add(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._order.remove(key)

    def replace(self, values: Mapping[str, T]) -> None:
        self.clear()
        self.update(values)
        self._order = SortedList(values)

    def walk(self, lower: str = "", upper: str | None = None) -> Iterator[T]:
        """Return the values from one key (inclusive) to another (exclusive) in key order; None is the end."""
        return map(self.__getitem__, self._order.irange(lower, upper, (True, False)))

    def page(self, prefix: str, start: str, limit: int) -> tuple[list[T], str | None]:
        """Return up to `limit` values of keys with a prefix, and the first key of the next page; None on the last."""
        keys = takewhile(lambda key: key.startswith(prefix), self._order.irange(max(prefix, start)))
        page = list(islice(keys, limit + 1))
        return [self[key] for key in page[:limit]], page[limit] if len(page) > limit else None
