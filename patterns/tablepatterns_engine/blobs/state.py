"""The state of a container: its properties, and under each name a blob, its earlier states and its staged blocks."""

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
from .blob import CURRENT, Blob, Block, Revision, etag_of
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
    """One state of the properties of a container; changes of its blobs or of its lease make no new one."""

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
    """Everything under one name of a container.

    :ivar current: the blob; None until something is committed, and after a deletion
    :ivar earlier: its snapshots and previous versions, each from the oldest to the newest
    """

    __slots__ = ("_staged", "_staged_at", "current", "earlier", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.current: Blob | None = None
        self.earlier: list[Blob] = []
        self._staged: dict[str, Block] = {}
        self._staged_at = Ticks(0)

    def find(self, revision: Revision = CURRENT) -> Blob:
        if self.current is not None and revision in (CURRENT, self.current.revision):
            return self.current
        for blob in self.earlier:
            if blob.revision == revision:
                return blob
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

    def discard_staged(self) -> None:
        self._staged = {}

    def write(self, blob: Blob) -> None:
        """Replace the current blob, which becomes a previous version if either of them is a version."""
        before = self.current
        if before is not None and (blob.version or before.version):
            self.earlier.append(before.as_previous())
        self.current = blob

    def replace(self, before: Blob, after: Blob) -> None:
        """Replace a state of the blob without a new version."""
        if before.is_current:
            self.current = after
        else:
            self.earlier[self.earlier.index(before)] = after

    def remove(self, blob: Blob, snapshots: Snapshots | None, *, keeps_versions: bool) -> bool:
        """Remove an earlier state, or the blob with or without its snapshots; return whether it is gone for good.

        With `keeps_versions`, or if it is a version, the blob becomes a previous version.
        """
        if not blob.is_current:
            self.earlier.remove(blob)
            return True
        versions = [earlier for earlier in self.earlier if earlier.snapshot is None]
        if len(versions) < len(self.earlier) and snapshots is None:
            raise ServiceError(errors.SNAPSHOTS_PRESENT)
        self.earlier = versions
        if snapshots == "only":
            return True
        keeps_versions = keeps_versions or blob.version is not None
        if keeps_versions:
            self.earlier.append(blob.as_previous())
        self.current = None
        self.discard_staged()
        return not keeps_versions


class Container:
    """A container. Not thread-safe: `Blobs` guards it."""

    __slots__ = ("properties", "slots")

    def __init__(self, properties: ContainerProperties) -> None:
        self.properties = properties
        self.slots: OrderedMap[Slot] = OrderedMap()
