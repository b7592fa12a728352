"""Checksums: content that differs from what was sent is rejected."""

from __future__ import annotations

from base64 import b64encode
from hashlib import md5
from typing import Any

import pytest

from conformance.blob_errors import NO_MD5, WRONG_CRC64, WRONG_MD5
from conformance.deviations import BLOB_CHECKSUMS
from conformance.raw import Raw
from conformance.test_blob_blobs import text_of
from support.backends import Backend

TEXT = "123456789"
CRC64 = "iJh5CoYUi64="
PLACES = {
    "blob": ("/b", {"x-ms-blob-type": "BlockBlob"}),
    "block": ("/b?comp=block&blockid=YQ%3D%3D", {}),
    "appended block": ("/log?comp=appendblock", {}),
}
everywhere = pytest.mark.parametrize("place", PLACES)


def digest_of(text: str) -> bytes:
    return md5(text.encode(), usedforsecurity=False).digest()


def md5_of(text: str) -> str:
    return b64encode(digest_of(text)).decode()


@pytest.fixture
def put(backend: Backend, container: Any, raw_blobs: Raw) -> Any:
    """A function that writes TEXT at a place, with these headers."""
    backend.run(container.get_blob_client("log").create_append_blob())

    async def put(place: str, headers: dict[str, str]) -> Any:
        path, own = PLACES[place]
        return await raw_blobs("PUT", f"/{container.container_name}{path}", {**own, **headers}, TEXT)

    return put


@BLOB_CHECKSUMS
@everywhere
async def test_a_correct_md5_is_accepted_and_returned(put: Any, place: str) -> None:
    answer = await put(place, {"Content-MD5": md5_of(TEXT)})
    assert (answer.status, answer.headers["Content-MD5"]) == (201, md5_of(TEXT))


@BLOB_CHECKSUMS
@everywhere
async def test_a_wrong_md5_is_rejected(put: Any, blob_rejected: Any, place: str) -> None:
    async with blob_rejected(WRONG_MD5):
        await put(place, {"Content-MD5": md5_of("other")})


@BLOB_CHECKSUMS
@everywhere
@pytest.mark.parametrize("text", ["AAAA", "%%", md5_of(TEXT).rstrip("=")])
async def test_what_is_no_md5_is_rejected(put: Any, blob_rejected: Any, place: str, text: str) -> None:
    async with blob_rejected(NO_MD5):
        await put(place, {"Content-MD5": text})


@BLOB_CHECKSUMS
@everywhere
async def test_a_correct_crc64_is_accepted_and_returned(put: Any, place: str) -> None:
    answer = await put(place, {"x-ms-content-crc64": CRC64})
    assert (answer.status, answer.headers["x-ms-content-crc64"]) == (201, CRC64)


@BLOB_CHECKSUMS
@everywhere
async def test_a_wrong_crc64_is_rejected(put: Any, blob_rejected: Any, place: str) -> None:
    async with blob_rejected(WRONG_CRC64):
        await put(place, {"x-ms-content-crc64": "AAAAAAAAAAA="})


async def test_the_md5_of_a_whole_write_is_kept_with_the_blob(container: Any, put: Any) -> None:
    await put("blob", {})
    blob = container.get_blob_client("b")
    assert bytes((await blob.get_blob_properties()).content_settings.content_md5) == digest_of(TEXT)
    await blob.stage_block("1", TEXT)
    await blob.commit_block_list(["1"])
    assert (await blob.get_blob_properties()).content_settings.content_md5 is None


async def test_the_sdk_validates_uploads_and_downloads_on_request(container: Any) -> None:
    content = bytes(range(256)) * 40_000  # more than one request either way
    blob = container.get_blob_client("b")
    blob._config.max_single_put_size = blob._config.max_block_size = 4_000_000
    await blob.upload_blob(content, validate_content=True)
    stream = await blob.download_blob(validate_content=True)
    assert await stream.readall() == content
    await blob.stage_block("1", b"...", validate_content=True)
    await blob.create_append_blob()
    await blob.append_block(b"...", validate_content=True)
    assert await text_of(blob) == b"..."
