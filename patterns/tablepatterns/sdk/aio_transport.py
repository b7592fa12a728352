"""Send requests of the SDK's async clients in less time than the SDK's own transport, over its session.

What is not a plain request is left to the SDK's transport: streams, bodies that are not in memory, options of a single
call, a session of the caller's, and multipart requests, whose responses must be the SDK's.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import zlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import aiohttp
from azure.core.exceptions import (
    AzureError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import AsyncHttpResponse
from typing_extensions import Self

from .call import SimpleResponse

_TIMEOUTS: Final = frozenset({"connection_timeout", "read_timeout"})
_NOT_PLAIN: Final = object()
_SDK_MODULE: Final = vars(sys.modules[AioHttpTransport.__module__])
_WINDOWS: Final = {"gzip": 16 + zlib.MAX_WBITS, "deflate": -zlib.MAX_WBITS}
_ERRORS: Final[tuple[tuple[type[Exception], type[AzureError]], ...]] = (
    (aiohttp.ClientPayloadError, IncompleteReadError),
    (aiohttp.ClientResponseError, ServiceResponseError),
    (aiohttp.ConnectionTimeoutError, ServiceRequestTimeoutError),
    (asyncio.TimeoutError, ServiceResponseTimeoutError),
    (aiohttp.ClientError, ServiceRequestError),
)
"""For an error of aiohttp, the one that the SDK's transport raises; the first that matches."""


@AsyncHttpResponse.register
class AioResponse(SimpleResponse):
    """A response with its whole content, as the async responses of azure-core are once they have been read."""

    async def read(self) -> bytes:  # type: ignore[override]
        return self.content

    def body(self) -> bytes:
        return self.content

    async def load_body(self) -> None:
        """Do nothing: the content has been read."""

    async def iter_bytes(self, **options: Any) -> AsyncIterator[bytes]:  # type: ignore[override]
        for chunk in super().iter_bytes():
            yield chunk

    async def iter_raw(self, **options: Any) -> AsyncIterator[bytes]:  # type: ignore[override]
        for chunk in super().iter_raw():
            yield chunk

    async def close(self) -> None:  # type: ignore[override]
        """Do nothing: the content has been read."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    def __repr__(self) -> str:
        return super().__repr__().replace("HttpResponse", "AsyncHttpResponse", 1)


class AioTransport(AioHttpTransport):  # type: ignore[misc]
    """An async transport that sends each request over a connection of the current process and its event loop.

    It derives from `AioHttpTransport`, because the SDK then signs a path such as `/it's` as aiohttp sends it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._copy = partial(type(self), **options)
        self._by_process: dict[int, tuple[Any, Any]] = {}

    async def send(self, request: Any, *, proxies: Any = None, **options: Any) -> Any:
        """Send a request, and return its response; the errors are those of the SDK's transport."""
        own, tls = self._own()
        body = self._plain_body(request, proxies=proxies, **options)
        if tls is None or body is _NOT_PLAIN:
            return await own.send(request, proxies=proxies, **options)
        await own.open()
        session: Any = own.session
        config = own.connection_config
        timeout = aiohttp.ClientTimeout(
            sock_connect=options.get("connection_timeout", config.timeout),
            sock_read=options.get("read_timeout", config.read_timeout),
        )
        try:
            answer = await session.request(
                request.method,
                request.url,
                headers=dict(request.headers),
                data=body,
                timeout=timeout,
                allow_redirects=False,
                ssl=tls,
                skip_auto_headers=() if body else ("Content-Type",),
            )
            content = await answer.read()
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            raise next(of_sdk for kind, of_sdk in _ERRORS if isinstance(error, kind))(error, error=error) from error
        headers = {name: ", ".join(answer.headers.getall(name)) for name in answer.headers}
        window = _WINDOWS.get(answer.headers.get("Content-Encoding", "").lower())
        content = content if window is None else zlib.decompressobj(window).decompress(content)
        return AioResponse(request, answer.status, answer.reason or "", headers, content)

    @staticmethod
    def _plain_body(request: Any, *, proxies: Any, stream: bool = False, **options: Any) -> Any:
        """Return the body of a request; `_NOT_PLAIN` if the SDK's transport must send the request."""
        # Only the new requests of azure-core have a content, but it is None if the data is empty
        body = request.data if hasattr(request, "content") and not request.files else _NOT_PLAIN
        body = body.encode() if isinstance(body, str) else body
        is_whole = body is None or isinstance(body, bytes)
        # Tests replace the method of the SDK's transport, and then it answers, such as by `patch_azure`
        is_replaced = getattr(AioHttpTransport.send, "__globals__", None) is not _SDK_MODULE
        is_multipart = str(request.headers.get("Content-Type")).startswith("multipart/")
        is_plain = is_whole and not (is_replaced or is_multipart or proxies or stream) and options.keys() <= _TIMEOUTS
        return body if is_plain else _NOT_PLAIN

    def _own(self) -> tuple[Any, Any]:
        """Return this process's transport and TLS; without a lock, which another thread might hold during a fork.

        Without TLS, the SDK's transport must send each request.
        """
        own = self._by_process.get(process := os.getpid())
        if own is None:
            transport = AioHttpTransport(**{"use_env_settings": _has_proxies_or_logins(), **self._copy.keywords})
            tls = None if "session" in self._copy.keywords else _tls(self.connection_config)
            # If two threads are first, both use the transport of one of them; neither has been used yet
            own = self._by_process.setdefault(process, (transport, tls))
        return own

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the options alone: connections belong to one event loop."""
        return self._copy, ()

    async def open(self) -> None:
        await self._own()[0].open()

    async def close(self) -> None:
        await self._own()[0].close()


def _has_proxies_or_logins() -> bool:
    """Return whether requests depend on the environment, which aiohttp otherwise reads for each, in a thread."""
    from urllib.request import getproxies

    files = [os.environ["NETRC"]] if "NETRC" in os.environ else ["~/.netrc", "~/_netrc"]
    return bool(getproxies().keys() - {"no"}) or any(os.path.exists(os.path.expanduser(file)) for file in files)


def _tls(config: Any) -> ssl.SSLContext | bool | None:
    """Return what aiohttp takes for TLS; None if it cannot be set up, for which the SDK's transport raises an error.

    The SDK creates a context for each request, and aiohttp uses a connection again only with the same one.
    """
    verify, cert = config.verify, config.cert
    if verify in (True, False) and not cert:
        return bool(verify)
    try:
        context = ssl.create_default_context(cafile=None if verify in (True, False) else verify)
        if cert:
            context.load_cert_chain(*cert)
    except (OSError, TypeError, ValueError):
        return None
    return context
