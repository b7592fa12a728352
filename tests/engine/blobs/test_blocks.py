"""Blocks: staged and committed to a block blob, or appended one by one."""

from __future__ import annotations

from base64 import b64encode

import pytest

from support.blob_states import DRAFT, HOME, ONE, THREE, TWO, Long, all_names, latest, of, put
from support.table_states import Rejected
from tablepatterns.limits import MAX_BLOCK_BYTES, MAX_BLOCKS, MAX_UNCOMMITTED_BLOCKS
from tablepatterns_engine.blobs.blob import Kind, Tier
from tablepatterns_engine.blobs.service import Blobs, CopySource
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.content import Content

DAY = 86_400


# ------------------------------------------------------------------ blocks


def test_a_commit_keeps_the_age_of_the_blob_and_nothing_else(blobs: Blobs, clock: Clock) -> None:
    first = put(blobs, "b", "...", draft=DRAFT)
    clock.advance(60)
    after = blobs.commit(HOME, "b", [])
    assert (after.created, after.metadata, len(after.content)) == (first.created, {}, 0)
    assert after.modified > first.modified


@pytest.mark.parametrize("block_id", ["", "no base64", "YQ", b64encode(bytes(65)).decode()])
def test_an_id_that_no_block_can_have_is_rejected(blobs: Blobs, rejected: Rejected, block_id: str) -> None:
    with rejected("InvalidQueryParameterValue"):
        blobs.stage(HOME, "b", block_id, of("..."))


def test_a_block_id_has_up_to_64_bytes(blobs: Blobs) -> None:
    blobs.stage(HOME, "b", b64encode(bytes(64)).decode(), of("..."))


def test_a_block_has_1_byte_to_4000_mib(blobs: Blobs, rejected: Rejected) -> None:
    with rejected("InvalidHeaderValue"):
        blobs.stage(HOME, "b", ONE, Content())
    blobs.stage(HOME, "b", ONE, Long(MAX_BLOCK_BYTES))
    with rejected("RequestBodyTooLarge"):
        blobs.stage(HOME, "b", TWO, Long(MAX_BLOCK_BYTES + 1))


def test_a_list_has_up_to_50_000_blocks(blobs: Blobs, rejected: Rejected) -> None:
    blobs.stage(HOME, "b", ONE, of("x"))
    assert len(blobs.commit(HOME, "b", latest(ONE) * MAX_BLOCKS).content) == MAX_BLOCKS
    with rejected("BlockListTooLong"):
        blobs.commit(HOME, "b", latest(ONE) * (MAX_BLOCKS + 1))


def test_up_to_100_000_blocks_wait_under_a_name(
    blobs: Blobs, rejected: Rejected, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_UNCOMMITTED_BLOCKS == 100_000
    monkeypatch.setattr("tablepatterns_engine.blobs.state.MAX_UNCOMMITTED_BLOCKS", 2)
    blobs.stage(HOME, "b", ONE, of("..."))
    blobs.stage(HOME, "b", TWO, of("..."))
    blobs.stage(HOME, "b", TWO, of("in its place"))
    with rejected("BlockCountExceedsLimit"):
        blobs.stage(HOME, "b", THREE, of("..."))


def test_uncommitted_blocks_are_deleted_after_a_week(blobs: Blobs, clock: Clock, rejected: Rejected) -> None:
    blobs.stage(HOME, "b", ONE, of("one"))
    clock.advance(6 * DAY)
    blobs.stage(HOME, "b", TWO, of("two"))
    clock.advance(7 * DAY - 1)
    assert len(blobs.blocks(HOME, "b").uncommitted) == 2
    clock.advance(1)
    with rejected("BlobNotFound"):
        blobs.blocks(HOME, "b")
    assert all_names(blobs, uncommitted=True) == []
    blobs.stage(HOME, "b", THREE, of("three"))
    assert [block.id for block in blobs.blocks(HOME, "b").uncommitted] == [THREE]


# ------------------------------------------------------------------ append blobs


@pytest.fixture
def log(blobs: Blobs) -> None:
    put(blobs, "log", kind=Kind.APPEND)


@pytest.mark.usefixtures("log")
def test_an_append_has_1_byte_to_100_mib(blobs: Blobs, rejected: Rejected) -> None:
    with rejected("InvalidHeaderValue"):
        blobs.append(HOME, "log", Content())
    with rejected("RequestBodyTooLarge"):
        blobs.append(HOME, "log", Long(100 * 1024 * 1024 + 1))


@pytest.mark.usefixtures("log")
def test_an_append_blob_has_up_to_50_000_blocks(
    blobs: Blobs, rejected: Rejected, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_BLOCKS == 50_000
    monkeypatch.setattr("tablepatterns_engine.blobs.service.MAX_BLOCKS", 2)
    blobs.append(HOME, "log", of("one"))
    blobs.append(HOME, "log", of("two"))
    with rejected("BlockCountExceedsLimit"):
        blobs.append(HOME, "log", of("three"))


@pytest.mark.usefixtures("log")
def test_an_append_to_a_sealed_blob_is_rejected(blobs: Blobs, rejected: Rejected) -> None:
    with rejected("AppendPositionConditionNotMet"):
        blobs.seal(HOME, "log", position=1)
    before = blobs.get(HOME, "log")
    sealed = blobs.seal(HOME, "log", position=0)
    assert (sealed.sealed, sealed.etag == before.etag) == (True, False)
    assert blobs.seal(HOME, "log") == blobs.get(HOME, "log") == sealed
    with rejected("BlobIsSealed"):
        blobs.append(HOME, "log", of("..."))
    assert blobs.set_metadata(HOME, "log", {"a": "b"}).sealed


@pytest.mark.usefixtures("log")
def test_kinds_are_not_mixed(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "don.jpg", "...")
    for call in (
        lambda: blobs.append(HOME, "don.jpg", of("...")),
        lambda: blobs.seal(HOME, "don.jpg"),
        lambda: blobs.stage(HOME, "log", ONE, of("...")),
        lambda: blobs.commit(HOME, "log", []),
        lambda: blobs.blocks(HOME, "log"),
        lambda: blobs.set_tier(HOME, "log", Tier.COOL),
        lambda: blobs.copy(HOME, "log", CopySource(HOME, "don.jpg")),
    ):
        with rejected("InvalidBlobType", "The blob type is invalid for this operation."):
            call()


def test_an_append_blob_is_created_empty(blobs: Blobs, rejected: Rejected) -> None:
    with rejected("InvalidHeaderValue"):
        put(blobs, "log", "...", kind=Kind.APPEND)
