"""The account that actors share: its clock, its clients, and the order of their requests."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from copy import copy
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from threading import get_ident
from typing import Any, Final, Generic, Protocol, TypeVar

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.rest import AsyncHttpResponse, HttpRequest, HttpResponse
from azure.data.tables import TableClient as SyncTableClient
from azure.data.tables.aio import TableClient
from typing_extensions import Self

from tablepatterns.aio import Storage
from tablepatterns.connection import in_memory
from tablepatterns.declared_rows import DeclaredRows
from tablepatterns.edm import Ticks
from tablepatterns.recipe import finish
from tablepatterns.sdk.table import Table
from tablepatterns.storage import Storage as SyncStorage
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import SECOND
from tablepatterns_engine.http.message import Request, Response
from tablepatterns_engine.ledger import Ledger, Record
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

from .choice import Chance
from .digest import Learner, Stamps
from .request_points import Call, Completion, Crashed, Point, Sleep, advance
from .snapshot import Saved, Snapshots
from .sync_actor import reject_thread, running_actor

T = TypeVar("T")


# A storage loads these when it needs them; what they draw then, the first of two equal runs would draw alone
for _clients in ("azure.storage.blob.aio", "azure.storage.queue.aio"):
    import_module(_clients)

_LOOK_SECONDS: Final = 10
"""Long enough for few looks in the time that a request may take: each of them makes schedules of its own."""


class SteppedLock:
    """A lock for the concurrent calls of one actor, which poll it, because nothing in a world could wake them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_held = False

    async def __aenter__(self) -> None:
        self._world.learner.locks += 1
        while self._is_held:
            await self._world.sleep(_LOOK_SECONDS)
        self._is_held = True

    async def __aexit__(self, *error: object) -> None:
        self._is_held = False


class SteppedTransport(AioEngineTransport):
    """Sends requests to the account of a world, each when the schedule allows it."""

    def __init__(self, world: World, engine: Engine) -> None:
        super().__init__(engine)
        self._world = world

    async def send(self, request: HttpRequest, **kwargs: Any) -> AsyncHttpResponse:
        message = await self.message(request)
        response: AsyncHttpResponse = await self._world.call(request, message, partial(self.exchange, message, kwargs))
        return response

    async def sleep(self, duration: float) -> None:
        await self._world.sleep(duration)


class _OfWorld:
    _world: World
    _declared_rows: DeclaredRows

    def renewed(self) -> Self:
        """Return another one with the same clients, which are expensive to make."""
        storage = copy(self)
        storage._declared_rows = DeclaredRows()
        return storage

    def now(self) -> datetime:
        return self._world.now()


class SteppedStorage(_OfWorld, Storage):
    """The account of a world, for recipes: what they await is stepped by the schedule."""

    def __init__(self, world: World) -> None:
        super().__init__(world.target, world.engine, {"transport": world.transport})
        self._world = world
        self._tables_by_name: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        if name not in self._tables_by_name:
            self._tables_by_name[name] = super().table(name)
        return self._tables_by_name[name]

    async def sleep(self, seconds: float) -> None:
        await self._world.sleep(seconds)

    async def gather(
        self,
        *calls: Coroutine[Any, Any, T],
        max_concurrency: int = 8,
        needs_threads: bool = False,
        independent: bool = False,
    ) -> list[T]:
        """Run the calls at once; the schedule decides in which order they continue."""
        are_independent = independent and self._world.merges_orders
        return await run_concurrently(self._world, calls, max_concurrency, are_independent=are_independent)

    def _new_lock(self) -> AbstractAsyncContextManager[object]:
        return SteppedLock(self._world)

    async def _run_with_heartbeat(
        self, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], every: float
    ) -> T:
        # Without heartbeats: a stalled process sends none either, so what is correct without them is correct with them
        return await work


