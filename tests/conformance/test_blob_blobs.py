"""Blobs: round trips, properties, and the state after a write."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobType, ContentSettings, StandardBlobTier

from conformance.blob_errors import ARCHIVED, BLOB_EXISTS, NO_BLOB, NO_HEADER
from conformance.deviations import BLOB_CODES
from conformance.raw import Raw

SETTINGS = ContentSettings(
    content_type="image/jpeg",
    content_encoding="identity",
    content_language="en",
    content_disposition="inline",
    cache_control="no-store",
)


async def text_of(client: Any, name: str = "") -> bytes:
    stream = await (client.download_blob(name) if name else client.download_blob())
    found: bytes = await stream.readall()
    return found


@pytest.fixture
def blob(container: Any) -> Any:
    """The SDK's client of a blob that does not exist yet, to be awaited."""
    return container.get_blob_client("don.jpg")


# ------------------------------------------------------------------ content


@pytest.mark.parametrize("size", [0, 1, 1024, 5 * 1024 * 1024])
async def test_what_is_written_is_read(blob: Any, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    written = await blob.upload_blob(content)
    assert await text_of(blob) == content
    properties = await blob.get_blob_properties()
    assert (properties.size, properties.etag) == (size, written["etag"])
    assert properties.blob_type == BlobType.BLOCKBLOB


@pytest.mark.few_on_azurite
@pytest.mark.parametrize("name", ["a b", "a+b", "a%b", "é/ü.jpg", "a&b=c?d#e", "日本/🛫", "a//b", "/a", "x" * 1024])
async def test_a_name_may_have_anything_in_it(container: Any, name: str) -> None:
    await container.upload_blob(name, b"...")
    assert await text_of(container, name) == b"..."
    assert [each.name async for each in container.list_blobs()] == [name]
    await container.delete_blob(name)


async def test_a_blob_is_overwritten_only_if_asked_for(blob: Any, blob_rejected: Any) -> None:
    await blob.upload_blob(b"old", metadata={"Owner": "Don"})
    async with blob_rejected(BLOB_EXISTS):
        await blob.upload_blob(b"new")
    with pytest.raises(ResourceExistsError):
        await blob.upload_blob(b"new")
    await blob.upload_blob(b"new", overwrite=True)
    assert await text_of(blob) == b"new"
    assert (await blob.get_blob_properties()).metadata == {}


async def test_every_write_makes_a_version_and_no_read_does(blob: Any) -> None:
    etags = [(await blob.upload_blob(b"..."))["etag"]]
    etags.append((await blob.set_blob_metadata({"a": "b"}))["etag"])
    etags.append((await blob.set_http_headers(SETTINGS))["etag"])
    etags.append((await blob.upload_blob(b"...", overwrite=True))["etag"])
    assert len(set(etags)) == 4
    await text_of(blob)
    assert (await blob.get_blob_properties()).etag == etags[-1]


async def test_a_deleted_blob_is_gone(blob: Any, blob_rejected: Any) -> None:
    await blob.upload_blob(b"...")
    assert await blob.exists()
    await blob.delete_blob()
    assert not await blob.exists()
    with pytest.raises(ResourceNotFoundError):
        await text_of(blob)
    for call in (
        lambda: blob.delete_blob(),
        lambda: blob.set_blob_metadata({"a": "b"}),
        lambda: blob.set_http_headers(SETTINGS),
        lambda: blob.acquire_lease(),
        lambda: blob.create_snapshot(),
        lambda: blob.get_block_list(),
    ):
        async with blob_rejected(NO_BLOB):
            await call()


@BLOB_CODES
async def test_a_write_needs_a_type(raw_blobs: Raw, container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(NO_HEADER):
        await raw_blobs("PUT", f"/{container.container_name}/b", body=b"...")


# ------------------------------------------------------------------ what it says of itself


async def test_a_blob_says_what_it_was_told_of_its_content(blob: Any) -> None:
    await blob.upload_blob(b"...", content_settings=SETTINGS, metadata={"Owner": "Don"})
    properties = await blob.get_blob_properties()
    said = properties.content_settings
    assert (said.content_type, said.content_encoding, said.content_language) == ("image/jpeg", "identity", "en")
    assert (said.content_disposition, said.cache_control) == ("inline", "no-store")
    assert (properties.metadata, len(said.content_md5)) == ({"Owner": "Don"}, 16)
    age = datetime.now(timezone.utc) - properties.creation_time
    assert properties.last_modified >= properties.creation_time
    assert age.total_seconds() < 3600


async def test_what_is_not_set_again_is_gone(blob: Any) -> None:
    await blob.upload_blob(b"...", content_settings=SETTINGS, metadata={"Owner": "Don"})
    await blob.set_http_headers(ContentSettings(content_language="de"))
    properties = await blob.get_blob_properties()
    said = properties.content_settings
    assert (said.content_language, said.content_encoding, said.cache_control, said.content_md5) == (
        "de",
        None,
        None,
        None,
    )
    assert (properties.metadata, properties.size) == ({"Owner": "Don"}, 3)
    await blob.set_blob_metadata({"colour": "red"})
    assert (await blob.get_blob_properties()).metadata == {"colour": "red"}


async def test_content_headers_without_a_type_leave_none(blob: Any) -> None:
    await blob.upload_blob(b"...", content_settings=SETTINGS)
    await blob.set_http_headers(ContentSettings())
    assert (await blob.get_blob_properties()).content_settings.content_type is None
    await blob.upload_blob(b"...", overwrite=True)
    assert (await blob.get_blob_properties()).content_settings.content_type == "application/octet-stream"


async def test_metadata_keep_their_spelling(blob: Any) -> None:
    await blob.upload_blob(b"...", metadata={"OwnerName": "Don", "a_b": "x y"})
    assert (await blob.get_blob_properties()).metadata == {"OwnerName": "Don", "a_b": "x y"}


# ------------------------------------------------------------------ tags and tiers


async def test_tags_are_set_and_replaced_without_a_version(blob: Any) -> None:
    written = await blob.upload_blob(b"...", tags={"state": "raw", "a b": "c/d"})
    assert await blob.get_blob_tags() == {"state": "raw", "a b": "c/d"}
    await blob.set_blob_tags({"state": "done"})
    assert await blob.get_blob_tags() == {"state": "done"}
    properties = await blob.get_blob_properties()
    assert (properties.etag, properties.tag_count) == (written["etag"], 1)
    await blob.upload_blob(b"...", overwrite=True)
    assert await blob.get_blob_tags() == {}


async def test_a_tier_is_set_without_a_version(blob: Any) -> None:
    written = await blob.upload_blob(b"...")
    assert (await blob.get_blob_properties()).blob_tier_inferred
    await blob.set_standard_blob_tier(StandardBlobTier.COOL)
    properties = await blob.get_blob_properties()
    assert (properties.etag, properties.blob_tier) == (written["etag"], StandardBlobTier.COOL)


async def test_an_archived_blob_cannot_be_read(blob: Any, blob_rejected: Any) -> None:
    await blob.upload_blob(b"...", standard_blob_tier=StandardBlobTier.ARCHIVE)
    assert (await blob.get_blob_properties()).blob_tier == StandardBlobTier.ARCHIVE
    async with blob_rejected(ARCHIVED):
        await text_of(blob)
