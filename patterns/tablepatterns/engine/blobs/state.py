"""The state of a container: its properties, and under each name a blob, its snapshots and its staged blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeAlias

from ...edm import Ticks
from ...limits import UNCOMMITTED_BLOCKS_KEPT
from .. import errors
from ..clock import SECOND
from ..collections import OrderedMap
from ..errors import ServiceError
from ..resources import AccessPolicy
from .blob import Blob, Block, Kind, etag_of
from .leases import NO_LEASE, Lease

_KEPT: Final = int(UNCOMMITTED_BLOCKS_KEPT.total_seconds()) * SECOND


Snapshots: TypeAlias = Literal["include", "only"]
"""What a deletion does to the snapshots of a blob: deletes them with it, or them alone."""


class PublicAccess(Enum):
    """What anyone may read without a credential."""

    NONE = ""
    BLOBS = "blob"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class ContainerProperties:
    """One version of what a container says of itself; what happens to its blobs changes nothing here.

    :param modified: when this version came into being
    :param lease: the lease on it, which may change without making a version
    """

    name: str
    modified: Ticks
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    access: PublicAccess = PublicAccess.NONE
    policies: Sequence[AccessPolicy] = ()
    lease: Lease = NO_LEASE

    @property
    def etag(self) -> str:
        """The ETag of this version."""
        return etag_of(self.modified)

    @property
    def tags(self) -> Mapping[str, str]:
        """No tags: only blobs have some."""
        return {}


class Slot:
    """Everything in a container that goes by one name.

    :param current: the blob, None as long as nothing is committed
    """

    __slots__ = ("_staged", "_staged_at", "current", "name", "snapshots")

    def __init__(self, name: str) -> None:
        self.name = name
        self.current: Blob | None = None
        self.snapshots: list[Blob] = []
        self._staged: dict[str, Block] = {}
        self._staged_at = Ticks(0)

    @property
    def empty(self) -> bool:
        """Whether nothing goes by this name."""
        return self.current is None and not self._staged

    def existing(self) -> Blob:
        """Return the blob.

        :raises ServiceError: BlobNotFound
        """
        if self.current is None:
            raise ServiceError(errors.BLOB_NOT_FOUND)
        return self.current

    def version(self, snapshot: Ticks | None) -> Blob:
        """Return the blob, or the snapshot that was taken at a moment.

        :raises ServiceError: BlobNotFound
        """
        if snapshot is None:
            return self.existing()
        for taken in self.snapshots:
            if taken.snapshot == snapshot:
                return taken
        raise ServiceError(errors.BLOB_NOT_FOUND)

    def staged(self, now: Ticks) -> Mapping[str, Block]:
        """Return the uncommitted blocks by id; they are given up a week after the last of them came."""
        return self._staged if now - self._staged_at < _KEPT else {}

    def stage(self, block: Block, now: Ticks) -> None:
        """Put down a block, in place of an uncommitted one with its id."""
        self._staged = {**self.staged(now), block.id: block}
        self._staged_at = now

    def commit(self, blob: Blob) -> None:
        """Replace the blob, and drop the uncommitted blocks."""
        self.current = blob
        self._staged = {}

    def replace(self, before: Blob, after: Blob) -> None:
        """Put a changed snapshot, or the changed blob, in the place of the one that it was."""
        if before.snapshot is None:
            self.current = after
        else:
            self.snapshots[self.snapshots.index(before)] = after

    def remove(self, version: Blob, snapshots: Snapshots | None) -> None:
        """Drop a snapshot, or the blob with its snapshots or without them.

        :raises ServiceError: SnapshotsPresent for a blob whose snapshots would stay behind
        """
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
        """Assert that snapshots have a blob and an order, and that versions are whole."""
        moments = [taken.snapshot for taken in self.snapshots]
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
    """One container; it is not thread-safe by itself, `Blobs` guards it."""

    __slots__ = ("properties", "slots")

    def __init__(self, properties: ContainerProperties) -> None:
        self.properties = properties
        self.slots: OrderedMap[Slot] = OrderedMap()

    def slot(self, name: str) -> Slot:
        """Return what goes by a name; where that is nothing, a slot that is not filed yet."""
        return self.slots.get(name) or Slot(name)

    def check(self) -> None:
        """Assert that each name files its own versions, none that is empty, and that no two have the same ETag."""
        self.properties.lease.check()
        self.slots.check()
        versions = [slot.current.modified for slot in self.slots.walk() if slot.current is not None]
        if len({self.properties.modified, *versions}) <= len(versions):
            raise AssertionError(f"two versions in {self.properties.name!r} have the same ETag")
        for slot in self.slots.walk():
            if slot.empty or self.slots.get(slot.name) is not slot:
                raise AssertionError(f"the name {slot.name!r} is that of nothing, or filed under another")
            slot.check()
