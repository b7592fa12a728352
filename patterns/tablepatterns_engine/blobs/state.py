"""The state of a container: its properties, and under each name a blob, its snapshots and its staged blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeAlias

from tablepatterns.edm import Ticks
from tablepatterns.limits import UNCOMMITTED_BLOCKS_KEPT

from .. import errors
from ..clock import SECOND
from ..collections import OrderedMap
from ..errors import ServiceError
from ..resources import AccessPolicy
from .blob import Blob, Block, Kind, etag_of
from .leases import NO_LEASE, Lease

_KEPT: Final = int(UNCOMMITTED_BLOCKS_KEPT.total_seconds()) * SECOND


Snapshots: TypeAlias = Literal["include", "only"]
"""Whether a deletion includes the snapshots, or deletes only the snapshots."""


class PublicAccess(Enum):
    """Public access: what can be read without a credential."""

    NONE = ""
    BLOBS = "blob"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class ContainerProperties:
    """One version of the properties of a container; changes of its blobs or of its lease make no new one."""

    name: str
    modified: Ticks
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    access: PublicAccess = PublicAccess.NONE
    policies: Sequence[AccessPolicy] = ()
    lease: Lease = NO_LEASE

    @property
    def etag(self) -> str:
        return etag_of(self.modified)

    @property
    def tags(self) -> Mapping[str, str]:
        """Containers have no tags."""
        return {}


class Slot:
    """Everything under one name of a container; `current` is None until something is committed."""

    __slots__ = ("_staged", "_staged_at", "current", "name", "snapshots")

    def __init__(self, name: str) -> None:
        self.name = name
        self.current: Blob | None = None
        self.snapshots: list[Blob] = []
        self._staged: dict[str, Block] = {}
        self._staged_at = Ticks(0)

    @property
    def empty(self) -> bool:
        return self.current is None and not self._staged

    def existing(self) -> Blob:
        if self.current is None:
            raise ServiceError(errors.BLOB_NOT_FOUND)
        return self.current

    def version(self, snapshot: Ticks | None) -> Blob:
        if snapshot is None:
            return self.existing()
        for taken in self.snapshots:
            if taken.snapshot == snapshot:
                return taken
        raise ServiceError(errors.BLOB_NOT_FOUND)

    def staged(self, now: Ticks) -> Mapping[str, Block]:
        """Return the uncommitted blocks by id; they expire a week after the last one was staged."""
        return self._staged if now - self._staged_at < _KEPT else {}

    def stage(self, block: Block, now: Ticks) -> None:
        self._staged = {**self.staged(now), block.id: block}
        self._staged_at = now

    def commit(self, blob: Blob) -> None:
        """Replace the blob, and discard the uncommitted blocks."""
        self.current = blob
        self._staged = {}

    def replace(self, before: Blob, after: Blob) -> None:
        if before.snapshot is None:
            self.current = after
        else:
            self.snapshots[self.snapshots.index(before)] = after

    def remove(self, version: Blob, snapshots: Snapshots | None) -> None:
        """Remove a snapshot, or the blob with or without its snapshots."""
        if version.snapshot is not None:
            self.snapshots.remove(version)
            return
        if self.snapshots and snapshots is None:
            raise ServiceError(errors.SNAPSHOTS_PRESENT)
        self.snapshots.clear()
        if snapshots != "only":
            self.current = None
            self._staged = {}

    def check(self) -> None:
        """Assert that snapshots have a blob and are ordered, and that versions are valid."""
        moments = [snapshot.snapshot for snapshot in self.snapshots]
        if None in moments or moments != sorted(set(moments), key=lambda moment: moment or 0):
            raise AssertionError(f"snapshots of {self.name!r} are out of order")
        if self.snapshots and self.current is None:
            raise AssertionError(f"snapshots of {self.name!r} have no blob")
        for blob in [*self.snapshots, *([] if self.current is None else [self.current])]:
            if blob.name != self.name or (blob.snapshot is not None) is (blob is self.current):
                raise AssertionError(f"{blob!r} is filed under {self.name!r}, or among what it is not")
            blob.check()
        self._check_staged()

    def _check_staged(self) -> None:
        if any(block_id != block.id or not len(block.content) for block_id, block in self._staged.items()):
            raise AssertionError(f"a block under {self.name!r} is empty, or filed under another id")
        if len({len(block_id) for block_id in self._staged}) > 1:
            raise AssertionError(f"the ids of the blocks under {self.name!r} have different lengths")
        if self._staged and self.current is not None and self.current.kind is not Kind.BLOCK:
            raise AssertionError(f"blocks wait under {self.name!r}, which is not of blocks")


class Container:
    """A container. Not thread-safe: `Blobs` guards it."""

    __slots__ = ("properties", "slots")

    def __init__(self, properties: ContainerProperties) -> None:
        self.properties = properties
        self.slots: OrderedMap[Slot] = OrderedMap()

    def slot(self, name: str) -> Slot:
        """Return the slot of a name; if there is none, a new slot that is not stored yet."""
        return self.slots.get(name) or Slot(name)

    def check(self) -> None:
        """Assert that slots are stored under their own names, are not empty, and that ETags are unique."""
        self.properties.lease.check()
        self.slots.check()
        versions = [slot.current.modified for slot in self.slots.walk() if slot.current is not None]
        if len({self.properties.modified, *versions}) <= len(versions):
            raise AssertionError(f"two versions in {self.properties.name!r} have the same ETag")
        for slot in self.slots.walk():
            if slot.empty or self.slots.get(slot.name) is not slot:
                raise AssertionError(f"the name {slot.name!r} is that of nothing, or filed under another")
            slot.check()
