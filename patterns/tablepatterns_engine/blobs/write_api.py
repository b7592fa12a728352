"""Operations that write blobs: uploads, blocks, appends, copies, properties, snapshots and deletes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tablepatterns.limits import MIB

from .. import errors
from ..errors import ServiceError
from ..http.headers import read_metadata, required_option, seven_digits
from ..http.message import Request, Response
from ..resources import invalid_parameter
from .blob import Blob, ContentHeaders, Draft, Kind, Tier
from .body import Payload, check_md5, checksum_headers, md5_headers, md5_of, parse_range, read_copied, read_payload
from .call import ADD, CREATE, DELETE, DELETE_VERSION, READ, SNAPSHOT, TAGS, WRITE, BlobCall
from .headers import (
    BLOB_PREFIX,
    SOURCE_PREFIX,
    base64,
    count,
    etag_headers,
    flag,
    invalid,
    parse_guid,
    read_content_headers,
    read_deletion_terms,
    read_header,
    read_lease,
    read_terms,
    required,
    version_headers,
    written_headers,
)
from .service import CopySource
from .state import Snapshots
from .xml import read_block_list, read_tags, read_tags_header

SOURCE: Final = "x-ms-copy-source"
_URL: Final = re.compile(r"https?://[!-.0-~]+/[!-~]+", re.IGNORECASE)
_SIGNATURE: Final = re.compile(r"&sig=[^&]*|(?<=\?)sig=[^&]*&?", re.IGNORECASE)
"""The service does not return the signature of a source."""
_MAX_URL_LENGTH: Final = 2048
_AUTHORIZATION: Final = "x-ms-copy-source-authorization"
_TAG_OPTION: Final = "x-ms-copy-source-tag-option"
_TAG_OPTIONS: Final = ("REPLACE", "COPY")
"""Whether a copy has the tags of the request or those of its source."""
_RANGE: Final = "x-ms-source-range"


class CopySourceError(ServiceError):
    """A source that cannot be read: the response has the status, message and code of the source's own response."""

    def __init__(self, error: ServiceError) -> None:
        self.status = error.error_message.status
        answer = errors.CANNOT_VERIFY_COPY_SOURCE.with_details(
            CopySourceStatusCode=self.status, CopySourceErrorCode=error.code, CopySourceErrorMessage=error.message
        )
        super().__init__(answer)
        self.message = error.message
        self.headers = {"x-ms-copy-source-status-code": str(self.status), "x-ms-copy-source-error-code": error.code}


def copies(call: BlobCall) -> bool:
    return SOURCE in call.request.headers


def keeps_tags(call: BlobCall) -> bool:
    headers = call.request.headers
    keeps = read_header(headers, _TAG_OPTION, _TAG_OPTIONS.index) == _TAG_OPTIONS.index("COPY")
    if keeps and headers.get("x-ms-tags"):
        raise invalid(_TAG_OPTION, headers[_TAG_OPTION])
    return keeps


def find_source(call: BlobCall, *, as_owner: bool = False) -> CopySource:
    """Return the source that a request names.

    The request's credential covers the target. The source needs a SAS in its URL, a token in a header, or public
    access.

    :param as_owner: whether the account's key authorizes both blobs
    """
    headers = call.request.headers
    if not _URL.fullmatch(headers[SOURCE]) or len(headers[SOURCE]) > _MAX_URL_LENGTH:
        raise invalid(SOURCE, headers[SOURCE])
    needs = [READ, TAGS] if keeps_tags(call) else [READ]
    token = {"authorization": headers[_AUTHORIZATION]} if _AUTHORIZATION in headers else {}
    try:
        source = call.inner(Request("GET", headers[SOURCE], token), as_owner=as_owner)
        for need in needs:
            source.allow(need)
    except ServiceError as error:
        # Other accounts cannot be reached from here
        raise (
            ServiceError(errors.NOT_IMPLEMENTED)
            if error.error_message is errors.INVALID_URI
            else CopySourceError(error)
        ) from error
    if source.kind != "blob":
        raise invalid(SOURCE, headers[SOURCE])
    url = _SIGNATURE.sub("", headers[SOURCE])
    terms = read_terms(headers, SOURCE_PREFIX, f"{SOURCE_PREFIX}lease-id")
    return CopySource(*source.place, source.revision, url, terms)


