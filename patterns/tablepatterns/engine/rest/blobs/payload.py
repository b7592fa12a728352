"""The body of a write, once its checksums are found to be right."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from ...blob_texts import (
    BOTH_CHECKSUMS,
    CRC64_MISMATCH,
    INVALID_CRC64,
    INVALID_MD5,
    MD5_MISMATCH,
)
from ...content import Content
from ...refusal import Refusal
from ..message import Request
from .content_headers import MD5_BYTES, base64
from .crc64 import crc64
from .header_values import digest, invalid, number
from .structured import LENGTH_HEADER, is_structured, read_structured

_MD5: Final = "content-md5"
_CRC64: Final = "x-ms-content-crc64"
CRC64_BYTES: Final = 8
_TOLD_UP_TO: Final = 64 * 1024
"""For larger content no checksum is told that was not asked for: it takes Python 35 ms for each MiB."""


class Payload(NamedTuple):
    """What a write brings.

    :param headers: what the answer says of it: checksums
    """

    content: Content
    headers: dict[str, str]

    @classmethod
    def of(cls, content: Content) -> Payload:
        """Return what a write brings whose content comes from another blob."""
        small = len(content) <= _TOLD_UP_TO
        return cls(content, {_CRC64: base64(crc64_of(content))} if small else {})


def read_payload(request: Request) -> Payload:
    """Return the body of a request.

    :raises Refusal: InvalidMd5, Md5Mismatch, InvalidCrc64, Crc64Mismatch, BothCrc64AndMd5HeaderPresent;
        InvalidHeaderValue for the length of a structured body that is another
    """
    headers = request.headers
    md5 = digest(headers, _MD5, MD5_BYTES, INVALID_MD5)
    crc = digest(headers, _CRC64, CRC64_BYTES, INVALID_CRC64)
    if md5 is not None and crc is not None:
        raise Refusal(BOTH_CHECKSUMS)
    content, told = read_structured(request.body) if is_structured(headers) else (Content([request.body]), {})
    _check_length(headers, content)
    if md5 is not None:
        check_md5(md5, md5_of(content))
        told["Content-MD5"] = base64(md5)
    if crc is not None:
        check_crc64(crc, content)
        return Payload(content, {**told, _CRC64: base64(crc)})
    return Payload(content, {**told, **Payload.of(content).headers})


def md5_of(content: Content) -> bytes:
    """Return the MD5 digest of content."""
    found = hashlib.md5(usedforsecurity=False)
    for piece in content.pieces:
        found.update(piece)
    return found.digest()


def crc64_of(content: Content) -> bytes:
    """Return the CRC-64 of content, as headers have it."""
    return crc64(content).to_bytes(CRC64_BYTES, "little")


def check_md5(specified: bytes, calculated: bytes) -> None:
    """Refuse content that is not what its sender took it for.

    :raises Refusal: Md5Mismatch
    """
    if specified != calculated:
        raise Refusal(MD5_MISMATCH.about(UserSpecifiedMd5=base64(specified), ServerCalculatedMd5=base64(calculated)))


def check_crc64(specified: bytes, content: Content) -> None:
    """Reject content that is not what its sender took it for.

    :raises Refusal: Crc64Mismatch
    """
    calculated = crc64_of(content)
    if specified != calculated:
        raise Refusal(CRC64_MISMATCH.about(UserSpecifiedCrc=base64(specified), ServerCalculatedCrc=base64(calculated)))


def _check_length(headers: Mapping[str, str], content: Content) -> None:
    length = number(headers, LENGTH_HEADER)
    if length is not None and (length != len(content) or not is_structured(headers)):
        raise invalid(LENGTH_HEADER, length)
