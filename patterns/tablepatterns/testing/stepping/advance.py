"""Advance: a coroutine is stepped from point to point, without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast

from ...errors import BadInput
from .points import Point

T = TypeVar("T")


class Ended(Generic[T]):
    """The end of a coroutine.

    :param value: what it returned
    """

    def __init__(self, value: T) -> None:
        self.value = value


def advance(coroutine: Coroutine[Any, Any, T], settled: Point | None = None) -> tuple[Point, ...] | Ended[T]:
    """Step a coroutine to where it waits next, and return the points any of which may be settled there.

    Of an event loop it may await only futures that need nothing from outside: azure-core gathers the parts of a
    transaction in one, before it sends them. They are finished here. What the coroutine raises is raised.

    :param settled: the point that it waited at; None to begin
    """
    sent: Point | None = settled
    while True:
        try:
            waited: Any = coroutine.send(sent)
        except StopIteration as stop:
            return Ended(stop.value)
        if isinstance(waited, tuple):
            return cast("tuple[Point, ...]", waited)
        sent = None
        # None is a mere pause: `asyncio.sleep(0)`
        if waited is not None:
            _finish(waited)


def _finish(waited: Any) -> None:
    if not isinstance(waited, asyncio.Future):
        rule = "an actor awaits requests, and what its account lets it await"
        raise BadInput("actor", waited, rule, "use the account's `sleep` and `together`, or the SDK's aio clients")
    loop = waited.get_loop()
    # The coroutine hears of an error itself, when it goes on
    with suppress(Exception):
        loop.run_until_complete(cast("Any", waited))
