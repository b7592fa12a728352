"""The ASGI application that passes HTTP requests to the engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeAlias

from tablepatterns.limits import MIB

from ..account import Engine
from ..content import Content
from ..dispatch import AccountApi
from ..faults import Fault
from ..http.message import Request, Response
from ..tables.call import absolute
from .direct import Head, write_response
from .origin import Hosts, Rejection

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_EXTENSION: Final = "tablepatterns"


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a connection adds to a request, as an extension of its scope.

    :param names: the names of the headers as they were sent; ASGI has them in lower case
    :param say: gives the response a reason phrase
    :param hang_up: breaks the connection, and drops what is not sent yet
    :param break_off: breaks the connection behind what is sent already
    """

    names: tuple[str, ...]
    say: Callable[[str], None]
    hang_up: Callable[[], None]
    break_off: Callable[[], None]

    @classmethod
    def of(cls, scope: Scope) -> Hooks:
        """Return the hooks of a request."""
        hooks: Hooks = scope["extensions"][_EXTENSION]
        return hooks

    def add_to(self, scope: Scope) -> None:
        """Give a request these hooks."""
        scope.setdefault("extensions", {})[_EXTENSION] = self


_DROPPED: Final = 16 * MIB
"""How much of a body that is too large is still read: most clients read no answer before all is sent."""
SECONDS_TO_BEGIN: Final = 30
_SLOWEST: Final = 16 * 1024
"""In bytes per second: a body that comes more slowly than this, the first seconds aside, is not waited for."""


class Gone(Exception):
    """The client has gone away before it had sent its request."""


class Body(NamedTuple):
    """What was read of a body.

    :param content: the bytes, at most one more than the service takes, so that it sees that they are too many
    :param whole: whether there is nothing of it left to be read
    """

    content: bytes
    whole: bool


async def read_body(receive: Receive, largest: int) -> Body:
    """Return the body of a request; it is held once, and for an instant by an eighth more.

    :param largest: how many bytes the service takes
    :raises Gone: the client went away
    :raises asyncio.TimeoutError: it came too slowly
    """
    began = time.monotonic()
    # A buffer gives its bytes away without a copy; pieces in a list would be held twice while they are joined
    kept = BytesIO()
    total = 0
    while total <= largest + _DROPPED:
        patience = began + SECONDS_TO_BEGIN + total / _SLOWEST - time.monotonic()
        message = await asyncio.wait_for(receive(), patience)
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message["body"]
        kept.write(piece[: max(largest + 1 - total, 0)])
        total += len(piece)
        if not message["more_body"]:
            return Body(kept.getvalue(), whole=True)
    return Body(kept.getvalue(), whole=False)


_PIECE: Final = 64 * 1024
"""How much of a response waits in memory for a client that reads slowly."""
SECONDS_TO_READ_A_PIECE: Final = 30
_NO_FAULT: Final = Fault("")


class Application:
    """Answer HTTP requests to the services of one account.

    Long operations run in threads, so that they do not delay other clients.

    :param engine: the account
    :param services: the service on each port
    :param hosts: the names under which it may be asked for
    """

    def __init__(self, engine: Engine, services: Mapping[int, str], hosts: Hosts) -> None:
        self._engine = engine
        self._api = AccountApi(engine)
        self._services = services
        self._hosts = hosts

    def answers_directly(self, head: Head, port: int) -> bool:
        """Return whether a request may be answered by `respond`; not if a fault may delay or break its response."""
        if self._engine.faults.rules or not head.is_short(self._services[port]):
            return False
        return self._hosts.rejection(head.method, head.headers) is None

    def respond(self, request: Request, port: int) -> bytes:
        """Return the response to a short request, as it is sent."""
        return write_response(self._api.handle(request, self._services[port]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        service = self._services[scope["server"][1]]
        hooks = Hooks.of(scope)
        rejection = self._hosts.rejection(scope["method"], _fields(scope))
        if rejection is not None:
            await _reject(rejection, send)
            return
        try:
            body = await read_body(receive, self._api.max_body(service))
        except Gone:
            return
        except asyncio.TimeoutError:
            hooks.hang_up()
            return
        response = await asyncio.to_thread(self._api.handle, _request(scope, hooks, body), service)
        await _send(response, hooks, send, last=not body.whole)


async def _reject(rejection: Rejection, send: Send) -> None:
    """Reject a request and close the connection, so that its body need not be read."""
    content = rejection.text.encode("utf-8", "replace")
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(content)), "connection": "close"}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": rejection.status, "headers": pairs})
    await send({"type": "http.response.body", "body": content, "more_body": False})


def _fields(scope: Scope) -> dict[str, str]:
    """Return the headers by their names in lower case."""
    fields: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        fields[name] = f"{fields[name]},{value}" if name in fields else value
    return fields


def _request(scope: Scope, hooks: Hooks, body: Body) -> Request:
    fields = _fields(scope)
    client = scope["client"][0] if scope["client"] else ""
    return Request(scope["method"], _url(scope, fields), fields, body.content, client, hooks.names)


def _url(scope: Scope, fields: Mapping[str, str]) -> str:
    """Return the URL as it was sent; a proxy's client may send all of it, any other sends the path only."""
    address, port = scope["server"]
    path, options = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    site = f"{scope['scheme']}://{fields.get('host') or f'{address}:{port}'}"
    return absolute(f"{path}?{options}" if options else path, site)


async def _send(response: Response, hooks: Hooks, send: Send, *, last: bool) -> None:
    """Send a response, or what its fault leaves of it.

    :param last: whether the connection ends with it
    """
    fault = response.fault or _NO_FAULT
    await asyncio.sleep(fault.seconds)
    if fault.loses:
        hooks.hang_up()
        return
    hooks.say(response.reason)
    await send({"type": "http.response.start", "status": response.status, "headers": _headers(response, last)})
    content = response.content if fault.cut_at is None else response.content.part(0, fault.cut_at)
    try:
        for piece in _pieces(content):
            message = {"type": "http.response.body", "body": piece, "more_body": True}
            await asyncio.wait_for(send(message), SECONDS_TO_READ_A_PIECE)
    except asyncio.TimeoutError:
        hooks.hang_up()
        return
    if len(content) < response.size:
        hooks.break_off()
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})


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
