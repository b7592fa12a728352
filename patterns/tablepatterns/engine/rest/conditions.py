"""Conditional headers: which version of an entity a write expects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .. import texts
from ..refusal import Refusal

_ETAG: Final = re.compile(r'W/"[^"]*"')


def if_match(headers: Mapping[str, str]) -> str | None:
    """Return the ETag of If-Match, "*" for any version, None where the header is absent.

    :raises Refusal: InvalidInput for what is not exactly one ETag
    """
    etag = headers.get("if-match")
    if etag is None or etag == "*" or _ETAG.fullmatch(etag):
        return etag
    raise Refusal(texts.ETAG_INVALID.of(etag=etag))


def refuse_if_none_match(headers: Mapping[str, str], verb: str) -> None:
    """Refuse If-None-Match, which the service knows for no write.

    :raises Refusal: InvalidInput
    """
    if "if-none-match" in headers:
        raise Refusal(texts.IF_NONE_MATCH.of(verb=verb))
