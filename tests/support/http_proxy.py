"""A small HTTP proxy, which forwards requests and opens tunnels."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class HttpProxy:
    """A proxy at `url` that records the first line of each request that it receives."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.lines: list[str] = []
        self.heads: list[str] = []

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(65536)
                if not data:
                    return
                head += data
            line, _, rest = head.partition(b"\r\n")
            method, target, version = line.decode().split()
            self.lines.append(f"{method} {target}")
            self.heads.append(head.decode("latin-1"))
            if method == "CONNECT":
                host, _, port = target.partition(":")
                server = socket.create_connection((host, int(port)))
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                url = urlsplit(target)
                server = socket.create_connection((url.hostname or "", url.port or 80))
                path = target.partition("//")[2].partition("/")[2]
                server.sendall(f"{method} /{path} {version}\r\n".encode() + rest)
            with server:
                threading.Thread(target=_pump, args=(client, server), daemon=True).start()
                _pump(server, client)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def http_proxy() -> Iterator[HttpProxy]:
    """Run a proxy for a block."""
    proxy = HttpProxy()
    threading.Thread(target=proxy.run, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()
