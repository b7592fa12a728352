"""The ASGI application: a request of the server becomes one of the engine, and its answer goes back in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from ..account import Engine
from ..content import Content
from ..fault import Fault
from ..rest.dispatch import AccountApi
from ..rest.message import Request, Response
from ..rest.routing import absolute
from .body import Body, Gone, read_body
from .exchange import Hooks, Receive, Scope, Send
from .origin import Hosts, Refused

_PIECE: Final = 64 * 1024
"""How much of an answer waits in memory for a client that reads slowly."""
SECONDS_TO_READ_A_PIECE: Final = 30
_NO_FAULT: Final = Fault("")


class Application:
    """Answer HTTP requests to the services of one account.

    The engine works in threads, so that a long query holds up nobody else.

    :param engine: the account
    :param services: the service on each port
    :param hosts: the names under which it may be asked for
    """

    def __init__(self, engine: Engine, services: Mapping[int, str], hosts: Hosts) -> None:
        self._api = AccountApi(engine)
        self._services = services
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        service = self._services[scope["server"][1]]
        hooks = Hooks.of(scope)
        refused = self._hosts.refused(scope["method"], _fields(scope))
        if refused is not None:
            await _refuse(refused, send)
            return
        try:
            body = await read_body(receive, self._api.max_body(service))
        except Gone:
            return
        except asyncio.TimeoutError:
            hooks.hang_up()
            return
        response = await asyncio.to_thread(self._api.answer, _request(scope, hooks, body), service)
        await _send(response, hooks, send, last=not body.whole)


async def _refuse(refused: Refused, send: Send) -> None:
    """Answer that a request is refused, and end the connection, so that nothing of its body has to be read."""
    content = refused.text.encode("utf-8", "replace")
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(content)), "connection": "close"}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
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
    """Send an answer, or what its fault leaves of it.

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
