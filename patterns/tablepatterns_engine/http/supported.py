"""Reject the conditions and options that the engine does not support, rather than ignore them.

An operation rejects every condition that it does not honor, documented or not, since the sender relies on it. It
rejects other options only if they are documented for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from .. import errors
from ..errors import ServiceError
from ..ledger import BlobOperation, QueueOperation, TableOperation

_STANDARD: Final = "if-match if-none-match if-modified-since if-unmodified-since"
_SOURCE: Final = " ".join(f"x-ms-source-{name}" for name in (*_STANDARD.split(), "if-tags"))
_TAGGED: Final = " ".join(f"x-ms-blob-{name}" for name in _STANDARD.split())
_SEQUENCE: Final = " ".join(f"x-ms-if-sequence-number-{name}" for name in ("le", "lt", "eq"))
_TIER: Final = "x-ms-access-tier-if-modified-since x-ms-access-tier-if-unmodified-since"
_POSITION: Final = "x-ms-blob-condition-appendpos x-ms-blob-condition-maxsize"
_LEASE: Final = "x-ms-lease-id"
_CONDITIONS: Final = frozenset(
    f"{_STANDARD} if-range x-ms-if-tags {_SOURCE} {_TAGGED} {_SEQUENCE} {_TIER} {_POSITION} {_LEASE} "
    "x-ms-source-lease-id ?snapshot ?versionid".split()
)


class Support:
    """The conditions that an operation honors, and its documented options that the engine does not support.

    A query parameter begins with a question mark.
    """

    __slots__ = ("_headers", "_parameters")

    def __init__(self, honors: str = "", lacks: str = "") -> None:
        rejected = (_CONDITIONS - set(honors.split())).union(lacks.split())
        self._headers = frozenset(name for name in rejected if not name.startswith("?"))
        self._parameters = frozenset(name[1:] for name in rejected if name.startswith("?"))

    def check(self, headers: Mapping[str, str], query: Mapping[str, str]) -> None:
        if not self._headers.isdisjoint(headers) or (query and not self._parameters.isdisjoint(query)):
            options = [(name, headers[name]) for name in self._headers.intersection(headers)]
            options += [(f"?{name}", query[name]) for name in self._parameters.intersection(query)]
            # An option may be sent with a value that turns it off; a condition may not
            if any(value and (name in _CONDITIONS or value.lower() != "false") for name, value in options):
                raise ServiceError(errors.NOT_IMPLEMENTED)


NO_CONDITIONS: Final = Support()

# -- Blobs

_KEY: Final = "x-ms-encryption-key x-ms-encryption-key-sha256 x-ms-encryption-algorithm"
_SCOPE: Final = f"{_KEY} x-ms-encryption-scope"
_IMMUTABLE: Final = "x-ms-immutability-policy-mode x-ms-immutability-policy-until-date x-ms-legal-hold"
_EXPIRY: Final = "x-ms-expiry-option x-ms-expiry-time"
_PAGES: Final = "x-ms-blob-content-length x-ms-blob-sequence-number"
_FROM_URL: Final = (
    "content-md5 x-ms-file-request-intent x-ms-source-encryption-algorithm x-ms-source-encryption-key "
    "x-ms-source-encryption-key-sha256"
)
_DIGESTS: Final = "x-ms-source-content-md5 x-ms-source-content-crc64"
_PART: Final = "x-ms-source-range x-ms-copy-source-blob-properties"
"""Options of operations that read content from a URL; they are not documented for copies."""
_USE: Final = f"{_STANDARD} x-ms-if-tags"
_WRITE: Final = f"{_USE} {_LEASE}"
_READ: Final = f"{_WRITE} ?snapshot ?versionid"
_NO_ETAGS: Final = f"{_STANDARD} {_LEASE}"
"""Containers have none: a given ETag has its own error code."""
_WITH_ID: Final = ("Renew", "Change", "Release")
_WITHOUT_ID: Final = ("Acquire", "Break")

BLOB_SUPPORT: Final[Mapping[str, Support]] = {
    **dict.fromkeys(get_args(BlobOperation), NO_CONDITIONS),
    "CreateContainer": Support("", "x-ms-default-encryption-scope x-ms-deny-encryption-scope-override"),
    **dict.fromkeys(("GetContainerProperties", "GetContainerMetadata", "GetContainerACL"), Support(_LEASE)),
    **dict.fromkeys(("SetContainerMetadata", "SetContainerACL", "DeleteContainer"), Support(_NO_ETAGS)),
    **dict.fromkeys((f"{action}ContainerLease" for action in _WITH_ID), Support(_NO_ETAGS)),
    **dict.fromkeys((f"{action}ContainerLease" for action in _WITHOUT_ID), Support(_STANDARD)),
    "ListBlobs": Support("", "?showonly ?endBefore"),
    "GetBlob": Support(_READ, f"{_KEY} x-ms-upn"),
    "GetBlobProperties": Support(_READ, f"{_KEY} x-ms-upn"),
    "GetBlobMetadata": Support(_READ, _KEY),
    "GetBlockList": Support(f"x-ms-if-tags {_LEASE} ?snapshot"),
    "GetBlobTags": Support(f"{_TAGGED} x-ms-if-tags {_LEASE} ?snapshot ?versionid"),
    "SetBlobTags": Support(f"{_TAGGED} x-ms-if-tags {_LEASE} ?versionid"),
    "SetBlobTier": Support(f"x-ms-if-tags {_LEASE} ?snapshot ?versionid"),
    "SetBlobMetadata": Support(_WRITE, _SCOPE),
    "SetBlobProperties": Support(_WRITE, _PAGES),
    "SnapshotBlob": Support(_WRITE, _SCOPE),
    "DeleteBlob": Support(f"{_READ} {_TIER}", "?deletetype"),
    **dict.fromkeys((f"{action}BlobLease" for action in _WITH_ID), Support(_WRITE)),
    **dict.fromkeys((f"{action}BlobLease" for action in _WITHOUT_ID), Support(_USE)),
    "PutBlob": Support(_WRITE, f"{_SCOPE} {_IMMUTABLE} {_EXPIRY} {_PAGES}"),
    "PutBlobFromURL": Support(f"{_WRITE} {_SOURCE}", f"{_SCOPE} {_IMMUTABLE} {_EXPIRY} {_PAGES} {_FROM_URL}"),
    "PutBlock": Support(_LEASE, _SCOPE),
    "PutBlockFromURL": Support(f"{_LEASE} {_SOURCE}", f"{_SCOPE} {_FROM_URL}"),
    "PutBlockList": Support(_WRITE, f"{_SCOPE} {_IMMUTABLE} {_EXPIRY}"),
    "AppendBlock": Support(f"{_WRITE} {_POSITION}", _SCOPE),
    "AppendBlockFromURL": Support(f"{_WRITE} {_POSITION} {_SOURCE}", f"{_SCOPE} {_FROM_URL}"),
    "AppendBlobSeal": Support(f"{_WRITE} x-ms-blob-condition-appendpos"),
    "CopyBlob": Support(f"{_WRITE} {_SOURCE} x-ms-source-lease-id", f"{_IMMUTABLE} {_SCOPE} {_PART} {_DIGESTS}"),
    "CopyBlobFromURL": Support(f"{_WRITE} {_SOURCE}", f"{_IMMUTABLE} {_SCOPE} {_FROM_URL} {_PART} x-ms-seal-blob"),
    "AbortCopyBlob": Support(_LEASE),
}

# -- Queues

QUEUE_SUPPORT: Final[Mapping[str, Support]] = dict.fromkeys(get_args(QueueOperation), NO_CONDITIONS)

# -- Tables

_POINT: Final = "?$filter ?$top"
_MATCH: Final = Support("if-match if-none-match")
"""`If-None-Match` on a write has its own error message."""
_CONDITIONAL: Final = "UpdateEntity MergeEntity InsertOrReplaceEntity InsertOrMergeEntity DeleteEntity"
TABLE_SUPPORT: Final[Mapping[str, Support]] = {
    **dict.fromkeys(get_args(TableOperation), NO_CONDITIONS),
    **dict.fromkeys(_CONDITIONAL.split(), _MATCH),
    "QueryEntity": Support("", _POINT),
}
