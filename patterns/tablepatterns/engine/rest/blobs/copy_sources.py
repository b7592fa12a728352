"""Sources of copies: another blob of this account, which the sender must be allowed to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ... import texts
from ...blob_texts import INVALID_MD5
from ...blob_versions import CopySource
from ...content import Content
from ...refusal import Refusal
from ..message import Request
from ..texts import INVALID_URI
from .call import BlobCall
from .content_headers import MD5_BYTES
from .header_values import digest, invalid
from .needs import READ
from .payload import check_md5, md5_of
from .ranges import parse_range
from .terms import read_source_conditions

SOURCE: Final = "x-ms-copy-source"
_RANGE: Final = "x-ms-source-range"
_MD5: Final = "x-ms-source-content-md5"


def copies(call: BlobCall) -> bool:
    """Tell whether a request takes content from another blob."""
    return SOURCE in call.request.headers


def find_source(call: BlobCall) -> CopySource:
    """Return the source that a request names.

    The account's key speaks for both blobs. Any other credential is for what is written; the URL of the source then
    has a signature of its own, or the source is public.

    :raises Refusal: InvalidHeaderValue, what is wrong with the credential; NotImplemented for another account
    """
    url = call.request.headers[SOURCE]
    try:
        source = call.inner(Request("GET", url, {}), as_owner=True)
    except Refusal as refusal:
        # What is not in this account cannot be reached from here
        raise Refusal(texts.NOT_IMPLEMENTED) if refusal.answer is INVALID_URI else refusal from refusal
    if source.kind != "blob":
        raise invalid(SOURCE, url)
    source.allow(READ)
    return CopySource(*source.place, source.snapshot, url, read_source_conditions(call.request.headers))


def read_source(call: BlobCall) -> Content:
    """Return the content of the source that a request names, or the range of it that it asks for.

    :raises Refusal: ContainerNotFound, BlobNotFound, InvalidRange, SourceConditionNotMet, Md5Mismatch, or what
        `find_source` raises
    """
    source, headers = find_source(call), call.request.headers
    content = call.blobs.source(source).content
    span = parse_range(headers.get(_RANGE, ""))
    if span is not None:
        content = content.part(*span.within(len(content)))
    _check(headers, content)
    return content


def _check(headers: Mapping[str, str], content: Content) -> None:
    specified = digest(headers, _MD5, MD5_BYTES, INVALID_MD5)
    if specified is not None:
        check_md5(specified, md5_of(content))
