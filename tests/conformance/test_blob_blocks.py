"""Blocks: staged and committed to a block blob, and appended one by one to an append blob."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from azure.storage.blob import BlobBlock, BlobType

from conformance.blob_errors import (
    BAD_BLOCK,
    BAD_BLOCK_LIST,
    BAD_HEADER,
    NO_BLOB,
    OTHER_POSITION,
    SEALED,
    TOO_LARGE,
    WRONG_KIND,
)
from conformance.deviations import BLOB_BLOCK_LISTS, BLOB_EMPTY_BLOCKS, BLOB_SEALED_TEXT, BLOB_STAGED
from conformance.raw import Raw
from conformance.test_blob_blobs import text_of

ONE, TWO, THREE = "1", "2", "3"


@pytest.fixture
def blob(container: Any) -> Any:
    """The SDK's client of a blob that does not exist yet, to be awaited."""
    return container.get_blob_client("b")


@pytest.fixture
def log(container: Any) -> Any:
    """The SDK's client of an append blob that does not exist yet, to be awaited."""
    return container.get_blob_client("log")


def blocks(*names: str) -> list[BlobBlock]:
    return [BlobBlock(name) for name in names]


# ------------------------------------------------------------------ block blobs


async def test_committed_blocks_make_the_blob_in_the_order_of_the_list(blob: Any) -> None:
    for name, text in ((ONE, b"one "), (TWO, b"two "), (THREE, b"three ")):
        await blob.stage_block(name, text)
    written = await blob.commit_block_list(blocks(TWO, ONE, TWO), metadata={"Owner": "Don"})
    assert await text_of(blob) == b"two one two "
    properties = await blob.get_blob_properties()
    assert (properties.etag, properties.metadata) == (written["etag"], {"Owner": "Don"})
    committed, uncommitted = await blob.get_block_list("all")
    assert [(block.id, block.size) for block in committed] == [(TWO, 4), (ONE, 4), (TWO, 4)]
    assert uncommitted == []


async def test_staged_blocks_are_no_blob_and_change_none(container: Any, blob: Any, blob_rejected: Any) -> None:
    await blob.stage_block(ONE, b"one")
    assert [each.name async for each in container.list_blobs()] == []
    assert [each.name async for each in container.list_blobs(include=["uncommittedblobs"])] == ["b"]
    assert not await blob.exists()
    async with blob_rejected(NO_BLOB):
        await text_of(blob)
    committed, uncommitted = await blob.get_block_list("all")
    assert (committed, [block.id for block in uncommitted]) == ([], [ONE])
    etag = (await blob.upload_blob(b"...", overwrite=True))["etag"]
    await blob.stage_block(ONE, b"one")
    assert ((await blob.get_blob_properties()).etag, await text_of(blob)) == (etag, b"...")


@BLOB_STAGED
async def test_a_blob_of_which_only_blocks_are_there_is_none_to_overwrite(blob: Any) -> None:
    await blob.stage_block(ONE, b"one")
    await blob.upload_blob(b"...")
    assert await text_of(blob) == b"..."


async def test_a_block_is_taken_from_the_list_that_is_named(
    raw_blobs: Raw, container: Any, blob: Any, blob_rejected: Any
) -> None:
    path = f"/{container.container_name}/b?comp=blocklist"
    one, two = (b64encode(name.encode()).decode() for name in (ONE, TWO))
    await blob.stage_block(ONE, b"old")
    await blob.commit_block_list(blocks(ONE))
    await blob.stage_block(ONE, b"new")
    for wrong in (f"<Latest>{two}</Latest>", f"<Committed>{two}</Committed>", f"<Uncommitted>{two}</Uncommitted>"):
        async with blob_rejected(BAD_BLOCK_LIST):
            await raw_blobs("PUT", path, body=f"<BlockList>{wrong}</BlockList>")
    named = f"<Committed>{one}</Committed><Uncommitted>{one}</Uncommitted>"
    await raw_blobs("PUT", path, body=f"<BlockList>{named}</BlockList>")
    assert await text_of(blob) == b"oldnew"


async def test_a_block_is_staged_again_in_its_own_place(blob: Any) -> None:
    await blob.stage_block(ONE, b"old")
    await blob.stage_block(ONE, b"newer")
    _, uncommitted = await blob.get_block_list("uncommitted")
    assert [block.size for block in uncommitted] == [5]