def read_source(call: BlobCall, source: CopySource) -> Blob:
    try:
        return call.state.source(source)
    except ServiceError as error:
        if error.error_message is not errors.SOURCE_CONDITION_NOT_MET:
            raise CopySourceError(error) from error
        if source.terms.match is not None and call.target.address.query.get("comp") != "appendblock":
            raise
        # The error is that of reading the source, which is a response to GET
        asks_for_other = source.terms.none_match is not None or source.terms.modified_since is not None
        unmet = errors.NOT_MODIFIED if asks_for_other else errors.CONDITION_NOT_MET
        raise CopySourceError(ServiceError(unmet)) from error


_TYPE: Final = "x-ms-blob-type"
_TIER: Final = "x-ms-access-tier"
_POSITION: Final = "x-ms-blob-condition-appendpos"
_MAX_SIZE: Final = "x-ms-blob-condition-maxsize"
_KEEPS_HEADERS: Final = "x-ms-copy-source-blob-properties"
_ENCRYPTED: Final = {"x-ms-request-server-encrypted": "true"}
_LARGE_APPENDS: Final = "2022-11-02"
"""The first version in which appended blocks may exceed 4 MiB."""
_SMALL_APPEND: Final = 4 * MIB


def put_blob(call: BlobCall) -> Response:
    """Write a whole block blob, from the body or another blob, or an empty append blob."""
    call.begin("PutBlobFromURL" if copies(call) else "PutBlob", CREATE)
    kind = _read_kind(call.request.headers)
    origin = _source(call)
    payload = _payload(call, origin)
    draft = read_draft(call, whole=True) if origin is None else _draft_from(call, origin)
    if kind is Kind.BLOCK:
        md5 = md5_of(payload.content)
        if draft.headers.md5 is not None:
            check_md5(draft.headers.md5, md5)
        draft = replace(draft, headers=replace(draft.headers, md5=md5))
    terms = replace(read_terms(call.request.headers), create_only=not call.may(WRITE))
    blob = call.state.put(*call.place, payload.content, draft, kind=kind, terms=terms)
    if kind is Kind.APPEND:
        return Response(201, written_headers(blob))
    if origin is not None or blob.headers.md5 is None:
        return Response(201, {**written_headers(blob), **payload.headers(call.version)})
    # The response to a whole blob has both checksums
    md5_header = {"Content-MD5": base64(blob.headers.md5)}
    response_headers = checksum_headers(payload.content, call.version) | payload.checksum | payload.structure
    return Response(201, {**written_headers(blob), **md5_header, **response_headers})


def put_block(call: BlobCall) -> Response:
    call.begin("PutBlockFromURL" if copies(call) else "PutBlock", WRITE)
    block_id = required_option(call.address.query, "blockid")
    payload = _payload(call, _source(call))
    call.state.stage(*call.place, block_id, payload.content, read_lease(call.request.headers))
    return Response(201, {**_ENCRYPTED, **payload.headers(call.version)})


def put_block_list(call: BlobCall) -> Response:
    call.begin("PutBlockList", CREATE)
    payload = read_payload(call.request)
    entries, draft = read_block_list(bytes(payload.content)), read_draft(call)
    terms = replace(read_terms(call.request.headers), create_only=not call.may(WRITE))
    blob = call.state.commit(*call.place, entries, draft, terms)
    return Response(201, {**written_headers(blob), **checksum_headers(payload.content, call.version)})


