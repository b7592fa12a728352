"""The concurrent calls of one actor, which the schedule continues in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar

from .request_points import Completion, Point, advance

T = TypeVar("T")


class Caller(Protocol):
    """The code that makes concurrent calls."""

    @property
    def locks(self) -> int: ...

    def within(self, index: int) -> AbstractContextManager[None]: ...

    def note_order(self, index: int) -> None: ...


async def run_concurrently(
    caller: Caller, calls: Sequence[Coroutine[Any, Any, T]], limit: int, *, are_independent: bool
) -> list[T]:
    """Run calls at once, `limit` at a time, and return their results in the order given.

    The schedule decides which of them continues. If one fails, no others are started, the running ones are awaited, and
    the first error is raised.

    :param are_independent: whether they pass nothing to each other except through the account, so that each of them
        behaves the same in every order of the others
    """
    try:
        group = _ConcurrentCalls(caller, calls, max(limit, 1), are_independent=are_independent)
        while group.owners:
            group.resume(await _AnyOf(tuple(group.owners)))
        return group.results()
    finally:
        # Those that never began, and after the actor's death all of them
        for call in calls:
            call.close()


class _AnyOf:
    """Waits at several points at once, and returns the settled one."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = tuple(points)

    def __await__(self) -> Generator[tuple[Point, ...], Point, Point]:
        return (yield self._points)


class _ConcurrentCalls(Generic[T]):
    """Concurrent calls, and the point at which each of them waits."""

    def __init__(
        self, caller: Caller, calls: Sequence[Coroutine[Any, Any, T]], limit: int, *, are_independent: bool
    ) -> None:
        self.owners: dict[Point, int] = {}
        self._caller = caller
        self._calls = calls
        self._are_independent = are_independent
        self._results: dict[int, T] = {}
        self._error: Exception | None = None
        self._free_slots = limit
        self._pending = deque(range(len(calls)))
        self._admit()

    def resume(self, point: Point) -> None:
        """Step the call that waited at a point, which is settled now."""
        index = self.owners[point]
        self._step(index, point)
        self._admit()
        # Which error is the first depends on the order, and so does which calls still begin
        if self._error is not None or not self._are_independent:
            self._caller.note_order(index)

    def results(self) -> list[T]:
        """Return the results, or raise the first error."""
        if self._error is not None:
            raise self._error
        return [self._results[index] for index in range(len(self._calls))]

    def _admit(self) -> None:
        while self._pending and self._free_slots and self._error is None:
            self._free_slots -= 1
            self._step(self._pending.popleft())

    def _step(self, index: int, point: Point | None = None) -> None:
        earlier_points = {waiting for waiting, owner in self.owners.items() if owner == index}
        self.owners = {waiting: owner for waiting, owner in self.owners.items() if owner != index}
        locks = self._caller.locks
        with self._caller.within(index):
            points = self._advance_call(index, point)
        # A lock protects something that the calls share
        self._are_independent &= self._caller.locks == locks
        for waiting in points:
            if waiting not in earlier_points:
                waiting.strand = (index + 1, *waiting.strand)
            self.owners[waiting] = index
        self._free_slots += not points

    def _advance_call(self, index: int, point: Point | None) -> tuple[Point, ...]:
        """Step a call, and return the points where it waits; none if it has ended."""
        try:
            stop = advance(self._calls[index], point)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised once the others have ended
            self._error = self._error or error
            return ()
        if isinstance(stop, Completion):
            self._results[index] = stop.value
            return ()
        return stop
