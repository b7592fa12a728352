"""The transport with many threads and with large bodies, and what it logs."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import RawIOBase
from typing import Any, Final

import pytest
from azure.core.exceptions import AzureError
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest

from support.misbehaving_server import BEHAVIORS, Connection, misbehaving_server, response
from tablepatterns import EntitySet, Key, connect
from tablepatterns.sdk.transport import Transport
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.serving import serving

MEGABYTE: Final = 1024 * 1024
KINDS: Final = (RequestsTransport, Transport)


def test_threads_receive_the_responses_to_their_own_requests() -> None:
    with serving(Engine(), Listeners(ports=dict.fromkeys(PORTS, 0))) as target, connect(target) as storage:
        numbers = EntitySet(storage, "Numbers", Key("all", "{Number:06d}"))
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda number: numbers.insert({"Number": number}), range(64)))
            read = list(pool.map(lambda number: numbers.get(Number=number)["Number"], [*range(64)] * 5))
    assert read == [*range(64)] * 5


class Zeros(RawIOBase):
    """A file of zeros that is not in memory."""

    def __init__(self, size: int) -> None:
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._left)
        buffer[:size] = bytes(size)
        self._left -= size
        return size


CHUNK: Final = 4 * MEGABYTE
SIZE: Final = 100 * MEGABYTE
LARGE: Final = """
import resource, sys
from tablepatterns import connect
from tablepatterns.recipe import finish
from sdk.test_transport_bodies import CHUNK, SIZE, Zeros

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

with connect(sys.argv[1], max_single_get_size=CHUNK) as storage:
    container = storage.container("photos")
    finish(container.upload("small", Zeros(2 * CHUNK)))
    sum(map(len, storage.blobs.get_blob_client("photos", "small").download_blob(0, CHUNK).chunks()))
    before = peak()
    finish(container.upload("large", Zeros(SIZE)))
    size = sum(map(len, storage.blobs.get_blob_client("photos", "large").download_blob().chunks()))
    print(size, peak() - before)
"""


def blob_service(uploaded: list[int]) -> Callable[[Connection], None]:
    """Return what a service does that only counts what is uploaded, and whose blobs are zeros."""

    def behave(connection: Connection) -> None:
        request = connection.request
        if request.method != "GET":
            uploaded.append(len(request.body) * ("comp=block&" in request.target))
            connection.send(response(b"", 'ETag: "1"', "Last-Modified: Mon, 23 Nov 2026 21:00:00 GMT", status="201 OK"))
            return
        first, last = (int(text) for text in request.headers["x-ms-range"].removeprefix("bytes=").split("-"))
        last = min(last, SIZE - 1)
        headers = (f"Content-Range: bytes {first}-{last}/{SIZE}", 'ETag: "1"', "x-ms-blob-type: BlockBlob")
        connection.send(response(bytes(last + 1 - first), *headers, status="206 Partial"))

    return behave


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not report the memory of a process")
def test_a_blob_of_100_mb_is_sent_and_received_without_holding_it() -> None:
    uploaded: list[int] = []
    with misbehaving_server(blob_service(uploaded)) as server:
        account = f"AccountName=account;AccountKey=a2V5;BlobEndpoint={server.origin}/account"
        command = [sys.executable, "-c", LARGE, account]
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    downloaded, grown = map(int, done.stdout.split())
    assert sum(uploaded) == SIZE + 2 * CHUNK
    assert downloaded == SIZE
    assert grown < 40 * MEGABYTE


def test_a_body_of_100_mb_is_streamed_in_one_request() -> None:
    received: list[int] = []

    def behave(connection: Connection) -> None:
        received.append(len(connection.request.body))
        connection.send(response(status="201 OK"))

    with misbehaving_server(behave) as server, Transport() as transport:
        sizes: list[int] = []
        chunks = (sizes.append(len(chunk)) or chunk for chunk in iter(partial(Zeros(SIZE).read, CHUNK), b""))
        assert transport.send(HttpRequest("PUT", f"{server.origin}/a", content=chunks)).status_code == 201
    assert received == [SIZE]
    assert max(sizes) == CHUNK


SIGNATURE: Final = "c2VjcmV0LXNpZ25hdHVyZQ%3D%3D"


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.few(22)
def test_no_signature_is_logged_or_in_an_error(behavior: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    with misbehaving_server(BEHAVIORS[behavior]) as server:
        for kind in KINDS:
            for stream in (False, True):
                with kind(read_timeout=0.2) as transport:
                    url = f"{server.origin}/T?sv=1&sig={SIGNATURE}&se=2"
                    try:
                        transport.send(HttpRequest("GET", url), stream=stream)
                    except AzureError as error:
                        texts.append(f"{error} {error.__cause__!r}")
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert SIGNATURE not in logged + " ".join(texts)
    assert behavior != "never answers" or len(texts) == 4
    if behavior == "answers":
        assert '"GET /T?sv=1&sig=...&se=2 HTTP/1.1" 200' in logged
