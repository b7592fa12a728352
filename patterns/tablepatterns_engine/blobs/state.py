"""The state of a container: its properties, and under each name a blob, its snapshots and its staged blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeAlias

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_UNCOMMITTED_BLOCKS, UNCOMMITTED_BLOCKS_KEPT

from .. import errors
from ..clock import SECOND
from ..collections import OrderedMap
from ..errors import ServiceError
from ..resources import AccessPolicy
from .blob import Blob, Block, etag_of
from .leases import NO_LEASE, Lease

ENCRYPTION_SCOPE: Final = "$account-encryption-key"
"""The scope of a container without another one."""
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
        """Add an uncommitted block; reject one whose id differs in length from the others, or one too many."""
        staged = self.staged(now)
        if block.id not in staged:
            # All staged ids have the same length, so checking the first is enough
            if staged and len(next(iter(staged))) != len(block.id):
                raise ServiceError(errors.INVALID_BLOB_OR_BLOCK)
            if len(staged) >= MAX_UNCOMMITTED_BLOCKS:
                raise ServiceError(errors.TOO_MANY_UNCOMMITTED_BLOCKS)
        self._staged = {**staged, block.id: block}
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


class Container:
    """A container. Not thread-safe: `Blobs` guards it."""

    __slots__ = ("properties", "slots")

    def __init__(self, properties: ContainerProperties) -> None:
        self.properties = properties
        self.slots: OrderedMap[Slot] = OrderedMap()
