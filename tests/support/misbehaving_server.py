"""A server on raw sockets that misbehaves in the ways that clients must survive."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

LATE: Final = 3.0
"""Seconds after which a late answer comes; clients wait less."""


class Received(NamedTuple):
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Connection:
    """One connection, after a request was read from it."""

    def __init__(self, sock: Any, count: int, request: Received) -> None:
        self._socket = sock
        self.request = request
        self.count = count
        """How many requests this connection has had."""

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self._socket.sendall(part)

    def reset(self) -> None:
        """Close the connection with an RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        # The file of the server still refers to the socket
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


Behave = Callable[[Connection], None]


def response(body: bytes = b"", *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    """Return a response; `length` is its Content-Length, by default the true one, and none if it is negative."""
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", *headers, *([f"Content-Length: {size}"] if size >= 0 else []), "", ""]
    return "\r\n".join(lines).encode() + body


JSON: Final = "Content-Type: application/json;odata=minimalmetadata"
ROW: Final = b'{"odata.etag":"W/\\"1\\"","PartitionKey":"p","RowKey":"r","Name":"J\xc3\xb6nes"}'
ERROR: Final = b'{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"It exists."}}}'
CHUNKED: Final = "Transfer-Encoding: chunked"


def _chunks(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def _sending(*parts: bytes, then: str = "") -> Behave:
    def behave(connection: Connection) -> None:
        connection.send(*parts)
        if then == "reset":
            # Otherwise the RST overtakes what was sent
            time.sleep(0.05)
            connection.reset()
        elif then == "close":
            connection.close()

    return behave


def _late(*parts: bytes) -> Behave:
    def behave(connection: Connection) -> None:
        connection.send(*parts)
        time.sleep(LATE)
        connection.close()

    return behave


def _dripping(connection: Connection) -> None:
    """Send the response byte by byte, each long before the time is up, but all together after it."""
    for byte in response(ROW, JSON):
        connection.send(bytes((byte,)))
        time.sleep(0.005)


def _stale(connection: Connection) -> None:
    """Answer the first request of each connection, and then close it without a word."""
    connection.send(response(ROW, JSON))
    connection.close()


def _closing_at_second(connection: Connection) -> None:
    """Close a connection when its second request arrives, as a server that was just about to."""
    if connection.count > 1:
        connection.close()
    else:
        connection.send(response(ROW, JSON))


BEHAVIORS: Final[dict[str, Behave]] = {
    "answers": _sending(response(ROW, JSON)),
    "answers without content": _sending(response(status="204 No Content", length=0)),
    "answers without a reason": _sending(b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"),
    "answers as HTTP/1.0, to the end": _sending(b"HTTP/1.0 200 OK\r\n\r\n" + ROW, then="close"),
    "answers with Connection: close": _sending(response(ROW, JSON, "Connection: close"), then="close"),
    "answers with a header twice": _sending(response(ROW, JSON, "x-a: 1", "X-A: 2")),
    "answers with an odd charset": _sending(response(b"J\xf6nes", "Content-Type: text/plain; charset=latin-1")),
    "answers with an unknown charset": _sending(response(ROW, "Content-Type: text/plain; charset=none")),
    "answers with a byte order mark": _sending(response(b"\xef\xbb\xbf" + ROW, JSON)),
    "continues first": _sending(b"HTTP/1.1 100 Continue\r\n\r\n", response(ROW, JSON)),
    "answers in chunks": _sending(response(_chunks(ROW[:9], ROW[9:]), JSON, CHUNKED, length=-1)),
    "answers gzip": _sending(response(gzip.compress(ROW), JSON, "Content-Encoding: gzip")),
    "answers deflate": _sending(response(zlib.compress(ROW), JSON, "Content-Encoding: deflate")),
    "answers gzip in chunks": _sending(
        response(
            _chunks(gzip.compress(ROW)[:9], gzip.compress(ROW)[9:]), JSON, CHUNKED, "Content-Encoding: gzip", length=-1
        )
    ),
    "answers an unknown encoding": _sending(response(ROW, JSON, "Content-Encoding: secret")),
    "answers what is not gzip": _sending(response(ROW, JSON, "Content-Encoding: gzip")),
    "answers half a gzip": _sending(response(gzip.compress(ROW)[:-12], JSON, "Content-Encoding: gzip")),
    "answers byte by byte": _dripping,
    "answers 204 with content": _sending(response(ROW, JSON, status="204 No Content"), then="close"),
    "answers 304 with content": _sending(response(ROW, JSON, status="304 Not Modified"), then="close"),
    "continues twice": _sending(2 * b"HTTP/1.1 100 Continue\r\n\r\n", response(ROW, JSON)),
    "answers a status that does not exist": _sending(response(ROW, JSON, status="799 Odd")),
    "answers two responses": _sending(2 * response(ROW, JSON)),
    "rejects": _sending(response(ERROR, JSON, status="409 Conflict")),
    "rejects without content": _sending(response(status="409 Conflict")),
    "rejects in gzip": _sending(response(gzip.compress(ERROR), JSON, "Content-Encoding: gzip", status="409 Conflict")),
    "rejects in HTML": _sending(response(b"<html>no</html>", "Content-Type: text/html", status="403 Forbidden")),
    "redirects": _sending(response(b"", "Location: /account/elsewhere", status="307 Temporary Redirect")),
    "redirects without a place": _sending(response(b"", status="302 Found")),
    "is busy": _sending(response(b"", "Retry-After: 0", status="503 Busy")),
    "sets a cookie": _sending(response(ROW, JSON, "Set-Cookie: affinity=1; Path=/")),
    "closes at once": _sending(then="close"),
    "resets at once": _sending(then="reset"),
    "never answers": _late(),
    "ends within the status": _sending(b"HTTP/1.1 2", then="close"),
    "ends within the headers": _sending(b"HTTP/1.1 200 OK\r\nContent-Le", then="close"),
    "resets within the headers": _sending(b"HTTP/1.1 200 OK\r\nContent-Le", then="reset"),
    "pauses within the headers": _late(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "talks nonsense": _sending(b"220 mail.example ESMTP\r\n", then="close"),
    "sends a huge header": _sending(response(ROW, "x-a: " + "a" * 70_000)),
    "sends too many headers": _sending(response(ROW, *(f"x-{number}: 1" for number in range(200)))),
    "sends a header without a colon": _sending(response(ROW, JSON, "nonsense"), then="close"),
    "ends within the content": _sending(response(ROW, JSON, length=len(ROW) + 9), then="close"),
    "resets within the content": _sending(response(ROW, JSON, length=len(ROW) + 9), then="reset"),
    "pauses within the content": _late(response(ROW, JSON, length=len(ROW) + 9)),
    "ends before the content": _sending(response(b"", JSON, length=9), then="close"),
    "ends within a chunk": _sending(response(b"40\r\nabc", JSON, CHUNKED, length=-1), then="close"),
    "ends without the last chunk": _sending(response(_chunks(ROW, end=b""), JSON, CHUNKED, length=-1), then="close"),
    "pauses between chunks": _late(response(_chunks(ROW, end=b""), JSON, CHUNKED, length=-1)),
    "sends a chunk of nonsense": _sending(response(b"nonsense\r\n\r\n", JSON, CHUNKED, length=-1), then="close"),
    "sends more than it says": _sending(response(ROW + b"more", JSON, length=len(ROW)), then="close"),
    "sends a negative length": _sending(response(ROW, JSON, "Content-Length: -1", length=-1), then="close"),
    "sends two lengths": _sending(response(ROW, JSON, "Content-Length: 1"), then="close"),
    "closes between requests": _stale,
    "closes at the second request": _closing_at_second,
}
"""What the server does with each request."""


_TLS_HANDSHAKE: Final = b"\x16"
"""The first byte of a client that expects TLS."""


class MisbehavingServer:
    """A server at `origin` that records the requests that it receives."""

    def __init__(self, behave: Behave, tls: ssl.SSLContext | None, address: str) -> None:
        self._behave, self._tls = behave, tls
        is_ipv6 = ":" in address
        self._listener = socket.create_server((address, 0), family=socket.AF_INET6 if is_ipv6 else socket.AF_INET)
        host = f"[{address}]" if is_ipv6 else address
        self.origin = f"{'https' if tls else 'http'}://{host}:{self._listener.getsockname()[1]}"
        self.received: list[Received] = []
        self.connections = 0
        self._is_done = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []

    def run(self) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError, ValueError):
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with sock, sock.makefile("rb") as file:
                count = 0
                while request := _read(file):
                    count += 1
                    self.received.append(request)
                    try:
                        self._behave(Connection(sock, count, request))
                    finally:
                        self._is_done.release()
                if isinstance(sock, ssl.SSLSocket):
                    # A client closes its socket once both sides have ended TLS, in later steps of its event loop
                    with sock.unwrap() as plain:
                        plain.recv(1)

    def join(self) -> None:
        """Wait until all clients have closed their connections."""
        for thread in self._threads:
            thread.join(timeout=10)
            assert not thread.is_alive()

    def wait(self) -> None:
        """Wait until the server has done what it does with one request, such as to close the connection."""
        assert self._is_done.acquire(timeout=10)

    def close(self) -> None:
        # To close it does not wake the thread that accepts
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _read(file: Any) -> Received | None:
    if file.peek(1)[:1] == _TLS_HANDSHAKE:
        # To wait for the end of a line in it would never end
        return None
    line = file.readline().decode("latin-1")
    if not line:
        return None
    method, target, _ = line.split()
    headers: dict[str, str] = {}
    while field := file.readline().decode("latin-1").strip():
        name, _, text = field.partition(":")
        name = name.strip().lower()
        headers[name] = f"{headers[name]}, {text.strip()}" if name in headers else text.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(file.readline(), 16):
            body += file.read(size + 2)[:-2]
        file.readline()
        return Received(method, target, headers, body)
    return Received(method, target, headers, file.read(int(headers.get("content-length", "0").partition(",")[0])))


@contextmanager
def misbehaving_server(
    behave: Behave, tls: ssl.SSLContext | None = None, *, address: str = "127.0.0.1"
) -> Iterator[MisbehavingServer]:
    """Run a server for a block."""
    server = MisbehavingServer(behave, tls, address)
    threading.Thread(target=server.run, daemon=True).start()
    try:
        yield server
    finally:
        server.close()


def refused_origin() -> str:
    """Return an origin at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
