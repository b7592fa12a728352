"""Request bodies of writes, their checksums, structured bodies, and the byte ranges of reads."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from .. import errors
from ..content import Content
from ..errors import ServiceError
from ..http.message import Request
from ..versions import FIRST_WITH_BOTH_CHECKSUMS, FIRST_WITH_CRC64
from .crc64 import crc64
from .headers import MD5_BYTES, base64, digest, invalid, number

HEADER: Final = "x-ms-structured-body"
LENGTH_HEADER: Final = "x-ms-structured-content-length"
_KIND: Final = "XSM/1.0; properties=crc64"
_MESSAGE: Final = struct.Struct("<BQHH")
_SEGMENT: Final = struct.Struct("<HQ")
_CHECKSUM: Final = struct.Struct("<Q")
_CRC64: Final = 1
_STEP: Final = 4 * 1024 * 1024


def is_structured(headers: Mapping[str, str]) -> bool:
    kind = headers.get(HEADER)
    if kind not in (None, _KIND):
        raise invalid(HEADER, kind)
    return kind is not None


def write_structured(content: Content) -> tuple[Content, dict[str, str]]:
    size, segments = len(content), max(1, -(-len(content) // _STEP))
    overhead = _MESSAGE.size + segments * (_SEGMENT.size + _CHECKSUM.size) + _CHECKSUM.size
    pieces = [_MESSAGE.pack(1, size + overhead, _CRC64, segments)]
    for index in range(segments):
        part = content.part(index * _STEP, (index + 1) * _STEP)
        pieces += [_SEGMENT.pack(index + 1, len(part)), *part, _CHECKSUM.pack(crc64(part))]
    pieces.append(_CHECKSUM.pack(crc64(content)))
    return Content(pieces), {HEADER: _KIND, LENGTH_HEADER: str(size)}


def read_structured(body: bytes) -> Content:
    try:
        return Content(_segments(body))
    except struct.error as error:
        raise ServiceError(errors.INVALID_INPUT) from error


def _segments(body: bytes) -> Iterator[memoryview]:
    version, length, flags, segments = _MESSAGE.unpack_from(body)
    if version != 1 or length != len(body):
        raise struct.error("another version, or cut off")
    view, place, parts = memoryview(body), _MESSAGE.size, list[memoryview]()
    for expected in range(1, segments + 1):
        number, size = _SEGMENT.unpack_from(body, place)
        place += _SEGMENT.size
        part = view[place : place + size]
        if number != expected or len(part) != size:
            raise struct.error("a segment is out of order, or cut off")
        place = _check(body, place + size, flags, [part])
        parts.append(part)
        yield part
    if _check(body, place, flags, parts) != length:
        raise struct.error("something follows the last segment")


def _check(body: bytes, place: int, flags: int, parts: list[memoryview]) -> int:
    """Check the checksum at a position, if there is one, and return the position after it."""
    if not flags & _CRC64:
        return place
    (expected,) = _CHECKSUM.unpack_from(body, place)
    if crc64(Content(parts)) != expected:
        raise ServiceError(errors.CRC64_MISMATCH)
    return place + _CHECKSUM.size


_MD5_HEADER: Final = "Content-MD5"
_CRC64_HEADER: Final = "x-ms-content-crc64"
_CRC64_BYTES: Final = 8
_SOURCE_MD5: Final = "x-ms-source-content-md5"
_SOURCE_CRC64: Final = "x-ms-source-content-crc64"
_TOLD_UP_TO: Final = 64 * 1024
"""For larger content, a checksum is only sent on request: it takes Python 35 ms per MiB."""


class Payload(NamedTuple):
    """The content of a write, and the response headers that confirm its checksum and its structure."""

    content: Content
    checksum: dict[str, str]
    structure: dict[str, str]

    def headers(self, version: str) -> dict[str, str]:
        """Return the headers of a response, with another checksum if the request has none."""
        if self.checksum and version < FIRST_WITH_BOTH_CHECKSUMS:
            return self.structure | self.checksum
        return self.structure | checksum_headers(self.content, version) | self.checksum


def read_payload(request: Request) -> Payload:
    headers = request.headers
    structured = is_structured(headers)
    content = read_structured(request.body) if structured else Content([request.body])
    length = number(headers, LENGTH_HEADER)
    if length is not None and (length != len(content) or not structured):
        raise invalid(LENGTH_HEADER, length)
    checksum = check_checksum(headers, content, _MD5_HEADER.lower(), _CRC64_HEADER)
    return Payload(content, checksum, {HEADER: _KIND} if structured else {})


def read_copied(headers: Mapping[str, str], content: Content) -> Payload:
    return Payload(content, check_checksum(headers, content, _SOURCE_MD5, _SOURCE_CRC64), {})


def check_checksum(headers: Mapping[str, str], content: Content, md5_name: str, crc64_name: str) -> dict[str, str]:
    """Reject content that does not match the checksum of a request; return the header that confirms it."""
    md5 = digest(headers, md5_name, MD5_BYTES, errors.INVALID_MD5)
    crc = digest(headers, crc64_name, _CRC64_BYTES, errors.INVALID_CRC64)
    if md5 is not None and crc is not None:
        raise ServiceError(errors.BOTH_CHECKSUMS)
    if md5 is not None:
        check_md5(md5, md5_of(content))
        return {_MD5_HEADER: base64(md5)}
    if crc is not None:
        calculated = crc64_of(content)
        if crc != calculated:
            details = {"UserSpecifiedCrc": base64(crc), "ServerCalculatedCrc": base64(calculated)}
            raise ServiceError(errors.CRC64_MISMATCH.with_details(**details))
        return {_CRC64_HEADER: base64(crc)}
    return {}


def checksum_headers(content: Content, version: str) -> dict[str, str]:
    """Return the checksum that this version of the service returns if the request has none."""
    if version < FIRST_WITH_CRC64:
        return md5_headers(content)
    return {_CRC64_HEADER: base64(crc64_of(content))} if len(content) <= _TOLD_UP_TO else {}


def md5_headers(content: Content) -> dict[str, str]:
    return {_MD5_HEADER: base64(md5_of(content))}


def md5_of(content: Content) -> bytes:
    digest = hashlib.md5(usedforsecurity=False)
    for piece in content.pieces:
        digest.update(piece)
    return digest.digest()


def crc64_of(content: Content) -> bytes:
    return crc64(content).to_bytes(_CRC64_BYTES, "little")


def check_md5(specified: bytes, calculated: bytes) -> None:
    if specified != calculated:
        raise ServiceError(
            errors.MD5_MISMATCH.with_details(UserSpecifiedMd5=base64(specified), ServerCalculatedMd5=base64(calculated))
        )


_RANGE: Final = re.compile(r"bytes=(\d{1,18})-(\d{1,18})?", re.ASCII)


class InvalidRangeError(ServiceError):
    """A range outside the blob, whose length is `size`."""

    def __init__(self, size: int) -> None:
        super().__init__(errors.INVALID_RANGE)
        self.size = size


class Range(NamedTuple):
    """A range of bytes, both ends inclusive; None is the end of the blob."""

    first: int
    last: int | None

    def within(self, size: int) -> tuple[int, int]:
        """Return the range within a blob of this length; its end may exceed the blob, its start may not."""
        if self.first >= size:
            raise InvalidRangeError(size)
        return self.first, size if self.last is None else min(self.last + 1, size)


def read_range(headers: Mapping[str, str]) -> Range | None:
    """Return the requested range, None for the whole blob; anything other than a single range is ignored.

    >>> read_range({"range": "bytes=0-9"}), read_range({"range": "bytes=0-9", "x-ms-range": "bytes=5-"})
    (Range(first=0, last=9), Range(first=5, last=None))
    >>> read_range({"range": "bytes=-5"}) is read_range({"range": "bytes=9-0"}) is None
    True
    """
    text = headers.get("x-ms-range", headers.get("range"))
    try:
        return parse_range(text) if text else None
    except ValueError:
        return None


def parse_range(text: str) -> Range:
    match = _RANGE.fullmatch(text)
    span = Range(int(match[1]), None if match[2] is None else int(match[2])) if match else None
    if span is None or (span.last is not None and span.last < span.first):
        raise ValueError(text)
    return span
