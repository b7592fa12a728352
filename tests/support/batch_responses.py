"""The responses in the multipart body of a batch, as any client reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tablepatterns_engine.http.message import Response
from tablepatterns_engine.http.multipart import read_parts


def read_responses(body: bytes, content_type: str) -> Iterator[Response]:
    """Yield the responses in a multipart body, with changesets flattened; header names are in lower case."""
    for part in read_parts(body, content_type):
        if part.content_type.startswith("multipart/mixed"):
            yield from read_responses(part.content, part.headers["content-type"])
            continue
        head, _, content = part.content.partition(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        status = re.fullmatch(r"HTTP/1\.1 (\d{3}) (.*)", line)
        assert status
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        yield Response(int(status[1]), headers, content, status[2])
