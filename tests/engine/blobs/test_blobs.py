"""Blobs: what a write creates, keeps of the previous blob, and rejects."""

from __future__ import annotations

import pytest

from support.blob_states import DRAFT, HOME, ONE, of, put, text_of
from support.table_states import Rejected
from tablepatterns_engine.blobs.blob import ContentHeaders, Draft, Tier
from tablepatterns_engine.blobs.service import Blobs, CopySource

# ------------------------------------------------------------------ whole blobs


def test_a_write_replaces_everything(blobs: Blobs) -> None:
    put(blobs, "don.jpg", "...", draft=DRAFT)
    blobs.stage(HOME, "don.jpg", ONE, of("staged"))
    after = put(blobs, "don.jpg", "other")
    assert (text_of(after), after.headers, after.metadata, after.tags) == ("other", ContentHeaders(), {}, {})
    assert blobs.blocks(HOME, "don.jpg").uncommitted == []


def test_a_reader_keeps_the_version_it_read(blobs: Blobs) -> None:
    read = put(blobs, "don.jpg", "old")
    put(blobs, "don.jpg", "new")
    blobs.delete(HOME, "don.jpg")
    assert text_of(read) == "old"


@pytest.mark.parametrize("size", [1, 1024])
def test_a_name_has_1_to_1024_characters(blobs: Blobs, size: int) -> None:
    assert put(blobs, "n" * size, "...").name == "n" * size


@pytest.mark.parametrize("size", [0, 1025])
def test_a_name_has_no_other_length(blobs: Blobs, rejected: Rejected, size: int) -> None:
    with rejected("InvalidUri"):
        put(blobs, "n" * size, "...")


@pytest.mark.parametrize(
    ("metadata", "code"),
    [({"": "x"}, "EmptyMetadataKey"), ({"a-b": "x"}, "InvalidMetadata"), ({"a": "x" * 8192}, "MetadataTooLarge")],
)
def test_metadata_that_cannot_be_is_rejected(
    blobs: Blobs, rejected: Rejected, metadata: dict[str, str], code: str
) -> None:
    put(blobs, "don.jpg", "...")
    for write in (
        lambda: put(blobs, "don.jpg", draft=Draft(metadata=metadata)),
        lambda: blobs.commit(HOME, "don.jpg", [], Draft(metadata=metadata)),
        lambda: blobs.set_metadata(HOME, "don.jpg", metadata),
        lambda: blobs.snapshot(HOME, "don.jpg", metadata),
        lambda: blobs.containers.set_metadata(HOME, metadata),
    ):
        with rejected(code):
            write()


# ------------------------------------------------------------------ deleting, tiers, tags


def test_blocks_without_a_blob_can_be_deleted(blobs: Blobs, rejected: Rejected) -> None:
    blobs.stage(HOME, "b", ONE, of("one"))
    blobs.delete(HOME, "b")
    with rejected("BlobNotFound"):
        blobs.blocks(HOME, "b")


def test_an_archived_blob_says_what_it_is_and_does_nothing(blobs: Blobs, rejected: Rejected) -> None:
    made = put(blobs, "b", "...", draft=Draft(tier=Tier.ARCHIVE))
    assert blobs.get(HOME, "b") is made
    for call in (
        lambda: blobs.get(HOME, "b").check_online(),
        lambda: blobs.set_metadata(HOME, "b", {}),
        lambda: blobs.stage(HOME, "b", ONE, of("...")),
        lambda: blobs.commit(HOME, "b", []),
        lambda: blobs.snapshot(HOME, "b"),
        lambda: blobs.copy(HOME, "c", CopySource(HOME, "b")),
    ):
        with rejected("BlobArchived", "This operation is not permitted on an archived blob."):
            call()
    assert blobs.set_tier(HOME, "b", Tier.HOT).tier is Tier.ARCHIVE
    blobs.get(HOME, "b").check_online()


def test_an_archived_blob_can_be_copied_to_another_name_and_an_online_tier(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "b", "...", draft=Draft(tier=Tier.ARCHIVE))
    copy = blobs.copy(HOME, "c", CopySource(HOME, "b"), Draft(tier=Tier.HOT))
    assert (text_of(copy), copy.tier) == ("...", Tier.HOT)
    assert blobs.get(HOME, "b").tier is Tier.ARCHIVE
    for name, tier in (("b", Tier.HOT), ("c", Tier.ARCHIVE), ("c", None)):
        with rejected("BlobArchived"):
            blobs.copy(HOME, name, CopySource(HOME, "b"), Draft(tier=tier))
    assert blobs.get(HOME, "c") is copy


def test_a_commit_leaves_the_blob_in_its_tier(blobs: Blobs) -> None:
    put(blobs, "b", "...", draft=Draft(tier=Tier.COOL))
    assert blobs.commit(HOME, "b", []).tier is Tier.COOL
    assert blobs.commit(HOME, "b", [], Draft(tier=Tier.COLD)).tier is Tier.COLD
    assert put(blobs, "b", "...").tier is None


@pytest.mark.parametrize(
    "tags",
    [
        {f"n{number}": "" for number in range(11)},
        {"": "x"},
        {"n" * 129: "x"},
        {"n": "v" * 257},
        {"n&": "x"},
        {"n": "x?"},
    ],
    ids=["eleven", "no name", "long name", "long value", "a name's characters", "a value's characters"],
)
def test_tags_that_cannot_be_are_rejected(blobs: Blobs, rejected: Rejected, tags: dict[str, str]) -> None:
    put(blobs, "b", "...")
    with rejected("InvalidTag"):
        blobs.set_tags(HOME, "b", tags)


def test_ten_tags_of_full_length_are_kept(blobs: Blobs) -> None:
    tags = {f"{number:0128}": "v" * 256 for number in range(10)}
    assert put(blobs, "b", "...", draft=Draft(tags=tags)).tags == tags
