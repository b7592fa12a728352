"""The engine as an azure-core transport, sync and async, for the genuine SDK clients."""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import lru_cache
from inspect import isawaitable
from itertools import chain, repeat
from typing import Any, Final

from azure.core.exceptions import DecodeError, HttpResponseError
from azure.core.pipeline import PipelineContext, PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest, HttpResponse
from azure.core.utils import CaseInsensitiveDict
from typing_extensions import Self

from .account import Engine
from .dispatch import AccountApi
from .faults import READ_TIMEOUT, apply_fault, check_whole
from .http.authorization import TrustTokens
from .http.message import Request, Response

ENCODINGS: Final = frozenset({"gzip", "deflate"})
"""The content encodings that HTTP clients decode by themselves."""

_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32


class _Stream:
    """The chunks of one body.

    It has no length, though azure-core's own streams have: a list of them would make room for as many chunks as there
    are bytes.
    """

    def __init__(self, response: _Reply, chunks: Iterator[bytes]) -> None:
        self.response = response
        self.request = response.request
        self.content_length = int(response.headers.get("Content-Length", 0))
        self._chunks = chunks


class Download(_Stream):
    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)


class AioDownload(_Stream, AsyncIterator[bytes]):
    """A body for an async client; it never waits."""

    async def __anext__(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            raise StopAsyncIteration from None


def inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the decompressed content; a `DecodeError` if it is not compressed."""
    inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        for chunk in chunks:
            yield inflate.decompress(chunk)
        yield inflate.flush()
    except zlib.error as error:
        raise DecodeError(f"the content is not encoded as its header says: {error}", error=error) from error


class Headers(MutableMapping[str, str]):
    """The headers of a response; names are case-insensitive. azure-core's mapping takes four times as long."""

    __slots__ = ("_spellings", "_values")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._spellings = _spellings(tuple(headers))
        self._values = dict(headers)
        if len(self._spellings) < len(self._values):
            self._values = {name: headers[name] for name in self._spellings.values()}

    def __getitem__(self, name: str) -> str:
        return self._values[self._spellings[name.lower()]]

    def __setitem__(self, name: str, value: str) -> None:
        if name not in self._values:
            self.pop(name, None)
            self._spellings = {**self._spellings, name.lower(): name}
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        others = dict(self._spellings)
        del self._values[others.pop(name.lower())]
        self._spellings = others

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._spellings

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a header; by default, the default. The SDK asks for headers that few responses have."""
        value = self._values.get(name)
        if value is None:
            spelling = self._spellings.get(name.lower())
            return default if spelling is None else self._values[spelling]
        return value

    def __repr__(self) -> str:
        return repr(self._values)


@lru_cache(maxsize=512)
def _spellings(names: tuple[str, ...]) -> Mapping[str, str]:
    # Responses have few sets of names, apart from metadata; lowering each name again would take twice as long
    return {name.lower(): name for name in names}


class _Reply:
    """The base class of the sync and the async response.

    `body`, `parts` and `stream_download` are not in azure-core's interface, but its own responses have them and the
    storage clients call them.
    """

    # Class attributes override azure-core's abstract properties
    status_code: int = 0
    reason: str = ""
    is_closed: bool = False
    is_stream_consumed: bool = False
    request: HttpRequest = None  # type: ignore[assignment]
    headers: MutableMapping[str, str] = None  # type: ignore[assignment]
    _content: bytes | None = None
    encoding: str | None = None
    _json: Any = None

    def __init__(self, request: HttpRequest, response: Response) -> None:
        self.request = request
        self.status_code = response.status
        self.reason = response.reason
        self.headers = Headers(response.headers)
        self._response = response

    @property
    def content_type(self) -> str | None:
        """The type that was received, also if a policy or a hook has replaced the headers."""
        received: str | None = Headers(self._response.headers).get("content-type")
        return received

    @property
    def examined(self) -> int:
        return self._response.examined

    @property
    def returned(self) -> int:
        return self._response.returned

    @property
    def _cut_at(self) -> int | None:
        return self._response.fault.cut_at if self._response.fault else None

    @property
    def content(self) -> bytes:
        if self._content is None:
            self._content = self._response.body
        return self._content

    @property
    def url(self) -> str:
        return self.request.url

    def body(self) -> bytes:
        return self.content

    def text(self, encoding: str | None = None) -> str:
        name, content = encoding or self.encoding or "utf-8", self.content
        # azure-core drops a byte order mark too, and the XML answers of the service begin with one
        is_marked = content.startswith(codecs.BOM_UTF8) and codecs.lookup(name).name == "utf-8"
        return content.decode("utf-8-sig" if is_marked else name)

    def json(self) -> Any:
        if self._json is None:
            self._json = json.loads(self.text())
        return self._json

    def raise_for_status(self) -> None:
        if self.status_code >= 400:
            raise HttpResponseError(response=self)

    def _read(self) -> bytes:
        self.is_closed = self.is_stream_consumed = True
        if self._response.fault:
            check_whole(self._response.size, self._cut_at)
        return self.content

    def _chunks(self) -> Iterator[bytes]:
        self.is_stream_consumed = True
        size = self._response.size
        yield from self._response.content.part(0, size if self._cut_at is None else self._cut_at)
        check_whole(size, self._cut_at)

    def _decoded(self, decompress: bool) -> Iterator[bytes]:
        """Return the chunks, decoded if HTTP clients decode this content encoding."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        return inflated(self._chunks()) if decompress and encoding in ENCODINGS else self._chunks()

    def _parts(self) -> Iterator[tuple[HttpRequest, Response]]:
        if not (self.content_type or "").startswith("multipart/mixed"):
            raise ValueError("You can't get parts if the response is not multipart/mixed")
        info = getattr(self.request, "multipart_mixed_info", None)
        requests = chain(_flat(info[0] if info else ()), repeat(self.request))
        return zip(requests, self._response.parts, strict=False)


class EngineResponse(_Reply, HttpResponse):  # pyright: ignore[reportIncompatibleVariableOverride]
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        self.is_closed = True

    def read(self) -> bytes:
        return self._read()

    def iter_raw(self, **kwargs: Any) -> Iterator[bytes]:
        return self._chunks()

    def iter_bytes(self, **kwargs: Any) -> Iterator[bytes]:
        return self._decoded(True)

    def stream_download(self, pipeline: object, *, decompress: bool = True, **kwargs: Any) -> Download:
        return Download(self, self._decoded(decompress))

    def parts(self) -> Iterator[EngineResponse]:
        """Return the responses in a multipart/mixed body, in order, with changesets flattened."""
        replies = [EngineResponse(request, part) for request, part in self._parts()]
        for _ in _observations(self, replies):
            pass
        return iter(replies)


class AioEngineResponse(_Reply, AsyncHttpResponse):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A response of the engine for an async client; it never waits."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.close()

    async def close(self) -> None:
        self.is_closed = True

    async def read(self) -> bytes:
        return self._read()

    async def load_body(self) -> None:
        self._read()

    async def iter_raw(self, **kwargs: Any) -> AsyncIterator[bytes]:
        for chunk in self._chunks():
            yield chunk

    async def iter_bytes(self, **kwargs: Any) -> AsyncIterator[bytes]:
        for chunk in self._decoded(True):
            yield chunk

    def stream_download(self, pipeline: object, *, decompress: bool = True, **kwargs: Any) -> AioDownload:
        return AioDownload(self, self._decoded(decompress))

    async def parts(self) -> AsyncIterator[AioEngineResponse]:
        replies = [AioEngineResponse(request, part) for request, part in self._parts()]
        for observation in _observations(self, replies):
            if isawaitable(observation):
                await observation
        for reply in replies:
            yield reply


def _flat(requests: Iterable[Any]) -> Iterator[Any]:
    for request in requests:
        info = request.multipart_mixed_info
        yield from _flat(info[0]) if info else (request,)


def _observations(outer: _Reply, replies: Sequence[_Reply]) -> Iterator[Any]:
    """Call the policies of the parts with each part; yield their results."""
    info = getattr(outer.request, "multipart_mixed_info", None)
    base: type[SansIOHTTPPolicy[Any, Any]] = SansIOHTTPPolicy
    of_parts: Iterable[SansIOHTTPPolicy[Any, Any]] = info[1] if info else ()
    policies = [policy for policy in of_parts if type(policy).on_response is not base.on_response]
    for reply in replies if policies else ():
        context = PipelineContext(None)
        request = PipelineRequest(reply.request, context)
        for policy in policies:
            yield policy.on_response(request, PipelineResponse(reply.request, reply, context))


class _Sender:
    """The part of both transports that does not wait."""

    _is_aio = False
    _is_closed = False

    def __init__(
        self, engine: Engine, *, trust_tokens: TrustTokens = False, read_timeout: float = READ_TIMEOUT
    ) -> None:
        self._engine = engine
        self._api = AccountApi(engine, trust_tokens=trust_tokens)
        self._read_timeout = read_timeout

    def exchange(self, message: Request, options: Mapping[str, Any]) -> Response:
        """Return the engine's response, unless a fault breaks the connection; `read_timeout` and `stream` are used."""
        if self._is_closed:
            # With the words of azure-core's transports
            hint = "You may check if you called `close()` on your client already, or left its `with` block."
            raise ValueError(f"HTTP transport has already been closed. {hint}")
        response = self._api.handle(message)
        if response.fault:
            all_options = {"read_timeout": self._read_timeout, **options}
            apply_fault(response.fault, response.size, self._engine.clock, all_options, aio=self._is_aio)
        return response


class EngineTransport(_Sender, HttpTransport[HttpRequest, HttpResponse]):
    """Send the requests of sync SDK clients to an engine. Thread-safe.

    It opens no socket. After `close()` it raises ValueError, as azure-core's transports do. The backoff of the SDK's
    retries moves the engine's clock instead of waiting.

    >>> from azure.core.credentials import AzureNamedKeyCredential
    >>> from azure.data.tables import TableServiceClient
    >>> engine = Engine()
    >>> key = AzureNamedKeyCredential(engine.account_name, engine.account_key)
    >>> url = f"https://{engine.account_name}.table.core.windows.net"
    >>> client = TableServiceClient(url, credential=key, transport=EngineTransport(engine))
    >>> client.create_table("Employees").table_name
    'Employees'

    :param engine: the account
    :param trust_tokens: whether bearer tokens are accepted as the owner's, not rejected with a challenge; "checked"
        accepts a JWT for this account or for Azure Storage that has not expired, without verifying its signature
    :param read_timeout: how long a client waits for a response, in seconds of virtual time
    """

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        self._engine.note_thread()
        return EngineResponse(request, self.exchange(_message(request, _content(request)), kwargs))

    def sleep(self, duration: float) -> None:
        self._engine.clock.sleep(duration)

    def open(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        self._is_closed = True

    def __exit__(self, *args: object) -> None:
        self.close()


class AioEngineTransport(_Sender, AsyncHttpTransport[HttpRequest, AsyncHttpResponse]):
    """Send the requests of aio SDK clients to an engine, as `EngineTransport` does for sync ones.

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

    :param engine: the account; the other options are those of `EngineTransport`
    :param turn: awaited before every request, so that a scheduler can choose which request is next
    """

    _is_aio = True

    def __init__(
        self,
        engine: Engine,
        turn: Callable[[], Awaitable[None]] | None = None,
        *,
        trust_tokens: TrustTokens = False,
        read_timeout: float = READ_TIMEOUT,
    ) -> None:
        super().__init__(engine, trust_tokens=trust_tokens, read_timeout=read_timeout)
        self._turn = turn

    async def send(self, request: HttpRequest, **kwargs: Any) -> AsyncHttpResponse:
        message = await self.message(request)
        if self._turn is not None:
            await self._turn()
        return AioEngineResponse(request, self.exchange(message, kwargs))

    async def message(self, request: HttpRequest) -> Request:
        content = _content(request)
        if hasattr(content, "__aiter__"):
            content = [chunk async for chunk in content]
        return _message(request, content)

    async def sleep(self, duration: float) -> None:
        self._engine.clock.sleep(duration)

    async def open(self) -> None:
        """Do nothing: there is no connection."""

    async def close(self) -> None:
        self._is_closed = True

    async def __aexit__(self, *args: object) -> None:
        await self.close()


def sleeping_alike(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options for an SDK client, `transport` among them, whose child clients also sleep by its transport.

    Child clients wrap the transport and lose its `sleep`, so that on an engine their retries would wait in real time.
    """
    transport, hook = options["transport"], options.get("raw_request_hook")

    def on_request(request: PipelineRequest[Any]) -> None:
        request.context.transport = transport
        if hook is not None:
            hook(request)

    return {**options, "raw_request_hook": on_request}


def _message(request: HttpRequest, content: Any) -> Request:
    sent = request.headers
    if isinstance(sent, CaseInsensitiveDict):
        headers = dict(sent.lowerkey_items())
    else:
        headers = {name.lower(): sent[name] for name in sent}
    return Request(request.method, request.url, headers, _body(content), names=sent)


def _content(request: Any) -> Any:
    try:
        return request.content
    except AttributeError:
        return request.body


def _body(content: Any) -> bytes:
    """Return all of a content, which is bytes, text, a file, an iterable of these, or None."""
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
