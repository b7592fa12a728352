"""Together: calls of one actor under way at once, of which the schedule lets one go on at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator, Sequence
from typing import Any, Generic, TypeVar

from .advance import Ended, advance
from .points import Point

T = TypeVar("T")


async def together(calls: Sequence[Coroutine[Any, Any, T]], limit: int) -> list[T]:
    """Run calls at once, `limit` at a time, and return their results in the order given.

    The schedule decides which of them goes on. When one fails, those that have not begun never do, the others are
    waited for, and the first error is raised.
    """
    try:
        group = _Group(calls, max(limit, 1))
        while group.owners:
            group.go_on(await _AnyOf(tuple(group.owners)))
        return group.outcome()
    finally:
        # Those that never began, and after the actor's death all of them
        for call in calls:
            call.close()


class _AnyOf:
    """Waits at several points at once; returns the one that was settled."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = tuple(points)

    def __await__(self) -> Generator[tuple[Point, ...], Point, Point]:
        return (yield self._points)


class _Group(Generic[T]):
    """Calls under way together, and at which point each of them waits."""

    def __init__(self, calls: Sequence[Coroutine[Any, Any, T]], limit: int) -> None:
        self.owners: dict[Point, int] = {}
        self._calls = calls
        self._results: dict[int, T] = {}
        self._error: Exception | None = None
        self._free = limit
        self._next = deque(range(len(calls)))
        self._admit()

    def go_on(self, point: Point) -> None:
        """Step the call that waited at a point which is settled now."""
        self._step(self.owners[point], point)
        self._admit()

    def outcome(self) -> list[T]:
        """Return the results, or raise the first error."""
        if self._error is not None:
            raise self._error
        return [self._results[index] for index in range(len(self._calls))]

    def _admit(self) -> None:
        while self._next and self._free and self._error is None:
            self._free -= 1
            self._step(self._next.popleft())

    def _step(self, index: int, settled: Point | None = None) -> None:
        known = {point for point, owner in self.owners.items() if owner == index}
        self.owners = {point: owner for point, owner in self.owners.items() if owner != index}
        reached = self._reached(index, settled)
        for point in reached:
            if point not in known:
                point.strand = (index + 1, *point.strand)
            self.owners[point] = index
        self._free += not reached

    def _reached(self, index: int, settled: Point | None) -> tuple[Point, ...]:
        """Step a call and return the points where it waits, none when it has ended."""
        try:
            reached = advance(self._calls[index], settled)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised once the others have ended
            self._error = self._error or error
            return ()
        if isinstance(reached, Ended):
            self._results[index] = reached.value
            return ()
        return reached
