"""Points: where the code of an actor stops until the schedule lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from ...edm import Ticks
from ...errors import BadInput
from .wording import described


class Point:
    """A place where a coroutine waits: awaited, it yields itself, in a tuple, to whoever steps the coroutine.

    It is settled, and then the coroutine is stepped on.
    """

    def __init__(self) -> None:
        self.strand: tuple[int, ...] = ()
        """Which of the calls that the actor makes together waits here; empty where it makes one at a time."""
        self._heard: Any = None

    def settle(self, heard: Any) -> None:
        """Let the coroutine go on with a result, or an error."""
        self._heard = heard

    def __await__(self) -> Generator[tuple[Point, ...], object, Any]:
        if in_event_loop():
            rule = "it is made in a task of an event loop, which the schedule cannot step"
            way_out = "await requests one after another, or use `together` of the account"
            raise BadInput("request", "in a task", rule, way_out)
        yield (self,)
        if isinstance(self._heard, Exception):
            raise self._heard
        return self._heard


class Call(Point):
    """A request that is about to be sent.

    :param request: the request, of an SDK
    :param send: sends it, and returns the response
    :param since: when it was made
    """

    def __init__(self, request: Any, send: Callable[[], Any], since: Ticks) -> None:
        super().__init__()
        self.request = request
        self.since = since
        self.text = described(request)
        """The request in words."""
        self._send = send

    def carry_out(self) -> Any:
        """Send the request, and return what is heard: the response, or the error that comes in its place."""
        try:
            return self._send()
        except Exception as error:  # noqa: BLE001 - whatever the network says, it is for the sender to hear
            return error


class Sleep(Point):
    """A wait for a moment."""

    def __init__(self, until: Ticks) -> None:
        super().__init__()
        self.until = until


def in_event_loop() -> bool:
    """Tell whether the code that asks is run by an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
