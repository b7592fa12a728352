"""Connect to a storage account with the SDK's sync clients."""

from __future__ import annotations

import copy
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from azure.data.tables import TableClient, TableServiceClient

from .connection import Target, check_options, check_table_name, check_target, in_memory, resolve
from .declared_rows import DeclaredRows
from .heartbeat import Heartbeats
from .recipe import VIRTUAL_BEAT, Account, BlockingAccount, finish
from .sdk.account_sender import AccountSender
from .sdk.call import Lazy, importing_cryptography
from .sdk.container import Container
from .sdk.process_transport import STORAGE_DEFAULTS, with_process_transport
from .sdk.queue import Queue, check_queue_name
from .sdk.table import Table, table_names
from .set_identity import account_identity
from .traffic.hooks import Watch

if TYPE_CHECKING:
    from azure.storage.blob import BlobServiceClient
    from azure.storage.queue import QueueServiceClient

    from tablepatterns_engine.account import Engine

T = TypeVar("T")

_log: Final = logging.getLogger("tablepatterns")

_REAL_SECONDS: Final = 0.2
"""How long a thread really waits per second of backoff on the in-memory engine."""
_LONGEST_PAUSE_SECONDS: Final = 0.5


def _can_start_threads() -> bool:
    """Return whether this Python can start threads; in a browser it usually cannot, and reads run in turn."""
    # Exists on Emscripten only, where it is documented
    build = getattr(sys, "_emscripten_info", None)
    return sys.platform != "wasi" and (build is None or build.pthreads)


def connect(target: str | Engine = "memory://", *, credential: Any = None, **options: Any) -> Storage:
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


def account_of(target: object, credential: Any, options: Mapping[str, Any]) -> tuple[Target, Engine | None]:
    """Return the address and the credential of the account to connect to, and its engine if it is in memory.

    :raises BadTarget: the target is not of an accepted form, or no client of the SDK has an option
    """
    check_options(options)
    # Imported here and below, so that a program on a real account does not load the engine
    if not isinstance(target, str):
        from tablepatterns_engine.account import Engine

        if isinstance(target, Engine):
            return in_memory(target.account_name, target.account_key, credential), target
    resolved_target = resolve(target, credential)
    if resolved_target.memory is None:
        return resolved_target, None
    from tablepatterns_engine.account import engine_for

    engine = engine_for(resolved_target.memory)
    _log.info("%s is an account in this process: all that is written is lost when it ends", resolved_target.address)
    return in_memory(engine.account_name, engine.account_key, credential, resolved_target.memory), engine


class Storage(BlockingAccount):
    """A storage account, with the SDK's service clients `tables`, `queues` and `blobs`.

    >>> with connect() as storage:
    ...     _ = storage.tables.create_table("Employees")
    ...     [table.name for table in storage.tables.list_tables()]
    ['Employees']

    Close it, or use it as a context manager, to close the clients' connections. Threads may share it. After `os.fork()`
    the child opens its own connections, unless you passed a `transport`. An in-memory account is copied by a fork:
    neither process sees what the other writes.
    """

    def __init__(self, target: Target, engine: Engine | None = None, options: dict[str, Any] | None = None) -> None:
        check_target(target)
        self.target = target
        """The addresses and the credential of the account."""
        self.engine = engine
        """The engine of an in-memory account, with its clock and ledger; None for other accounts."""
        self._keeps_key_order = target.keeps_key_order
        self._has_threads = _can_start_threads()
        self._declared_rows = DeclaredRows()
        self._identity = account_identity(engine, target.urls["table"])
        options = {"credential": target.credential, **(options or {})}
        self._takes_time = engine is None or "transport" in options
        if engine is not None:
            from tablepatterns_engine.faults import READ_TIMEOUT
            from tablepatterns_engine.transport import EngineTransport

            transport = EngineTransport(engine, read_timeout=options.get("read_timeout", READ_TIMEOUT))
            options = {"transport": transport} | options
        if "transport" in options:
            from tablepatterns_engine.transport import sleeping_alike

            options = sleeping_alike(options)
        self._options = options
        self._heartbeats = Heartbeats()
        self._watch = Watch(engine or target.address, target.urls, engine.clock.now if engine else None)
        # Must not refer to self, so that an in-memory account is freed with its last reference
        over = self._watch.over
        # The clients of the table service share one transport, and so its connections
        of_tables = over("table", with_process_transport(options))
        self._table_service = Lazy(lambda: TableServiceClient(target.url("table"), **of_tables))
        self._account_sender = AccountSender(TableClient, target.urls["table"], of_tables)
        if target.urls["table"]:
            self._table_service()
        self._queues = Lazy(
            lambda: _queue_service(
                target.url("queue"), over("queue", with_process_transport(options, STORAGE_DEFAULTS))
            )
        )
        self._blobs = Lazy(
            lambda: _blob_service(target.url("blob"), over("blob", with_process_transport(options, STORAGE_DEFAULTS)))
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

    def _as_async(self) -> Account:
        view = copy.copy(self)
        view._is_sync = False
        return view

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

        On an in-memory account they run one after the other, unless a call `needs_threads`: threads would only take
        turns there, at ten times the cost. The same applies where no thread can start.

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
        with self._heartbeats.running(lambda: finish(heartbeat()), interval):
            return await work

    def _new_lock(self) -> ThreadLock:
        return ThreadLock()

    def close(self) -> None:
        """Close the connections of the three clients."""
        for client in (self._table_service.value, self._queues.value, self._blobs.value):
            if client is not None:
                client.close()

    def __enter__(self) -> Storage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Storage {self.target.address}>"


async def _in_turn(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await the calls in the order given; after a failure, the rest are not started."""
    try:
        return [await call for call in calls]
    finally:
        for call in calls:
            call.close()


class ThreadLock:
    """A thread lock for recipes: waiting for it blocks the thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()


def _queue_service(url: str, options: dict[str, Any]) -> QueueServiceClient:
    with importing_cryptography():
        from azure.storage.queue import QueueServiceClient

    return QueueServiceClient(url, **options)


def _blob_service(url: str, options: dict[str, Any]) -> BlobServiceClient:
    with importing_cryptography():
        from azure.storage.blob import BlobServiceClient

    return BlobServiceClient(url, **options)
