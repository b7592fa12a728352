"""What answers say of a blob in their headers."""

from __future__ import annotations

from typing import Final

from ....edm import Ticks
from ...blob import Blob, CopyRecord, Kind, Tier
from ...leases import INFINITE, Lease, State
from ..metadata import metadata_headers
from ..moments import http_date
from .content_headers import write_content_headers

_DEFAULT_TIER: Final = Tier.HOT


def version_headers(etag: str, modified: Ticks) -> dict[str, str]:
    """Return the headers that name a version."""
    return {"ETag": etag, "Last-Modified": http_date(modified)}


def lease_headers(lease: Lease, now: Ticks) -> dict[str, str]:
    """Return what a lease is at a moment."""
    state = lease.state(now)
    headers = {"x-ms-lease-state": state.value, "x-ms-lease-status": "locked" if state.locked else "unlocked"}
    if state is State.LEASED:
        headers["x-ms-lease-duration"] = duration_of(lease)
    return headers


def duration_of(lease: Lease) -> str:
    """Return in one word how long a lease runs."""
    return "infinite" if lease.duration == INFINITE else "fixed"


def written_headers(blob: Blob) -> dict[str, str]:
    """Return what is said of a blob to those who wrote it."""
    return {**version_headers(blob.etag, blob.modified), "x-ms-request-server-encrypted": "true"}


def read_headers(blob: Blob, now: Ticks) -> dict[str, str]:
    """Return what is said of a blob to those who read it."""
    headers = {
        **version_headers(blob.etag, blob.modified),
        **write_content_headers(blob.headers),
        **metadata_headers(blob.metadata),
        **lease_headers(blob.lease, now),
        "x-ms-creation-time": http_date(blob.created),
        "x-ms-blob-type": blob.kind.value,
        "x-ms-server-encrypted": "true",
        "Accept-Ranges": "bytes",
    }
    if blob.copy is not None:
        headers |= _copy_headers(blob.copy)
    if blob.tags:
        headers["x-ms-tag-count"] = str(len(blob.tags))
    if blob.kind is Kind.APPEND:
        headers["x-ms-blob-committed-block-count"] = str(blob.appends)
    if blob.sealed:
        headers["x-ms-blob-sealed"] = "true"
    return headers


def tier_headers(blob: Blob) -> dict[str, str]:
    """Return in which tier a block blob is; no other kind has one."""
    if blob.kind is not Kind.BLOCK:
        return {}
    if blob.tier is None:
        return {"x-ms-access-tier": _DEFAULT_TIER.value, "x-ms-access-tier-inferred": "true"}
    headers = {"x-ms-access-tier": blob.tier.value}
    if blob.tier_changed is not None:
        headers["x-ms-access-tier-change-time"] = http_date(blob.tier_changed)
    return headers


def _copy_headers(copy: CopyRecord) -> dict[str, str]:
    return {
        "x-ms-copy-id": str(copy.id),
        "x-ms-copy-source": copy.source,
        "x-ms-copy-status": "success",
        "x-ms-copy-progress": f"{copy.size}/{copy.size}",
        "x-ms-copy-completion-time": http_date(copy.finished),
    }
