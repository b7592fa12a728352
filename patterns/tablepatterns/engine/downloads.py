"""Downloads: what the storage clients read a long body from.

They look at the response through it, and put notes of their own on it, so a plain iterator will not do.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, Protocol

from azure.core.exceptions import DecodeError
from azure.core.rest import HttpRequest
from typing_extensions import Self

ENCODINGS: Final = frozenset({"gzip", "deflate"})
"""The encodings of content that clients of HTTP take away by themselves."""

_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32


class Source(Protocol):
    """The response that is read."""

    request: HttpRequest
    headers: Any


class _Stream:
    """The chunks of one body.

    It has no length, though azure-core's own streams have: a list of them would make room for as many chunks as there
    are bytes.
    """

    def __init__(self, response: Source, chunks: Iterator[bytes]) -> None:
        self.response = response
        self.request = response.request
        self.content_length = int(response.headers.get("Content-Length", 0))
        self._chunks = chunks


class Download(_Stream):
    """A body for a sync client."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)


class AioDownload(_Stream, AsyncIterator[bytes]):
    """A body for an aio client; nothing in it ever waits."""

    async def __anext__(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            raise StopAsyncIteration from None


def inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what was compressed.

    >>> b"".join(inflated(iter([zlib.compress(b"Don"), b""])))
    b'Don'

    :raises DecodeError: it was not
    """
    inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        for chunk in chunks:
            yield inflate.decompress(chunk)
        yield inflate.flush()
    except zlib.error as error:
        raise DecodeError(f"the content is not encoded as its header says: {error}", error=error) from error
