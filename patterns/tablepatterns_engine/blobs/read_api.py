"""Operations that read blobs: content, properties, blocks, tags, lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tablepatterns.limits import MAX_PAGE_BLOBS, MAX_RANGE_WITH_MD5

from .. import errors
from ..content import Content
from ..errors import ServiceError
from ..http.headers import metadata_headers, read_number, read_words
from ..http.message import Response
from ..http.xml import XML, write_document
from ..resources import invalid_parameter
from ..versions import FIRST_WITH_BOTH_CHECKSUMS
from .blob import CURRENT, Blob
from .body import Range, crc64_of, is_structured, md5_of, read_range, write_structured
from .call import LIST_BLOBS, READ, TAGS, BlobCall, BlobPermit
from .headers import (
    BLOB_PREFIX,
    base64,
    etag_headers,
    flag,
    invalid,
    lease_headers,
    read_headers,
    read_marker,
    read_terms,
    tier_headers,
    write_marker,
)
from .listing import ListBlobsQuery
from .xml import tags_element, write_blobs, write_block_list

_RANGE_CHECKSUMS: Final = {
    "x-ms-range-get-content-md5": ("Content-MD5", md5_of),
    "x-ms-range-get-content-crc64": ("x-ms-content-crc64", crc64_of),
}
_INCLUDES: Final = frozenset(
    {"snapshots", "metadata", "uncommittedblobs", "copy", "deleted", "tags", "versions"}
    | {"deletedwithversions", "immutabilitypolicy", "legalhold", "permissions"}
)
_BLOCK_LISTS: Final = frozenset({"committed", "uncommitted", "all"})


def get_blob(call: BlobCall) -> Response:
    call.begin("GetBlob", READ)
    headers = call.request.headers
    span = read_range(headers)
    _check_range(headers, span)
    blob = call.state.get(*call.place, read_terms(headers), call.revision)
    blob.check_online()
    call.notes.examined = call.notes.returned = 1
    answer = read_headers(blob) | _lease(call, blob)
    if call.version >= FIRST_WITH_BOTH_CHECKSUMS:
        answer |= tier_headers(blob)
    if span is None:
        return _with_body(call, 200, answer | _md5(blob, "Content-MD5"), blob.content)
    first, end = span.within(len(blob.content))
    _check_length(headers, end - first)
    part = blob.content.part(first, end)
    answer |= _md5(blob, "x-ms-blob-content-md5")
    answer |= {
        field: base64(calculate(part)) for name, (field, calculate) in _RANGE_CHECKSUMS.items() if flag(headers, name)
    }
    answer["Content-Range"] = f"bytes {first}-{end - 1}/{len(blob.content)}"
    return _with_body(call, 206, answer, part)


def get_properties(call: BlobCall) -> Response:
    call.begin("GetBlobProperties", READ)
    blob = call.state.get(*call.place, read_terms(call.request.headers), call.revision)
    call.notes.examined = call.notes.returned = 1
    headers = read_headers(blob) | _lease(call, blob) | tier_headers(blob) | _md5(blob, "Content-MD5")
    return Response(200, {**headers, **_overrides(call), "Content-Length": str(len(blob.content))})


def get_metadata(call: BlobCall) -> Response:
    call.begin("GetBlobMetadata", READ)
    blob = call.state.get(*call.place, read_terms(call.request.headers), call.revision)
    call.notes.examined = call.notes.returned = 1
    return Response(200, {**etag_headers(blob), **metadata_headers(blob.metadata)})


def get_tags(call: BlobCall) -> Response:
    call.begin("GetBlobTags", TAGS)
    blob = call.state.get(*call.place, read_terms(call.request.headers, BLOB_PREFIX), call.revision)
    return Response(200, {**XML}, write_document(tags_element(blob.tags)))


def get_block_list(call: BlobCall) -> Response:
    call.begin("GetBlockList", READ)
    list_type = call.address.query.get("blocklisttype", "committed").lower()
    if list_type not in _BLOCK_LISTS:
        raise invalid_parameter("blocklisttype", list_type)
    blocks = call.state.blocks(*call.place, read_terms(call.request.headers), call.revision)
    headers = {**XML}
    if blocks.blob is not None:
        headers |= etag_headers(blocks.blob)
        headers["x-ms-blob-content-length"] = str(len(blocks.blob.content))
    return Response(200, headers, write_block_list(blocks, list_type))


def list_blobs(call: BlobCall) -> Response:
    call.begin("ListBlobs", LIST_BLOBS)
    query = call.address.query
    page = call.state.page(call.resource, _read_list_query(query))
    call.notes.examined = call.notes.returned = len(page.items)
    marker = "" if page.next is None else write_marker(page.next)
    return Response(200, {**XML}, write_blobs(page.items, call.address.base, call.resource, query, marker, call.now))


def _read_list_query(query: Mapping[str, str]) -> ListBlobsQuery:
    include = read_words(query, "include", _INCLUDES)
    delimiter = query.get("delimiter", "")
    if delimiter and "snapshots" in include:
        raise invalid_parameter("include", query["include"])
    return ListBlobsQuery(
        prefix=query.get("prefix", ""),
        delimiter=delimiter,
        start=max(read_marker(query.get("marker", "")), (query.get("startFrom", ""), 0)),
        limit=read_number(query, "maxresults", MAX_PAGE_BLOBS),
        # A list of versions has no snapshots
        snapshots="snapshots" in include and "versions" not in include,
        versions="versions" in include,
        versions_only="deletedwithversions" in include,
        uncommitted="uncommittedblobs" in include,
    )


def _with_body(call: BlobCall, status: int, headers: dict[str, str], content: Content) -> Response:
    if is_structured(call.request.headers):
        content, checksum_headers = write_structured(content)
        headers |= checksum_headers
    return Response(status, {**headers, **_overrides(call), "Content-Length": str(len(content))}, content)


def _overrides(call: BlobCall) -> dict[str, str]:
    return {**call.permit.headers} if isinstance(call.permit, BlobPermit) else {}


def _lease(call: BlobCall, blob: Blob) -> dict[str, str]:
    """Return the lease of a blob; even the current version has none if the URL names it by its id."""
    return lease_headers(blob.lease, call.now) if call.revision == CURRENT else {}


def _md5(blob: Blob, name: str) -> dict[str, str]:
    return {} if blob.headers.md5 is None else {name: base64(blob.headers.md5)}


def _check_range(headers: Mapping[str, str], span: Range | None) -> None:
    """Reject a request for both checksums, for one without a range, or for one of a range over 4 MiB."""
    if all(flag(headers, name) for name in _RANGE_CHECKSUMS):
        raise ServiceError(errors.BOTH_RANGE_CHECKSUMS)
    length = 1 if span is None or span.last is None else span.last - span.first + 1
    _check_length(headers, MAX_RANGE_WITH_MD5 + 1 if span is None else length)


def _check_length(headers: Mapping[str, str], length: int) -> None:
    """Reject a request for the checksum of a range over 4 MiB; a range without an end ends with the blob."""
    for name in _RANGE_CHECKSUMS:
        if flag(headers, name) and length > MAX_RANGE_WITH_MD5:
            raise invalid(name, headers[name])
