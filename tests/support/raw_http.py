"""Raw HTTP requests that the SDK never sends."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import NamedTuple

from support.table_requests import lite_signature
from tablepatterns_engine.account import Engine

DATE = "Fri, 22 Aug 2014 00:00:00 GMT"
SECONDS = 20


class Answer(NamedTuple):
    """One response of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


NO_ANSWER = Answer(0, {}, b"")
"""The connection ended before a response started."""


class Line:
    """A connection to a server, over which any bytes can be sent."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def answer(self, *, head_only: bool = False) -> Answer:
        """Read one response."""
        line = self._line()
        if not line:
            return NO_ANSWER
        headers: dict[str, str] = {}
        while field := self._line():
            name, _, value = field.partition(":")
            headers[name.lower()] = value.strip()
        status = int(line.split()[1])
        # Only uvicorn's own responses have no length, and they end the connection; 100 has no body
        length = int(headers.get("content-length", -1 if status >= 200 else 0))
        return Answer(status, headers, b"" if head_only else self._file.read(length))

    def is_ended(self) -> bool:
        """Wait for the end of the connection; return whether no data came before it."""
        try:
            return self._file.read() == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _line(self) -> str:
        try:
            return self._file.readline().decode("latin-1").strip()
        except ConnectionError:
            return ""


def head(engine: Engine, method: str, path: str, headers: Mapping[str, str] | None = None) -> bytes:
    """Return the head of a signed request to the Table service; its path starts with the account."""
    fields = {
        "Host": "127.0.0.1",
        "Accept": "application/json;odata=nometadata",
        "Content-Type": "application/json",
        "x-ms-date": DATE,
        "Authorization": lite_signature(engine, f"http://127.0.0.1{path}", DATE),
        **(headers or {}),
    }
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")
