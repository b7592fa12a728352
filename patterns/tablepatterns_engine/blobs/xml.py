"""XML of blob and container lists, block lists and tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl, quote

from tablepatterns.edm import Ticks

from .. import errors
from ..errors import ServiceError
from ..http.headers import http_date, seven_digits
from ..http.xml import (
    NOT_XML,
    child_elements,
    children,
    element,
    metadata_element,
    optional,
    read_document,
    text_of,
    write_document,
    write_list,
    xml_text,
)
from .blob import Blob, Block, BlockList, CopyRecord, Kind, Tier, Where
from .headers import base64, copy_properties, duration_of
from .leases import NO_LEASE, Lease, State
from .listing import Item, Prefix, Uncommitted, VersionsOnly
from .state import ENCRYPTION_SCOPE, ContainerProperties


def read_block_list(body: bytes) -> list[tuple[Where, str]]:
    try:
        return [(Where(node.tag), text_of(node).strip()) for node in child_elements(read_document(body, "BlockList"))]
    except ValueError as error:
        raise ServiceError(errors.INVALID_XML_DOCUMENT) from error


def write_block_list(blocks: BlockList, which: str) -> bytes:
    """Return the committed, the uncommitted or all blocks under a name as a document."""
    committed = _block_elements("CommittedBlocks", blocks.committed) if which != "uncommitted" else ""
    uncommitted = _block_elements("UncommittedBlocks", blocks.uncommitted) if which != "committed" else ""
    return write_document(element("BlockList", committed, uncommitted))


def _block_elements(name: str, blocks: Iterable[Block]) -> str:
    return element(
        name, *(element("Block", optional("Name", block.id), optional("Size", len(block.content))) for block in blocks)
    )


def name_element(name: str) -> str:
    """Return a name as an element; a name that is invalid in XML is percent-encoded and marked."""
    if NOT_XML.search(name):
        return f'<Name Encoded="true">{quote(name, safe="")}</Name>'
    return f"<Name>{xml_text(name)}</Name>"


def write_containers(
    containers: Iterable[ContainerProperties], base: str, query: Mapping[str, str], following: str, now: Ticks
) -> bytes:
    with_metadata = "metadata" in query.get("include", "").split(",")
    items = (_container(container, now, with_metadata) for container in containers)
    return write_list(base, "Containers", items, query, following)


def _container(container: ContainerProperties, now: Ticks, with_metadata: bool) -> str:
    properties = [
        optional("Last-Modified", http_date(container.modified)),
        optional("Etag", container.etag),
        _lease(container.lease, now),
        optional("PublicAccess", container.access.value or None),
        optional("DefaultEncryptionScope", ENCRYPTION_SCOPE),
        optional("DenyEncryptionScopeOverride", False),
        optional("HasImmutabilityPolicy", False),
        optional("HasLegalHold", False),
        optional("ImmutableStorageWithVersioningEnabled", False),
    ]
    metadata = metadata_element(container.metadata) if with_metadata else ""
    return element("Container", name_element(container.name), element("Properties", *properties), metadata)


def read_tags(body: bytes) -> dict[str, str]:
    tag_sets = children(read_document(body, "Tags"), "TagSet")
    tags = children(tag_sets[0], "Tag") if len(tag_sets) == 1 else None
    if tags is None or any(sorted(part.tag for part in child_elements(tag)) != ["Key", "Value"] for tag in tags):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    texts = [{part.tag: text_of(part) for part in tag} for tag in tags]
    return _unique_tags([(text["Key"], text["Value"]) for text in texts])


def read_tags_header(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the tags in the header of a write, which has the form of a query string."""
    text = headers.get("x-ms-tags")
    if not text:
        return {}
    try:
        return _unique_tags(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
    except ValueError as error:
        raise ServiceError(errors.INVALID_TAGS) from error


def tags_element(tags: Mapping[str, str]) -> str:
    pairs = (element("Key", xml_text(name)) + element("Value", xml_text(value)) for name, value in sorted(tags.items()))
    return element("Tags", element("TagSet", *(element("Tag", pair) for pair in pairs)))


def _unique_tags(tags: list[tuple[str, str]]) -> dict[str, str]:
    tags_by_name = dict(tags)
    if len(tags_by_name) < len(tags):
        raise ServiceError(errors.INVALID_TAGS)
    return tags_by_name


_DEFAULT_TIER: Final = f"<AccessTier>{Tier.HOT.value}</AccessTier><AccessTierInferred>true</AccessTierInferred>"


def write_blobs(
    items: Iterable[Item], base: str, container: str, query: Mapping[str, str], following: str, now: Ticks
) -> bytes:
    include = frozenset(query.get("include", "").split(","))
    written = (_item(item, include, now) for item in items)
    return write_list(base, "Blobs", written, query, following, container)


def _item(item: Item, include: Set[str], now: Ticks) -> str:
    if isinstance(item, Prefix):
        return f"<BlobPrefix>{name_element(item)}</BlobPrefix>"
    if isinstance(item, Uncommitted):
        properties = f"<Content-Length>0</Content-Length><BlobType>{Kind.BLOCK.value}</BlobType>{_DEFAULT_TIER}"
        properties += _lease(NO_LEASE, now) + optional("ServerEncrypted", False)
        return f"<Blob>{name_element(item)}<Properties>{properties}</Properties><OrMetadata /></Blob>"
    if isinstance(item, VersionsOnly):
        text = _item(replace(item.blob, is_current=True), include, now)
        return text.replace("<Properties>", "<HasVersionsOnly>true</HasVersionsOnly><Properties>", 1)
    revision = ""
    if item.snapshot:
        revision = f"<Snapshot>{seven_digits(item.snapshot)}</Snapshot>"
    elif item.version:
        current = "<IsCurrentVersion>true</IsCurrentVersion>" if item.is_current else ""
        revision = f"<VersionId>{seven_digits(item.version)}</VersionId>{current}"
    metadata = metadata_element(item.metadata) if "metadata" in include else ""
    tags = tags_element(item.tags) if "tags" in include and item.tags else ""
    properties = _properties(item, include, now)
    elements = f"<Properties>{properties}</Properties>{metadata}{tags}<OrMetadata />"
    return f"<Blob>{name_element(item.name)}{revision}{elements}</Blob>"


def _properties(blob: Blob, include: Set[str], now: Ticks) -> str:
    # Text instead of elements, for speed: a page has up to 5,000
    headers = blob.headers
    return (
        f"<Creation-Time>{http_date(blob.created)}</Creation-Time>"
        f"<Last-Modified>{http_date(blob.modified)}</Last-Modified>"
        f"<Etag>{blob.etag[1:-1]}</Etag>"
        f"<Content-Length>{len(blob.content)}</Content-Length>"
        f"{_header('Content-Type', headers.content_type)}"
        f"{_header('Content-Encoding', headers.encoding)}"
        f"{_header('Content-Language', headers.language)}"
        "<Content-CRC64 />"
        f"{_header('Content-MD5', base64(headers.md5) if headers.md5 else None)}"
        f"{_header('Cache-Control', headers.cache_control)}"
        f"{_header('Content-Disposition', headers.disposition)}"
        f"<BlobType>{blob.kind.value}</BlobType>"
        f"{_tier(blob)}{_lease(blob.lease, now) if blob.is_current else ''}"
        f"{_copy(blob.copy) if blob.copy and 'copy' in include else ''}"
        "<ServerEncrypted>true</ServerEncrypted>"
        f"{'<Sealed>true</Sealed>' if blob.sealed else ''}"
        f"{optional('TagCount', len(blob.tags) or None)}"
    )


def _header(name: str, value: str | None) -> str:
    return f"<{name}>{xml_text(value)}</{name}>" if value else f"<{name} />"


def _tier(blob: Blob) -> str:
    if blob.kind is not Kind.BLOCK:
        return ""
    if blob.tier is None:
        return _DEFAULT_TIER
    changed = http_date(blob.tier_changed) if blob.tier_changed else None
    smart = optional("SmartAccessTier", Tier.HOT.value if blob.tier is Tier.SMART else None)
    return optional("AccessTier", blob.tier.value) + smart + optional("AccessTierChangeTime", changed)


def _lease(lease: Lease, now: Ticks) -> str:
    state = lease.state(now)
    status = "locked" if state.locked else "unlocked"
    duration = optional("LeaseDuration", duration_of(lease)) if state is State.LEASED else ""
    return f"<LeaseStatus>{status}</LeaseStatus><LeaseState>{state.value}</LeaseState>{duration}"


def _copy(copy: CopyRecord) -> str:
    return "".join(
        optional(f"Copy{name.title().replace('-', '')}", value) for name, value in copy_properties(copy).items()
    )
