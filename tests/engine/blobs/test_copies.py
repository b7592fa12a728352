"""Copies and snapshots of blobs."""

from __future__ import annotations

from support.blob_states import DRAFT, HOME, ONE, A, all_names, latest, of, put, text_of, under
from support.table_states import Rejected
from tablepatterns_engine.blobs.blob import ContentHeaders, Draft, Kind
from tablepatterns_engine.blobs.leases import INFINITE, Acquire
from tablepatterns_engine.blobs.service import Blobs, CopySource

# ------------------------------------------------------------------ copies


def test_a_copy_has_all_that_the_source_has_but_tags_and_lease(blobs: Blobs) -> None:
    blobs.stage(HOME, "b", ONE, of("one"))
    source = blobs.commit(HOME, "b", latest(ONE), DRAFT)
    blobs.lease(HOME, "b", Acquire(15))
    copy = blobs.copy(HOME, "c", CopySource(HOME, "b", url="https://source"))
    assert (copy.headers, copy.metadata, copy.blocks) == (source.headers, source.metadata, source.blocks)
    assert (text_of(copy), copy.tags, copy.lease.id) == ("one", {}, None)
    assert copy.copy is not None
    assert (copy.copy.source, copy.copy.size, copy.copy.finished) == ("https://source", 3, copy.modified)


def test_a_copy_may_have_metadata_of_its_own(blobs: Blobs) -> None:
    put(blobs, "b", "...", draft=DRAFT)
    source = CopySource(HOME, "b")
    assert blobs.copy(HOME, "c", source, Draft(metadata={"a": "b"}), keep_metadata=False).metadata == {"a": "b"}
    assert blobs.copy(HOME, "c", source, keep_metadata=False).metadata == {}


def test_a_copy_onto_itself_drops_what_was_staged(blobs: Blobs) -> None:
    put(blobs, "b", "...")
    blobs.stage(HOME, "b", ONE, of("one"))
    assert text_of(blobs.copy(HOME, "b", CopySource(HOME, "b"))) == "..."
    assert blobs.blocks(HOME, "b").uncommitted == []


def test_a_copy_of_an_append_blob_can_be_appended_to(blobs: Blobs) -> None:
    put(blobs, "log", kind=Kind.APPEND)
    blobs.append(HOME, "log", of("one "))
    blobs.copy(HOME, "copy", CopySource(HOME, "log"))
    assert blobs.append(HOME, "copy", of("two ")).blob.appends == 2
    assert text_of(blobs.get(HOME, "log")) == "one "


def test_a_write_of_the_copy_forgets_where_it_came_from(blobs: Blobs) -> None:
    put(blobs, "b", "...")
    blobs.copy(HOME, "c", CopySource(HOME, "b"))
    assert blobs.set_metadata(HOME, "c", {}).copy is not None
    assert blobs.set_headers(HOME, "c", ContentHeaders()).copy is None
    assert put(blobs, "c", "...").copy is None


def test_a_copy_replaces_a_blob_with_an_infinite_lease_or_none(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "b", "...")
    put(blobs, "c", "old")
    blobs.lease(HOME, "c", Acquire(15, A))
    with rejected("LeaseIdMissing"):
        blobs.copy(HOME, "c", CopySource(HOME, "b"))
    with rejected("InfiniteLeaseDurationRequired"):
        blobs.copy(HOME, "c", CopySource(HOME, "b"), terms=under(A))
    blobs.lease(HOME, "c", Acquire(INFINITE, A))
    assert text_of(blobs.copy(HOME, "c", CopySource(HOME, "b"), terms=under(A))) == "..."


# ------------------------------------------------------------------ snapshots


def test_a_snapshot_stays_as_the_blob_was(blobs: Blobs, rejected: Rejected) -> None:
    before = put(blobs, "b", "old", draft=DRAFT)
    blobs.lease(HOME, "b", Acquire(15, A))
    taken = blobs.snapshot(HOME, "b")
    put(blobs, "b", "new", terms=under(A))
    found = blobs.get(HOME, "b", snapshot=taken.snapshot)
    assert (text_of(found), found.etag, found.metadata, found.lease.id) == ("old", before.etag, before.metadata, None)
    assert text_of(blobs.get(HOME, "b")) == "new"
    assert taken.snapshot is not None
    with rejected("BlobNotFound"):
        blobs.get(HOME, "b", snapshot=type(taken.snapshot)(taken.snapshot + 1))


def test_a_snapshot_with_metadata_of_its_own_is_a_version_of_its_own(blobs: Blobs) -> None:
    before = put(blobs, "b", "...")
    taken = blobs.snapshot(HOME, "b", {"a": "b"})
    assert (taken.metadata, taken.etag != before.etag) == ({"a": "b"}, True)
    assert blobs.get(HOME, "b") is before


def test_a_snapshot_can_be_copied_over_its_blob(blobs: Blobs) -> None:
    put(blobs, "b", "old")
    moment = blobs.snapshot(HOME, "b").snapshot
    put(blobs, "b", "new")
    assert text_of(blobs.copy(HOME, "b", CopySource(HOME, "b", moment))) == "old"
    assert all_names(blobs, snapshots=True) == ["b@", "b"]


def test_a_blob_with_snapshots_is_deleted_only_with_a_word_about_them(blobs: Blobs, rejected: Rejected) -> None:
    put(blobs, "b", "...")
    moments = [blobs.snapshot(HOME, "b").snapshot for _ in range(3)]
    with rejected("SnapshotsPresent", "This operation is not permitted because the blob has snapshots."):
        blobs.delete(HOME, "b")
    blobs.delete(HOME, "b", snapshot=moments[0])
    assert all_names(blobs, snapshots=True) == ["b@", "b@", "b"]
    blobs.delete(HOME, "b", snapshots="only")
    assert all_names(blobs, snapshots=True) == ["b"]
    blobs.snapshot(HOME, "b")
    blobs.delete(HOME, "b", snapshots="include")
    assert all_names(blobs, snapshots=True) == []