class SyncSteppedTransport(EngineTransport):
    """The same for sync clients, in the thread of an actor, or where the world is prepared or checked."""

    def __init__(self, world: World, engine: Engine) -> None:
        super().__init__(engine)
        self._world = world

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        message = finish(self._world.transport.message(request))
        exchange = partial(self._world.transport.exchange, message, kwargs)
        call = Call(request, message, exchange, self._world.stamps.now(), is_sync=True)
        response: HttpResponse = self._world.wait(call)
        return response

    def sleep(self, duration: float) -> None:
        self._world.wait(self._world.new_sleep(duration))


class SyncSteppedStorage(_OfWorld, SyncStorage):
    """The account of a world, for recipes in plain functions. Their concurrent calls run one after another."""

    def __init__(self, world: World) -> None:
        super().__init__(world.target, world.engine, {"transport": world.sync_transport})
        self._world = world
        self._has_threads = False

    async def sleep(self, seconds: float) -> None:
        self._world.wait(self._world.new_sleep(seconds))


class _ObservedLedger(Ledger):
    """A ledger that notes whether something besides the engine has looked at it."""

    is_read = False

    def add(self, record: Record) -> None:
        was_read = self.is_read
        super().add(record)
        self.is_read = was_read

    def show(self, records: Iterable[Record]) -> None:
        self.clear()
        for record in records:
            super().add(record)
        self.is_read = False

    def __getattribute__(self, name: str) -> Any:
        if name in ("records", "totals", "span"):
            self.is_read = True
        return super().__getattribute__(name)


class Outcome(Protocol):
    name: str
    has_crashed: bool

    @property
    def state(self) -> str: ...

    @property
    def result(self) -> Any: ...

    @property
    def error(self) -> Exception | None: ...


START: Final = datetime(2014, 8, 22, tzinfo=timezone.utc)
"""When every schedule begins."""


