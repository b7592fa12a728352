"""The Blob service of one account: its state, its rules, and how each write changes a blob; without HTTP or XML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_APPEND_BYTES, MAX_BLOCK_BYTES, MAX_BLOCKS, MAX_PUT_BLOB_BYTES

from .. import errors
from ..clock import Clock
from ..content import Content
from ..errors import ErrorMessage, ServiceError
from ..resources import AccessPolicy, Settings, checked_metadata
from .blob import (
    CURRENT,
    Blob,
    Block,
    BlockList,
    ContentHeaders,
    CopyRecord,
    Draft,
    Kind,
    Revision,
    Tier,
    Where,
    check_blob_name,
    check_block_id,
    check_block_size,
    checked_tags,
    chosen,
)
from .conditions import ANY, NO_TERMS, Terms, check_create, check_read, check_tier, check_write
from .containers import Containers
from .leases import INFINITE, NO_LEASE, Action
from .listing import ListBlobsQuery, Page, list_page
from .state import Container, Slot, Snapshots

__all__ = ["Blobs", "CopySource", "Snapshots"]

_NO_DRAFT: Final = Draft()


@dataclass(frozen=True, slots=True)
class CopySource:
    """What to copy, and its address, which is stored with the copy."""

    container: str
    name: str
    revision: Revision = CURRENT
    url: str = ""
    terms: Terms = NO_TERMS


class Blobs(Settings):
    """One account's blobs. Thread-safe: every method is atomic, and a rejected call changes nothing.

    Returned blobs do not change: a download continues even if the blob is overwritten.

    :ivar keeps_versions: whether each write of a blob creates a version, other than an append and a change of headers
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.keeps_versions = False
        self.containers = Containers(clock, self._lock)

    # -- Reading

    def get(self, container: str, name: str, terms: Terms = NO_TERMS, revision: Revision = CURRENT) -> Blob:
        """Return a blob, or an earlier state of it; before reading its content, call `Blob.check_online`."""
        with self._lock:
            blob = self._slot(container, name).find(revision)
            check_read(terms, blob)
            blob.lease.check_read(terms.lease, self._clock.now(), "blob")
        return blob

    def blocks(self, container: str, name: str, terms: Terms = NO_TERMS, revision: Revision = CURRENT) -> BlockList:
        with self._lock:
            slot, now = self._slot(container, name), self._clock.now()
            staged = sorted(slot.staged(now).values(), key=lambda block: block.id)
            if slot.current is None and staged and revision == CURRENT:
                check_write(terms, None)
                return BlockList(None, (), staged)
            blob = slot.find(revision)
            check_read(terms, blob)
            blob.lease.check_read(terms.lease, now, "blob")
        _check_kind(blob, Kind.BLOCK)
        return BlockList(blob, blob.blocks, staged if blob.is_current else ())

    def page(self, container: str, query: ListBlobsQuery) -> Page:
        with self._lock:
            return list_page(self.containers.find(container).slots, query, self._clock.now())

    # -- Making and replacing

    def put(
        self,
        container: str,
        name: str,
        content: Content,
        draft: Draft = _NO_DRAFT,
        *,
        kind: Kind = Kind.BLOCK,
        terms: Terms = NO_TERMS,
    ) -> Blob:
        """Write a whole block blob or an empty append blob, replacing any blob with the name."""
        kept = draft.checked()
        if kind is Kind.APPEND and len(content):
            raise ServiceError(errors.INVALID_CONTENT_LENGTH.with_details(HeaderValue=len(content)))
        if len(content) > MAX_PUT_BLOB_BYTES:
            raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)
        return self._create(container, name, terms, lambda slot, stamp: _written(name, kind, content, kept, stamp))

    def commit(
        self,
        container: str,
        name: str,
        entries: Sequence[tuple[Where, str]],
        draft: Draft = _NO_DRAFT,
        terms: Terms = NO_TERMS,
    ) -> Blob:
        kept, now = draft.checked(), self._clock.now()
        return self._create(container, name, terms, lambda slot, stamp: _committed(slot, entries, kept, now, stamp))

    def copy(
        self,
        container: str,
        name: str,
        source: CopySource,
        draft: Draft = _NO_DRAFT,
        terms: Terms = NO_TERMS,
        *,
        keep_metadata: bool = True,
        keep_tags: bool = False,
    ) -> Blob:
        """Copy a blob of this account with its properties, immediately.

        Archived blobs can be copied to another name and an online tier. On the service this takes hours.

        :param keep_metadata: whether the copy has the metadata of the source instead
        """
        checked = draft.checked()
        rehydrates = draft.tier not in (None, Tier.ARCHIVE) and (source.container, source.name) != (container, name)
        with self._lock:
            origin = self.source(source, rehydrates=rehydrates)
            metadata = origin.metadata if keep_metadata else checked.metadata
            tags = origin.tags if keep_tags else checked.tags
            checked = replace(checked, headers=origin.headers, metadata=metadata, tags=tags)
            return self._create(
                container,
                name,
                terms,
                lambda slot, stamp: _copied(slot, origin, source.url, checked, stamp),
                unmet=errors.TARGET_CONDITION_NOT_MET,
            )

    def source(self, source: CopySource, *, rehydrates: bool = False) -> Blob:
        """Return the blob to copy, which may be archived only if the copy `rehydrates` it."""
        with self._lock:
            origin = self._slot(source.container, source.name).find(source.revision)
            origin.lease.check_read(source.terms.lease, self._clock.now(), "blob")
        check_write(source.terms, origin, errors.SOURCE_CONDITION_NOT_MET)
        if not rehydrates:
            origin.check_online()
        return origin

    def stage(self, container: str, name: str, block_id: str, content: Content, terms: Terms = NO_TERMS) -> None:
        """Stage a block for a later commit, without changing the blob."""
        check_block_id(block_id)
        check_block_size(content, MAX_BLOCK_BYTES)
        with self._lock:
            home, slot = self._place(container, name)
            now = self._clock.now()
            lease = slot.current.lease if slot.current else NO_LEASE
            lease.check_write(terms.lease, now, "blob")
            if slot.current is not None:
                _check_kind(slot.current, Kind.BLOCK)
                slot.current.check_online()
            slot.stage(Block(block_id, content), now)
            home.slots[name] = slot

    # -- Changing what is there

    def append(
        self,
        container: str,
        name: str,
        content: Content,
        terms: Terms = NO_TERMS,
        *,
        position: int | None = None,
        max_size: int | None = None,
    ) -> Blob:
        """Add a block to an append blob, which must have the length `position`, and at most `max_size` afterwards."""
        check_block_size(content, MAX_APPEND_BYTES)
        return self._change(container, name, terms, lambda blob: _appended(blob, content, position, max_size))

    def seal(self, container: str, name: str, terms: Terms = NO_TERMS, *, position: int | None = None) -> Blob:
        """Seal an append blob; a sealed one keeps its ETag."""
        with self._lock:
            slot, blob = self._writable(container, name, terms)
            _check_position(blob, position)
            if not blob.sealed:
                slot.current = blob = replace(blob, sealed=True, modified=self._clock.stamp())
        return blob

    def set_headers(self, container: str, name: str, headers: ContentHeaders, terms: Terms = NO_TERMS) -> Blob:
        """Replace the content headers of a blob, and delete its copy properties."""
        return self._change(container, name, terms, lambda blob: replace(blob, headers=headers, copy=None))

    def set_metadata(self, container: str, name: str, metadata: Mapping[str, str], terms: Terms = NO_TERMS) -> Blob:
        checked = checked_metadata(metadata)
        return self._change(
            container, name, terms, lambda blob: replace(blob, metadata=checked, version=self._new_version())
        )

    def set_tags(
        self, container: str, name: str, tags: Mapping[str, str], terms: Terms = NO_TERMS, revision: Revision = CURRENT
    ) -> None:
        """Replace the tags of a blob or a version without a new ETag."""
        checked = checked_tags(tags)
        with self._lock:
            slot, blob = self._writable(container, name, terms, revision)
            slot.replace(blob, replace(blob, tags=checked))

    def set_tier(
        self, container: str, name: str, tier: Tier, terms: Terms = NO_TERMS, revision: Revision = CURRENT
    ) -> Blob:
        """Move a block blob or an earlier state to another tier without a new ETag; return the state before.

        An archived blob is rehydrated immediately; on the service this takes hours.
        """
        with self._lock:
            slot, now = self._slot(container, name), self._clock.now()
            blob = slot.find(revision)
            check_write(terms, blob)
            _check_kind(blob, Kind.BLOCK)
            blob.lease.check_read(terms.lease, now, "blob")
            slot.replace(blob, replace(blob, tier=tier, tier_changed=now))
        return blob

    def lease(self, container: str, name: str, action: Action, terms: Terms = NO_TERMS) -> tuple[Blob, Ticks]:
        """Execute an action on the lease of a blob; return the blob with the lease, and the time of the action."""
        with self._lock:
            slot, now = self._slot(container, name), self._clock.now()
            blob = slot.find()
            check_write(terms, blob)
            slot.current = leased = replace(blob, lease=action.on(blob.lease, now, "blob"))
            return leased, now

    def snapshot(
        self, container: str, name: str, metadata: Mapping[str, str] | None = None, terms: Terms = NO_TERMS
    ) -> Blob:
        """Take a snapshot, which has a new ETag if its metadata is not the blob's.

        If the account keeps versions, this creates one, whose id the result has.
        """
        new_metadata = None if metadata is None else checked_metadata(metadata)
        with self._lock:
            slot = self._slot(container, name)
            blob = slot.find()
            check_write(terms, blob)
            blob.lease.check_read(terms.lease, self._clock.now(), "blob")
            blob.check_online()
            snapshot_blob = replace(blob, snapshot=self._clock.stamp(), lease=NO_LEASE, is_current=False)
            if new_metadata is not None:
                snapshot_blob = replace(snapshot_blob, metadata=new_metadata, modified=self._clock.stamp())
            snapshot_blob = replace(snapshot_blob, version=self._new_version())
            slot.earlier.append(snapshot_blob)
            if snapshot_blob.version is not None:
                slot.write(replace(blob, version=snapshot_blob.version))
        return snapshot_blob

    # -- Deleting

    def delete(
        self,
        container: str,
        name: str,
        terms: Terms = NO_TERMS,
        *,
        revision: Revision = CURRENT,
        snapshots: Snapshots | None = None,
    ) -> bool:
        """Delete a blob, an earlier state, or uncommitted blocks; return whether it is gone for good."""
        with self._lock:
            slot, now, is_permanent = self._slot(container, name), self._clock.now(), not self.keeps_versions
            if slot.current is None and slot.staged(now) and revision == CURRENT:
                slot.discard_staged()
            else:
                blob = slot.find(revision)
                if blob.is_current and revision != CURRENT:
                    raise ServiceError(errors.CURRENT_VERSION_NOT_DELETED)
                check_write(terms, blob)
                check_tier(terms, blob.tier_changed or blob.created)
                blob.lease.check_write(terms.lease, now, "blob")
                is_permanent = slot.remove(blob, snapshots, keeps_versions=self.keeps_versions)
            if slot.current is None and not slot.earlier:
                del self.containers.find(container).slots[name]
        return is_permanent

    # -- Access policies

    def get_policies(self, container: str) -> Sequence[AccessPolicy]:
        return self.containers.get(container).policies

    # -- The two ways to a new state

    def _create(
        self,
        container: str,
        name: str,
        terms: Terms,
        make: Callable[[Slot, Ticks], Blob],
        unmet: ErrorMessage = errors.CONDITION_NOT_MET,
    ) -> Blob:
        with self._lock:
            home, slot = self._place(container, name)
            before, now = slot.current, self._clock.now()
            lease = before.lease if before else NO_LEASE
            if ANY in (terms.none_match or ()):
                lease.check_write(terms.lease, now, "blob")
                if lease.state(now).locked:
                    # The service ignores `If-None-Match: *` for the holder of the lease
                    terms = replace(terms, none_match=None)
            check_create(terms, before, unmet)
            lease.check_write(terms.lease, now, "blob")
            blob = make(slot, self._clock.stamp())
            blob = replace(blob, lease=lease.after_write(now), version=blob.modified if self.keeps_versions else None)
            slot.write(blob)
            slot.discard_staged()
            home.slots[name] = slot
        return blob

    def _change(self, container: str, name: str, terms: Terms, change: Callable[[Blob], Blob]) -> Blob:
        with self._lock:
            slot, before = self._writable(container, name, terms)
            before.check_online()
            lease = before.lease.after_write(self._clock.now())
            after = replace(change(before), modified=self._clock.stamp(), lease=lease)
            if after.version == before.version:
                slot.current = after
            else:
                slot.write(after)
        return after

    def _new_version(self) -> Ticks | None:
        """Return the id of a new version; None if the account keeps none."""
        return self._clock.stamp() if self.keeps_versions else None

    def _writable(self, container: str, name: str, terms: Terms, revision: Revision = CURRENT) -> tuple[Slot, Blob]:
        """Return a blob that a request may change by its conditions and its lease."""
        slot = self._slot(container, name)
        blob = slot.find(revision)
        check_write(terms, blob)
        blob.lease.check_write(terms.lease, self._clock.now(), "blob")
        return slot, blob

    def _place(self, container: str, name: str) -> tuple[Container, Slot]:
        home = self.containers.find(container)
        check_blob_name(name)
        return home, home.slots.get(name) or Slot(name)

    def _slot(self, container: str, name: str) -> Slot:
        """Return the slot of a name, which must not be empty."""
        slot = self.containers.find(container).slots.get(name)
        if slot is None or not (slot.current or slot.earlier or slot.staged(self._clock.now())):
            raise ServiceError(errors.BLOB_NOT_FOUND)
        return slot


