"""What a blob says of its content, in the headers of requests and answers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from ...blob import ContentHeaders
from ...blob_texts import INVALID_MD5
from .header_values import digest

MD5_BYTES: Final = 16
_BLOB: Final = "x-ms-blob-"
_DEFAULT: Final = ContentHeaders()


def read_content_headers(
    headers: Mapping[str, str], *, whole: bool = False, default: ContentHeaders = _DEFAULT
) -> ContentHeaders:
    """Return what a request says of the content of a blob.

    :param whole: whether the body is the blob's content, so that what the request says of its body counts too
    :param default: what is said of the content where the request says nothing
    :raises Refusal: InvalidMd5
    """

    def said(name: str) -> str | None:
        return headers.get(_BLOB + name) or (headers.get(name) if whole else None) or None

    return ContentHeaders(
        content_type=said("content-type") or default.content_type,
        encoding=said("content-encoding") or default.encoding,
        language=said("content-language") or default.language,
        disposition=headers.get(_BLOB + "content-disposition") or default.disposition,
        cache_control=said("cache-control") or default.cache_control,
        # Where the content does not come along, the digest is kept as it is given
        md5=digest(headers, _BLOB + "content-md5", MD5_BYTES if whole else None, INVALID_MD5),
    )


def write_content_headers(said: ContentHeaders) -> dict[str, str]:
    """Return what a blob says of its content, but its digest, as the headers of an answer."""
    found = {
        "Content-Type": said.content_type,
        "Content-Encoding": said.encoding,
        "Content-Language": said.language,
        "Content-Disposition": said.disposition,
        "Cache-Control": said.cache_control,
    }
    return {name: value for name, value in found.items() if value}


def base64(digest: bytes) -> str:
    """Return a checksum as headers and XML write it."""
    return b64encode(digest).decode()