async def test_blocks_that_are_not_named_are_dropped(blob: Any) -> None:
    await blob.stage_block(ONE, b"one")
    await blob.stage_block(TWO, b"two")
    await blob.commit_block_list(blocks(ONE))
    committed, uncommitted = await blob.get_block_list("all")
    assert ([block.id for block in committed], uncommitted) == ([ONE], [])


@BLOB_STAGED
async def test_a_blob_that_is_written_as_a_whole_drops_them_too(blob: Any) -> None:
    await blob.stage_block(ONE, b"one")
    await blob.upload_blob(b"...")
    assert await blob.get_block_list("all") == ([], [])


async def test_no_blocks_make_an_empty_blob(blob: Any) -> None:
    await blob.commit_block_list([])
    assert await text_of(blob) == b""


async def test_all_names_of_blocks_have_the_same_length(blob: Any, blob_rejected: Any) -> None:
    await blob.stage_block(ONE, b"one")
    async with blob_rejected(BAD_BLOCK):
        await blob.stage_block("longer", b"...")


@BLOB_EMPTY_BLOCKS
async def test_a_block_is_not_empty(raw_blobs: Raw, container: Any, blob_rejected: Any) -> None:
    block_id = b64encode(b"a").decode().replace("=", "%3D")
    async with blob_rejected(BAD_HEADER):
        await raw_blobs("PUT", f"/{container.container_name}/b?comp=block&blockid={block_id}")


@BLOB_BLOCK_LISTS
async def test_nothing_is_said_of_a_blob_that_is_not_committed(raw_blobs: Raw, container: Any, blob: Any) -> None:
    await blob.stage_block(ONE, b"one")
    answer = await raw_blobs("GET", f"/{container.container_name}/b?comp=blocklist&blocklisttype=all")
    assert not {"ETag", "Last-Modified", "x-ms-blob-content-length"}.intersection(answer.headers)


# ------------------------------------------------------------------ append blobs


async def test_an_append_returns_the_position_of_its_block(log: Any) -> None:
    await log.create_append_blob()
    first = await log.append_block(b"one ")
    second = await log.append_block(b"two ", appendpos_condition=4, maxsize_condition=8)
    assert [each["blob_append_offset"] for each in (first, second)] == ["0", "4"]
    assert second["blob_committed_block_count"] == 2
    assert await text_of(log) == b"one two "
    properties = await log.get_blob_properties()
    assert (properties.blob_type, properties.append_blob_committed_block_count) == (BlobType.APPENDBLOB, 2)


async def test_an_append_at_another_position_or_beyond_the_size_is_rejected(log: Any, blob_rejected: Any) -> None:
    await log.create_append_blob()
    await log.append_block(b"one ")
    for position in (0, 5):
        async with blob_rejected(OTHER_POSITION):
            await log.append_block(b"two ", appendpos_condition=position)
    async with blob_rejected(TOO_LARGE):
        await log.append_block(b"two ", maxsize_condition=7)


async def test_an_append_blob_is_there_before_it_is_appended_to(log: Any, blob_rejected: Any) -> None:
    async with blob_rejected(NO_BLOB):
        await log.append_block(b"...")


async def test_an_append_is_not_empty(raw_blobs: Raw, container: Any, log: Any, blob_rejected: Any) -> None:
    await log.create_append_blob()
    async with blob_rejected(BAD_HEADER):
        await raw_blobs("PUT", f"/{container.container_name}/log?comp=appendblock")


async def test_kinds_are_not_mixed(blob: Any, log: Any, blob_rejected: Any) -> None:
    await blob.upload_blob(b"...")
    await log.create_append_blob()
    for call in (
        lambda: blob.append_block(b"..."),
        lambda: log.stage_block(ONE, b"..."),
        lambda: log.commit_block_list([]),
        lambda: log.get_block_list(),
    ):
        async with blob_rejected(WRONG_KIND):
            await call()


async def test_a_whole_write_changes_the_kind(blob: Any) -> None:
    await blob.upload_blob(b"...")
    await blob.create_append_blob()
    assert (await blob.get_blob_properties()).blob_type == BlobType.APPENDBLOB


@BLOB_SEALED_TEXT
async def test_an_append_to_a_sealed_blob_is_rejected(log: Any, blob_rejected: Any) -> None:
    await log.create_append_blob()
    await log.append_block(b"one ")
    assert (await log.seal_append_blob())["blob_sealed"]
    await log.seal_append_blob()
    async with blob_rejected(SEALED):
        await log.append_block(b"two ")
    assert (await log.get_blob_properties()).is_append_blob_sealed
