"""A connection of the server: HTTP/1.1 as uvicorn and h11 read it, with an end to their patience."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..http.message import Request
from . import asgi
from .asgi import Hooks, Scope
from .direct import MAX_BYTES, Head, read_head

MAX_HEAD_BYTES: Final = 64 * 1024
SECONDS_TO_SEND_A_HEAD: Final = 30


class Connection(H11Protocol):
    """A client's connection.

    uvicorn waits for the rest of a request's head for as long as the client likes, and knows no other end of a
    connection than an orderly one. This sets a deadline, and gives the application the means to break off.
    """

    _wording: _Wording
    _deadline: asyncio.TimerHandle | None = None
    _incomplete: bytes = b""
    """What has arrived of a short request."""
    _used: float = 0
    """When the last short request was answered, by the clock of the loop."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        self.conn = self._wording = _Wording(h11.SERVER, MAX_HEAD_BYTES)
        # asyncio does this only for sockets that name TCP; without it each answer waits for an acknowledgement
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._heed_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        super().connection_lost(exc)
        self._forget_deadline()

    def data_received(self, data: bytes) -> None:
        """Answer a short request directly, and leave everything else to h11.

        Bytes that do not complete a head do not postpone its deadline.
        """
        data, self._incomplete = self._incomplete + data, b""
        head = read_head(data) if self._is_idle() else None
        if head is None or not self._answers_directly(head, len(data)):
            super().data_received(data)
            self._heed_deadline()
        elif len(data) < head.size:
            self._wait_for_body(data)
        else:
            self._answer(head.request(data, self.client[0] if self.client else ""))

    def _is_idle(self) -> bool:
        """Return whether no request is in progress, and no response waits to be read."""
        cycle = cast("Any", self.cycle)  # None before the first request, which the stubs of uvicorn do not say
        is_between = cycle is None or cycle.response_complete
        return is_between and not self._wording.has_unread_data and not self.transport.get_write_buffer_size()

    def _answers_directly(self, head: Head, size: int) -> bool:
        # More than one request is left to h11: responses are sent in order
        return size <= head.size <= MAX_BYTES and self._application.answers_directly(head, self._port)

    def _wait_for_body(self, data: bytes) -> None:
        self._incomplete = data
        self._forget_deadline()
        self._deadline = self.loop.call_later(asgi.SECONDS_TO_BEGIN, self.transport.abort)

    def _answer(self, request: Request) -> None:
        self._forget_deadline()
        self.transport.write(self._application.respond(request, self._port))
        self._used = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._end_later()

    def _end_later(self) -> None:
        # A new timer for each request would cost more than to look at the time when this one ends
        seconds = min(self.timeout_keep_alive, asgi.SECONDS_TO_READ_A_PIECE)
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self._end_if_idle)

    def _end_if_idle(self) -> None:
        """End the connection if its client does not read the last response, or has sent nothing for long."""
        idle = self.loop.time() - self._used
        if self.transport.get_write_buffer_size() and idle >= asgi.SECONDS_TO_READ_A_PIECE:
            self.transport.abort()
        elif idle >= self.timeout_keep_alive:
            self.timeout_keep_alive_handler()
        else:
            self._end_later()

    @property
    def _application(self) -> asgi.Application:
        return cast(asgi.Application, cast("Any", self).app)

    @property
    def _port(self) -> int:
        return self.server[1] or 0 if self.server else 0

    def handle_events(self) -> None:
        """Read on, and add to a request what ASGI has no place for.

        Its task was made but has not begun, so it finds the addition.
        """
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            hooks = Hooks(self._wording.names, self._wording.say, self._hang_up, self._break_off)
            hooks.add_to(cast(Scope, self.scope))

    def _hang_up(self) -> None:
        self._disown()
        self.transport.abort()

    def _break_off(self) -> None:
        self._disown()
        self.transport.close()

    def _disown(self) -> None:
        """Let uvicorn know that the request has no answer; it would write one of its own."""
        self.cycle.disconnected = True

    def _heed_deadline(self) -> None:
        if self.cycle and not self.cycle.response_complete:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS_TO_SEND_A_HEAD, self.transport.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Wording(h11.Connection):
    """An HTTP connection that heeds wording that uvicorn does not.

    The names of a request's headers are remembered as they are spelled, and a response may have a reason phrase of its
    own: some SDKs show it, and the Queue and the Blob service say there what is wrong.
    """

    names: tuple[str, ...] = ()
    reason: bytes | None = None

    has_unread_data = False

    def receive_data(self, data: bytes) -> None:
        super().receive_data(data)
        self.has_unread_data = True

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        self.has_unread_data = self.trailing_data != (b"", False)
        if isinstance(event, h11.Request):
            self.names = tuple(name.decode("latin-1") for name, _ in event.headers.raw_items())
            self.reason = None
            # h11 holds its own bound against a head that is incomplete, and one that comes at once is not
            if _size(event) > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        return event

    def say(self, reason: str) -> None:
        """Use a reason phrase for the next answer, unless it would break its line."""
        self.reason = reason.encode("latin-1", "replace") if reason.isprintable() else None

    def send(self, event: h11.Event) -> Any:
        if isinstance(event, h11.Response) and self.reason is not None:
            event = replace(event, reason=self.reason)
        return super().send(event)


def _size(request: h11.Request) -> int:
    """Return how many bytes the head of a request has, its line ends included."""
    line = len(request.method) + len(request.target) + len(b"  HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(b": \r\n") for name, value in request.headers.raw_items()) + 2
