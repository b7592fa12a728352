"""A storage account over the SDK's clients: what the sync and the async `Storage` share."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from importlib import import_module
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from .connection import Omitted, Target, check_options, check_table_name, check_target, in_memory, resolve
from .declared_rows import DeclaredRows
from .errors import BadTarget
from .extras import importing
from .filters import prop
from .recipe import Account
from .sdk.account_sender import AccountSender
from .sdk.call import Lazy, iterate
from .sdk.container import Container
from .sdk.queue import Queue, check_queue_name
from .sdk.table import Table
from .set_identity import account_identity
from .traffic.hooks import Watch

if TYPE_CHECKING:
    from tablepatterns_engine.account import Engine

TablesT = TypeVar("TablesT")
QueuesT = TypeVar("QueuesT")
BlobsT = TypeVar("BlobsT")

_log: Final = logging.getLogger("tablepatterns")
_STORAGE_DEFAULTS: Final = {"connection_timeout": 20, "read_timeout": 60, "connection_data_block_size": 256 * 1024}
"""The options with which the SDK's queue and blob clients create their transports."""


class Stopwatch:
    """Adds up the time that passes, by the wall clock or by the monotonic one, whichever says more.

    The wall clock may be set back, and the monotonic one may stop while the machine is suspended.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._total = timedelta(0)
        self._last: tuple[datetime, timedelta] | None = None

    def read(self, wall: datetime, steady: timedelta) -> timedelta:
        with self._lock:
            last_wall, last_steady = self._last or (wall, steady)
            self._total += max(wall - last_wall, steady - last_steady)
            self._last = wall, steady
            return self._total


_STOPWATCH: Final = Stopwatch()


def account_of(target: object, credential: Any, options: Mapping[str, Any]) -> tuple[Target, Engine | None]:
    """Return the address and the credential of the account to connect to, and its engine if it is in memory."""
    check_options(options)
    if target is Omitted.OMITTED:
        if credential is None:
            rule = "without a target the account is in memory, and None is usually a variable that is not set"
            raise BadTarget("credential", credential, rule, "pass the URL of the account too, or omit the credential")
        target = "memory://"
    if credential is Omitted.OMITTED:
        credential = None
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


def _storage_class(service: str, name: str, prefix: str) -> Any:
    """Return one of the SDK's classes of clients, whose library is loaded on first use."""
    with importing("the Azure SDK's queue and blob clients import the package"):
        package = import_module(f"azure.storage.{service}.{prefix}".rstrip("."))
    return getattr(package, name)


def _with_transport(
    options: dict[str, Any], defaults: Mapping[str, Any], to_engine: Callable[[], Any] | None, *, is_async: bool
) -> dict[str, Any]:
    """Return options with a transport of the service's own, unless they have one.

    It sends requests to an engine, or opens its own connections in each forked process.
    """
    if "transport" in options or to_engine is not None:
        from tablepatterns_engine.transport import sleeping_alike

        return sleeping_alike(options if to_engine is None else {"transport": to_engine()} | options)
    # Imported here, since one needs aiohttp and the other loads the requests package
    if is_async:
        from .sdk.aio_transport import AioTransport

        return {**options, "transport": AioTransport(**{**defaults, **options})}
    from .sdk.transport import Transport

    return {**options, "transport": Transport(**{**defaults, **options})}


def _queue_sender(prefix: str, service: str, options: Mapping[str, Any]) -> AccountSender:
    # Imported here, so that a program without queues does not load it
    from .sdk.queue_sender import QueueAccountSender

    return QueueAccountSender(_storage_class("queue", "QueueClient", prefix), service, options)


class ServiceAccount(Account, Generic[TablesT, QueuesT, BlobsT]):
    """A storage account over the SDK's clients, which are created on first use."""

    _prefix: ClassVar[str] = ""
    """`aio.` for the SDK's async clients."""
    _table_client: ClassVar[Any]
    _table_service_client: ClassVar[Any]

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
        to_engine: Callable[[], Any] | None = None
        if engine is not None:
            from tablepatterns_engine.faults import READ_TIMEOUT

            to_engine = partial(self._engine_transport, engine, options.get("read_timeout", READ_TIMEOUT))
        self._options = options
        self._watch = Watch(engine or target.address, target.urls, engine.clock.now if engine else None)
        # Must not refer to self, so that an in-memory account is freed with its last reference
        over, prefix, client = self._watch.over, self._prefix, self._table_service_client
        # The clients of the table service share one transport, and so its connections
        of_tables = over("table", _with_transport(options, {}, to_engine, is_async=bool(prefix)))
        self._table_service: Lazy[TablesT] = Lazy(lambda: client(target.url("table"), **of_tables))
        self._account_sender = AccountSender(self._table_client, target.urls["table"], of_tables)
        if target.urls["table"]:
            self._table_service()

        def storage_options(service: str) -> dict[str, Any]:
            return over(service, _with_transport(options, _STORAGE_DEFAULTS, to_engine, is_async=bool(prefix)))

        of_queues = Lazy(lambda: storage_options("queue"))
        self._queues: Lazy[QueuesT] = Lazy(
            lambda: _storage_class("queue", "QueueServiceClient", prefix)(target.url("queue"), **of_queues())
        )
        self._blobs: Lazy[BlobsT] = Lazy(
            lambda: _storage_class("blob", "BlobServiceClient", prefix)(target.url("blob"), **storage_options("blob"))
        )
        self._queue_sender = Lazy(lambda: _queue_sender(prefix, target.url("queue"), of_queues()))

    @staticmethod
    @abstractmethod
    def _engine_transport(engine: Engine, read_timeout: float) -> Any: ...

    @property
    def tables(self) -> TablesT:
        """The SDK's client of the table service."""
        return self._table_service()

    @property
    def queues(self) -> QueuesT:
        """The SDK's client of the queue service; its library is loaded on first use."""
        return self._queues()

    @property
    def blobs(self) -> BlobsT:
        """The SDK's client of the blob service; its library is loaded on first use."""
        return self._blobs()

    def table(self, name: str) -> Table:
        check_table_name(name)
        tables: Any = self.tables
        return Table(tables.get_table_client(name), self._options.get("raw_response_hook"), self._account_sender)

    async def _table_names(self, first: str, last: str) -> AsyncIterator[str]:
        tables: Any = self.tables
        name = prop("TableName")
        async for table in iterate(tables.query_tables(str((name >= first) & (name <= last)))):
            yield str(table.name)

    def queue(self, name: str) -> Queue:
        queues: Any = self.queues
        return Queue(queues.get_queue_client(check_queue_name(name)), self._queue_sender())

    def container(self, name: str) -> Container:
        blobs: Any = self.blobs
        return Container(blobs.get_container_client(check_queue_name(name)))

    def now(self) -> datetime:
        """Return the time as an aware UTC datetime; the in-memory engine has its own clock."""
        return self.engine.clock.now().datetime() if self.engine else datetime.now(timezone.utc)

    def _elapsed(self) -> timedelta:
        if self.engine:
            return timedelta(microseconds=self.engine.clock.now() // 10)
        return _STOPWATCH.read(datetime.now(timezone.utc), timedelta(seconds=monotonic()))

    def _open_clients(self) -> list[Any]:
        clients = (self._table_service.value, self._queues.value, self._blobs.value)
        return [client for client in clients if client is not None]

    def __repr__(self) -> str:
        return f"<{self._prefix}Storage {self.target.address}>"
