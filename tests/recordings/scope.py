"""Which exchanges cannot be compared, and which differences are rules of old versions of the service."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final

from recordings.comparison import Difference
from recordings.exchange import Answer, Exchange

NOT_SUPPORTED: Final = "after a request for a feature that the backend does not have"
NO_CONTENT: Final = "after a copy of a blob whose content is not recorded"
NO_CREDENTIAL: Final = "with a bearer token, which is not recorded"
REMOVED: Final = "after another test removed the container"
OTHER_TIME: Final = "with a condition on the time, which the backend cannot be given"
NO_BLOCKS: Final = "after a block list with blocks that are not recorded"
NO_SAS: Final = "with a SAS, which cannot be signed again, and after a write with one"
NO_REQUEST: Final = "without the body and the headers of the request"
NO_HEADER: Final = "after a request whose lease or source the recording leaves out"
SHARED: Final = "a page of a list whose account had resources of other tests"


def _is_complete(exchange: Exchange) -> bool:
    """Return whether a list of resources is neither the first page of several nor a later one."""
    answer, query = exchange.answer, exchange.query
    has_more = "x-ms-continuation-nexttablename" in answer.headers or b"<NextMarker>" in answer.body
    return not has_more and "NextTableName" not in query and "marker" not in query


class Scope:
    """Decides for the exchanges of one recording, in their order, which cannot be compared.

    :param unknown: the blobs whose content is not recorded
    :param has_clock: whether the backend has the time of the recording
    """

    def __init__(self, unknown: Set[tuple[str, ...]], *, has_clock: bool = True) -> None:
        self._has_clock = has_clock
        self._unknown = unknown
        self._reason: str | None = None
        self._deletes = False
        self._there: set[str] = set()
        self._blocks: set[str] = set()

    def set_aside(self, exchange: Exchange, answer: Answer) -> str | None:
        """Return why an exchange cannot be compared; the requests after it build on it."""
        if exchange.answer.code in ("InvalidAuthenticationInfo", "AuthenticationFailed"):
            return NO_CREDENTIAL
        if exchange.is_list and not _is_complete(exchange):
            return SHARED
        if not self._has_clock and any("modified-since" in name.lower() for name in exchange.headers):
            return OTHER_TIME
        self._deletes = self._deletes or (exchange.method == "DELETE" and len(exchange.path) == 1)
        if exchange.answer.status < 300 and exchange.method == "PUT":
            self._there.add(exchange.resource)
        if exchange.answer.code == "ContainerNotFound" and exchange.resource in self._there and not self._deletes:
            return REMOVED
        if self._reason is None and exchange.source_place in self._unknown:
            self._reason = NO_CONTENT
        if self._reason is None and _lacks_header(exchange, answer):
            self._reason = NO_HEADER
        if self._reason is None and self._has_unknown_blocks(exchange):
            self._reason = NO_BLOCKS
        if exchange.has_sas and exchange.answer.status in (401, 403) and answer.status != exchange.answer.status:
            # The account's key, with which it is signed instead, allows everything
            self._reason = self._reason or (NO_SAS if exchange.method != "GET" else None)
            return NO_SAS
        if self._reason is None and (answer.status == 501 or answer.code == "FeatureNotSupported"):
            self._reason = NOT_SUPPORTED
        return self._reason

    def _has_unknown_blocks(self, exchange: Exchange) -> bool:
        """Return whether the service knew a block that the requests up to now have not staged."""
        self._blocks.add(exchange.query.get("blockid", ""))
        if exchange.method != "PUT" or exchange.query.get("comp") != "blocklist" or exchange.answer.status != 201:
            return False
        listed = re.findall(rb"<(?:Latest|Uncommitted)>([^<]*)<", exchange.body)
        return not self._blocks >= {block.decode() for block in listed}


def _lacks_header(exchange: Exchange, answer: Answer) -> bool:
    """Return whether a request of JavaScript's SDK had a lease or a source, which its recordings leave out."""
    if exchange.sdk != "JavaScript" or exchange.source:
        return False
    headers = {name.lower(): value for name, value in exchange.headers.items()}
    writes_nothing = headers.get("content-length") == "0" and "content-md5" not in exchange.answer.headers
    is_copy = writes_nothing and headers.get("x-ms-blob-type") == "BlockBlob"
    rejected = answer.code in ("MissingRequiredHeader", "InvalidHeaderValue") and str(answer) != str(exchange.answer)
    return is_copy or rejected


def names_blob_version(answer: Answer) -> bool:
    """Return whether an answer names the version of a blob, as only accounts do that keep all versions."""
    return "x-ms-version-id" in answer.headers or b"<VersionId>" in answer.body


_OLD_ELEMENTS: Final = {
    # Accounts had no tiers before their second kind; snapshots had none before 2019
    **dict.fromkeys(("AccessTier", "AccessTierInferred"), "2019-02-02"),
    "Creation-Time": "2017-11-09",
    "HasImmutabilityPolicy": "2017-11-09",
    "HasLegalHold": "2017-11-09",
    "DeleteRetentionPolicy": "2017-07-29",
    "StaticWebsite": "2018-03-28",
    **dict.fromkeys(("Content-CRC64", "DefaultEncryptionScope", "DenyEncryptionScopeOverride"), "2019-02-02"),
    "OrMetadata": "2019-12-12",
    "AllowPermanentDelete": "2020-02-10",
    "ImmutableStorageWithVersioningEnabled": "2020-10-02",
}
"""The version that each element of a list came with."""

_LAST_WITH_SNAPSHOT: Final = "2018-11-09"
"""The last version in which a snapshot has the header, but no tier, and in which an append blob has a tier."""
_TIER: Final = ("x-ms-access-tier", "x-ms-access-tier-inferred")
_OLD_HEADERS: Final = frozenset({("2017-04-17", "x-ms-request-server-encrypted")})
"""Headers that only some operations had in a version."""


def is_of_old_version(exchange: Exchange, difference: Difference) -> bool:
    """Return whether a difference is a rule of the version of the request, in place of which the newest applies."""
    header, value = difference.place.removeprefix("part "), difference.given if difference.recorded is None else None
    if header == "x-ms-tag-count" and difference.recorded == "0":
        return True
    if value is not None and (exchange.version, header) in _OLD_HEADERS:
        return True
    if exchange.version <= _LAST_WITH_SNAPSHOT and header in (*_TIER, "x-ms-snapshot"):
        return difference.recorded is None or difference.given is None
    if difference.kind != "elements":
        return False
    missing, extra = difference.recorded, difference.given
    is_old = isinstance(extra, list) and all(exchange.version < _OLD_ELEMENTS.get(name, "") for name in extra)
    return is_old and isinstance(missing, list) and set(missing) <= {"TagCount"}
