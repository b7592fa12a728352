"""Connect to a storage account with the SDK's async clients; recipes are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timezone
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from azure.data.tables.aio import TableClient, TableServiceClient

from .connection import Target, check_table_name, check_target
from .declared_rows import DeclaredRows
from .extras import how_to_install
from .recipe import VIRTUAL_BEAT, Account
from .sdk.account_sender import AccountSender
from .sdk.call import Lazy, importing_cryptography
from .sdk.container import Container
from .sdk.process_transport import STORAGE_DEFAULTS
from .sdk.queue import Queue, check_queue_name
from .sdk.table import Table, table_names
from .set_identity import account_identity
from .storage import account_of
from .traffic.hooks import Watch

__all__ = ["Storage", "connect"]

if TYPE_CHECKING:
    from azure.storage.blob.aio import BlobServiceClient
    from azure.storage.queue.aio import QueueServiceClient

    from tablepatterns_engine.account import Engine

T = TypeVar("T")

_TURN_SECONDS: Final = 0.005
_MOST_TURNS: Final = 200


def connect(target: str | Engine = "memory://", *, credential: Any = None, **options: Any) -> Storage:
    """Connect to a storage account whose recipes are awaited, over the SDK's async clients; no request is made.

    The targets are those of `tablepatterns.connect`, with the async credentials of azure-identity.

    >>> import asyncio
    >>> async def main() -> list[str]:
    ...     async with connect() as storage:
    ...         await storage.tables.create_table("Employees")
    ...         return [table.name async for table in storage.tables.list_tables()]
    >>> asyncio.run(main())
    ['Employees']

    :param target: as in `tablepatterns.connect`
    :param credential: with a URL, any async azure-core credential
    :param options: as in `tablepatterns.connect`
    :raises BadTarget: the target is none of the accepted forms, or no client of the SDK has an option
    :raises ModuleNotFoundError: aiohttp is missing; install `tablepatterns[aio]`. The in-memory engine does not need it
    """
    resolved, engine = account_of(target, credential, options)
    if engine is None and "transport" not in options and find_spec("aiohttp") is None:
        text = f"the SDK's async clients need aiohttp: {how_to_install('aio')}"
        raise ModuleNotFoundError(text, name="aiohttp")
    return Storage(resolved, engine, options)


class Storage(Account):
    """A storage account, with the SDK's async service clients `tables`, `queues` and `blobs`.

    Close it, or use it as an async context manager. Tasks of one event loop may share it. A forked process may use it
    in its own event loop, over its own connections, unless you passed a `transport`.
    """

    def __init__(self, target: Target, engine: Engine | None = None, options: dict[str, Any] | None = None) -> None:
        check_target(target)
        self.target = target
        """The addresses and the credential of the account."""
        self.engine = engine
        """The engine of an in-memory account, with its clock and ledger; None for other accounts."""
        self._keeps_key_order = target.keeps_key_order
        self._declared_rows = DeclaredRows()
        self._identity = account_identity(engine, target.urls["table"])
        options = {"credential": target.credential, **(options or {})}
        if engine is not None:
            from tablepatterns_engine.faults import READ_TIMEOUT
            from tablepatterns_engine.transport import AioEngineTransport

            transport = AioEngineTransport(engine, read_timeout=options.get("read_timeout", READ_TIMEOUT))
            options = {"transport": transport} | options
        if "transport" in options:
            from tablepatterns_engine.transport import sleeping_alike

            options = sleeping_alike(options)
        self._options = options
        self._watch = Watch(engine or target.address, target.urls, engine.clock.now if engine else None)
        # Must not refer to self, so that an in-memory account is freed with its last reference
        over = self._watch.over
        # The clients of the table service share one transport, and so its connections
        of_tables = over("table", _with_process_transport(options))
        self._table_service = Lazy(lambda: TableServiceClient(target.url("table"), **of_tables))
        self._account_sender = AccountSender(TableClient, target.urls["table"], of_tables)
        if target.urls["table"]:
            self._table_service()
        self._queues = Lazy(
            lambda: _queue_service(
                target.url("queue"), over("queue", _with_process_transport(options, STORAGE_DEFAULTS))
            )
        )
        self._blobs = Lazy(
            lambda: _blob_service(target.url("blob"), over("blob", _with_process_transport(options, STORAGE_DEFAULTS)))
        )

    @property
    def tables(self) -> TableServiceClient:
        """The SDK's client of the table service."""
        return self._table_service()

    @property
    def queues(self) -> QueueServiceClient:
        """The SDK's client of the queue service; created, and its library loaded, on first use."""
        return self._queues()

    @property
    def blobs(self) -> BlobServiceClient:
        """The SDK's client of the blob service; created, and its library loaded, on first use."""
        return self._blobs()

    def _as_async(self) -> Storage:
        return self

    def table(self, name: str) -> Table:
        """Return one table of the account; no request is made."""
        check_table_name(name)
        return Table(self.tables.get_table_client(name), self._options.get("raw_response_hook"), self._account_sender)

    def _table_names(self, first: str, last: str) -> AsyncIterator[str]:
        return table_names(self.tables, first, last)

    def queue(self, name: str) -> Queue:
        """Return one queue of the account; no request is made."""
        return Queue(self.queues.get_queue_client(check_queue_name(name)))

    def container(self, name: str) -> Container:
        """Return one container of the account; no request is made."""
        return Container(self.blobs.get_container_client(check_queue_name(name)))

    def now(self) -> datetime:
        """Return the time as an aware UTC datetime; the in-memory engine has its own clock."""
        return self.engine.clock.now().datetime() if self.engine else datetime.now(timezone.utc)

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop; on the in-memory engine, move the clock and let other tasks run."""
        if self.engine is None:
            await asyncio.sleep(seconds)
            return
        self.engine.clock.sleep(seconds)
        # As many turns as requests would take in that time; otherwise a task that backs off would not yield
        for _ in range(min(1 + int(seconds / _TURN_SECONDS), _MOST_TURNS)):
            await asyncio.sleep(0)

    async def gather(
        self,
        *calls: Coroutine[Any, Any, T],
        max_concurrency: int = 8,
        needs_threads: bool = False,
        independent: bool = False,
    ) -> list[T]:
        """Run the calls in tasks, and return their results in the order given.

        :param max_concurrency: how many calls at a time
        :param needs_threads: without effect here
        :param independent: whether the calls pass nothing to each other, such as in a list, except through the account;
            `tablepatterns_explore.explore` tries fewer orders of such calls, and nothing else changes
        """
        gate = asyncio.Semaphore(max(max_concurrency, 1))
        results: dict[int, T] = {}
        failures: list[Exception] = []

        async def admitted(position: int, call: Coroutine[Any, Any, T]) -> None:
            async with gate:
                if failures:
                    return
                try:
                    results[position] = await call
                except Exception as error:  # noqa: BLE001 - raised once those that have begun have ended
                    failures.append(error)

        try:
            with self._watch.attribute_to_caller():
                await asyncio.gather(*(admitted(*number_and_call) for number_and_call in enumerate(calls)))
        finally:
            for call in calls:
                call.close()
        if failures:
            raise failures[0]
        return [results[position] for position in range(len(calls))]

    async def _run_with_heartbeat(
        self, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], every: float
    ) -> T:
        over = asyncio.Event()
        interval = every if self.engine is None else min(every, VIRTUAL_BEAT)

        async def keep_beating() -> None:
            while not await _happens(over, interval):
                await heartbeat()

        beating = asyncio.ensure_future(keep_beating())
        try:
            return await work
        finally:
            over.set()
            await beating

    def _new_lock(self) -> AbstractAsyncContextManager[object]:
        return asyncio.Lock()

    async def close(self) -> None:
        """Close the connections of the three clients."""
        for client in (self._table_service.value, self._queues.value, self._blobs.value):
            if client is not None:
                await client.close()

    async def __aenter__(self) -> Storage:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio.Storage {self.target.address}>"


async def _happens(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event for up to a number of seconds; return whether it occurred."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _queue_service(url: str, options: dict[str, Any]) -> QueueServiceClient:
    with importing_cryptography():
        from azure.storage.queue.aio import QueueServiceClient

    return QueueServiceClient(url, **options)


def _blob_service(url: str, options: dict[str, Any]) -> BlobServiceClient:
    with importing_cryptography():
        from azure.storage.blob.aio import BlobServiceClient

    return BlobServiceClient(url, **options)


def _with_process_transport(options: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of an async SDK client with a transport of this kind, unless they have a transport."""
    if "transport" in options:
        return dict(options)
    # Imported here, since it needs aiohttp
    from .sdk.aio_process_transport import AioProcessTransport

    return {**options, "transport": AioProcessTransport({**(defaults or {}), **options})}
