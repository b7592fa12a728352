"""Structured bodies: content in segments, each with its checksum, and one of the whole behind them.

    message  = version (1 byte), length (8), flags (2), number of segments (2), segments, checksum of all content (8)
    segment  = its number (2), its length (8), content, checksum (8)

Numbers are unsigned and begin with their lowest byte; the checksums are there if the flags say so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

from ...blob_texts import CRC64_MISMATCH
from ...content import Content
from ...refusal import Refusal
from ...texts import INVALID_INPUT
from .crc64 import crc64
from .header_values import invalid

HEADER: Final = "x-ms-structured-body"
LENGTH_HEADER: Final = "x-ms-structured-content-length"
_KIND: Final = "XSM/1.0; properties=crc64"
_MESSAGE: Final = struct.Struct("<BQHH")
_SEGMENT: Final = struct.Struct("<HQ")
_CHECKSUM: Final = struct.Struct("<Q")
_CRC64: Final = 1
_STEP: Final = 4 * 1024 * 1024


def is_structured(headers: Mapping[str, str]) -> bool:
    """Tell whether a request has, or asks for, a structured body.

    :raises Refusal: InvalidHeaderValue for another kind than the one that there is
    """
    kind = headers.get(HEADER)
    if kind not in (None, _KIND):
        raise invalid(HEADER, kind)
    return kind is not None


def write_structured(content: Content) -> tuple[Content, dict[str, str]]:
    """Return a structured body, and the headers that tell of it."""
    size, segments = len(content), max(1, -(-len(content) // _STEP))
    overhead = _MESSAGE.size + segments * (_SEGMENT.size + _CHECKSUM.size) + _CHECKSUM.size
    pieces = [_MESSAGE.pack(1, size + overhead, _CRC64, segments)]
    for number in range(segments):
        part = content.part(number * _STEP, (number + 1) * _STEP)
        pieces += [_SEGMENT.pack(number + 1, len(part)), *part, _CHECKSUM.pack(crc64(part))]
    pieces.append(_CHECKSUM.pack(crc64(content)))
    return Content(pieces), {HEADER: _KIND, LENGTH_HEADER: str(size)}


def read_structured(body: bytes) -> tuple[Content, dict[str, str]]:
    """Return the content of a structured body, and the headers by which the answer tells that it was read as such.

    :raises Refusal: Crc64Mismatch; InvalidInput where it is none
    """
    try:
        content = Content(_segments(body))
    except struct.error as error:
        raise Refusal(INVALID_INPUT) from error
    return content, {HEADER: _KIND}


def _segments(body: bytes) -> Iterator[memoryview]:
    version, length, flags, segments = _MESSAGE.unpack_from(body)
    if version != 1 or length != len(body):
        raise struct.error("another version, or cut off")
    view, place, parts = memoryview(body), _MESSAGE.size, list[memoryview]()
    for expected in count(1):
        if expected > segments:
            break
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
    """Check the checksum at a place, if there is one, and return the place behind it."""
    if not flags & _CRC64:
        return place
    (expected,) = _CHECKSUM.unpack_from(body, place)
    if crc64(Content(parts)) != expected:
        raise Refusal(CRC64_MISMATCH)
    return place + _CHECKSUM.size
