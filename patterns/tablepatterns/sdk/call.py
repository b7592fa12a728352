"""Call an SDK client, sync or async, note retried requests, and create clients on first use."""

from __future__ import annotations

import codecs
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from inspect import isawaitable
from typing import Any, Final, Generic, TypeVar

from azure.core.exceptions import (
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    StreamConsumedError,
)
from azure.core.rest import HttpResponse
from azure.core.utils import case_insensitive_dict
from typing_extensions import Self

# Over aiohttp, a connection that breaks after the request was executed is reported as one that was never made
CONNECTION_LOST = (ServiceRequestError, ServiceResponseError)


_AMBIGUOUS: Final = frozenset({408, 500, 502, 504})
"""Statuses that do not show whether the service executed the request."""
OK: Final = 200
CREATED: Final = 201
ACCEPTED: Final = 202
NO_CONTENT: Final = 204
_WRITE_STATUSES: Final = frozenset({CREATED, NO_CONTENT})


_CHARSET: Final = re.compile(r"charset=\s*\"?([^\s\";]+)", re.IGNORECASE)


class AmbiguousResponse(Exception):
    """A response that does not show whether the request was executed."""


@HttpResponse.register
class SimpleResponse:
    """A response with its whole content, as azure-core's responses are once they have been read."""

    is_closed = is_stream_consumed = True

    def __init__(self, request: Any, status: int, reason: str, headers: Mapping[str, str], content: bytes) -> None:
        self.request, self.status_code, self.reason, self.content = request, status, reason, content
        # Those of urllib3 need no copy, which takes as long as signing
        self.headers: Any = case_insensitive_dict(headers) if isinstance(headers, dict) else headers
        self.content_type: str | None = self.headers.get("Content-Type")
        self._encoding: str | None = None

    @property
    def url(self) -> str:
        return str(self.request.url)

    @property
    def encoding(self) -> str | None:
        if self._encoding is None:
            charset = _CHARSET.search(self.content_type or "")
            with suppress(LookupError):
                self._encoding = charset[1] if charset and codecs.lookup(charset[1]) else None
        return self._encoding

    @encoding.setter
    def encoding(self, value: str | None) -> None:
        self._encoding = value

    def read(self) -> bytes:
        return self.content

    body = read

    def text(self, encoding: str | None = None) -> str:
        name = encoding or self.encoding
        if name is None:
            return self.content.decode("utf-8-sig", errors="replace")
        return self.content.decode("utf-8-sig" if name == "utf-8" else name)

    def json(self) -> Any:
        return json.loads(self.text())

    def raise_for_status(self) -> None:
        if self.status_code >= 400:
            response: Any = self
            raise HttpResponseError(response=response)

    def iter_bytes(self, **options: Any) -> Iterator[bytes]:
        return iter((self.content,) if self.content else ())

    def iter_raw(self, **options: Any) -> Iterator[bytes]:
        response: Any = self
        raise StreamConsumedError(response)

    def close(self) -> None:
        """Do nothing: the content has been read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __repr__(self) -> str:
        content_type = f", Content-Type: {self.content_type}" if self.content_type else ""
        return f"<HttpResponse: {self.status_code} {self.reason}{content_type}>"


class AioEmptyResponse(SimpleResponse):
    """A response to a transaction that has no content, as the async SDK reads it."""

    def __init__(self, response: Any) -> None:
        super().__init__(response.request, response.status_code, response.reason, response.headers, b"")

    async def read(self) -> bytes:  # type: ignore[override]
        return self.content

    def parts(self) -> Any:
        """Raise the error of the sync SDK's responses."""
        raise ValueError("You can't get parts if the response is not multipart/mixed")


class CallHook:
    """The response hook of one SDK call, which notes its response, its ETag, and whether the SDK sent it again.

    If a write of one entity has succeeded, the SDK gets a response without headers and content, since nothing would
    use them.

    :param sends_once: whether a request that may have been executed must not be sent again
    """

    def __init__(self, hook: Callable[[Any], None] | None, *, sends_once: bool = False) -> None:
        self._hook = hook
        self._context: Any = {}
        self._sends_once = sends_once
        self.response: Any = None
        self.status: int | None = None
        self.etag: str | None = None
        """The ETag after a write of one entity."""

    def __call__(self, response: Any) -> None:
        self._context = response.context
        self.response = response.http_response
        self.status = self.response.status_code
        if self._hook is not None:
            self._hook(response)
        if self._sends_once and self.status in _AMBIGUOUS:
            # The hook sees each response before the retry policy does, which would send the request again
            raise AmbiguousResponse(f"the service responded with {self.status}")
        if self.status in _WRITE_STATUSES and not self._context.options.get("stream"):
            answer = response.http_response
            self.etag = answer.headers.get("ETag")
            response.http_response = SimpleResponse(answer.request, NO_CONTENT, answer.reason, {}, b"")

    @property
    def options(self) -> dict[str, Any]:
        # A connection error over aiohttp may also occur after the request was executed
        once = {"retry_read": 0, "retry_connect": 0} if self._sends_once else {}
        return {"raw_response_hook": self, **once}

    @property
    def was_repeated(self) -> bool:
        """Whether the SDK has sent the request again after it may have been executed."""
        # The retry policy adds its history to the context once the call has ended, after the hook has run
        attempts = self._context.get("history", ())
        return any(attempt.error or attempt.http_response.status_code in _AMBIGUOUS for attempt in attempts)


async def settled(result: Any) -> Any:
    """Return the result of an SDK call, awaited if the client is async."""
    return await result if isawaitable(result) else result


async def answered(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call the SDK to write something; an incomplete response counts as lost, and raises ServiceResponseError."""
    try:
        return await settled(call(*arguments, **options))
    except (AttributeError, OSError, HttpResponseError) as error:
        # The table clients fail on an error without a response, and so hide it
        hidden = error.__context__ if isinstance(error, AttributeError) else None
        if _has_broken_off(hidden or error):
            raise ServiceResponseError(f"the response is incomplete: {hidden or error}") from error
        if isinstance(hidden, HttpResponseError):
            raise hidden from None
        raise


def _has_broken_off(error: BaseException | None) -> bool:
    """Whether the body of a response is incomplete; errors of credentials and of the service do not mean that."""
    if isinstance(error, HttpResponseError):
        return type(error) in (HttpResponseError, IncompleteReadError) and error.response is None
    # For a transaction, the sync client lets errors of the requests library through
    return isinstance(error, OSError) and type(error).__module__.startswith("requests.")


async def first_page(pages: Any) -> Any:
    """Return the first page of the SDK's pager; empty if there is none, as for a queue without messages."""
    if not hasattr(pages, "__anext__"):
        return next(pages, ())
    try:
        # Without a default, with which CPython fails on the SDK's StopAsyncIteration that has a text
        return await anext(pages)
    except StopAsyncIteration:
        return ()


async def iterate(results: Any) -> AsyncIterator[Any]:
    if hasattr(results, "__aiter__"):
        async for entity in results:
            yield entity
    else:
        for entity in results:
            yield entity


T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is created on first use, once for all threads."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.value: T | None = None
        """The value; None before its first use."""

    def __call__(self) -> T:
        with self._lock:
            if self.value is None:
                self.value = self._make()
            return self.value