# -- The next state of a blob


def _written(name: str, kind: Kind, content: Content, draft: Draft, stamp: Ticks) -> Blob:
    if draft.tier and kind is not Kind.BLOCK:
        raise ServiceError(errors.INVALID_BLOB_TYPE)
    blob = Blob(name, kind, content, draft.headers, draft.metadata, stamp, stamp, tags=draft.tags, tier=draft.tier)
    return replace(blob, tier_changed=stamp) if draft.tier else blob


def _committed(slot: Slot, entries: Sequence[tuple[Where, str]], draft: Draft, now: Ticks, stamp: Ticks) -> Blob:
    before = slot.current
    if before is not None:
        _check_kind(before, Kind.BLOCK)
        before.check_online()
    blocks = chosen(entries, before.blocks if before else (), slot.staged(now))
    content = Content.joined(block.content for block in blocks)
    blob = _written(slot.name, Kind.BLOCK, content, draft, stamp)
    return _going_on(replace(blob, blocks=blocks), before)


def _copied(slot: Slot, origin: Blob, url: str, draft: Draft, stamp: Ticks) -> Blob:
    """Return a copy; a lease on the replaced blob must be infinite."""
    before = slot.current
    if draft.sealed:
        _check_kind(origin, Kind.APPEND)
    if before is not None:
        _check_kind(before, origin.kind)
        if before.lease.state(stamp).locked and before.lease.duration != INFINITE:
            raise ServiceError(errors.INFINITE_LEASE_REQUIRED)
    record = CopyRecord(uuid4(), url, len(origin.content), stamp)
    sealed = origin.sealed if draft.sealed is None else draft.sealed
    blob = _written(slot.name, origin.kind, origin.content, draft, stamp)
    blob = replace(blob, blocks=origin.blocks, appends=origin.appends, copy=record, sealed=sealed)
    return _going_on(blob, before)


def _appended(blob: Blob, content: Content, position: int | None, max_size: int | None) -> Blob:
    _check_position(blob, position)
    if blob.sealed:
        raise ServiceError(errors.BLOB_IS_SEALED)
    if max_size is not None and len(blob.content) + len(content) > max_size:
        raise ServiceError(errors.MAX_SIZE_NOT_MET)
    if blob.appends >= MAX_BLOCKS:
        raise ServiceError(errors.TOO_MANY_BLOCKS)
    return replace(blob, content=blob.content + content, appends=blob.appends + 1)


def _check_kind(blob: Blob, kind: Kind) -> None:
    if blob.kind is not kind:
        raise ServiceError(errors.INVALID_BLOB_TYPE)


def _going_on(blob: Blob, before: Blob | None) -> Blob:
    """Return the blob with the creation time of the one before, and its tier unless another one is given."""
    if before is None:
        return blob
    if blob.tier is None:
        blob = replace(blob, tier=before.tier, tier_changed=before.tier_changed)
    return replace(blob, created=before.created)


def _check_position(blob: Blob, position: int | None) -> None:
    _check_kind(blob, Kind.APPEND)
    if position is not None and position != len(blob.content):
        raise ServiceError(errors.APPEND_POSITION_NOT_MET)
