"""The contestants for queues and blobs: the floor, the engine and Azurite, each behind the SDK's own client."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import Any

from azure.storage.blob import BlobServiceClient, ContainerClient
from azure.storage.queue import QueueClient, QueueServiceClient
from rich.progress import track

from tablepatterns_engine.account import Engine
from tablepatterns_engine.content import Content
from tablepatterns_engine.transport import EngineTransport

from .blob_cases import CASES as BLOB_CASES
from .blob_cases import listed_name, listing, other_name, put_downloads
from .case import AZURITE, AZURITE_LARGE, ENGINE, ENGINE_LARGE, C, Case, Entry, Place, at
from .data import Loaded, ObjectScale
from .floor import Transport, floor_of
from .queue_cases import CASES as QUEUE_CASES

_QUEUE, _CONTENTS, _SMALL, _LARGE = "benchmarks", "contents", "small", "large"
_THREADS = 8
_BLOCK = 200
_EMPTY = Loaded(0, 0, 0, 0)

AnyEntry = Entry[Any]


class EngineObjects:
    """The engine with a queue and three containers, and the floor with the engine's responses."""

    def __init__(self, scale: ObjectScale) -> None:
        self._engine = Engine()
        self._listing = listing(scale.listed)
        self._queue(self._transport()).create_queue()
        for name in (_CONTENTS, _SMALL, _LARGE):
            self._container(name, self._transport()).create_container()
        put_downloads(self._container(_CONTENTS, self._transport()))
        self.places = {
            ENGINE: self._listed(_SMALL, scale.listed, 0),
            ENGINE_LARGE: self._listed(_LARGE, scale.listed, scale.blobs - scale.listed),
        }

    def entries(self) -> list[AnyEntry]:
        queue = Place(self._queue(self._transport()), _EMPTY)
        contents = Place(self._container(_CONTENTS, self._transport()), _EMPTY)
        small, large = self.places[ENGINE], self.places[ENGINE_LARGE]
        found: list[AnyEntry] = []
        for of_queue in QUEUE_CASES:
            found += self._pair(of_queue, queue, self._queue)
        for of_blob in BLOB_CASES:
            found += self._pair(of_blob, contents, partial(self._container, _CONTENTS))
        found += self._pair(self._listing, small, partial(self._container, _SMALL))
        return [*found, at(self._listing, ENGINE_LARGE, large)]

    def _pair(self, case: Case[C], place: Place[C], client: Callable[[Transport], C]) -> list[AnyEntry]:
        return [floor_of(case, self._engine, place, client), at(case, ENGINE, place)]

    def _listed(self, name: str, listed: int, others: int) -> Place[ContainerClient]:
        """Write the blobs without the SDK, which would take a minute for a hundred thousand."""
        start, content = time.perf_counter(), Content([b"x"])
        for blob in chain(map(listed_name, range(listed)), map(other_name, range(others))):
            self._engine.blobs.put(name, blob, content)
        loaded = Loaded(1, listed, listed + others, time.perf_counter() - start)
        return Place(self._container(name, self._transport()), loaded)

    def _transport(self) -> EngineTransport:
        return EngineTransport(self._engine)

    def _queue(self, transport: Transport) -> QueueClient:
        url, account = f"https://{self._engine.account_name}.queue.core.windows.net", self._engine.account_name
        credential = {"account_name": account, "account_key": self._engine.account_key}
        return QueueClient(url, _QUEUE, credential=credential, transport=transport)

    def _container(self, name: str, transport: Transport) -> ContainerClient:
        url, account = f"https://{self._engine.account_name}.blob.core.windows.net", self._engine.account_name
        credential = {"account_name": account, "account_key": self._engine.account_key}
        return ContainerClient(url, name, credential=credential, transport=transport)


class AzuriteObjects:
    """Azurite with the same; its large container has as many blobs as the time allows."""

    def __init__(self, scale: ObjectScale, connection_string: str) -> None:
        self._listing = listing(scale.listed)
        queues = QueueServiceClient.from_connection_string(connection_string)
        blobs = BlobServiceClient.from_connection_string(connection_string)
        self._queue = Place(queues.create_queue(_QUEUE), _EMPTY)
        self._contents = Place(blobs.create_container(_CONTENTS), _EMPTY)
        put_downloads(self._contents.client)
        small, large = blobs.create_container(_SMALL), blobs.create_container(_LARGE)
        others = scale.blobs - scale.listed
        self.places = {
            AZURITE: Place(small, _listed(small, "Azurite, small container", scale.listed)),
            AZURITE_LARGE: Place(
                large, _listed(large, "Azurite, large container", scale.listed, others, scale.azurite_seconds)
            ),
        }

    def entries(self) -> list[AnyEntry]:
        found: list[AnyEntry] = [at(case, AZURITE, self._queue) for case in QUEUE_CASES]
        found += [at(case, AZURITE, self._contents) for case in BLOB_CASES]
        return found + [at(self._listing, who, place) for who, place in self.places.items()]


def _listed(container: ContainerClient, title: str, listed: int, others: int = 0, seconds: float = 0) -> Loaded:
    """Upload the blobs to list, and others until the time is over."""
    start, names, written = time.perf_counter(), map(other_name, range(others)), 0
    with ThreadPoolExecutor(_THREADS) as pool:
        upload = partial(_upload_empty, container)
        list(pool.map(upload, track(list(map(listed_name, range(listed))), title)))
        while time.perf_counter() - start < seconds and (block := list(islice(names, _BLOCK))):
            written += sum(pool.map(upload, block))
    return Loaded(1, listed, listed + written, time.perf_counter() - start)


def _upload_empty(container: ContainerClient, name: str) -> bool:
    container.upload_blob(name, b"x")
    return True
