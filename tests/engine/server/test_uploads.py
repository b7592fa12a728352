"""Long bodies over HTTP: the server has no second copy in memory while it receives or sends them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest
from azure.storage.blob import generate_container_sas

from tablepatterns.limits import MIB
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import Listeners

SIZE = 32 * MIB
PIECE = 256 * 1024


@pytest.fixture
def address(engine: Engine, listeners: Listeners, served: str) -> str:
    """The URL of a blob, with a signature to read and write it."""
    engine.blobs.containers.create("photos")
    expiry = datetime(2100, 1, 1, tzinfo=timezone.utc)
    name, key = engine.account_name, engine.account_key
    token = generate_container_sas(name, "photos", key, permission="rw", expiry=expiry)
    return f"{listeners.urls(name)['blob']}/photos/b?{token}"


@pytest.fixture
def client(address: str) -> Iterator[HTTPConnection]:
    """A client that keeps nothing of what it sends and reads."""
    with closing(HTTPConnection(urlsplit(address).netloc, timeout=20)) as connection:
        yield connection


@contextmanager
def at_most(bodies: float) -> Iterator[None]:
    """Hold a block to the memory of so many bodies more than there were, at every instant."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (peak - before) / SIZE <= bodies


def body() -> Iterator[bytes]:
    for _ in range(SIZE // PIECE):
        yield bytes(PIECE)


def upload(client: HTTPConnection, address: str, headers: dict[str, str]) -> HTTPResponse:
    chunked = "Transfer-Encoding" in headers
    client.request("PUT", address, body(), {"x-ms-blob-type": "BlockBlob", **headers}, encode_chunked=chunked)
    return client.getresponse()


@pytest.mark.parametrize(
    "headers", [{"Content-Length": str(SIZE)}, {"Transfer-Encoding": "chunked"}], ids=["of a length", "in chunks"]
)
def test_an_upload_is_in_memory_once(
    client: HTTPConnection, address: str, engine: Engine, headers: dict[str, str]
) -> None:
    with at_most(1.25):
        answer = upload(client, address, headers)
    assert (answer.status, answer.read()) == (201, b"")
    assert len(engine.blobs.get("photos", "b").content) == SIZE


def test_a_download_is_not_buffered(client: HTTPConnection, address: str) -> None:
    upload(client, address, {"Content-Length": str(SIZE)}).read()
    size = 0
    with at_most(0.3):
        client.request("GET", address)
        answer = client.getresponse()
        while piece := answer.read(PIECE):
            size += len(piece)
    assert (answer.status, size) == (200, SIZE)
