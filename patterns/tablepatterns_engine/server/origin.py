"""Reject requests that a page of another site sends through the browser of the user who runs the server.

The checks are those of Jupyter Server. A page of another site can send requests to this machine, and the key is
published. With a host name that resolves to 127.0.0.1 (DNS rebinding), the page could even read the responses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

_FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""The content types that an HTML form of any page may post without a preflight request; no SDK posts them."""


@dataclass(frozen=True)
class Rejection:
    """Why the server rejects a request, and how to allow it."""

    status: int
    text: str


@dataclass(frozen=True)
class Hosts:
    """The host names that requests may use besides those of the loopback interface.

    :param allowed: these names, in lower case
    :param checked: whether the Host header is checked; not if other machines may connect, by any name
    """

    allowed: Collection[str] = ()
    checked: bool = True

    def rejection(self, method: str, headers: Mapping[str, str]) -> Rejection | None:
        host = headers.get("host")
        # Only an HTTP/1.0 client may omit it, and no browser does
        if self.checked and host is not None and not self._knows(host):
            return Rejection(403, f"The Host {host!r} is not this machine; allow it with --allow-host.")
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host or ""):
            return Rejection(403, f"The Origin {origin!r} is another site; allow its host with --allow-host.")
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return Rejection(403, "The request comes from a page of another site.")
        if method != "POST":
            return None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in _FORMS:
            return Rejection(415, f"The Content-Type {kind!r} is what forms of pages post; send application/json.")
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            address = urlsplit(origin)
        except ValueError:
            return False
        return bool(address.netloc) and (address.netloc.lower() == host.lower() or address.hostname in self.allowed)

    def _knows(self, host: str) -> bool:
        name = _name_of(host)
        return name is not None and (is_loopback(name) or name in self.allowed)


@lru_cache(maxsize=256)
def _name_of(host: str) -> str | None:
    """Return the name in a Host header, without the port; None if it is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return None


@lru_cache(maxsize=256)
def is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
