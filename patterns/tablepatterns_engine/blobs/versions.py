"""The next version of a blob: what each write creates from the previous version, and what it rejects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import uuid4

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_APPEND_BYTES, MAX_BLOCKS, MAX_PUT_BLOB_BYTES

from .. import errors
from ..content import Content
from ..errors import ServiceError
from .blob import Blob, CopyRecord, Draft, Kind, Where, chosen
from .conditions import NO_TERMS, Terms
from .leases import INFINITE
from .state import Slot


@dataclass(frozen=True, slots=True)
class CopySource:
    """What to copy.

    :param snapshot: the time of the snapshot to copy; None for the blob itself
    :param url: its address, which is stored with the copy
    """

    container: str
    name: str
    snapshot: Ticks | None = None
    url: str = ""
    terms: Terms = NO_TERMS


class Appended(NamedTuple):
    """A blob with an appended block, and the position of the block."""

    blob: Blob
    offset: int


def written(name: str, kind: Kind, content: Content, draft: Draft, stamp: Ticks) -> Blob:
    blob = Blob(name, kind, content, draft.headers, draft.metadata, stamp, stamp, tags=draft.tags, tier=draft.tier)
    return replace(blob, tier_changed=stamp) if draft.tier else blob


def committed(slot: Slot, entries: Sequence[tuple[Where, str]], draft: Draft, now: Ticks, stamp: Ticks) -> Blob:
    """Return a block blob of the blocks in a list."""
    before = slot.current
    if before is not None:
        check_kind(before, Kind.BLOCK)
        before.check_online()
    blocks = chosen(entries, before.blocks if before else (), slot.staged(now))
    content = Content.joined(block.content for block in blocks)
    blob = written(slot.name, Kind.BLOCK, content, draft, stamp)
    return _going_on(replace(blob, blocks=blocks), before)


def copied(slot: Slot, origin: Blob, url: str, draft: Draft, stamp: Ticks) -> Blob:
    """Return a copy; a lease on the replaced blob must be infinite."""
    before = slot.current
    if draft.sealed:
        check_kind(origin, Kind.APPEND)
    if before is not None:
        check_kind(before, origin.kind)
        if before.lease.state(stamp).locked and before.lease.duration != INFINITE:
            raise ServiceError(errors.INFINITE_LEASE_REQUIRED)
    record = CopyRecord(uuid4(), url, len(origin.content), stamp)
    blob = written(slot.name, origin.kind, origin.content, draft, stamp)
    blob = replace(blob, blocks=origin.blocks, appends=origin.appends, copy=record, sealed=draft.sealed)
    return _going_on(blob, before)


def appended(blob: Blob, content: Content, position: int | None, max_size: int | None) -> Blob:
    """Return an append blob with an appended block."""
    _check_position(blob, position)
    if blob.sealed:
        raise ServiceError(errors.BLOB_IS_SEALED)
    if max_size is not None and len(blob.content) + len(content) > max_size:
        raise ServiceError(errors.MAX_SIZE_NOT_MET)
    if blob.appends >= MAX_BLOCKS:
        raise ServiceError(errors.TOO_MANY_BLOCKS)
    return replace(blob, content=blob.content + content, appends=blob.appends + 1)


def sealed(blob: Blob, position: int | None) -> Blob:
    """Return a sealed append blob."""
    _check_position(blob, position)
    return replace(blob, sealed=True)


def check_whole(kind: Kind, content: Content) -> None:
    """Reject content that a blob cannot have."""
    if kind is Kind.APPEND and len(content):
        raise ServiceError(errors.INVALID_CONTENT_LENGTH.with_details(HeaderValue=len(content)))
    if len(content) > MAX_PUT_BLOB_BYTES:
        raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)


def check_append(content: Content) -> None:
    """Reject a block that an append blob cannot have."""
    if not len(content):
        raise ServiceError(errors.INVALID_CONTENT_LENGTH.with_details(HeaderValue=0))
    if len(content) > MAX_APPEND_BYTES:
        raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)


def check_kind(blob: Blob, kind: Kind) -> None:
    """Reject an operation on a blob of another kind."""
    if blob.kind is not kind:
        raise ServiceError(errors.INVALID_BLOB_TYPE)


def _going_on(blob: Blob, before: Blob | None) -> Blob:
    """Return the blob with the creation time of the previous version, and its tier unless another one is given."""
    if before is None:
        return blob
    if blob.tier is None:
        blob = replace(blob, tier=before.tier, tier_changed=before.tier_changed)
    return replace(blob, created=before.created)


def _check_position(blob: Blob, position: int | None) -> None:
    check_kind(blob, Kind.APPEND)
    if position is not None and position != len(blob.content):
        raise ServiceError(errors.APPEND_POSITION_NOT_MET)
