"""Explore every order of an actor's concurrent calls, also of those that are declared to be independent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from tablepatterns_explore import World, explore
from tablepatterns_explore.world import SteppedStorage


@contextmanager
def every_order() -> Iterator[None]:
    """Ignore that calls are independent."""
    gather = SteppedStorage.gather

    async def gather_dependent(storage: SteppedStorage, *calls: Any, independent: bool = False, **options: Any) -> Any:
        return await gather(storage, *calls, **options)

    with patch.object(SteppedStorage, "gather", gather_dependent):
        yield


def endings(make: Any, **bound: Any) -> tuple[set[tuple[bytes, str]], int]:
    """Return the content of the account and what the actors returned at the end of every schedule; count the states."""
    found: set[tuple[bytes, str]] = set()

    def note(world: World) -> None:
        # States in which an actor has ended are told apart by its requests, which are in the order of its calls; one
        # that crashes at its first request has none
        assert world.engine.ledger.records or not (world.returned or world.raised)
        raised = {name: type(error).__name__ for name, error in world.raised.items()}
        found.add((world.snapshots.current.digest, repr((world.returned, raised, sorted(world.crashed)))))

    explored = explore(make, invariant=note, expected=Exception, **bound)
    assert explored.exhaustive
    return found, explored.states


def assert_same_endings(make: Any, **bound: Any) -> tuple[int, int]:
    """Check that schedules end the same if all orders of independent calls are tried.

    :returns: how many states there are if these orders are merged, and if all are tried
    """
    merged, few = endings(make, **bound)
    with every_order():
        expected, many = endings(make, **bound)
    assert merged == expected
    assert few <= many
    return few, many


def assert_order_makes_no_difference(make: Any, *, is_independent: bool = True, **bound: Any) -> None:
    """Check that schedules end the same if all orders of independent calls are tried, and that orders are merged.

    :param is_independent: whether the calls are as independent as declared, so that their orders are merged
    """
    few, many = assert_same_endings(make, **bound)
    assert (few < many) == is_independent
