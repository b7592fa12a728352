"""Ranges of blobs: the bytes and the headers of a range."""

from __future__ import annotations

from base64 import b64encode
from hashlib import md5
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from conformance.blob_errors import BAD_HEADER, OUT_OF_BLOB
from conformance.deviations import BLOB_RANGES
from conformance.raw import Raw
from support.backends import Backend

CONTENT = bytes(range(100))


@pytest.fixture
def blob(backend: Backend, container: Any) -> Any:
    """The SDK's client of a blob of 100 bytes, to be awaited."""

    async def write() -> Any:
        await container.upload_blob("b", CONTENT)
        return container.get_blob_client("b")

    return backend.run(write())


@pytest.fixture
def path(container: Any, blob: Any) -> str:
    return f"/{container.container_name}/b"


@pytest.mark.few_on_azurite
@pytest.mark.parametrize(
    ("offset", "length", "end"),
    [(0, 10, 10), (10, 10, 20), (99, 1, 100), (90, 20, 100), (90, None, 100), (0, 100, 100)],
)
async def test_a_part_is_read(blob: Any, offset: int, length: int | None, end: int) -> None:
    expected = CONTENT[offset:end]
    stream = await blob.download_blob(offset, length)
    assert await stream.readall() == expected
    assert (stream.size, stream.properties.size) == (len(expected), len(expected))


async def test_a_part_says_of_what_it_is_one(raw_blobs: Raw, path: str) -> None:
    answer = await raw_blobs("GET", path, {"Range": "bytes=10-19"})
    assert (answer.status, answer.headers["Content-Range"], answer.headers["Content-Length"]) == (
        206,
        "bytes 10-19/100",
        "10",
    )
    assert "Content-MD5" not in answer.headers
    assert answer.headers["x-ms-blob-content-md5"] == b64encode(md5(CONTENT, usedforsecurity=False).digest()).decode()


async def test_of_two_ranges_the_service_s_own_counts(raw_blobs: Raw, path: str) -> None:
    answer = await raw_blobs("GET", path, {"Range": "bytes=0-9", "x-ms-range": "bytes=10-14"})
    assert answer.headers["Content-Range"] == "bytes 10-14/100"


async def test_the_md5_of_a_range_is_returned_on_request(raw_blobs: Raw, path: str) -> None:
    answer = await raw_blobs("GET", path, {"x-ms-range": "bytes=10-19", "x-ms-range-get-content-md5": "true"})
    assert answer.headers["Content-MD5"] == b64encode(md5(CONTENT[10:20], usedforsecurity=False).digest()).decode()


@BLOB_RANGES
async def test_but_not_that_of_all(raw_blobs: Raw, path: str, blob_rejected: Any) -> None:
    async with blob_rejected(BAD_HEADER):
        await raw_blobs("GET", path, {"x-ms-range-get-content-md5": "true"})


@BLOB_RANGES
@pytest.mark.parametrize("offset", [100, 1000])
async def test_there_is_nothing_behind_the_end(blob: Any, blob_rejected: Any, offset: int) -> None:
    async with blob_rejected(OUT_OF_BLOB):
        await blob.download_blob(offset, 10)


@BLOB_RANGES
async def test_that_error_contains_the_size(raw_blobs: Raw, path: str) -> None:
    with pytest.raises(HttpResponseError) as caught:
        await raw_blobs("GET", path, {"Range": "bytes=100-"})
    assert caught.value.response is not None
    assert caught.value.response.headers["Content-Range"] == "bytes */100"


async def test_an_empty_blob_has_no_parts_and_is_read_nevertheless(container: Any) -> None:
    await container.upload_blob("empty", b"")
    stream = await container.download_blob("empty")
    assert (await stream.readall(), stream.size) == (b"", 0)


@pytest.mark.parametrize("text", ["bytes=20-10", "10-19"])
async def test_a_range_that_is_none_is_ignored(raw_blobs: Raw, path: str, text: str) -> None:
    answer = await raw_blobs("GET", path, {"Range": text})
    assert (answer.status, answer.headers["Content-Length"]) == (200, "100")


@BLOB_RANGES
@pytest.mark.parametrize("text", ["bytes=-10", "bytes=a-b", "bytes=0-9,20-29"])
async def test_so_is_one_that_the_service_does_not_know(raw_blobs: Raw, path: str, text: str) -> None:
    answer = await raw_blobs("GET", path, {"Range": text})
    assert (answer.status, answer.headers["Content-Length"]) == (200, "100")


async def test_a_large_blob_is_read_in_parts_of_one_version(container: Any) -> None:
    content = bytes(range(256)) * 4096
    client = container.get_blob_client("large")
    await client.upload_blob(content)
    client._config.max_single_get_size = client._config.max_chunk_get_size = 300_000
    stream = await client.download_blob()
    assert await stream.readall() == content
