"""An HTTP server whose responses a test makes up, so that the SDK reads them with its own transports."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from azure.core.rest import HttpRequest

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

    def __init__(self, listener: socket.socket, respond: Respond) -> None:
        self._listener = listener
        self._origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.respond = respond

    def connection_string(self, engine: Engine) -> str:
        """Return the connection string of an engine's account, at this server."""
        url = f"{self._origin}/{engine.account_name}"
        account = f"DefaultEndpointsProtocol=http;AccountName={engine.account_name};AccountKey={engine.account_key}"
        return f"{account};TableEndpoint={url};QueueEndpoint={url};BlobEndpoint={url}"

    def run(self) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file:
            while line := file.readline().decode("latin-1"):
                method, target, _ = line.split()
                headers: dict[str, str] = {}
                while field := file.readline().decode("latin-1").strip():
                    name, _, text = field.partition(":")
                    headers[name.strip()] = text.strip()
                length = next((int(text) for name, text in headers.items() if name.lower() == "content-length"), 0)
                request = HttpRequest(method, self._origin + target, headers=headers, content=file.read(length))
                reply = self.respond(request)
                connection.sendall(reply.as_bytes(method))
                # Without content nothing is missing, and a next request might come before the end of the connection
                if reply.missing and reply.content_for(method):
                    return


def reply_of(engine: Engine) -> Respond:
    """Return a function that lets an engine answer."""
    transport = EngineTransport(engine)

    def respond(request: HttpRequest) -> Reply:
        response: Any = transport.send(request)
        return Reply(response.status_code, response.content, dict(response.headers))

    return respond


@contextmanager
def canned_server(respond: Respond) -> Iterator[CannedServer]:
    """Run a server for a block."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = CannedServer(listener, respond)
    threading.Thread(target=server.run, daemon=True).start()
    try:
        yield server
    finally:
        # To close it does not wake the thread that accepts
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