def append_block(call: BlobCall) -> Response:
    call.begin("AppendBlockFromURL" if copies(call) else "AppendBlock", ADD)
    headers = call.request.headers
    payload = _payload(call, _source(call))
    if len(payload.content) > _SMALL_APPEND and call.version < _LARGE_APPENDS:
        raise ServiceError(errors.REQUEST_BODY_TOO_LARGE)
    position, max_size = count(headers, _POSITION), count(headers, _MAX_SIZE)
    blob = call.state.append(*call.place, payload.content, read_terms(headers), position=position, max_size=max_size)
    offset = len(blob.content) - len(payload.content)
    response_headers = {"x-ms-blob-append-offset": str(offset), "x-ms-blob-committed-block-count": str(blob.appends)}
    # An append from another blob is confirmed with its MD5 in every version
    is_copy = copies(call) and not payload.checksum
    response_headers |= md5_headers(payload.content) if is_copy else payload.headers(call.version)
    # An append changes the current version
    return Response(201, {**etag_headers(blob), **_ENCRYPTED, **response_headers})


def seal(call: BlobCall) -> Response:
    call.begin("AppendBlobSeal", ADD)
    headers = call.request.headers
    blob = call.state.seal(*call.place, read_terms(headers), position=count(headers, _POSITION))
    return Response(200, {**etag_headers(blob), "x-ms-blob-sealed": "true"})


def read_draft(call: BlobCall, *, whole: bool = False) -> Draft:
    """Return what a write sets besides the content, which is the body if it is `whole`."""
    headers = call.request.headers
    return Draft(
        headers=read_content_headers(headers, whole=whole),
        metadata=read_metadata(call.request),
        tags=read_tags_header(headers),
        tier=read_header(headers, _TIER, Tier),
        sealed=flag(headers, "x-ms-seal-blob"),
    )


def _source(call: BlobCall) -> Blob | None:
    """Return the source of a write; None if the body is the content."""
    if not copies(call):
        return None
    if call.request.body:
        raise invalid("Content-Length", len(call.request.body))
    return read_source(call, find_source(call))


def _payload(call: BlobCall, origin: Blob | None) -> Payload:
    if origin is None:
        return read_payload(call.request)
    span = read_header(call.request.headers, _RANGE, parse_range)
    content = origin.content if span is None else origin.content.part(*span.within(len(origin.content)))
    return read_copied(call.request.headers, content)


def _draft_from(call: BlobCall, origin: Blob) -> Draft:
    """Return what a copy sets besides the content; by default, the properties of the source."""
    headers, draft = call.request.headers, read_draft(call)
    if flag(headers, _KEEPS_HEADERS) is not False:
        said = replace(origin.headers, md5=None)
        draft = replace(draft, headers=read_content_headers(headers, default=said))
    return replace(draft, tags=origin.tags) if keeps_tags(call) else draft


def _read_kind(headers: Mapping[str, str]) -> Kind:
    if headers.get(_TYPE) == "PageBlob":
        raise ServiceError(errors.NOT_IMPLEMENTED)
    return required(headers, _TYPE, Kind)


_PRIORITY: Final = "x-ms-rehydrate-priority"
_PRIORITIES: Final = ("Standard", "High")
"""Of rehydrating an archived blob; the engine does it immediately."""
_SNAPSHOTS: Final = "x-ms-delete-snapshots"
_ROOT_ONLY: Final = "This operation is only allowed on the root blob. %s should not be provided."
_SNAPSHOT_WORDS: Final[Mapping[str, Snapshots]] = {"include": "include", "only": "only"}
_NO_HEADERS: Final = ContentHeaders(content_type="")


def set_headers(call: BlobCall) -> Response:
    call.begin("SetBlobProperties", WRITE)
    headers = call.request.headers
    content_headers = read_content_headers(headers, default=_NO_HEADERS)
    blob = call.state.set_headers(*call.place, content_headers, read_terms(headers))
    return Response(200, etag_headers(blob))


def set_metadata(call: BlobCall) -> Response:
    call.begin("SetBlobMetadata", WRITE)
    blob = call.state.set_metadata(*call.place, read_metadata(call.request), read_terms(call.request.headers))
    return Response(200, written_headers(blob))


