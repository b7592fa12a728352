"""The engine as an azure-core transport: the genuine SDK clients plug into it, sync and aio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest, HttpResponse

from .account import Engine
from .network import READ_TIMEOUT, suffer
from .responses import AioEngineResponse, EngineResponse
from .rest.dispatch import AccountApi
from .rest.message import Request
from .rest.tokens import TrustTokens


class EngineTransport(HttpTransport[HttpRequest, HttpResponse]):
    """Carry the requests of sync SDK clients to an engine; threads may share it.

    No socket is opened, so opening and closing mean nothing. The back-off of the SDK's retries moves the engine's
    clock instead of waiting.

    >>> from azure.core.credentials import AzureNamedKeyCredential
    >>> from azure.data.tables import TableServiceClient
    >>> engine = Engine()
    >>> key = AzureNamedKeyCredential(engine.account_name, engine.account_key)
    >>> url = f"https://{engine.account_name}.table.core.windows.net"
    >>> client = TableServiceClient(url, credential=key, transport=EngineTransport(engine))
    >>> client.create_table("Employees").table_name
    'Employees'

    :param engine: the account that answers
    :param trust_tokens: whether bearer tokens are accepted as the owner's, or else refused with a challenge; "checked"
        accepts a JWT for this account or for Azure Storage that has not expired, without verifying its signature
    :param read_timeout: for how many seconds of virtual time a client waits for a late answer
    """

    def __init__(
        self, engine: Engine, *, trust_tokens: TrustTokens = False, read_timeout: float = READ_TIMEOUT
    ) -> None:
        self._engine = engine
        self._api = AccountApi(engine, trust_tokens=trust_tokens)
        self._read_timeout = read_timeout

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Return the engine's answer, unless a fault of the engine's breaks the connection.

        :param kwargs: the options of the network, of which `read_timeout` and `stream` matter
        """
        self._engine.note_thread()
        response = self._api.answer(_message(request, _body(_content(request))))
        if response.fault:
            options = {"read_timeout": self._read_timeout, **kwargs}
            suffer(response.fault, response.size, self._engine.clock, options)
        return EngineResponse(request, response)

    def sleep(self, duration: float) -> None:
        """Move the engine's clock."""
        self._engine.clock.sleep(duration)

    def open(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def __exit__(self, *args: object) -> None:
        self.close()


class AioEngineTransport(AsyncHttpTransport[HttpRequest, AsyncHttpResponse]):
    """Carry the requests of aio SDK clients to an engine.

    It needs no event loop: a coroutine over it can be stepped with `send(None)`. Only a transaction waits for one,
    since azure-core gathers its parts there before the request comes here; who steps it finishes that future between
    two steps.

    >>> from azure.core.credentials import AzureNamedKeyCredential
    >>> from azure.data.tables.aio import TableServiceClient
    >>> engine = Engine()
    >>> key = AzureNamedKeyCredential(engine.account_name, engine.account_key)
    >>> url = f"https://{engine.account_name}.table.core.windows.net"
    >>> client = TableServiceClient(url, credential=key, transport=AioEngineTransport(engine))
    >>> try:
    ...     client.create_table("Employees").send(None)
    ... except StopIteration as stop:
    ...     stop.value.table_name
    'Employees'

    :param engine: the account that answers
    :param turn: awaited before every request; a scheduler decides there who goes next
    :param trust_tokens: whether bearer tokens are accepted as the owner's, or else refused with a challenge; "checked"
        accepts a JWT for this account or for Azure Storage that has not expired, without verifying its signature
    :param read_timeout: for how many seconds of virtual time a client waits for a late answer
    """

    def __init__(
        self,
        engine: Engine,
        turn: Callable[[], Awaitable[None]] | None = None,
        *,
        trust_tokens: TrustTokens = False,
        read_timeout: float = READ_TIMEOUT,
    ) -> None:
        self._engine = engine
        self._api = AccountApi(engine, trust_tokens=trust_tokens)
        self._read_timeout = read_timeout
        self._turn = turn

    async def send(self, request: HttpRequest, **kwargs: Any) -> AsyncHttpResponse:
        """Return the engine's answer, unless a fault of the engine's breaks the connection.

        :param kwargs: the options of the network, of which `read_timeout` and `stream` matter
        """
        content = _content(request)
        if hasattr(content, "__aiter__"):
            content = [chunk async for chunk in content]
        if self._turn is not None:
            await self._turn()
        response = self._api.answer(_message(request, _body(content)))
        if response.fault:
            options = {"read_timeout": self._read_timeout, **kwargs}
            suffer(response.fault, response.size, self._engine.clock, options, aio=True)
        return AioEngineResponse(request, response)

    async def sleep(self, duration: float) -> None:
        """Move the engine's clock."""
        self._engine.clock.sleep(duration)

    async def open(self) -> None:
        """Do nothing: there is no connection."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    async def __aexit__(self, *args: object) -> None:
        await self.close()


def sleeping_alike(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of an SDK client by which the clients that it makes sleep by its transport too.

    They wrap the transport, and so lose its way to sleep: on an engine their retries would wait in real time.

    :param options: the client's options, `transport` among them
    """
    transport, hook = options["transport"], options.get("raw_request_hook")

    def on_request(request: PipelineRequest[Any]) -> None:
        request.context.transport = transport
        if hook is not None:
            hook(request)

    return {**options, "raw_request_hook": on_request}


def _message(request: HttpRequest, body: bytes) -> Request:
    sent = request.headers
    return Request(request.method, request.url, {name.lower(): sent[name] for name in sent}, body, names=sent)


def _content(request: Any) -> Any:
    """Return a request's content; `azure.core.pipeline.transport.HttpRequest` calls it its body."""
    return request.content if hasattr(request, "content") else request.body


def _body(content: Any) -> bytes:
    """Return all of a content: bytes, text, a file, an iterable of either, or nothing."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if content is None:
        return b""
    if hasattr(content, "read"):
        return _body(content.read())
    if hasattr(content, "__iter__") and not hasattr(content, "keys"):
        return b"".join(map(_body, content))
    raise TypeError(f"a request's content is bytes, text or an iterable of them, not {type(content).__name__}")
