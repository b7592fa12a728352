"""Long blobs: pieces are stored as received and returned as stored."""

from __future__ import annotations

import io
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from azure.core.exceptions import DecodeError
from azure.storage.blob import ContainerClient, ContentSettings
from azure.storage.blob.aio import ContainerClient as AioContainerClient

from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport, inflated

MIB = 1024 * 1024
SIZE = 160 * MIB


class Zeros(io.RawIOBase):
    """A file of zeros that is nowhere in memory."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        found = bytes(end - self._at)
        self._at = end
        return found


@contextmanager
def at_most(mib: float) -> Iterator[None]:
    """Hold a block to so many MiB more than there were, at every instant."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (peak - before) / MIB <= mib


def test_an_upload_holds_the_content_once_and_a_few_blocks(container: ContainerClient) -> None:
    with at_most(160 + 16):
        container.upload_blob("b", Zeros(SIZE), length=SIZE, max_concurrency=1)


def test_a_download_in_pieces_holds_a_few_of_them(container: ContainerClient) -> None:
    container.upload_blob("b", Zeros(SIZE), length=SIZE)
    with at_most(104):
        # The SDK's first request is for 32 MiB, which it joins and cuts
        assert sum(len(chunk) for chunk in container.download_blob("b").chunks()) == SIZE


def test_what_is_written_as_a_whole_is_kept_without_a_copy(container: ContainerClient, engine: Engine) -> None:
    content = bytes(16 * MIB)
    with at_most(1):
        container.upload_blob("b", content)
    assert len(engine.blobs.get("photos", "b").content) == len(content)


def test_a_copy_and_a_snapshot_hold_nothing_of_their_own(container: ContainerClient) -> None:
    container.upload_blob("b", bytes(16 * MIB))
    with at_most(1):
        container.get_blob_client("c").start_copy_from_url(container.get_blob_client("b").url)
        container.get_blob_client("b").create_snapshot()


async def test_so_does_the_aio_client(engine: Engine) -> None:
    url = "https://contoso.blob.core.windows.net"
    key = {"account_name": engine.account_name, "account_key": engine.account_key}
    async with AioContainerClient(url, "photos", credential=key, transport=AioEngineTransport(engine)) as container:
        with at_most(160 + 16):
            await container.upload_blob("b", Zeros(SIZE), length=SIZE, max_concurrency=1)
        with at_most(104):
            stream = await container.download_blob("b")
            assert sum([len(chunk) async for chunk in stream.chunks()]) == SIZE


# ------------------------------------------------------------------ never more than twice

BODY = 32 * MIB
PIECE = 512 * 1024
ONE_REQUEST = {"max_single_put_size": BODY + 1}


def pieces() -> Iterator[bytes]:
    """Yield a body that is nowhere in memory."""
    for _ in range(BODY // PIECE):
        yield bytes(PIECE)


async def aio_pieces() -> AsyncIterator[bytes]:
    for piece in pieces():
        yield piece


def a_file() -> Zeros:
    return Zeros(BODY)


@pytest.fixture(params=[{}, ONE_REQUEST], ids=["blocks", "one request"])
def options(request: pytest.FixtureRequest, engine: Engine) -> dict[str, Any]:
    """How to connect; the SDK sends long bodies in blocks, unless told otherwise."""
    key = {"account_name": engine.account_name, "account_key": engine.account_key}
    return {"container_name": "photos", "credential": key, **request.param}


@pytest.mark.parametrize("source", [pieces, a_file])
def test_a_body_is_never_held_more_than_twice(
    options: dict[str, Any], engine: Engine, source: Callable[[], Any]
) -> None:
    container = ContainerClient("https://contoso.blob.core.windows.net", **options, transport=EngineTransport(engine))
    with at_most(2.01 * 32):
        container.upload_blob("b", source(), length=BODY)
    assert len(engine.blobs.get("photos", "b").content) == BODY
    with at_most(2.01 * 32):
        assert len(container.download_blob("b").readall()) == BODY


@pytest.mark.parametrize("source", [aio_pieces, a_file])
async def test_nor_is_it_by_the_aio_client(options: dict[str, Any], engine: Engine, source: Callable[[], Any]) -> None:
    transport = AioEngineTransport(engine)
    async with AioContainerClient("https://contoso.blob.core.windows.net", **options, transport=transport) as container:
        with at_most(2.01 * 32):
            await container.upload_blob("b", source(), length=BODY)
        assert len(engine.blobs.get("photos", "b").content) == BODY
        with at_most(2.01 * 32):
            assert len(await (await container.download_blob("b")).readall()) == BODY


# ------------------------------------------------------------------ encodings

GZIP = zlib.compressobj(wbits=31)
PACKED = GZIP.compress(b"Don Hall" * 1000) + GZIP.flush()


@pytest.mark.parametrize(("encoding", "packed"), [("gzip", PACKED), ("deflate", zlib.compress(b"Don Hall" * 1000))])
def test_a_client_decodes_the_content_by_default(container: ContainerClient, encoding: str, packed: bytes) -> None:
    container.upload_blob("b", packed, content_settings=ContentSettings(content_encoding=encoding))
    assert b"".join(container.download_blob("b").chunks()) == b"Don Hall" * 1000
    assert container.download_blob("b", decompress=False).readall() == packed


def test_content_that_is_not_encoded_as_it_says_is_an_error() -> None:
    with pytest.raises(DecodeError, match="not encoded as its header says"):
        list(inflated(iter([b"Don Hall"])))
