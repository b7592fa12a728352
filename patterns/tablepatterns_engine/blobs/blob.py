"""The state of a blob: its content and properties, and the blocks staged for it."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID

from tablepatterns import limits
from tablepatterns.edm import Ticks

from .. import errors
from ..content import Content
from ..errors import ServiceError
from ..resources import checked_metadata
from .leases import NO_LEASE, Lease

_TAG: Final = re.compile(r"[A-Za-z0-9 +\-./:=_]*")


class Kind(Enum):
    """How a blob is written; the engine has no page blobs."""

    BLOCK = "BlockBlob"
    APPEND = "AppendBlob"


class Tier(Enum):
    """The access tier of a block blob; an archived one must be rehydrated before it can be read."""

    HOT = "Hot"
    COOL = "Cool"
    COLD = "Cold"
    SMART = "Smart"
    ARCHIVE = "Archive"


@dataclass(frozen=True, slots=True)
class ContentHeaders:
    """The content headers of a blob, with the digest as it was given; without a content type, it is empty."""

    content_type: str = "application/octet-stream"
    encoding: str | None = None
    language: str | None = None
    disposition: str | None = None
    cache_control: str | None = None
    md5: bytes | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block, committed or not; its id is in Base64."""

    id: str
    content: Content


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """The URL that a blob was copied from, as requested; the engine finishes a copy immediately."""

    id: UUID
    source: str
    size: int
    finished: Ticks


class Revision(NamedTuple):
    """Which state of a blob a request names: a snapshot, a version, or by default the current one."""

    snapshot: Ticks | None = None
    version: Ticks | None = None


CURRENT: Final = Revision()


@dataclass(frozen=True, slots=True)
class Blob:
    """One state of a blob; it is immutable, and a change creates a new one.

    :param modified: when this state was created, which is unique
    :param blocks: the committed blocks of a block blob; none if it was written as a whole
    :param appends: the number of blocks of an append blob
    :param lease: the lease on it, which may change without a new ETag
    :param snapshot: when a snapshot was taken; None for the blob itself
    :param version: the id of its version; None if the account kept no versions when it was written
    :param is_current: whether it is neither a snapshot nor a previous version
    """

    name: str
    kind: Kind
    content: Content
    headers: ContentHeaders
    metadata: Mapping[str, str]
    created: Ticks
    modified: Ticks
    blocks: tuple[Block, ...] = ()
    appends: int = 0
    lease: Lease = NO_LEASE
    copy: CopyRecord | None = None
    tier: Tier | None = None
    tier_changed: Ticks | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    sealed: bool = False
    snapshot: Ticks | None = None
    version: Ticks | None = None
    is_current: bool = True

    @property
    def etag(self) -> str:
        """The ETag of this state: its timestamp in hexadecimal."""
        return etag_of(self.modified)

    @property
    def revision(self) -> Revision:
        return Revision(version=self.version) if self.snapshot is None else Revision(self.snapshot)

    def as_previous(self) -> Blob:
        """Return the previous version that a write or a deletion makes of the current one."""
        return replace(self, version=self.version or self.modified, lease=NO_LEASE, is_current=False)

    def check_online(self) -> None:
        """Reject operations that an archived blob does not allow."""
        if self.tier is Tier.ARCHIVE:
            raise ServiceError(errors.BLOB_ARCHIVED)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a write sets besides the content; it replaces what the blob had.

    :param tier: the new tier; None for the account's default
    :param sealed: whether a copy of an append blob is sealed; None for what its source is
    """

    headers: ContentHeaders = field(default_factory=ContentHeaders)
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    tier: Tier | None = None
    sealed: bool | None = None

    def checked(self) -> Draft:
        return replace(self, metadata=checked_metadata(self.metadata), tags=checked_tags(self.tags))


def etag_of(modified: Ticks) -> str:
    """Return the ETag of a state of a blob or a container.

    >>> etag_of(Ticks.parse("2014-08-22T00:50:32Z"))
    '"0x8D18BBA35DFFC00"'
    """
    return f'"0x{int(modified):X}"'


def check_blob_name(name: str) -> None:
    if not 0 < len(name) <= limits.BLOB_NAME_MAX_LENGTH:
        raise ServiceError(errors.INVALID_URI)


def check_block_id(block_id: str) -> None:
    """Reject an id that is not Base64, or has more than 64 bytes."""
    wrong = errors.INVALID_QUERY_PARAMETER_VALUE.with_details(
        QueryParameterName="blockid", QueryParameterValue=block_id
    )
    try:
        size = len(b64decode(block_id, validate=True))
    except ValueError as error:
        raise ServiceError(wrong.with_details(Reason="Not a valid base64 string.")) from error
    if not 0 < size <= limits.MAX_BLOCK_ID_BYTES:
        raise ServiceError(wrong.with_details(Reason="The block id is empty or too long."))


def checked_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return a copy to store; reject more than ten tags, and names or values with invalid characters or lengths."""
    if len(tags) > limits.MAX_TAGS or not all(is_tag(*pair) for pair in tags.items()):
        raise ServiceError(errors.INVALID_TAGS)
    return dict(tags)


def is_tag(name: str, value: str) -> bool:
    has_length = 0 < len(name) <= limits.MAX_TAG_NAME_LENGTH and len(value) <= limits.MAX_TAG_VALUE_LENGTH
    return has_length and bool(_TAG.fullmatch(name) and _TAG.fullmatch(value))


class Where(Enum):
    """The list to look for a block in; `LATEST` prefers the uncommitted one."""

    COMMITTED = "Committed"
    UNCOMMITTED = "Uncommitted"
    LATEST = "Latest"


class BlockList(NamedTuple):
    """The blocks under a name, the uncommitted ones sorted by id; without a blob, nothing is committed."""

    blob: Blob | None
    committed: Sequence[Block]
    uncommitted: Sequence[Block]


def check_block_size(content: Content, longest: int) -> None:
    if not len(content):
        raise ServiceError(errors.INVALID_CONTENT_LENGTH.with_details(HeaderValue=0))
    if len(content) > longest:
        raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)


def chosen(
    entries: Sequence[tuple[Where, str]], committed: Iterable[Block], staged: Mapping[str, Block]
) -> tuple[Block, ...]:
    """Return the blocks of a list, in order; a block may occur more than once."""
    if len(entries) > limits.MAX_BLOCKS:
        raise ServiceError(errors.BLOCK_LIST_TOO_LONG)
    kept = {block.id: block for block in committed}
    lists = {Where.COMMITTED: kept, Where.UNCOMMITTED: staged, Where.LATEST: {**kept, **staged}}
    try:
        return tuple(lists[where][block_id] for where, block_id in entries)
    except KeyError as error:
        raise ServiceError(errors.INVALID_BLOCK_LIST) from error
