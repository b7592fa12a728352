"""Changing blobs: what they say of themselves, copies, snapshots, deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Final

from ...blob import Tier
from ...blob_texts import NO_PENDING_COPY
from ...container import Snapshots
from ...refusal import Refusal
from ..message import Response
from ..metadata import read_metadata
from ..moments import seven_digits
from .blob_headers import version_headers, written_headers
from .call import BlobCall
from .content_headers import read_content_headers
from .copy_sources import check_source, copies, find_source, keeps_tags, read_source
from .header_values import invalid, missing, required, word
from .needs import CREATE, DELETE, SNAPSHOT, TAGS, WRITE
from .payload import read_payload
from .tags_xml import read_tags
from .terms import read_deletion_terms, read_lease, read_tag_terms, read_terms
from .writes import put_blob, read_draft, read_tier

_TYPE: Final = "x-ms-blob-type"
_PRIORITY: Final = "x-ms-rehydrate-priority"
_SNAPSHOTS: Final = "x-ms-delete-snapshots"
_SNAPSHOT_WORDS: Final[Mapping[str | None, Snapshots | None]] = {None: None, "include": "include", "only": "only"}


class Priority(Enum):
    """How urgently an archived blob is to be brought back, which here is done at once."""

    STANDARD = "Standard"
    HIGH = "High"


def set_headers(call: BlobCall) -> Response:
    """Replace what a blob says of its content."""
    call.begin("SetBlobProperties", WRITE)
    headers = call.request.headers
    blob = call.blobs.set_headers(*call.place, read_content_headers(headers), read_terms(headers))
    call.notes.written = 1
    return Response(200, version_headers(blob.etag, blob.modified))


def set_metadata(call: BlobCall) -> Response:
    """Replace the metadata of a blob."""
    call.begin("SetBlobMetadata", WRITE)
    blob = call.blobs.set_metadata(*call.place, read_metadata(call.request), read_terms(call.request.headers))
    call.notes.written = 1
    return Response(200, written_headers(blob))


def set_tags(call: BlobCall) -> Response:
    """Replace the tags of a blob."""
    call.begin("SetBlobTags", TAGS)
    tags = read_tags(bytes(read_payload(call.request).content))
    call.blobs.set_tags(*call.place, tags, read_tag_terms(call.request.headers))
    call.notes.written = 1
    return Response(204, {})


def set_tier(call: BlobCall) -> Response:
    """Put a block blob into another tier."""
    call.begin("SetBlobTier", WRITE)
    headers = call.request.headers
    tier = read_tier(headers)
    if tier is None:
        raise missing("x-ms-access-tier")
    word(headers, _PRIORITY, Priority)
    before = call.blobs.set_tier(*call.place, tier, read_terms(headers), call.snapshot)
    call.notes.written = 1
    return Response(202 if before.tier is Tier.ARCHIVE and tier is not Tier.ARCHIVE else 200, {})


def take_snapshot(call: BlobCall) -> Response:
    """Keep a blob as it is now."""
    call.begin("SnapshotBlob", SNAPSHOT)
    metadata = read_metadata(call.request) or None
    taken = call.blobs.snapshot(*call.place, metadata, read_terms(call.request.headers))
    call.notes.written = 1
    headers = version_headers(taken.etag, taken.modified)
    if taken.snapshot is not None:
        headers["x-ms-snapshot"] = seven_digits(taken.snapshot)
    return Response(201, headers)


def delete_blob(call: BlobCall) -> Response:
    """Delete a blob, a snapshot of it, or all of them."""
    call.begin("DeleteBlob", DELETE)
    headers, snapshot = call.request.headers, call.snapshot
    asked = headers.get(_SNAPSHOTS)
    if asked not in _SNAPSHOT_WORDS or (asked and snapshot):
        raise invalid(_SNAPSHOTS, asked)
    call.blobs.delete(*call.place, read_deletion_terms(headers), snapshot=snapshot, snapshots=_SNAPSHOT_WORDS[asked])
    call.notes.written = 1
    return Response(202, {"x-ms-delete-type-permanent": "true"})


def put(call: BlobCall) -> Response:
    """Write a blob: of what the request brings, or as a copy with all that its source says of itself."""
    return copy_blob(call) if copies(call) and _TYPE not in call.request.headers else put_blob(call)


def copy_blob(call: BlobCall) -> Response:
    """Copy a blob, which is done at once however it is asked for."""
    headers = call.request.headers
    is_sync = headers.get("x-ms-requires-sync", "").lower() == "true"
    call.begin("CopyBlobFromURL" if is_sync else "CopyBlob", CREATE)
    word(headers, _PRIORITY, Priority)
    # The account's key speaks for the source of a copy that the service makes later, but not of one that it makes now
    source, draft = find_source(call, as_owner=not is_sync), read_draft(call)
    if is_sync:
        check_source(headers, read_source(call, source).content)
    terms = replace(read_terms(headers), create_only=not call.may(WRITE))
    blob = call.blobs.copy(
        *call.place, source, draft, terms, keep_metadata=not draft.metadata, keep_tags=keeps_tags(call)
    )
    call.notes.written = 1
    told = version_headers(blob.etag, blob.modified)
    if blob.copy is not None:
        told |= {"x-ms-copy-id": str(blob.copy.id), "x-ms-copy-status": "success"}
    return Response(202, told)


def abort_copy(call: BlobCall) -> Response:
    """Refuse to abort a copy: it is finished."""
    call.begin("AbortCopyBlob", WRITE)
    action = required(call.request.headers, "x-ms-copy-action")
    if action.lower() != "abort":
        raise invalid("x-ms-copy-action", action)
    call.blobs.get(*call.place, read_lease(call.request.headers))
    raise Refusal(NO_PENDING_COPY)
