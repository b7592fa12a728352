"""Read and write multipart/mixed bodies of HTTP messages, fast enough for batches of 100."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from .message import Response

_BOUNDARY: Final = re.compile(r'boundary="?([^\s";,]+)', re.IGNORECASE)
_VERSIONS: Final = frozenset({"HTTP/1.0", "HTTP/1.1"})
_FIELD: Final = re.compile(r"^([^:\s]+)[ \t]*:[ \t]*([^\r\n]*)", re.MULTILINE)
_LONE_CR: Final = re.compile(rb"\r(?!\n)")


class Part(NamedTuple):
    """A part of a multipart body: its headers, with lowercase names, and its content."""

    headers: Mapping[str, str]
    content: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").lower()


@dataclass(slots=True, eq=False)
class InnerRequest:
    """An HTTP request in a part; its Content-ID may be in its own headers or in the part's."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    content_id: str | None


def read_parts(body: bytes, content_type: str) -> list[Part]:
    """Return the parts of a multipart body.

    Lines end with CRLF or, from some clients, LF; the service accepts both. A body without its closing delimiter is
    truncated, so it is rejected.
    """
    match = _BOUNDARY.search(content_type)
    if not match:
        raise ValueError("no boundary")
    _, *pieces = (b"\n" + body).split(b"\n--" + match[1].encode("latin-1", "replace"))
    if not pieces or not pieces[-1].startswith(b"--"):
        raise ValueError("no closing delimiter")
    # The line end before a delimiter belongs to it. A multipart without parts is written as one empty part
    return [_read_part(piece.removesuffix(b"\r")) for piece in pieces[:-1] if piece.strip()]


def read_requests(parts: Sequence[Part]) -> Iterator[InnerRequest]:
    for part in parts:
        head, body = _cut(part.content)
        first_line, _, fields = head.partition(b"\n")
        line = first_line.removesuffix(b"\r").decode("latin-1")
        words = line.split()
        if len(words) != 3 or words[2] not in _VERSIONS or line != " ".join(words):
            raise ValueError("no request line")
        headers = _read_headers(fields)
        if (length := headers.get("content-length")) is not None:
            # What follows the content, such as a line end, does not belong to it
            if not length.isdecimal() or int(length) > len(body):
                raise ValueError("the content is shorter than its Content-Length")
            body = body[: int(length)]
        content_id = headers.get("content-id", part.headers.get("content-id"))
        yield InnerRequest(words[0], words[1], headers, body, content_id)


def write_parts(boundary: str, parts: Sequence[bytes]) -> bytes:
    delimiter = f"--{boundary}\r\n".encode()
    return b"".join([delimiter + part + b"\r\n" for part in parts]) + f"--{boundary}--\r\n".encode()


def write_multipart(boundary: str, parts: Sequence[bytes]) -> bytes:
    return f"Content-Type: multipart/mixed; boundary={boundary}\r\n\r\n".encode() + write_parts(boundary, parts)


def write_response(response: Response, part_header: str = "Content-Transfer-Encoding: binary") -> bytes:
    fields = map(": ".join, response.headers.items())
    status_line = f"HTTP/1.1 {response.status} {response.reason}"
    head = "\r\n".join(["Content-Type: application/http", part_header, "", status_line, *fields, "\r\n"])
    return head.encode("latin-1", "replace") + response.body


def _read_part(piece: bytes) -> Part:
    # The delimiter's line may end with blanks, and a part may have no headers
    if not piece.startswith(b"\r\n"):
        line, eol, _ = piece.partition(b"\n")
        if line.strip() or not eol:
            raise ValueError("a delimiter must be a line of its own")
    head, content = _cut(piece)
    return Part(_read_headers(head), content)


def _cut(message: bytes) -> tuple[bytes, bytes]:
    """Cut at the first blank line; the lines before it end with CRLF, LF or both."""
    head, blank, content = message.partition(b"\n\r\n")
    if b"\n\n" in head + blank[:1]:
        head, blank, content = message.partition(b"\n\n")
    if not blank and not message.endswith(b"\n"):
        raise ValueError("no blank line after the headers")
    return head.removesuffix(b"\r"), content


@lru_cache(maxsize=512)
def _read_headers(block: bytes) -> Mapping[str, str]:
    # The operations of a transaction share a few blocks of headers. Some readers end a line at a lone CR, and a header
    # must not become two
    if _LONE_CR.search(block):
        raise ValueError("a header contains a CR without LF")
    return {name.lower(): value.rstrip() for name, value in _FIELD.findall(block.decode("latin-1"))}
