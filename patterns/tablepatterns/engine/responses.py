"""The engine's responses as azure-core expects them; the whole body is at hand from the start."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from inspect import isawaitable
from itertools import chain, repeat
from typing import Any

from azure.core.exceptions import HttpResponseError
from azure.core.pipeline import PipelineContext, PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.rest import AsyncHttpResponse, HttpRequest, HttpResponse
from azure.core.utils import case_insensitive_dict
from typing_extensions import Self

from .downloads import ENCODINGS, AioDownload, Download, inflated
from .network import check_whole
from .rest.message import Response
from .rest.multipart import read_responses


class _Reply:
    """What the sync and the aio response share.

    `body`, `parts` and `stream_download` are not in azure-core's interface, but its own responses have them and the
    storage clients call them.
    """

    # Slots are attributes of the class: they stand in for azure-core's abstract properties
    __slots__ = (
        "_content",
        "_cut_at",
        "_encoding",
        "_json",
        "_response",
        "content_type",
        "examined",
        "headers",
        "is_closed",
        "is_stream_consumed",
        "reason",
        "request",
        "returned",
        "status_code",
    )

    def __init__(self, request: HttpRequest, response: Response) -> None:
        self.request = request
        self.status_code = response.status
        self.reason = response.reason
        self.examined, self.returned = response.examined, response.returned
        self.headers = case_insensitive_dict(response.headers)
        self.content_type = self.headers.get("content-type")
        self._response = response
        self._content: bytes | None = None
        self._cut_at = response.fault.cut_at if response.fault else None
        self._encoding: str | None = None
        self.is_closed = False
        self.is_stream_consumed = False
        self._json: Any = None

    @property
    def content(self) -> bytes:
        if self._content is None:
            self._content = self._response.body
        return self._content

    @property
    def url(self) -> str:
        return self.request.url

    @property
    def encoding(self) -> str | None:
        return self._encoding

    @encoding.setter
    def encoding(self, value: str | None) -> None:
        self._encoding = value

    def body(self) -> bytes:
        return self.content

    def text(self, encoding: str | None = None) -> str:
        name = encoding or self._encoding or "utf-8"
        # azure-core drops a byte order mark too, and the XML answers of the service begin with one
        return self.content.decode("utf-8-sig" if codecs.lookup(name).name == "utf-8" else name)

    def json(self) -> Any:
        if self._json is None:
            self._json = json.loads(self.text())
        return self._json

    def raise_for_status(self) -> None:
        if self.status_code >= 400:
            raise HttpResponseError(response=self)

    def _close(self) -> None:
        self.is_closed = True

    def _consume(self) -> bytes:
        self.is_stream_consumed = True
        check_whole(self._response.size, self._cut_at)
        return self.content

    def _chunks(self) -> Iterator[bytes]:
        self.is_stream_consumed = True
        size = self._response.size
        yield from self._response.content.part(0, size if self._cut_at is None else self._cut_at)
        check_whole(size, self._cut_at)

    def _decoded(self, decompress: bool) -> Iterator[bytes]:
        """Return the chunks without the encoding of the content, if it is one that HTTP clients take away."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        return inflated(self._chunks()) if decompress and encoding in ENCODINGS else self._chunks()


class EngineResponse(_Reply, HttpResponse):
    """A response of the engine for a sync client."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        self._close()

    def read(self) -> bytes:
        self._close()
        return self._consume()

    def iter_raw(self, **kwargs: Any) -> Iterator[bytes]:
        return self._chunks()

    def iter_bytes(self, **kwargs: Any) -> Iterator[bytes]:
        return self._decoded(True)

    def stream_download(self, pipeline: object, *, decompress: bool = True, **kwargs: Any) -> Download:
        return Download(self, self._decoded(decompress))

    def parts(self) -> Iterator[EngineResponse]:
        """Return the responses inside a multipart/mixed body, in order, changesets laid flat."""
        replies = [EngineResponse(request, part) for request, part in _parts(self)]
        for _ in _observations(self, replies):
            pass
        return iter(replies)


class AioEngineResponse(_Reply, AsyncHttpResponse):
    """A response of the engine for an aio client; nothing in it ever waits."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._close()

    async def read(self) -> bytes:
        self._close()
        return self._consume()

    async def load_body(self) -> None:
        self._consume()

    async def iter_raw(self, **kwargs: Any) -> AsyncIterator[bytes]:
        for chunk in self._chunks():
            yield chunk

    async def iter_bytes(self, **kwargs: Any) -> AsyncIterator[bytes]:
        for chunk in self._decoded(True):
            yield chunk

    def stream_download(self, pipeline: object, *, decompress: bool = True, **kwargs: Any) -> AioDownload:
        return AioDownload(self, self._decoded(decompress))

    async def parts(self) -> AsyncIterator[AioEngineResponse]:
        """Yield the responses inside a multipart/mixed body, in order, changesets laid flat."""
        replies = [AioEngineResponse(request, part) for request, part in _parts(self)]
        for observation in _observations(self, replies):
            if isawaitable(observation):
                await observation
        for reply in replies:
            yield reply


def _parts(reply: _Reply) -> Iterator[tuple[HttpRequest, Response]]:
    """Pair each response in a multipart body with its request, or with the outer one where there is none."""
    if not (reply.content_type or "").startswith("multipart/mixed"):
        raise ValueError("You can't get parts if the response is not multipart/mixed")
    info = getattr(reply.request, "multipart_mixed_info", None)
    requests = chain(_flat(info[0] if info else ()), repeat(reply.request))
    return zip(requests, read_responses(reply.content, reply.content_type or ""), strict=False)


def _flat(requests: Iterable[Any]) -> Iterator[Any]:
    for request in requests:
        info = request.multipart_mixed_info
        yield from _flat(info[0]) if info else (request,)


def _observations(outer: _Reply, replies: Sequence[_Reply]) -> Iterator[Any]:
    """Show every part to the policies that were given for the parts; yield what each returns."""
    info = getattr(outer.request, "multipart_mixed_info", None)
    policies = [policy for policy in (info[1] if info else ()) if _observes(policy)]
    for reply in replies:
        context = PipelineContext(None)
        request = PipelineRequest(reply.request, context)
        for policy in policies:
            yield policy.on_response(request, PipelineResponse(reply.request, reply, context))


def _observes(policy: SansIOHTTPPolicy[Any, Any]) -> bool:
    base: type[SansIOHTTPPolicy[Any, Any]] = SansIOHTTPPolicy
    return type(policy).on_response is not base.on_response
