"""Actor: one of those that share an account, a coroutine with a name, stepped from request to request."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias

from .advance import Ended, advance
from .digest import digest_of
from .points import Call, Point, Sleep

State: TypeAlias = Literal["alive", "returned", "raised", "died"]

_SHOWN: Final = 40


class Died(BaseException):
    """The actor is dead: whatever its code would still send on its way out is not sent."""


class Actor:
    """One actor of a schedule.

    :param name: what schedules call it
    :param coroutine: its code
    """

    def __init__(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.name = name
        self.state: State = "alive"
        self.points: tuple[Point, ...] = ()
        """Where it waits; several only where it does something together."""
        self.result: Any = None
        self.error: Exception | None = None
        self.steps = 0
        self.lost = False
        """Whether the answer to one of its requests was lost."""
        self._coroutine = coroutine
        self._history = b""

    @property
    def calls(self) -> list[Call]:
        """The requests that it is about to send."""
        return [point for point in self.points if isinstance(point, Call)]

    @property
    def sleeps(self) -> list[Sleep]:
        """The moments that it waits for."""
        return [point for point in self.points if isinstance(point, Sleep)]

    def label(self, point: Point) -> str:
        """Return what schedules call a point of this actor: its name, and which of its calls together it is of."""
        return ".".join([self.name, *map(str, point.strand)])

    def learn(self, *what: object) -> None:
        """Take note of something that its code gets to know: what it does from now on depends on it."""
        self._history = digest_of(self._history, *what)

    def position(self) -> object:
        """Return all that its further doing depends on: what it learned, and where it waits."""
        waits = [
            (point.strand, point.text, point.since) if isinstance(point, Call) else (point.strand, point.until)
            for point in self.points
            if isinstance(point, (Call, Sleep))
        ]
        return self.name, self.state, self._history, waits

    def ending(self) -> str:
        """Return in words how it ended, if it did."""
        if self.state == "returned":
            result = repr(self.result)
            return f"{self.name} returned {result if len(result) <= _SHOWN else result[:_SHOWN] + '…'}"
        if self.error is not None:
            return f"{self.name} raised {type(self.error).__name__}"
        return f"{self.name} died" if self.state == "died" else f"{self.name} goes on"

    def go_on(self, settled: Point | None = None) -> None:
        """Let its code run from a point that is settled, or from its beginning, to where it waits next."""
        self.steps += 1
        self.points = ()
        try:
            reached = advance(self._coroutine, settled)
        except Exception as error:  # noqa: BLE001 - how an actor may end is not decided here
            self.state, self.error = "raised", error
            return
        if isinstance(reached, Ended):
            self.state, self.result = "returned", reached.value
        else:
            self.points = reached

    def die(self) -> None:
        """Stop its code where it is. What it does on its way out in this process is not seen by the account."""
        self.state, self.points = "died", ()
        with suppress(Died):
            self._coroutine.close()