def set_tags(call: BlobCall) -> Response:
    call.begin("SetBlobTags", TAGS)
    tags = read_tags(bytes(read_payload(call.request).content))
    call.state.set_tags(*call.place, tags, read_terms(call.request.headers, BLOB_PREFIX), call.revision)
    return Response(204, {})


def set_tier(call: BlobCall) -> Response:
    call.begin("SetBlobTier", WRITE)
    headers = call.request.headers
    tier = required(headers, _TIER, Tier)
    read_header(headers, _PRIORITY, _PRIORITIES.index)
    before = call.state.set_tier(*call.place, tier, read_terms(headers), call.revision)
    return Response(202 if before.tier is Tier.ARCHIVE and tier is not Tier.ARCHIVE else 200, {})


def take_snapshot(call: BlobCall) -> Response:
    call.begin("SnapshotBlob", SNAPSHOT)
    metadata = read_metadata(call.request) or None
    taken = call.state.snapshot(*call.place, metadata, read_terms(call.request.headers))
    # The service says whether it has encrypted metadata with the request
    encrypted = {"x-ms-request-server-encrypted": "true" if metadata else "false"}
    headers = {**etag_headers(taken), **encrypted, **version_headers(taken)}
    if taken.snapshot is not None:
        headers["x-ms-snapshot"] = seven_digits(taken.snapshot)
    return Response(201, headers)


def delete_blob(call: BlobCall) -> Response:
    headers, query = call.request.headers, call.address.query
    call.begin("DeleteBlob", DELETE_VERSION if "versionid" in query else DELETE)
    revision = call.revision
    snapshots: Snapshots | None = read_header(headers, _SNAPSHOTS, _SNAPSHOT_WORDS.__getitem__)
    for name, text in (("snapshot", "Snapshot"), ("versionid", "Version id")):
        if snapshots and name in query:
            raise invalid_parameter(name, query[name], _ROOT_ONLY % text)
    terms = read_deletion_terms(headers)
    is_permanent = call.state.delete(*call.place, terms, revision=revision, snapshots=snapshots)
    return Response(202, {"x-ms-delete-type-permanent": str(is_permanent).lower()})


def put(call: BlobCall) -> Response:
    return copy_blob(call) if copies(call) and _TYPE not in call.request.headers else put_blob(call)


def copy_blob(call: BlobCall) -> Response:
    """Copy a blob; asynchronous copies finish immediately too."""
    headers = call.request.headers
    is_sync = bool(flag(headers, "x-ms-requires-sync"))
    call.begin("CopyBlobFromURL" if is_sync else "CopyBlob", CREATE)
    read_header(headers, _PRIORITY, _PRIORITIES.index)
    # The account's key authorizes the source of an asynchronous copy, but not of a synchronous one
    source, draft = find_source(call, as_owner=not is_sync), read_draft(call)
    if is_sync:
        read_copied(headers, read_source(call, source).content)
    terms = replace(read_terms(headers), create_only=not call.may(WRITE))
    blob = call.state.copy(
        *call.place, source, draft, terms, keep_metadata=not draft.metadata, keep_tags=keeps_tags(call)
    )
    response_headers = etag_headers(blob) | version_headers(blob)
    if blob.copy is not None:
        response_headers |= {"x-ms-copy-id": str(blob.copy.id), "x-ms-copy-status": "success"}
    return Response(202, response_headers | (checksum_headers(blob.content, call.version) if is_sync else {}))


def abort_copy(call: BlobCall) -> Response:
    """Reject the abort of a copy: copies finish immediately."""
    call.begin("AbortCopyBlob", WRITE)
    copy_id = required_option(call.address.query, "copyid")
    try:
        parse_guid(copy_id)
    except ValueError as error:
        raise invalid_parameter("copyid", copy_id, "copyid needs to be valid Guid.") from error
    action = required(call.request.headers, "x-ms-copy-action", str)
    if action.lower() != "abort":
        raise invalid("x-ms-copy-action", action)
    call.state.get(*call.place, read_lease(call.request.headers))
    raise ServiceError(errors.NO_PENDING_COPY)