class World:
    """What the actors of one schedule share: an in-memory account, whose requests and whose time the schedule steps.

    Recipes take `storage`. Code on the SDK's aio clients takes `table_client`, or makes any client with `transport`.
    Plain functions take `sync_storage`, `sync_table_client` and `sync_transport`, of the same account.
    Schedules may share a world, whose account is restored then: what holds of one schedule only is in the account, in
    `returned`, `raised` and `crashed`.

    :param chance: where the random numbers of the schedule come from
    :param merges_orders: whether an actor's state does not depend on the order of its independent calls
    """

    def __init__(self, chance: Chance, *, merges_orders: bool = True) -> None:
        self._chance = chance
        self.threads = chance.threads
        """The threads that the schedule steps, of which one runs at a time."""
        self._actors: Sequence[Outcome] = ()
        self.merges_orders = merges_orders
        self.stamps = Stamps(START)
        self.turn_to("world")
        self.engine = Engine(clock=self.stamps)
        """The account's state, to be looked at without a request."""
        self.ledger = self.engine.ledger = _ObservedLedger()
        self.snapshots = Snapshots(self.engine, self.stamps)
        self.credential = AzureNamedKeyCredential(self.engine.account_name, self.engine.account_key)
        self.target = in_memory(self.engine.account_name, self.engine.account_key, self.credential)
        self.transport = SteppedTransport(self, self.engine)
        """For SDK clients that `table_client` does not give; they take `credential` too."""
        self.storage = SteppedStorage(self)
        """The account for recipes; its `tables` is the SDK's aio service client."""
        self.sync_transport = SyncSteppedTransport(self, self.engine)
        """The same for the SDK's sync clients."""
        self.sync_storage = SyncSteppedStorage(self)
        """The same account for recipes in plain functions; its `tables` is the SDK's sync service client."""
        self.are_actors_read = False
        """Whether something has looked at what became of the actors."""
        self._empty = self.snapshots.current
        self._prepared: list[Saved] = []
        self._preparations = 0
        self.has_prepared = False
        """Whether a coroutine was run to prepare the account since it was empty."""

    # -- what users ask for

    def table_client(self, name: str, **options: Any) -> TableClient:
        """Return the SDK's aio client of a table.

        :param options: keyword options of the client, such as `retry_total`
        """
        client_options: dict[str, Any] = {"credential": self.credential, "transport": self.transport} | options
        return TableClient(self.target.urls["table"], name, **client_options)

    def sync_table_client(self, name: str, **options: Any) -> SyncTableClient:
        """Return the SDK's sync client of a table, for plain functions.

        :param options: keyword options of the client, such as `retry_total`
        """
        client_options: dict[str, Any] = {"credential": self.credential, "transport": self.sync_transport} | options
        return SyncTableClient(self.target.urls["table"], name, **client_options)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine at once, before the actors begin, or to look at what they left; no schedule interrupts it.

        Where it waits for a moment, the clock moves.
        """
        stop = advance(coroutine)
        while not isinstance(stop, Completion):
            point = stop[0]
            self._settle(point)
            stop = advance(coroutine, point)
        return stop.value

    def _settle(self, point: Point) -> None:
        if isinstance(point, Call):
            point.settle(point.execute())
        elif isinstance(point, Sleep):
            self.stamps.advance(max(0, point.until - self.stamps.now()) / SECOND)

    def prepare(self, work: Coroutine[Any, Any, Any] | Callable[[], object]) -> None:
        """Run a coroutine as `run` does, or call a plain function, but once for all schedules.

        The other schedules begin with the account that it left.

        Use it where the actors are made, for what takes many requests. It is as if another process did it: nothing is
        returned, and an object that it uses does not remember it.
        """
        number = self._preparations
        self._preparations += 1
        if number < len(self._prepared):
            if not callable(work):
                work.close()
            self.snapshots.note_changes()
            self.snapshots.go_to(self._prepared[number])
            self.snapshots.fill()
        else:
            if callable(work):
                work()
            else:
                self.run(work)
            self._prepared.append(self.snapshots.save())
            self.has_prepared = True
        # What follows gets the same random values, whether the coroutine has run or not
        self.turn_to(f"after preparation {number}")

    @property
    def actors(self) -> Sequence[Outcome]:
        """The actors."""
        self.are_actors_read = True
        return self._actors

    @actors.setter
    def actors(self, actors: Sequence[Outcome]) -> None:
        self._actors = actors

    @property
    def returned(self) -> dict[str, Any]:
        """What the actors returned that ran to their end, by name."""
        return {actor.name: actor.result for actor in self.actors if actor.state == "returned"}

    @property
    def raised(self) -> dict[str, Exception]:
        """What the actors raised that ended with an error, by name."""
        return {actor.name: actor.error for actor in self.actors if not actor.has_crashed and actor.error is not None}

    @property
    def crashed(self) -> set[str]:
        """The names of the actors that crashed."""
        return {actor.name for actor in self.actors if actor.has_crashed}

    # -- what the account asks for

    async def call(self, request: Any, message: Request, exchange: Callable[[], Response]) -> Any:
        """Wait until the schedule lets a request be sent, and return the response that the sender receives."""
        self._check_running()
        return await Call(request, message, exchange, self.stamps.now())

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved by so many seconds."""
        self._check_running()
        await self.new_sleep(seconds)

    def new_sleep(self, seconds: float) -> Sleep:
        return Sleep(Ticks(self.stamps.now() + round(seconds * SECOND)))

    def wait(self, point: Point) -> Any:
        """Wait in the thread of a plain function until the schedule settles a point, and return what it receives.

        Where the world is prepared or checked, it is settled at once.

        :raises BadInput: the thread is not that of an actor
        """
        self._check_running()
        actor = running_actor()
        if actor is not None:
            actor.wait(point)
        elif get_ident() in self.threads:
            self._settle(point)
        else:
            raise reject_thread()
        return point.result()

    def now(self) -> datetime:
        """Return the time; the code that asks has learned it."""
        now = self.stamps.now()
        self.learner.learn(now)
        return now.datetime()

    def _check_running(self) -> None:
        if self.learner.has_crashed:
            raise Crashed

    @contextmanager
    def within(self, index: int) -> Generator[None, None, None]:
        """Let what happens be done by one of the concurrent calls of the running code."""
        with self.learner.within(index):
            self._chance.turn_to(self.learner.turn())
            yield
        self._chance.turn_to(self.learner.turn())

    # -- what the schedule does

    def empty(self) -> None:
        """Empty the account. What recipes declared on its storage is forgotten, too."""
        self.snapshots.note_changes()
        self.snapshots.go_to(self._empty)
        self.snapshots.fill()
        self.ledger.show(())
        self.storage, self.sync_storage = self.storage.renewed(), self.sync_storage.renewed()
        self._preparations, self.has_prepared = 0, False

    def turn_to(self, who: str, learner: Learner | None = None) -> None:
        """Let everything that happens from now on be done by this one."""
        self.learner = learner or Learner(who)
        self._chance.turn_to(who)
        self.stamps.turn_to(who)

    def close(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Stop a coroutine where it is: nothing that it would still send is sent."""
        learner = Learner("the end")
        learner.has_crashed = True
        self.turn_to("the end", learner)
        with suppress(Crashed):
            coroutine.close()


async def run_concurrently(
    world: World, calls: Sequence[Coroutine[Any, Any, T]], limit: int, *, are_independent: bool
) -> list[T]:
    """Run calls at once, `limit` at a time, and return their results in the order given.

    The schedule decides which of them continues. If one fails, no others are started, the running ones are awaited, and
    the first error is raised.

    :param are_independent: whether they pass nothing to each other except through the account, so that each of them
        behaves the same in every order of the others
    """
    try:
        group = _ConcurrentCalls(world, calls, max(limit, 1), are_independent=are_independent)
        while group.owners:
            group.resume(await _any_of(tuple(group.owners)))
        if group.error is not None:
            raise group.error
        return [group.results[index] for index in range(len(calls))]
    finally:
        # Those that never began, and after the actor's death all of them
        for call in calls:
            call.close()


@types.coroutine
def _any_of(points: tuple[Point, ...]) -> Generator[tuple[Point, ...], Point, Point]:
    """Wait at several points at once, and return the settled one."""
    return (yield points)


class _ConcurrentCalls(Generic[T]):
    """Concurrent calls, and the point at which each of them waits."""

    def __init__(
        self, world: World, calls: Sequence[Coroutine[Any, Any, T]], limit: int, *, are_independent: bool
    ) -> None:
        self.owners: dict[Point, int] = {}
        self.results: dict[int, T] = {}
        self.error: Exception | None = None
        self._world = world
        self._calls = calls
        self._are_independent = are_independent
        self._free_slots = limit
        self._pending = deque(range(len(calls)))
        self._admit()

    def resume(self, point: Point) -> None:
        index = self.owners[point]
        self._step(index, point)
        self._admit()
        # Which error is the first depends on the order, and so does which calls still begin
        if self.error is not None or not self._are_independent:
            self._world.learner.note_order(index)

    def _admit(self) -> None:
        while self._pending and self._free_slots and self.error is None:
            self._free_slots -= 1
            self._step(self._pending.popleft())

    def _step(self, index: int, point: Point | None = None) -> None:
        earlier_points = {waiting for waiting, owner in self.owners.items() if owner == index}
        self.owners = {waiting: owner for waiting, owner in self.owners.items() if owner != index}
        locks = self._world.learner.locks
        with self._world.within(index):
            points = self._advance_call(index, point)
        # A lock protects something that the calls share
        self._are_independent &= self._world.learner.locks == locks
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
            self.error = self.error or error
            return ()
        if isinstance(stop, Completion):
            self.results[index] = stop.value
            return ()
        return stop
