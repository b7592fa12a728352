"""A client's connection: HTTP/1.1 as h11 reads it, with deadlines, and short requests answered at once."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Final

import h11

from tablepatterns.limits import MIB

from ..account import Engine
from ..content import Content
from ..dispatch import AccountApi
from ..faults import Fault
from ..http.address import absolute
from ..http.message import Request, Response
from ..http.service_properties import find_rule
from .direct import MAX_BYTES, Head, read_head, scheme_of, write_response
from .origin import Hosts, Rejection

MAX_HEAD_BYTES: Final = 64 * 1024
SECONDS_TO_SEND_A_HEAD: Final = 30
SECONDS_TO_BEGIN: Final = 30
SECONDS_TO_READ_A_PIECE: Final = 30
IDLE_SECONDS: Final = 600
"""SDKs keep connections for their next request, and some fail that request if the connection has ended."""
_SLOWEST: Final = 16 * 1024
"""In bytes per second: a body that arrives more slowly than this, after the first seconds, is not waited for."""
_DROPPED: Final = 16 * MIB
"""How much of a body that is too large is still read: most clients read no response before they have sent it all."""
_PIECE: Final = 64 * 1024
"""How much of a response waits in memory for a client that reads slowly."""
_NO_FAULT: Final = Fault("")


class Application:
    """Answer HTTP requests to the services of one account, whose Host must be one of `hosts`."""

    def __init__(self, engine: Engine, services: Mapping[int, str], hosts: Hosts) -> None:
        self._engine = engine
        self._api = AccountApi(engine)
        self._services = services
        self._hosts = hosts

    def answers_directly(self, head: Head, port: int) -> bool:
        """Return whether a request may be answered at once; not if a fault may delay or break its response."""
        if self._engine.faults.rules or not head.is_short(self._services[port]):
            return False
        return self.rejection(head.method, head.headers, port) is None

    def rejection(self, method: str, headers: Mapping[str, str], port: int) -> Rejection | None:
        """Return why a request must not reach the account, such as one of another site's web page.

        A page may send what a CORS rule of the service allows, so that its owner decides about it.
        """
        if "origin" in headers:
            wanted = headers.get("access-control-request-method", method)
            rules = self._api.cors_rules(self._services[port])
            if find_rule(rules, headers["origin"], wanted):
                headers = {name: value for name, value in headers.items() if name not in ("origin", "sec-fetch-site")}
        return self._hosts.rejection(method, headers)

    def max_body(self, port: int) -> int:
        return self._api.max_body(self._services[port])

    def handle(self, request: Request, port: int) -> Response:
        return self._api.handle(request, self._services[port])


class Connection(asyncio.Protocol):
    """Answer the requests of one client, in order.

    Most requests arrive whole and are answered at once, without h11 and without a task: see `direct`. For any other, a
    task reads the connection through h11 until no bytes are left to read. Long operations run in threads, so that they
    do not delay other clients.
    """

    _transport: asyncio.Transport

    def __init__(self, application: Application, connections: set[Connection]) -> None:
        self._application = application
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)
        self._port = 0
        self._client = ""
        self._incomplete = b""
        """What has arrived of a short request."""
        self._last_use = self._loop.time()
        self._deadline: float | None = self._last_use + SECONDS_TO_SEND_A_HEAD
        """When the request that is expected must have arrived; None while none is due."""
        self._timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        """The task that reads through h11; None between requests."""
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    # -- What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is that of a stream
        self._transport = transport
        transport.set_write_buffer_limits(_PIECE)
        # asyncio does this only for sockets that name TCP; without it each response waits for an acknowledgment
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._port = transport.get_extra_info("sockname")[1]
        self._client = transport.get_extra_info("peername")[0]
        self._connections.add(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        for event in (self._arrived, self._writable):
            event.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Answer a short request at once, and leave all others to h11."""
        if self.task is None:
            before, self._incomplete = self._incomplete, b""
            data = before + data
            head = read_head(data) if not self._transport.get_write_buffer_size() else None
            # More than one request at once is left to h11: responses are sent in order
            is_direct = head is not None and len(data) <= head.size <= MAX_BYTES
            if head is not None and is_direct and self._application.answers_directly(head, self._port):
                if len(data) < head.size:
                    self._incomplete = data
                    # More pieces of a body do not postpone its deadline
                    if not before:
                        self._deadline = self._loop.time() + SECONDS_TO_BEGIN
                        self._watch()
                else:
                    response = self._application.handle(head.request(data, self._client), self._port)
                    self._transport.write(write_response(response))
                    self._expect_next()
                return
            self.task = self._loop.create_task(self._converse())
        self._http.receive_data(data)
        # Until the task needs more
        self._transport.pause_reading()
        self._arrived.set()

    # -- Deadlines

    def _watch(self) -> None:
        """Look at the connection again at its deadline, or later."""
        if self._timer is not None:
            self._timer.cancel()
        when = self._deadline or self._loop.time() + SECONDS_TO_READ_A_PIECE
        self._timer = self._loop.call_at(when, self._end_if_unused)

    def _end_if_unused(self) -> None:
        """End the connection if its client is late with a request, does not read the last response, or is idle."""
        idle = self._loop.time() - self._last_use
        if self._deadline is not None or (
            self.task is None and idle >= SECONDS_TO_READ_A_PIECE and self._transport.get_write_buffer_size()
        ):
            self._transport.abort()
        elif self.task is None and idle >= IDLE_SECONDS:
            self._transport.close()
        else:
            self._watch()

    def _expect_next(self) -> None:
        """Wait for the next request. A new timer for each request would cost more than to look at the time later."""
        self._last_use = self._loop.time()
        if self._deadline is not None:
            self._deadline = None
            self._watch()

    # -- Requests that h11 reads

    async def _converse(self) -> None:
        """Answer requests until all bytes that have arrived are read, or the connection ends."""
        try:
            while await self._answer_next():
                self._http.start_next_cycle()
                if self._http.trailing_data == (b"", False):
                    self._expect_next()
                    return
                self._deadline = self._loop.time() + SECONDS_TO_SEND_A_HEAD
                self._watch()
            self._transport.close()
        except h11.RemoteProtocolError as error:
            self._reject(501 if error.error_status_hint == 501 else 400)
        except (_ClientGone, asyncio.TimeoutError):
            self._transport.abort()
        except BaseException:
            # asyncio logs it; the client must not wait for a response
            self._transport.abort()
            raise
        finally:
            self.task = None
            self._transport.resume_reading()

    async def _answer_next(self) -> bool:
        """Answer one request, and return whether another may follow on the connection."""
        self._deadline = self._deadline or self._loop.time() + SECONDS_TO_SEND_A_HEAD
        self._watch()
        request = await self._next_event()
        if not isinstance(request, h11.Request):
            return False
        self._deadline = None
        # h11 checks its bound only while a head is incomplete
        if _size(request) > MAX_HEAD_BYTES:
            raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        headers = _fields(request)
        method = request.method.decode("ascii")
        rejection = self._application.rejection(method, headers, self._port)
        if rejection is not None:
            self._send_text(rejection.status, rejection.text)
            return False
        content, is_complete = await self._read_body(self._application.max_body(self._port))
        site = f"{scheme_of(headers, self._client)}://{headers.get('host') or f'127.0.0.1:{self._port}'}"
        url = absolute(request.target.decode("latin-1"), site)
        names = tuple(name.decode("latin-1") for name, _ in request.headers.raw_items())
        call = Request(method, url, headers, content, self._client, names)
        response = await asyncio.to_thread(self._application.handle, call, self._port)
        await self._send(response, has_content=method != "HEAD", last=not is_complete)
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._transport.is_closing():
                raise _ClientGone
            self._arrived.clear()
            self._transport.resume_reading()
            await self._arrived.wait()
        return event  # type: ignore[return-value]

    async def _read_body(self, largest: int) -> tuple[bytes, bool]:
        """Return the body of a request, held once and briefly an eighth more, and whether all of it was read.

        It has at most one byte more than the service accepts, so that it sees that they are too many.
        """
        began = time.monotonic()
        # A buffer returns its bytes without a copy; a list of pieces would be held twice while they are joined
        content = BytesIO()
        total = 0
        if self._http.they_are_waiting_for_100_continue:
            self._write(h11.InformationalResponse(status_code=100, headers=[]))
        while total <= largest + _DROPPED:
            patience = began + SECONDS_TO_BEGIN + total / _SLOWEST - time.monotonic()
            event = await asyncio.wait_for(self._next_event(), patience)
            if not isinstance(event, h11.Data):
                return content.getvalue(), True
            content.write(event.data[: max(largest + 1 - total, 0)])
            total += len(event.data)
        return content.getvalue(), False

    async def _send(self, response: Response, *, has_content: bool, last: bool) -> None:
        """Send a response, or what its fault leaves of it; the connection ends with the `last` one."""
        fault = response.fault or _NO_FAULT
        await asyncio.sleep(fault.seconds)
        if fault.loses:
            raise _ClientGone
        reason = response.reason if response.reason.isprintable() else ""
        self._write(
            h11.Response(
                status_code=response.status,
                headers=_headers(response, last),
                reason=reason.encode("latin-1", "replace"),
            )
        )
        if not has_content:
            self._write(h11.EndOfMessage())
            return
        content = response.content if fault.cut_at is None else response.content.part(0, fault.cut_at)
        for piece in _pieces(content):
            if self._transport.is_closing():
                raise _ClientGone
            self._write(h11.Data(data=piece))
            await asyncio.wait_for(self._writable.wait(), SECONDS_TO_READ_A_PIECE)
        if len(content) < response.size:
            self._transport.close()
            return
        self._write(h11.EndOfMessage())

    def _reject(self, status: int) -> None:
        """Answer bytes that are not HTTP, unless a response has begun, and end the connection."""
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._send_text(status, "Invalid HTTP request.")
        self._transport.close()

    def _send_text(self, status: int, text: str) -> None:
        """Send a response of the server itself, after which the connection ends: the body need not be read."""
        content = text.encode("utf-8", "replace")
        headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(content))}
        self._write(h11.Response(status_code=status, headers=[*headers.items(), ("Connection", "close")]))
        self._write(h11.Data(data=content))
        self._write(h11.EndOfMessage())

    def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._transport.write(data)

    async def close(self) -> None:
        """End the connection after the request in progress."""
        if self.task is not None:
            await asyncio.wait([self.task])
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


class _ClientGone(Exception):
    """The connection has ended, or is to end without a response."""


def _fields(request: h11.Request) -> dict[str, str]:
    fields: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        fields[name] = f"{fields[name]},{value}" if name in fields else value
    return fields


def _size(request: h11.Request) -> int:
    """Return how many bytes the head of a request has, its line ends included."""
    line = len(request.method) + len(request.target) + len(b"  HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(b": \r\n") for name, value in request.headers.raw_items()) + 2


def _pieces(content: Content) -> Iterator[bytes]:
    for piece in content:
        yield from (piece[start : start + _PIECE] for start in range(0, len(piece), _PIECE))


def _headers(response: Response, last: bool) -> list[tuple[bytes, bytes]]:
    headers = dict(response.headers)
    if response.size:
        headers["Content-Length"] = str(response.size)
    if last:
        headers["Connection"] = "close"
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
