"""Raw requests to queues and blobs, which are signed differently from those to tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

from conformance.raw import Raw

_SIGNED = (
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-MD5",
    "Content-Type",
    "Date",
    "If-Modified-Since",
    "If-Match",
    "If-None-Match",
    "If-Unmodified-Since",
    "Range",
)
_SIGNED_LITE = ("Content-MD5", "Content-Type", "Date")


class RawStorage(Raw):
    """One account's queues or blobs as anyone reaches them who knows the key."""

    headers: ClassVar[Mapping[str, str]] = {"x-ms-version": "2021-12-02", "Content-Type": "application/xml"}

    def authorization(self, method: str, path: str, headers: Mapping[str, str], *, lite: bool = False) -> str:
        """Return the header Authorization of a request, by SharedKey or by SharedKeyLite."""
        address = urlsplit(self.base + path)
        options = sorted((name.lower(), value) for name, value in parse_qsl(address.query, keep_blank_values=True))
        if lite:
            options = [(name, value) for name, value in options if name == "comp"]
        written = "?comp={1}" if lite else "\n{}:{}"
        resource = f"/{self.account}{address.path or '/'}" + "".join(written.format(*option) for option in options)
        values = [headers.get(name, "") for name in (_SIGNED_LITE if lite else _SIGNED)]
        own = {name.lower(): value for name, value in headers.items() if name.lower().startswith("x-ms-")}
        text = "\n".join([method, *values, *(f"{name}:{own[name]}" for name in sorted(own)), resource])
        return self._signed(text, lite)


class RawQueues(RawStorage):
    """One account's queues."""

    service = "queue"


class RawBlobs(RawStorage):
    """One account's blobs."""

    service = "blob"
