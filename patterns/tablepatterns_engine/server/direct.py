"""Answer short requests directly from the bytes of the connection.

Most requests arrive whole, in plain HTTP/1.1, and take the engine less time than h11, ASGI and a thread would add. They
are parsed here. Whatever is unusual is left to h11: this module only has to recognize what is certainly valid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from ..http.message import Request, Response
from .origin import is_loopback

MAX_BYTES: Final = 64 * 1024
"""The size of the longest request that is answered directly."""
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_LENGTH: Final = re.compile(r"\d{1,5}", re.ASCII)
_UNUSUAL: Final = frozenset({"connection", "expect", "te", "trailer", "transfer-encoding", "upgrade"})
"""Headers that change how the message or the connection is read."""


class Head(NamedTuple):
    """The head of a request.

    :param names: the names of the headers as they were sent
    :param end: where the body starts
    """

    method: str
    target: str
    headers: Mapping[str, str]
    names: tuple[str, ...]
    end: int
    length: int

    @property
    def size(self) -> int:
        return self.end + self.length

    def is_short(self, service: str) -> bool:
        """Return whether the engine answers the request immediately, with a response that fits into memory.

        A query may read a whole table, a transaction writes 100 entities, and a blob may have any size.
        """
        path = self.target.partition("?")[0]
        if service == "table":
            return "PartitionKey=" in path if self.method == "GET" else not path.endswith("$batch")
        return self.method != "GET" or (service == "queue" and path.endswith("/messages"))

    def request(self, data: bytes, client: str) -> Request:
        url = f"{scheme_of(self.headers, client)}://{self.headers['host']}{self.target}"
        return Request(self.method, url, self.headers, data[self.end :], client, self.names)


def read_head(data: bytes) -> Head | None:
    r"""Return the head of a request; None if it is incomplete or not certainly valid.

    >>> read_head(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").headers
    {'host': 'localhost'}
    >>> read_head(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") is None
    True
    """
    end = data.find(b"\r\n\r\n", 0, MAX_BYTES)
    if end < 0:
        return None
    try:
        lines = data[:end].decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        return None
    if not "".join(lines).isprintable():
        return None
    method, _, rest = lines[0].partition(" ")
    target, _, version = rest.partition(" ")
    if version != "HTTP/1.1" or not target.startswith("/") or not (method.isalpha() and method.isupper()):
        return None
    headers, names = _read_headers(lines[1:])
    length = headers.get("content-length", "0")
    if "host" not in headers or len(headers) < len(names) or not _LENGTH.fullmatch(length):
        return None
    if not _UNUSUAL.isdisjoint(headers) and not _only_keeps_alive(headers):
        return None
    return Head(method, target, headers, names, end + 4, int(length))


def scheme_of(headers: Mapping[str, str], client: str) -> str:
    """Return the scheme of a request's URL: https if a proxy on this machine says that it ends TLS."""
    is_secure = headers.get("x-forwarded-proto") == "https" and is_loopback(client)
    return "https" if is_secure else "http"


def _read_headers(lines: list[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers and their names; fewer headers than names if any is invalid or repeated."""
    fields = [line.partition(":") for line in lines]
    headers = {name: value.strip(" ") for field, colon, value in fields if colon and (name := _lower(field))}
    return headers, tuple([name for name, _, _ in fields])


@lru_cache(maxsize=512)
def _lower(name: str) -> str:
    """Return the name of a header in lower case, "" if it is not a name."""
    return name.lower() if _TOKEN.fullmatch(name) else ""


def _only_keeps_alive(headers: Mapping[str, str]) -> bool:
    unusual = _UNUSUAL.intersection(headers)
    return unusual == frozenset({"connection"}) and headers["connection"].lower() == "keep-alive"


def write_response(response: Response) -> bytes:
    reason = response.reason if response.reason.isprintable() else ""
    headers = response.headers
    if response.size:
        headers["Content-Length"] = str(response.size)
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"HTTP/1.1 {response.status} {reason}\r\n{fields}\r\n".encode("latin-1", "replace") + response.body
