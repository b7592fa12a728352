"""Connect to a storage account with the SDK's sync clients."""

from __future__ import annotations

import copy
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from azure.data.tables import TableClient, TableServiceClient

from .account import ServiceAccount, account_of
from .connection import Omitted, Target
from .recipe import VIRTUAL_BEAT, Account, BlockingAccount, finish

if TYPE_CHECKING:
    from azure.storage.blob import BlobServiceClient
    from azure.storage.queue import QueueServiceClient

    from tablepatterns_engine.account import Engine

    TypedAccount = ServiceAccount[TableServiceClient, QueueServiceClient, BlobServiceClient]
else:
    TypedAccount = ServiceAccount

T = TypeVar("T")

_REAL_SECONDS: Final = 0.2
"""How long a thread really waits per second of backoff on the in-memory engine."""
_LONGEST_PAUSE_SECONDS: Final = 0.5


def connect(
    target: str | Engine | Literal[Omitted.OMITTED] = Omitted.OMITTED,
    *,
    credential: Any = Omitted.OMITTED,
    **options: Any,
) -> Storage:
    """Connect to a storage account, for recipes and for plain SDK calls; no request is made.

    Without a target you get a new in-memory account, which exists until its last reference is gone. The logger
    `tablepatterns` says so at level INFO.

    >>> connect()
    <Storage memory://>
    >>> connect("memory://shared").engine is connect("memory://shared").engine
    True

    :param target: `"memory://"`; `"memory://name"`, which is shared in the process; `"azurite"`, on its default ports;
        `"env"`, for the connection string in `AZURE_STORAGE_CONNECTION_STRING`; a connection string; the URL of one of
        the account's services; or an `Engine`. None is rejected, since it usually is a variable that is not set
    :param credential: with a URL, any azure-core credential: `AzureNamedKeyCredential`, `AzureSasCredential`, or a
        token credential such as those of azure-identity; in memory, one to use in place of the account's key
    :param options: keyword options of the SDK's clients, such as `retry_total` or `logging_enable`; each reaches the
        clients that have it
    :raises BadTarget: the target is none of these, or no client has an option; the error says what is accepted

    Guide: account and address.
    """
    return Storage(*account_of(target, credential, options), options)


class Storage(TypedAccount, BlockingAccount):
    """A storage account, with the SDK's service clients `tables`, `queues` and `blobs`.

    >>> with connect() as storage:
    ...     _ = storage.tables.create_table("Employees")
    ...     [table.name for table in storage.tables.list_tables()]
    ['Employees']

    Close it, or use it as a context manager, to close the clients' connections. Threads may share it. After `os.fork()`
    the child opens its own connections, unless you passed a `transport`. An in-memory account is copied by a fork:
    neither process sees what the other writes.
    """

    _table_client, _table_service_client = TableClient, TableServiceClient

    def __init__(self, target: Target, engine: Engine | None = None, options: dict[str, Any] | None = None) -> None:
        super().__init__(target, engine, options)
        # Exists in browsers only, where it is documented; they usually start no threads, so reads run in turn
        build = getattr(sys, "_emscripten_info", None)
        self._has_threads = sys.platform != "wasi" and (build is None or build.pthreads)
        self._takes_time = engine is None or "transport" in (options or {})

    @staticmethod
    def _engine_transport(engine: Engine, read_timeout: float) -> Any:
        from tablepatterns_engine.transport import EngineTransport

        return EngineTransport(engine, read_timeout=read_timeout)

    def _as_async(self) -> Account:
        view = copy.copy(self)
        view._is_sync = False
        return view

    async def sleep(self, seconds: float) -> None:
        """Wait; on the in-memory engine, move the clock instead."""
        if self.engine:
            self.engine.clock.sleep(seconds)
        else:
            time.sleep(seconds)

    async def _back_off(self, seconds: float) -> None:
        await self.sleep(seconds)
        if self.engine and self.engine.has_threads:
            # Really wait a little, or threads that lost a race would all retry immediately and collide again
            time.sleep(min(seconds * _REAL_SECONDS, _LONGEST_PAUSE_SECONDS))

    async def gather(
        self,
        *calls: Coroutine[Any, Any, T],
        max_concurrency: int = 8,
        needs_threads: bool = False,
        independent: bool = False,
    ) -> list[T]:
        """Run the calls in a pool of threads, and return their results in the order given.

        If one fails, calls that have not started never do, the others are awaited, and the first error is raised. On an
        in-memory account they run one after the other, unless a call `needs_threads`: threads would only take turns
        there, at ten times the cost. The same applies where no thread can start.

        :param max_concurrency: how many calls at a time
        :param needs_threads: whether a call waits for more than requests
        :param independent: whether the calls pass nothing to each other, such as in a list, except through the account;
            `tablepatterns_explore.explore` tries fewer orders of such calls, and nothing else changes
        """
        is_parallel = self._has_threads and (needs_threads or self._takes_time)
        if len(calls) <= 1 or max_concurrency <= 1 or not is_parallel:
            return await _in_turn(calls)
        with ThreadPoolExecutor(min(max_concurrency, len(calls))) as pool:
            with self._watch.attribute_to_caller():
                pending = [pool.submit(copy_context().run, finish, call) for call in calls]
            try:
                return [future.result() for future in pending]
            except BaseException:
                for future, call in zip(pending, calls, strict=True):
                    if future.cancel():
                        call.close()
                raise

    async def _run_with_heartbeat(
        self, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], every: float
    ) -> T:
        if not self._has_threads:
            return await work
        interval = every if self.engine is None else min(every, VIRTUAL_BEAT)
        with heartbeats(lambda: finish(heartbeat()), interval):
            return await work

    def _new_lock(self) -> ThreadLock:
        return ThreadLock()

    def close(self) -> None:
        """Close the connections of the three clients."""
        for client in self._open_clients():
            client.close()

    def __enter__(self) -> Storage:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


async def _in_turn(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await the calls in the order given; after a failure, the rest are not started."""
    try:
        return [await call for call in calls]
    finally:
        for call in calls:
            call.close()


@contextmanager
def heartbeats(heartbeat: Callable[[], object], every: float) -> Generator[None, None, None]:
    """Call `heartbeat` every so many seconds in another thread until the block ends.

    A call in progress is awaited. A failed call is the last, and its error is raised at the end of the block.
    """
    ended = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            while not ended.wait(every):
                heartbeat()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread of the work
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="tablepatterns-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if errors:
            raise errors[0]


class ThreadLock:
    """A thread lock for recipes: waiting for it blocks the thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()
