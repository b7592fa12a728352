"""The in-memory storage account, and the accounts that this process shares by name."""

from __future__ import annotations

import threading
from threading import get_ident
from typing import TYPE_CHECKING, Final

from .clock import Clock
from .http.call import AccountContext
from .tables.service import Tables
from .targets import Targets

if TYPE_CHECKING:
    from .blobs.service import Blobs
    from .queues.service import Queues

DEVELOPMENT_NAME: Final = "devstoreaccount1"
DEVELOPMENT_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The published key of the storage emulators' account; it protects nothing."""


class Engine(AccountContext):
    """An in-memory storage account. Its data is lost when the process ends.

    >>> engine = Engine("contoso")
    >>> engine.tables.create("Employees")
    >>> engine.tables.names()
    (['Employees'], None)
    >>> engine
    <Engine contoso>

    :param name: the account's name
    :param key: the account's key in Base64; by default the published key of the storage emulators
    :param clock: the account's clock, by default one that runs with real time
    :param page_examines: the number of examined entities after which a page of a query ends, which produces short and
        empty pages; by default only a full page ends early
    :param targets: the rates above which the account is busy; by default it never is
    :param deletion_seconds: how long the name of a deleted table, queue or container stays reserved; by default it is
        free immediately, on the service after 40 seconds or more (a container's after 30)
    :param keep_blob_versions: whether the account keeps the previous versions of blobs that are overwritten or deleted
    """

    def __init__(
        self,
        name: str = DEVELOPMENT_NAME,
        key: str | None = None,
        clock: Clock | None = None,
        *,
        page_examines: int | None = None,
        targets: Targets | None = None,
        deletion_seconds: float = 0,
        keep_blob_versions: bool = False,
    ) -> None:
        super().__init__(name, DEVELOPMENT_KEY if key is None else key, Clock() if clock is None else clock, targets)
        self.tables = Tables(self.clock, page_examines=page_examines)
        self._queues: Queues | None = None
        self._blobs: Blobs | None = None
        self._creating = threading.Lock()
        self.deletion_seconds = deletion_seconds
        if keep_blob_versions:
            self.keep_blob_versions = True
        self._first_thread: int | None = None
        self.has_threads = False
        """Whether more than one thread has sent requests by an `EngineTransport`."""

    @property
    def queues(self) -> Queues:
        """The queues; created, and their code loaded, on first use, since most accounts hold only tables."""
        with self._creating:
            if self._queues is None:
                from .queues.service import Queues

                self._queues = Queues(self.clock)
                self._queues.deletions.seconds = self.deletion_seconds
            return self._queues

    @property
    def blobs(self) -> Blobs:
        """The containers and their blobs; created on first use, as the queues are."""
        with self._creating:
            if self._blobs is None:
                from .blobs.service import Blobs

                self._blobs = Blobs(self.clock)
                self._blobs.containers.deletions.seconds = self.deletion_seconds
            return self._blobs

    def note_thread(self) -> None:
        thread = get_ident()
        if self._first_thread is None:
            self._first_thread = thread
        elif thread != self._first_thread:
            self.has_threads = True

    @property
    def deletion_seconds(self) -> float:
        """How long the names of resources that are deleted from now on stay reserved."""
        return self.tables.deletions.seconds

    @deletion_seconds.setter
    def deletion_seconds(self, seconds: float) -> None:
        with self._creating:
            self.tables.deletions.seconds = seconds
            if self._queues is not None:
                self._queues.deletions.seconds = seconds
            if self._blobs is not None:
                self._blobs.containers.deletions.seconds = seconds

    @property
    def keep_blob_versions(self) -> bool:
        """Whether each write of a blob from now on creates a version; the versions that exist stay."""
        return self.blobs.keeps_versions

    @keep_blob_versions.setter
    def keep_blob_versions(self, keep: bool) -> None:
        self.blobs.keeps_versions = keep

    def __repr__(self) -> str:
        return f"<Engine {self.account_name}>"


_named: dict[str, Engine] = {}
_lock = threading.Lock()


def engine_for(name: str) -> Engine:
    """Return the engine with this name, created on first use; without a name, a new private engine."""
    if not name:
        return Engine()
    with _lock:
        if name not in _named:
            _named[name] = Engine()
        return _named[name]
