"""Append blobs: conditions on position, version and lease, and concurrent writers."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError

from conformance.blob_errors import (
    BAD_HEADER,
    LEASE_MISSING,
    NO_LEASE,
    OTHER_LEASE,
    OTHER_POSITION,
    SEALED,
    TOO_LARGE,
    UNMET,
    WRONG_KIND,
)
from conformance.deviations import BLOB_APPEND_CONTENT, BLOB_COPY_KINDS, BLOB_LEASE_TEXTS, BLOB_SEALS
from conformance.queue_errors import BAD_OPTION
from conformance.raw import Raw
from conformance.service_errors import ServiceError
from conformance.test_blob_blobs import text_of
from support.backends import Backend

A, B = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"
STALE = {"etag": '"0x1"', "match_condition": MatchConditions.IfNotModified}


@pytest.fixture
def log(backend: Backend, container: Any) -> Any:
    """The SDK's client of an append blob of four bytes, to be awaited."""

    async def write() -> Any:
        client = container.get_blob_client("log")
        await client.create_append_blob()
        await client.append_block(b"one ")
        return client

    return backend.run(write())


@BLOB_APPEND_CONTENT
async def test_an_append_blob_is_created_empty(raw_blobs: Raw, container: Any, blob_rejected: Any) -> None:
    async with blob_rejected(BAD_HEADER):
        await raw_blobs("PUT", f"/{container.container_name}/log", {"x-ms-blob-type": "AppendBlob"}, b"...")


async def test_of_two_who_append_where_the_blob_ended_one_does(container: Any, log: Any) -> None:
    other = container.get_blob_client("log")
    ends = [(await client.get_blob_properties()).size for client in (log, other)]
    await log.append_block(b"two ", appendpos_condition=ends[0])
    with pytest.raises(HttpResponseError) as caught:
        await other.append_block(b"three ", appendpos_condition=ends[1])
    assert (caught.value.status_code, caught.value.error_code) == (412, "AppendPositionConditionNotMet")
    await other.append_block(b"three ", appendpos_condition=ends[1] + 4)
    assert await text_of(log) == b"one two three "


async def test_with_a_position_the_caller_learns_whether_a_write_with_a_lost_response_succeeded(
    log: Any, blob_rejected: Any
) -> None:
    await log.append_block(b"two ", appendpos_condition=4)
    async with blob_rejected(OTHER_POSITION):
        await log.append_block(b"two ", appendpos_condition=4)
    assert await text_of(log) == b"one two "


async def test_the_largest_size_may_be_reached(log: Any, blob_rejected: Any) -> None:
    await log.append_block(b"two ", maxsize_condition=8)
    async with blob_rejected(TOO_LARGE):
        await log.append_block(b".", maxsize_condition=8)


async def test_an_append_makes_a_version_and_asks_for_one(log: Any, blob_rejected: Any) -> None:
    etag = (await log.get_blob_properties()).etag
    async with blob_rejected(UNMET):
        await log.append_block(b"two ", **STALE)
    written = await log.append_block(b"two ", etag=etag, match_condition=MatchConditions.IfNotModified)
    assert written["etag"] != etag
    assert (await log.get_blob_properties()).etag == written["etag"]


async def test_an_append_needs_the_lease_that_runs(log: Any, blob_rejected: Any) -> None:
    await log.acquire_lease(15, lease_id=A)
    for lease, error in ((None, LEASE_MISSING), (B, OTHER_LEASE)):
        async with blob_rejected(error):
            await log.append_block(b"two ", lease=lease)
    await log.append_block(b"two ", lease=A)


@BLOB_LEASE_TEXTS
async def test_an_append_under_a_lease_where_there_is_none_is_rejected(log: Any, blob_rejected: Any) -> None:
    async with blob_rejected(NO_LEASE):
        await log.append_block(b"two ", lease=A)


@BLOB_SEALS
async def test_a_seal_may_ask_for_a_position(log: Any, blob_rejected: Any) -> None:
    async with blob_rejected(OTHER_POSITION):
        await log.seal_append_blob(appendpos_condition=3)
    assert (await log.seal_append_blob(appendpos_condition=4))["blob_sealed"]
    async with blob_rejected(SEALED):
        await log.append_block(b"two ", appendpos_condition=4)


async def test_a_copy_of_an_append_blob_is_appended_to(container: Any, log: Any) -> None:
    copy = container.get_blob_client("copy")
    await copy.start_copy_from_url(log.url)
    assert (await copy.append_block(b"two "))["blob_append_offset"] == "4"
    assert (await text_of(copy), await text_of(log)) == (b"one two ", b"one ")


@BLOB_COPY_KINDS
async def test_a_copy_does_not_change_the_kind(container: Any, log: Any, blob_rejected: Any) -> None:
    block_blob = await container.upload_blob("b", b"...")
    async with blob_rejected(WRONG_KIND):
        await block_blob.start_copy_from_url(log.url)


# ------------------------------------------------------------------ ids of blocks


def block_path(container: Any, block_id: str) -> str:
    return f"/{container.container_name}/b?comp=block&blockid={quote(block_id, safe='')}"


async def test_a_block_id_has_up_to_64_bytes(raw_blobs: Raw, container: Any, blob_rejected: Any) -> None:
    # In which words a longer one is rejected is not documented
    async with blob_rejected(ServiceError(400)):
        await raw_blobs("PUT", block_path(container, b64encode(b"x" * 65).decode()), {}, b"...")
    answer = await raw_blobs("PUT", block_path(container, b64encode(b"x" * 64).decode()), {}, b"...")
    assert answer.status == 201


@pytest.mark.parametrize("block_id", ["!", "YQ"], ids=["text", "unpadded"])
async def test_a_block_id_is_base64(raw_blobs: Raw, container: Any, blob_rejected: Any, block_id: str) -> None:
    async with blob_rejected(BAD_OPTION):
        await raw_blobs("PUT", block_path(container, block_id), {}, b"...")
