"""The account as actors see it: the SDK's clients and the recipes over it wait for the schedule, not for a network."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from azure.core.rest import AsyncHttpResponse, HttpRequest

from ...aio import Storage
from ...engine.transport import AioEngineTransport
from ...recipe import finish
from ...target import in_memory
from ...words.table import Table
from .together import together

if TYPE_CHECKING:
    from .world import World

T = TypeVar("T")

# A storage loads these when it needs them; what they draw then, the first of two equal runs would draw alone
for _clients in ("azure.storage.blob.aio", "azure.storage.queue.aio"):
    import_module(_clients)

_LOOK_SECONDS: Final = 10
"""Long enough for few looks in the time that a request may take: each of them makes schedules of its own."""


class SteppedLock:
    """A lock that strands of one actor wait for, looking again and again: the world has nothing that wakes them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_held = False

    async def __aenter__(self) -> None:
        while self._is_held:
            await self._world.sleep(_LOOK_SECONDS)
        self._is_held = True

    async def __aexit__(self, *error: object) -> None:
        self._is_held = False


class SteppedTransport(AioEngineTransport):
    """Carries requests to the account of a world, each when the schedule lets it."""

    def __init__(self, world: World) -> None:
        super().__init__(world.engine)
        self._world = world

    async def send(self, request: HttpRequest, **kwargs: Any) -> AsyncHttpResponse:
        """Return the answer that the schedule lets the sender have."""
        response: AsyncHttpResponse = await self._world.call(request, partial(self._send, request, kwargs))
        return response

    async def sleep(self, duration: float) -> None:
        """Wait in the world's time: the SDK calls this between its attempts."""
        await self._world.sleep(duration)

    def _send(self, request: HttpRequest, options: dict[str, Any]) -> AsyncHttpResponse:
        return finish(super().send(request, **options))


class SteppedStorage(Storage):
    """The account of a world, for recipes: what they await is stepped by the schedule."""

    def __init__(self, world: World) -> None:
        engine = world.engine
        target = in_memory(engine.account_name, engine.account_key, world.credential)
        super().__init__(target, engine, {"transport": world.transport})
        self._world = world
        self._tables_by_name: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """Return one table of the account, the same each time."""
        if name not in self._tables_by_name:
            self._tables_by_name[name] = super().table(name)
        return self._tables_by_name[name]

    def now(self) -> datetime:
        """Return the world's time."""
        return self._world.now()

    async def sleep(self, seconds: float) -> None:
        """Wait in the world's time."""
        await self._world.sleep(seconds)

    async def together(self, *calls: Coroutine[Any, Any, T], limit: int = 8, waits: bool = False) -> list[T]:
        """Run the calls at once; the schedule decides in which order they go on."""
        return await together(calls, limit)

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock that the strands of an actor wait for in the world's time."""
        return SteppedLock(self._world)

    async def meanwhile(
        self, work: Coroutine[Any, Any, T], beat: Callable[[], Coroutine[Any, Any, None]], *, every: float
    ) -> T:
        """Run the work without a beat.

        Beats keep a lease that work might outlive. A process that stalls does not beat either, so that what is right
        without them is right with them.
        """
        return await work
