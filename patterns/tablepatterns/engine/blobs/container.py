"""The state of a container, its blob listings, and the containers of an account."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...edm import Ticks
from ...limits import MAX_PAGE_BLOBS, UNCOMMITTED_BLOCKS_KEPT
from ..clock import SECOND, Clock
from ..errors import Refusal
from ..resources import AccessPolicy, Deletions, check_policies, check_range, check_resource_name, checked_metadata
from ..tables.key_range import after
from ..tables.state import Ordered
from . import errors as blob_errors
from .blob import Blob, Block, Kind, etag_of
from .conditions import NO_TERMS, Terms, check_write
from .leases import CONTAINER, NO_LEASE, Action, Lease

_KEPT: Final = int(UNCOMMITTED_BLOCKS_KEPT.total_seconds()) * SECOND


Snapshots: TypeAlias = Literal["include", "only"]
"""What a deletion does to the snapshots of a blob: deletes them with it, or them alone."""


class PublicAccess(Enum):
    """What anybody may read without a credential."""

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

        :raises Refusal: BlobNotFound
        """
        if self.current is None:
            raise Refusal(blob_errors.BLOB_NOT_FOUND)
        return self.current

    def version(self, snapshot: Ticks | None) -> Blob:
        """Return the blob, or the snapshot that was taken at a moment.

        :raises Refusal: BlobNotFound
        """
        if snapshot is None:
            return self.existing()
        for taken in self.snapshots:
            if taken.snapshot == snapshot:
                return taken
        raise Refusal(blob_errors.BLOB_NOT_FOUND)

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

        :raises Refusal: SnapshotsPresent for a blob whose snapshots would stay behind
        """
        if version.snapshot is not None:
            self.snapshots.remove(version)
            return
        if self.snapshots and snapshots is None:
            raise Refusal(blob_errors.SNAPSHOTS_PRESENT)
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
        self.slots: Ordered[Slot] = Ordered()

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


Mark: TypeAlias = tuple[str, int]


class Prefix(str):
    """The names that begin alike up to a delimiter, which it ends with."""

    __slots__ = ()


class Uncommitted(str):
    """The name of a blob of which only blocks are there."""

    __slots__ = ()


Item: TypeAlias = Blob | Prefix | Uncommitted


@dataclass(frozen=True, slots=True)
class Question:
    """Which blobs to list.

    :param delimiter: names that have it behind the prefix are listed as groups
    :param start: where the page begins: `next` of the page before
    :param limit: at most so many items; never more than 5,000
    :param snapshots: whether snapshots are listed too
    :param uncommitted: whether names are listed under which nothing is committed
    """

    prefix: str = ""
    delimiter: str = ""
    start: Mark = ("", 0)
    limit: int = MAX_PAGE_BLOBS
    snapshots: bool = False
    uncommitted: bool = False


class Page(NamedTuple):
    """What a page shows, and the mark at which the next one begins, None on the last."""

    items: Sequence[Item]
    next: Mark | None


def checked_page_limit(limit: int) -> int:
    """Return how many items a page may show; more than 5,000 is no mistake, but changes nothing.

    :raises Refusal: OutOfRangeQueryParameterValue for a limit below 1
    """
    limit = min(limit, MAX_PAGE_BLOBS)
    check_range("maxresults", limit, 1, MAX_PAGE_BLOBS)
    return limit


def list_page(slots: Ordered[Slot], question: Question, now: Ticks) -> Page:
    """Return a page.

    :raises Refusal: OutOfRangeQueryParameterValue for a limit below 1
    """
    limit = checked_page_limit(question.limit)
    items: list[Item] = []
    mark = question.start
    for item, behind in _walk(slots, question, now):
        if len(items) == limit:
            return Page(items, mark)
        items.append(item)
        mark = behind
    return Page(items, None)


def _walk(slots: Ordered[Slot], question: Question, now: Ticks) -> Iterator[tuple[Item, Mark]]:
    """Yield the items, each with the mark behind it; behind a group the walk goes on with another search."""
    name, rest = question.start
    lower: str | None = max(name, question.prefix)
    while lower is not None:
        first, lower = lower, None
        for slot in slots.walk(first, beyond(question.prefix)):
            shown = list(_versions(slot, question, now, rest if slot.name == name else 0))
            group = _group(slot.name, question)
            if shown and group is not None:
                lower = beyond(group)
                yield Prefix(group), (lower or after(group), 0)
                break
            yield from shown


def _versions(slot: Slot, question: Question, now: Ticks, rest: int) -> Iterator[tuple[Item, Mark]]:
    """Yield what is listed under a name, from a snapshot on."""
    if question.snapshots:
        for blob in slot.snapshots:
            if blob.snapshot is not None and blob.snapshot >= rest:
                yield blob, (slot.name, blob.snapshot + 1)
    if slot.current is not None:
        yield slot.current, (after(slot.name), 0)
    elif question.uncommitted and slot.staged(now):
        yield Uncommitted(slot.name), (after(slot.name), 0)


def _group(name: str, question: Question) -> str | None:
    found = name.find(question.delimiter, len(question.prefix)) if question.delimiter else -1
    return None if found < 0 else name[: found + len(question.delimiter)]


def beyond(prefix: str) -> str | None:
    r"""Return the first string behind all that begin with a prefix, None where nothing is.

    >>> beyond("logs/"), beyond("\U0010ffff"), beyond("")
    ('logs0', None, None)
    """
    stem = prefix.rstrip(chr(sys.maxunicode))
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None


_PERMISSIONS: Final = "racwdxyltmeopif"
_SPECIAL_NAMES: Final = frozenset({"$root", "$web", "$logs"})


class Containers:
    """The containers of one account. Every method is atomic, and what is refused changes nothing.

    :param lock: guards the containers and all that is in them
    """

    def __init__(self, clock: Clock, lock: threading.RLock) -> None:
        self._clock = clock
        self._lock = lock
        self._containers: Ordered[Container] = Ordered()
        self.deletions = Deletions(clock, blob_errors.CONTAINER_BEING_DELETED)

    def create(
        self, name: str, metadata: Mapping[str, str] | None = None, access: PublicAccess = PublicAccess.NONE
    ) -> ContainerProperties:
        """Create a container.

        :raises Refusal: what is wrong with name or metadata; ContainerAlreadyExists; ContainerBeingDeleted
        """
        _check_name(name)
        kept = checked_metadata(metadata or {})
        with self._lock:
            if self._containers.get(name) is not None:
                raise Refusal(blob_errors.CONTAINER_ALREADY_EXISTS)
            self.deletions.check(name)
            made = ContainerProperties(name, self._clock.stamp(), kept, access)
            self._containers[name] = Container(made)
        return made

    def delete(self, name: str, terms: Terms = NO_TERMS) -> None:
        """Delete a container and all in it, at once; its name is free when the deletion has taken its time.

        :raises Refusal: ContainerNotFound, or what the terms are refused with
        """
        with self._lock:
            properties = self.find(name).properties
            check_write(terms, properties)
            properties.lease.check_write(terms.lease, self._clock.now(), CONTAINER)
            del self._containers[name]
            self.deletions.begin(name)

    def get(self, name: str, terms: Terms = NO_TERMS) -> ContainerProperties:
        """Return what a container says of itself.

        :raises Refusal: ContainerNotFound, or what the lease is refused with
        """
        with self._lock:
            properties = self.find(name).properties
            properties.lease.check_read(terms.lease, self._clock.now(), CONTAINER)
        return properties

    def public_access(self, name: str) -> PublicAccess:
        """Return what is public of a container; of one that is not there it is nothing."""
        with self._lock:
            container = self._containers.get(name)
        return PublicAccess.NONE if container is None else container.properties.access

    def set_metadata(self, name: str, metadata: Mapping[str, str], terms: Terms = NO_TERMS) -> ContainerProperties:
        """Replace the metadata of a container."""
        return self._change(name, terms, metadata=checked_metadata(metadata))

    def set_access(
        self, name: str, access: PublicAccess, policies: Sequence[AccessPolicy], terms: Terms = NO_TERMS
    ) -> ContainerProperties:
        """Replace what is public of a container, and its stored access policies."""
        check_policies(policies, _PERMISSIONS)
        return self._change(name, terms, access=access, policies=tuple(policies))

    def lease(self, name: str, action: Action, terms: Terms = NO_TERMS) -> tuple[ContainerProperties, Ticks]:
        """Carry out an action on the lease of a container; return what it says then, and the moment of it.

        :raises Refusal: ContainerNotFound, what the terms are refused with, or what the action is refused with
        """
        with self._lock:
            container, now = self.find(name), self._clock.now()
            properties = container.properties
            check_write(terms, properties)
            container.properties = replace(properties, lease=action.on(properties.lease, now, CONTAINER))
            return container.properties, now

    def page(
        self, prefix: str = "", start: str = "", limit: int = MAX_PAGE_BLOBS
    ) -> tuple[list[ContainerProperties], str | None]:
        """Return a page of the containers in order of their names, and the name at which the next begins.

        :param prefix: what the names begin with
        :param start: the name at which the page begins
        :param limit: at most so many containers; never more than 5,000
        :raises Refusal: OutOfRangeQueryParameterValue for a limit below 1
        """
        limit = checked_page_limit(limit)
        found: list[ContainerProperties] = []
        with self._lock:
            for container in self._containers.walk(max(prefix, start)):
                properties = container.properties
                if not properties.name.startswith(prefix):
                    break
                if len(found) == limit:
                    return found, properties.name
                found.append(properties)
        return found, None

    def find(self, name: str) -> Container:
        """Return the data of a container; the caller holds the lock.

        :raises Refusal: ContainerNotFound, or what is wrong with the name
        """
        _check_name(name)
        found = self._containers.get(name)
        if found is None:
            raise Refusal(blob_errors.CONTAINER_NOT_FOUND)
        return found

    def check(self) -> None:
        """Assert every invariant of the containers and of what is in them."""
        with self._lock:
            self._containers.check()
            for container in self._containers.walk():
                if self.find(container.properties.name) is not container:
                    raise AssertionError(f"container {container.properties.name!r} is filed under another name")
                container.check()

    def _change(self, name: str, terms: Terms, **changes: Any) -> ContainerProperties:
        with self._lock:
            container = self.find(name)
            properties = container.properties
            check_write(terms, properties)
            properties.lease.check_read(terms.lease, self._clock.now(), CONTAINER)
            container.properties = replace(properties, modified=self._clock.stamp(), **changes)
            return container.properties


@lru_cache(maxsize=4096)
def _check_name(name: str) -> None:
    if name not in _SPECIAL_NAMES:
        check_resource_name(name)
