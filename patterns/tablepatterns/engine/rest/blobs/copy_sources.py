"""Sources of copies: another blob of this account, which the sender must be allowed to read."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from ... import blob_texts as texts
from ...blob import Blob
from ...blob_versions import CopySource
from ...content import Content
from ...refusal import Refusal
from ...texts import NOT_IMPLEMENTED
from ..message import Request
from ..status import status_of
from ..texts import INVALID_URI
from .call import BlobCall
from .content_headers import MD5_BYTES
from .header_values import digest, invalid, word
from .needs import READ, TAGS
from .payload import CRC64_BYTES, check_crc64, check_md5, md5_of
from .ranges import parse_range
from .terms import read_source_conditions

SOURCE: Final = "x-ms-copy-source"
_AUTHORIZATION: Final = "x-ms-copy-source-authorization"
_TAG_OPTION: Final = "x-ms-copy-source-tag-option"
_RANGE: Final = "x-ms-source-range"
_MD5: Final = "x-ms-source-content-md5"
_CRC64: Final = "x-ms-source-content-crc64"


class TagOption(Enum):
    """Which tags a copy has: those that the request brings, or those of its source."""

    REPLACE = "REPLACE"
    COPY = "COPY"


class SourceRefusal(Refusal):
    """A source that cannot be read: the answer has the status, the text and the code of the source's own answer.

    :param refusal: what the source answers
    """

    def __init__(self, refusal: Refusal) -> None:
        self.status = status_of(refusal.code)
        answer = texts.CANNOT_VERIFY_COPY_SOURCE.about(
            CopySourceStatusCode=self.status, CopySourceErrorCode=refusal.code, CopySourceErrorMessage=refusal.message
        )
        super().__init__(answer)
        self.message = refusal.message
        self.headers = {
            "x-ms-copy-source-status-code": str(self.status),
            "x-ms-copy-source-error-code": refusal.code,
        }


def copies(call: BlobCall) -> bool:
    """Tell whether a request takes content from another blob."""
    return SOURCE in call.request.headers


def keeps_tags(call: BlobCall) -> bool:
    """Tell whether a copy is to have the tags of its source.

    :raises Refusal: InvalidHeaderValue, also where the request brings tags besides
    """
    headers = call.request.headers
    keeps = word(headers, _TAG_OPTION, TagOption) is TagOption.COPY
    if keeps and headers.get("x-ms-tags"):
        raise invalid(_TAG_OPTION, headers[_TAG_OPTION])
    return keeps


def find_source(call: BlobCall, *, as_owner: bool = False) -> CopySource:
    """Return the source that a request names.

    A credential is for what is written. The URL of the source has a signature of its own, or a header has a token for
    it, or the source is public.

    :param as_owner: whether the account's key speaks for both blobs
    :raises Refusal: InvalidHeaderValue; CannotVerifyCopySource where the sender may not read the source;
        NotImplemented for another account
    """
    headers = call.request.headers
    needs = [READ, TAGS] if keeps_tags(call) else [READ]
    token = {"authorization": headers[_AUTHORIZATION]} if _AUTHORIZATION in headers else {}
    try:
        source = call.inner(Request("GET", headers[SOURCE], token), as_owner=as_owner)
        for need in needs:
            source.allow(need)
    except Refusal as refusal:
        # What is not in this account cannot be reached from here
        raise Refusal(NOT_IMPLEMENTED) if refusal.answer is INVALID_URI else SourceRefusal(refusal) from refusal
    if source.kind != "blob":
        raise invalid(SOURCE, headers[SOURCE])
    return CopySource(*source.place, source.snapshot, headers[SOURCE], read_source_conditions(headers))


def read_source(call: BlobCall, source: CopySource) -> Blob:
    """Return the source as it is now, if it is what the request asks for.

    :raises Refusal: CannotVerifyCopySource
    """
    try:
        return call.blobs.source(source)
    except Refusal as refusal:
        unmet = refusal.answer is texts.SOURCE_CONDITION_NOT_MET
        raise SourceRefusal(Refusal(texts.CONDITION_NOT_MET) if unmet else refusal) from refusal


def source_content(call: BlobCall, origin: Blob) -> Content:
    """Return the content of a source, or the range of it that the request asks for.

    :raises Refusal: InvalidRange, Md5Mismatch, Crc64Mismatch
    """
    headers, content = call.request.headers, origin.content
    span = parse_range(headers.get(_RANGE, ""))
    if span is not None:
        content = content.part(*span.within(len(content)))
    check_source(headers, content)
    return content


def check_source(headers: Mapping[str, str], content: Content) -> None:
    """Reject content of a source that is not what the sender took it for.

    :raises Refusal: InvalidMd5, Md5Mismatch, InvalidCrc64, Crc64Mismatch
    """
    md5 = digest(headers, _MD5, MD5_BYTES, texts.INVALID_MD5)
    crc = digest(headers, _CRC64, CRC64_BYTES, texts.INVALID_CRC64)
    if md5 is not None:
        check_md5(md5, md5_of(content))
    if crc is not None:
        check_crc64(crc, content)
