"""A list of blobs in XML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final

from ....edm import Ticks
from ...blob import Blob, CopyRecord, Kind, Tier
from ...blob_listing import Item, Prefix, Uncommitted
from ...leases import State
from ..moments import http_date, seven_digits
from ..xml_document import element, optional, xml_text
from .blob_headers import duration_of
from .content_headers import base64
from .list_xml import metadata_element, name_element, repeated, write_list
from .tags_xml import tags_element

_OPTIONS: Final = {"prefix": "Prefix", "marker": "Marker", "maxresults": "MaxResults", "delimiter": "Delimiter"}


def write_blobs(
    items: Iterable[Item], base: str, container: str, query: Mapping[str, str], following: str, now: Ticks
) -> bytes:
    """Return a page of the list of blobs as a document."""
    include = frozenset(query.get("include", "").split(","))
    written = (_item(item, include, now) for item in items)
    return write_list(base, container, repeated(query, _OPTIONS), written, "Blobs", following)


def _item(item: Item, include: Set[str], now: Ticks) -> str:
    if isinstance(item, Prefix):
        return f"<BlobPrefix>{name_element(item)}</BlobPrefix>"
    if isinstance(item, Uncommitted):
        properties = f"<Content-Length>0</Content-Length><BlobType>{Kind.BLOCK.value}</BlobType>"
        return f"<Blob>{name_element(item)}<Properties>{properties}</Properties></Blob>"
    snapshot = f"<Snapshot>{seven_digits(item.snapshot)}</Snapshot>" if item.snapshot else ""
    metadata = metadata_element(item.metadata) if "metadata" in include else ""
    tags = tags_element(item.tags) if "tags" in include and item.tags else ""
    properties = _properties(item, now) + (_copy(item.copy) if item.copy and "copy" in include else "")
    return f"<Blob>{name_element(item.name)}{snapshot}<Properties>{properties}</Properties>{metadata}{tags}</Blob>"


def _properties(blob: Blob, now: Ticks) -> str:
    # One text and not an element each: a list of 5,000 is written as often as it is read
    said = blob.headers
    return (
        f"<Creation-Time>{http_date(blob.created)}</Creation-Time>"
        f"<Last-Modified>{http_date(blob.modified)}</Last-Modified>"
        f"<Etag>{blob.etag[1:-1]}</Etag>"
        f"<Content-Length>{len(blob.content)}</Content-Length>"
        f"<Content-Type>{xml_text(said.content_type)}</Content-Type>"
        f"{element('Content-Encoding', xml_text(said.encoding or ''))}"
        f"{element('Content-Language', xml_text(said.language or ''))}"
        f"{element('Content-MD5', base64(said.md5) if said.md5 else '')}"
        f"{element('Cache-Control', xml_text(said.cache_control or ''))}"
        f"{element('Content-Disposition', xml_text(said.disposition or ''))}"
        f"<BlobType>{blob.kind.value}</BlobType>"
        f"{_tier(blob)}{_lease(blob, now)}"
        f"{'<Sealed>true</Sealed>' if blob.sealed else ''}"
        f"{optional('TagCount', len(blob.tags) or None)}"
        "<ServerEncrypted>true</ServerEncrypted>"
    )


def _tier(blob: Blob) -> str:
    if blob.kind is not Kind.BLOCK:
        return ""
    if blob.tier is None:
        return f"<AccessTier>{Tier.HOT.value}</AccessTier><AccessTierInferred>true</AccessTierInferred>"
    changed = http_date(blob.tier_changed) if blob.tier_changed else None
    return optional("AccessTier", blob.tier.value) + optional("AccessTierChangeTime", changed)


def _lease(blob: Blob, now: Ticks) -> str:
    """Return what is said of a lease, which no snapshot has."""
    if blob.snapshot is not None:
        return ""
    state = blob.lease.state(now)
    status = "locked" if state.locked else "unlocked"
    duration = optional("LeaseDuration", duration_of(blob.lease)) if state is State.LEASED else ""
    return f"<LeaseStatus>{status}</LeaseStatus><LeaseState>{state.value}</LeaseState>{duration}"


def _copy(copy: CopyRecord) -> str:
    return "".join(
        [
            optional("CopyId", copy.id),
            optional("CopyStatus", "success"),
            optional("CopySource", copy.source),
            optional("CopyProgress", f"{copy.size}/{copy.size}"),
            optional("CopyCompletionTime", http_date(copy.finished)),
        ]
    )
