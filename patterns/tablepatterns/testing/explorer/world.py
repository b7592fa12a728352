"""The account that actors share: its time, its clients, and which request goes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from typing import Any, Final, Generic, TypeVar

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.rest import AsyncHttpResponse, HttpRequest
from azure.data.tables.aio import TableClient

from ...aio import Storage
from ...connection import in_memory
from ...edm import Ticks
from ...engine.account import Engine
from ...engine.clock import SECOND
from ...engine.transport import AioEngineTransport
from ...recipe import finish
from ...sdk.table import Table
from .actor import Actor, Call, Died, Ended, Point, Sleep, advance
from .choice import Chance
from .digest import Stamps, digest_of, of_engine

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

    async def gather(
        self, *calls: Coroutine[Any, Any, T], max_concurrency: int = 8, needs_threads: bool = False
    ) -> list[T]:
        """Run the calls at once; the schedule decides in which order they go on."""
        return await together(calls, max_concurrency)

    def _new_lock(self) -> AbstractAsyncContextManager[object]:
        return SteppedLock(self._world)

    async def _run_with_heartbeat(
        self, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], every: float
    ) -> T:
        # Without heartbeats: a stalled process sends none either, so what is correct without them is correct with them
        return await work


START: Final = datetime(2014, 8, 22, tzinfo=timezone.utc)
"""When every schedule begins."""


class World:
    """What the actors of one schedule share: an account in memory, whose requests and whose time the schedule steps.

    Recipes take `storage`. Code on the SDK's aio clients takes `table_client`, or makes any client with `transport`.
    Every schedule has a world of its own.

    :param chance: where the random numbers of the schedule come from
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._acting: Actor | None = None
        self.actors: Sequence[Actor] = ()
        self.stamps = Stamps(START)
        self.turn_to("make")
        self.engine = Engine(clock=self.stamps)
        """The account's state, to be looked at without a request."""
        self.credential = AzureNamedKeyCredential(self.engine.account_name, self.engine.account_key)
        self.transport = SteppedTransport(self)
        """For SDK clients that `table_client` does not give; they take `credential` too."""
        self.storage = SteppedStorage(self)
        """The account for recipes; its `tables` is the SDK's aio service client."""

    # -- what users ask for

    def table_client(self, name: str, **options: Any) -> TableClient:
        """Return the SDK's aio client of a table.

        :param options: keyword options of the client, such as `retry_total`
        """
        given: dict[str, Any] = {"credential": self.credential, "transport": self.transport} | options
        return TableClient(self.storage.target.urls["table"], name, **given)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine at once, before the actors begin, or to look at what they left; no schedule interrupts it.

        Where it waits for a moment, the clock moves.
        """
        reached = advance(coroutine)
        while not isinstance(reached, Ended):
            point = reached[0]
            if isinstance(point, Call):
                point.process_intents(point.carry_out())
            elif isinstance(point, Sleep):
                self.pass_until(point.until)
            reached = advance(coroutine, point)
        return reached.value

    @property
    def returned(self) -> dict[str, Any]:
        """What the actors returned that came to their end, by name."""
        return {actor.name: actor.result for actor in self.actors if actor.state == "returned"}

    @property
    def raised(self) -> dict[str, Exception]:
        """What the actors raised that ended with an error, by name."""
        return {actor.name: actor.error for actor in self.actors if actor.error is not None}

    @property
    def died(self) -> set[str]:
        """The names of the actors that died."""
        return {actor.name for actor in self.actors if actor.state == "died"}

    # -- what the account asks for

    async def call(self, request: Any, send: Callable[[], Any]) -> Any:
        """Wait until the schedule lets a request be sent, and return the answer that it lets the sender have."""
        self._check_alive()
        return await Call(request, send, self.stamps.now())

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved by so many seconds."""
        self._check_alive()
        await Sleep(Ticks(self.stamps.now() + round(seconds * SECOND)))

    def now(self) -> datetime:
        """Return the time; who asks has learned something."""
        now = self.stamps.now()
        if self._acting is not None:
            self._acting.learn(now)
        return now.datetime()

    def _check_alive(self) -> None:
        if self._acting is not None and self._acting.state == "died":
            raise Died

    # -- what the schedule does

    def turn_to(self, who: str, actor: Actor | None = None) -> None:
        """Let all that happens from now on be the doing of this one."""
        self._acting = actor
        self._chance.turn_to(who)
        self.stamps.turn_to(who)

    def pass_until(self, moment: Ticks) -> None:
        """Move the clock to a moment, if that is not past."""
        self.stamps.advance(max(0, moment - self.stamps.now()) / SECOND)

    def digest(self) -> bytes:
        """Return the digest of the account and of the positions of all actors."""
        return digest_of(of_engine(self.engine, self.stamps), [actor.position() for actor in self.actors])
