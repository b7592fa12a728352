"""Making blobs: as a whole, of blocks, by appending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ....limits import MIB
from ... import texts
from ...blob import Blob, Draft, Kind, Tier
from ...content import Content
from ...refusal import Refusal
from ..message import Response
from ..metadata import read_metadata
from .blob_headers import version_headers, written_headers
from .block_list_xml import read_block_list
from .call import BlobCall
from .content_headers import base64, read_content_headers
from .copy_sources import copies, find_source, keeps_tags, read_source, source_content
from .header_values import invalid, number, required, word
from .needs import ADD, CREATE, WRITE
from .payload import Payload, check_md5, md5_of, read_payload
from .tags_xml import read_tags_header
from .terms import read_lease, read_terms

_TYPE: Final = "x-ms-blob-type"
_POSITION: Final = "x-ms-blob-condition-appendpos"
_MAX_SIZE: Final = "x-ms-blob-condition-maxsize"
_KEEPS_HEADERS: Final = "x-ms-copy-source-blob-properties"
_ENCRYPTED: Final = {"x-ms-request-server-encrypted": "true"}
_LARGE_APPENDS: Final = "2022-11-02"
"""The first version in which a block that is appended may be of more than 4 MiB."""
_SMALL_APPEND: Final = 4 * MIB


def put_blob(call: BlobCall) -> Response:
    """Write a whole block blob, of the body or of another blob, or an empty append blob."""
    call.begin("PutBlobFromURL" if copies(call) else "PutBlob", CREATE)
    kind = _read_kind(call.request.headers)
    origin = _source(call)
    payload = _payload(call, origin)
    draft = read_draft(call, whole=True) if origin is None else _draft_from(call, origin)
    if kind is Kind.BLOCK:
        draft = _with_md5(draft, payload.content)
    terms = replace(read_terms(call.request.headers), create_only=not call.may(WRITE))
    blob = call.blobs.put(*call.place, payload.content, draft, kind=kind, terms=terms)
    call.notes.written = 1
    md5 = {} if blob.headers.md5 is None else {"Content-MD5": base64(blob.headers.md5)}
    return Response(201, {**written_headers(blob), **md5, **payload.headers})


def put_block(call: BlobCall) -> Response:
    """Put down a block, of the body or of another blob."""
    call.begin("PutBlockFromURL" if copies(call) else "PutBlock", WRITE)
    block_id = call.address.query.get("blockid")
    if block_id is None:
        raise Refusal(texts.MISSING_QUERY_PARAMETER.about(QueryParameterName="blockid"))
    payload = _payload(call, _source(call))
    call.blobs.stage(*call.place, block_id, payload.content, read_lease(call.request.headers))
    call.notes.written = 1
    return Response(201, {**_ENCRYPTED, **payload.headers})


def put_block_list(call: BlobCall) -> Response:
    """Make a block blob of blocks."""
    call.begin("PutBlockList", CREATE)
    payload = read_payload(call.request)
    entries, draft = read_block_list(bytes(payload.content)), read_draft(call)
    terms = replace(read_terms(call.request.headers), create_only=not call.may(WRITE))
    blob = call.blobs.commit(*call.place, entries, draft, terms)
    call.notes.written = 1
    return Response(201, {**written_headers(blob), **payload.headers})


def append_block(call: BlobCall) -> Response:
    """Add a block to an append blob, of the body or of another blob."""
    call.begin("AppendBlockFromURL" if copies(call) else "AppendBlock", ADD)
    headers = call.request.headers
    payload = _payload(call, _source(call))
    if len(payload.content) > _SMALL_APPEND and _version(call) < _LARGE_APPENDS:
        raise Refusal(texts.REQUEST_BODY_TOO_LARGE)
    position, max_size = number(headers, _POSITION), number(headers, _MAX_SIZE)
    blob, offset = call.blobs.append(
        *call.place, payload.content, read_terms(headers), position=position, max_size=max_size
    )
    call.notes.written = 1
    told = {"x-ms-blob-append-offset": str(offset), "x-ms-blob-committed-block-count": str(blob.appends)}
    return Response(201, {**written_headers(blob), **told, **payload.headers})


def seal(call: BlobCall) -> Response:
    """Forbid to append to an append blob."""
    call.begin("AppendBlobSeal", ADD)
    headers = call.request.headers
    blob = call.blobs.seal(*call.place, read_terms(headers), position=number(headers, _POSITION))
    call.notes.written = 1
    return Response(200, {**version_headers(blob.etag, blob.modified), "x-ms-blob-sealed": "true"})


def read_draft(call: BlobCall, *, whole: bool = False) -> Draft:
    """Return what a write brings besides content.

    :param whole: whether the body is the content
    :raises Refusal: InvalidHeaderValue, InvalidMd5, InvalidTag
    """
    headers = call.request.headers
    return Draft(
        headers=read_content_headers(headers, whole=whole),
        metadata=read_metadata(call.request),
        tags=read_tags_header(headers),
        tier=read_tier(headers),
        sealed=headers.get("x-ms-seal-blob", "").lower() == "true",
    )


def read_tier(headers: Mapping[str, str]) -> Tier | None:
    """Return the tier that a request asks for, None where it asks for none.

    :raises Refusal: InvalidHeaderValue
    """
    return word(headers, "x-ms-access-tier", Tier)


def _version(call: BlobCall) -> str:
    return call.request.headers.get("x-ms-version") or call.blobs.get_service_properties().default_version or ""


def _source(call: BlobCall) -> Blob | None:
    """Return the blob that a write takes its content from, None where the body is the content."""
    if not copies(call):
        return None
    if call.request.body:
        raise invalid("Content-Length", len(call.request.body))
    return read_source(call, find_source(call))


def _payload(call: BlobCall, origin: Blob | None) -> Payload:
    return read_payload(call.request) if origin is None else Payload.of(source_content(call, origin))


def _draft_from(call: BlobCall, origin: Blob) -> Draft:
    """Return what a write brings besides the content of another blob: by default what the latter says of it."""
    headers, draft = call.request.headers, read_draft(call)
    if headers.get(_KEEPS_HEADERS, "true").lower() != "false":
        said = replace(origin.headers, md5=None)
        draft = replace(draft, headers=read_content_headers(headers, default=said))
    return replace(draft, tags=origin.tags) if keeps_tags(call) else draft


def _read_kind(headers: Mapping[str, str]) -> Kind:
    kind = required(headers, _TYPE)
    if kind == "PageBlob":
        raise Refusal(texts.NOT_IMPLEMENTED)
    try:
        return Kind(kind)
    except ValueError as error:
        raise invalid(_TYPE, kind) from error


def _with_md5(draft: Draft, content: Content) -> Draft:
    """Return the draft with the digest of the content, which must be the one it had, if it had one."""
    calculated, specified = md5_of(content), draft.headers.md5
    if specified is not None:
        check_md5(specified, calculated)
    return replace(draft, headers=replace(draft.headers, md5=calculated))
