"""Connect to a storage account with the SDK's async clients; recipes are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from azure.data.tables.aio import TableClient, TableServiceClient

from .account import ServiceAccount, account_of
from .connection import Omitted
from .extras import importing
from .recipe import VIRTUAL_BEAT

__all__ = ["Storage", "connect"]

if TYPE_CHECKING:
    from azure.storage.blob.aio import BlobServiceClient
    from azure.storage.queue.aio import QueueServiceClient

    from tablepatterns_engine.account import Engine

    TypedAccount = ServiceAccount[TableServiceClient, QueueServiceClient, BlobServiceClient]
else:
    TypedAccount = ServiceAccount

T = TypeVar("T")

_TURN_SECONDS: Final = 0.005
_MOST_TURNS: Final = 200


def connect(
    target: str | Engine | Literal[Omitted.OMITTED] = Omitted.OMITTED,
    *,
    credential: Any = Omitted.OMITTED,
    **options: Any,
) -> Storage:
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
    parsed_target, engine = account_of(target, credential, options)
    if engine is None and "transport" not in options:
        with importing("the SDK's async clients need", extra="aio"):
            import_module("aiohttp")
    return Storage(parsed_target, engine, options)


class Storage(TypedAccount):
    """A storage account, with the SDK's async service clients `tables`, `queues` and `blobs`.

    Close it, or use it as an async context manager. Tasks of one event loop may share it. A forked process may use it
    in its own event loop, over its own connections, unless you passed a `transport`.
    """

    _prefix = "aio."
    _table_client, _table_service_client = TableClient, TableServiceClient

    @staticmethod
    def _engine_transport(engine: Engine, read_timeout: float) -> Any:
        from tablepatterns_engine.transport import AioEngineTransport

        return AioEngineTransport(engine, read_timeout=read_timeout)

    def _as_async(self) -> Storage:
        return self

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

        The parameters are those of `tablepatterns.Storage.gather`; `needs_threads` has no effect here.
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
            while True:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(over.wait(), interval)
                if over.is_set():
                    return
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
        for client in self._open_clients():
            await client.close()

    async def __aenter__(self) -> Storage:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
