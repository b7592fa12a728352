"""Copies and snapshots of blobs."""

from __future__ import annotations

from support.blob_states import DRAFT, HOME, ONE, latest, of, put, text_of
from tablepatterns_engine.blobs.blob import ContentHeaders, Kind
from tablepatterns_engine.blobs.leases import Acquire
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


def test_a_copy_onto_itself_drops_what_was_staged(blobs: Blobs) -> None:
    put(blobs, "b", "...")
    blobs.stage(HOME, "b", ONE, of("one"))
    assert text_of(blobs.copy(HOME, "b", CopySource(HOME, "b"))) == "..."
    assert blobs.blocks(HOME, "b").uncommitted == []


def test_a_copy_of_an_append_blob_can_be_appended_to(blobs: Blobs) -> None:
    put(blobs, "log", kind=Kind.APPEND)
    blobs.append(HOME, "log", of("one "))
    blobs.copy(HOME, "copy", CopySource(HOME, "log"))
    assert blobs.append(HOME, "copy", of("two ")).appends == 2
    assert text_of(blobs.get(HOME, "log")) == "one "


def test_a_write_of_the_copy_forgets_where_it_came_from(blobs: Blobs) -> None:
    put(blobs, "b", "...")
    blobs.copy(HOME, "c", CopySource(HOME, "b"))
    assert blobs.set_metadata(HOME, "c", {}).copy is not None
    assert blobs.set_headers(HOME, "c", ContentHeaders()).copy is None
    assert put(blobs, "c", "...").copy is None


# ------------------------------------------------------------------ snapshots
