"""Where a request comes from: what pages of other sites may not send through the browser of the person who serves.

The checks are those of Jupyter Server. A page of another site can send requests to this machine, and knows the
published key; a name that its owner lets resolve to 127.0.0.1 (DNS rebinding) would even let it read the answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

_FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""The content types that a form of any page may post without being asked; no SDK posts them."""


@dataclass(frozen=True)
class Refused:
    """Why a request is not answered.

    :param status: the HTTP status
    :param text: the reason, which names the way out
    """

    status: int
    text: str


@dataclass(frozen=True)
class Hosts:
    """The names under which the account may be asked for.

    :param allowed: names besides those of the loopback
    :param checked: whether the Host of a request is checked; not where other machines may connect, by any name
    """

    allowed: Collection[str] = ()
    checked: bool = True

    def refused(self, method: str, headers: Mapping[str, str]) -> Refused | None:
        """Return why a request is not answered, or None.

        >>> hosts = Hosts()
        >>> hosts.refused("GET", {"host": "127.0.0.1:10002"}) is None
        True
        >>> hosts.refused("GET", {"host": "evil.example:10002"}).status
        403

        :param headers: by their names in lower case
        """
        host = headers.get("host")
        # Only a client of HTTP/1.0 may leave it out, and no browser does
        if self.checked and host is not None and not self._knows(host):
            return Refused(403, f"The Host {host!r} is not this machine; allow it with --allow-host.")
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, host or ""):
            return Refused(403, f"The Origin {origin!r} is another site; allow its host with --allow-host.")
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return Refused(403, "The request comes from a page of another site.")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method == "POST" and kind in _FORMS:
            return Refused(415, f"The Content-Type {kind!r} is what forms of pages post; send application/json.")
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            found = urlsplit(origin)
        except ValueError:
            return False
        return bool(found.netloc) and (found.netloc.lower() == host.lower() or found.hostname in self._names)

    def _knows(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return is_loopback(name) or name in self._names

    @property
    def _names(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.allowed)


def is_loopback(name: str) -> bool:
    """Whether a name or an address is one of this machine for itself.

    >>> [is_loopback(name) for name in ("127.0.0.1", "::1", "account.localhost", "localhost.evil.example")]
    [True, True, True, False]
    """
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
