"""An HTTP server whose responses a test makes up, so that the SDK reads them with its own transports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from azure.core.rest import HttpRequest

from support.misbehaving_server import Connection, misbehaving_server
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport


class Reply(NamedTuple):
    """A response."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = {}
    missing: int = 0
    """How many bytes of the content are missing when the connection ends."""

    def content_for(self, method: str) -> bytes:
        """Return the content that is sent for a request with this method."""
        return b"" if self.status in (204, 304) or method == "HEAD" else self.content

    def as_bytes(self, method: str) -> bytes:
        """Return what is sent for a request with this method."""
        content = self.content_for(method)
        headers = {name: text for name, text in self.headers.items() if name.lower() != "content-length"}
        headers["Content-Length"] = str(len(content) + self.missing * bool(content))
        lines = [f"HTTP/1.1 {self.status} Odd", *(f"{name}: {text}" for name, text in headers.items()), "", ""]
        return "\r\n".join(lines).encode() + content


Respond = Callable[[HttpRequest], Reply]


class CannedServer:
    """A server on this machine.

    :param respond: returns the response to a request
    """

    def __init__(self, respond: Respond) -> None:
        self._origin = ""
        self.respond = respond

    def connection_string(self, engine: Engine) -> str:
        """Return the connection string of an engine's account, at this server."""
        url = f"{self._origin}/{engine.account_name}"
        account = f"DefaultEndpointsProtocol=http;AccountName={engine.account_name};AccountKey={engine.account_key}"
        return f"{account};TableEndpoint={url};QueueEndpoint={url};BlobEndpoint={url}"

    @contextmanager
    def running(self) -> Iterator[CannedServer]:
        """Serve for a block."""
        with misbehaving_server(self._answer) as server:
            self._origin = server.origin
            yield self

    def _answer(self, connection: Connection) -> None:
        method, target, headers, body = connection.request
        reply = self.respond(HttpRequest(method, self._origin + target, headers=headers, content=body))
        connection.send(reply.as_bytes(method))
        # Without content nothing is missing, and a next request might come before the end of the connection
        if reply.missing and reply.content_for(method):
            connection.close()


def reply_of(engine: Engine) -> Respond:
    """Return a function that lets an engine answer."""
    transport = EngineTransport(engine)

    def respond(request: HttpRequest) -> Reply:
        response: Any = transport.send(request)
        return Reply(response.status_code, response.content, dict(response.headers))

    return respond


def canned_server(respond: Respond) -> AbstractContextManager[CannedServer]:
    """Run a server for a block."""
    return CannedServer(respond).running()
