"""Send requests of the library's own through the pipeline of an SDK client.

The SDK's calls spend most of their time on writing a request and reading its response. Here, a table client of the
library's own calls `delete_table`, and the first policy of its pipeline replaces the request. Later policies, such as
signing, retries, hooks, logging and tracing, see an ordinary request. A response that is not read here is given to the
SDK's own call, which raises its error. Why it is done this way: docs/decisions/0013-requests-ride-on-another-call.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, Final
from urllib.parse import urlsplit

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import DecodeError
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import AsyncHTTPPolicy, HTTPPolicy
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator import distributed_trace
from azure.core.tracing.decorator_async import distributed_trace_async

from .call import NO_CONTENT, SimpleResponse, settled

NO_CREDENTIAL: Final = AzureNamedKeyCredential("unused", "a2V5")
NO_LOG: Final = logging.getLogger(f"{__name__}.none")
NO_LOG.disabled = True
SILENT: Final[Mapping[str, Any]] = {"logger": NO_LOG, "tracing_options": {"enabled": False}}
"""The options of a call that is neither logged nor traced."""

_OPTION: Final = "tablepatterns_request"
"""The option of an SDK call that carries a request to the policy."""
_RESPONSE: Final = "tablepatterns_response"
"""The option of an SDK call that carries a response to the transport that replays it."""
_NO_CONTENT: Final = SimpleResponse(None, NO_CONTENT, "No Content", {}, b"")
_MAX_READERS: Final = 64


@dataclass(eq=False, slots=True)
class Prepared:
    """A request, the SDK's call that would send it, and what its response means.

    :param span: the name of the span in which the SDK sends it, such as `TableClient.create_entity`
    :param by_sdk: the SDK's call, which takes a client of the table and options
    :param read: reads a response, given its content if it is streamed: returns the result or an error, or None if the
        SDK must read it
    :param is_streamed: whether the SDK reads the content later than its policies, so that they do not decode it
    """

    request: HttpRequest
    table: str
    span: str
    by_sdk: Callable[..., Any]
    read: Callable[[PipelineResponse[Any, Any], bytes], Any]
    is_streamed: bool = False
    response: Any = None
    found: Any = None
    """The result or an error; None if the SDK must read the response."""
    is_result: bool = False
    """Whether the result was found."""

    def take(self, response: PipelineResponse[Any, Any], content: bytes) -> None:
        """Read the response, and end the SDK call that carries the request."""
        self.response = response.http_response
        self.found = self.read(response, content)
        self.is_result = self.found is not None and not isinstance(self.found, Exception)
        response.http_response = _NO_CONTENT


def _is_async(kind: Any) -> bool:
    """Return whether one of the SDK's classes of table clients is async."""
    return hasattr(kind, "__aenter__")


def _is_cosmos(service: str) -> bool:
    """Return whether the SDK considers a service to be Cosmos DB."""
    address = urlsplit(service)
    host = address.hostname or ""
    return ".table.cosmos" in host or (host == "localhost" and address.port != 10002)


class RequestSender:
    """A client of a Table service that sends prepared requests.

    :param kind: the SDK's class of table clients, sync or async
    :param service: the URL of the service
    :param options: the options of the client; its `transport` is that of the account's other clients
    """

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self.is_async = _is_async(kind)
        policy = AioRequestPolicy() if self.is_async else RequestPolicy()
        # Not a table: each request has its own
        self.client = kind(service, "Requests", **options, per_call_policies=[policy])
        self.service = str(self.client.url).partition("?")[0]
        """The URL of the service, without a query."""
        self.version: str = self.client.api_version
        self.headers = {"x-ms-version": self.version, "DataServiceVersion": "3.0"}
        """The first headers of each request."""
        self.is_cosmos = _is_cosmos(self.service)
        self._reader: Callable[[str], Any] = lru_cache(_MAX_READERS)(partial(self._new_reader, kind))

    async def send(self, prepared: Prepared, **options: Any) -> Any:
        """Send a request, and return its result; the errors are those of the SDK's call.

        :param options: the options of the SDK's call, such as its hooks
        """
        sent = _sending(prepared.span, is_async=self.is_async)(self, prepared, **options)
        return await sent if self.is_async else sent

    def fail(self, prepared: Prepared) -> Any:
        """Raise the error of a request, or return what the SDK makes of the response, as its call returns it."""
        if prepared.found is not None:
            raise prepared.found
        return prepared.by_sdk(self._reader(prepared.table), **SILENT, **{_RESPONSE: prepared.response})

    def _new_reader(self, kind: Any, table: str) -> Any:
        options = {"credential": NO_CREDENTIAL, "retry_total": 0, "logger": NO_LOG}
        return kind(self.service, table, transport=replaying(kind), **options)


@cache
def _sending(span: str, *, is_async: bool) -> Callable[..., Any]:
    """Return the function that sends a request in the span with this name."""

    def send(sender: RequestSender, prepared: Prepared, **options: Any) -> Any:
        sender.client.delete_table(merge_span=True, **options, **{_OPTION: prepared})
        return prepared.found if prepared.is_result else sender.fail(prepared)

    async def aio_send(sender: RequestSender, prepared: Prepared, **options: Any) -> Any:
        await sender.client.delete_table(merge_span=True, **options, **{_OPTION: prepared})
        return prepared.found if prepared.is_result else await settled(sender.fail(prepared))

    if is_async:
        return distributed_trace_async(name_of_span=span)(aio_send)
    return distributed_trace(name_of_span=span)(send)


class RequestPolicy(HTTPPolicy[Any, Any]):
    """A per-call policy that replaces the request of a call, and takes its response."""

    def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        """Send the request that a call carries in place of its own."""
        sent = _carried(request)
        if sent is None:
            return self.next.send(request)
        try:
            response = self.next.send(request)
        except DecodeError as error:
            response = _not_decoded(request, error)
        sent.take(response, _content(response.http_response) if sent.is_streamed else b"")
        return response


class AioRequestPolicy(AsyncHTTPPolicy[Any, Any]):
    """The same for async clients."""

    async def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        """Send the request that a call carries in place of its own."""
        sent = _carried(request)
        if sent is None:
            return await self.next.send(request)
        try:
            response = await self.next.send(request)
        except DecodeError as error:
            response = _not_decoded(request, error)
        sent.take(response, await settled(_content(response.http_response)) if sent.is_streamed else b"")
        return response


def _carried(request: PipelineRequest[Any]) -> Prepared | None:
    """Return what a call carries, with its request in place of the call's."""
    sent: Prepared | None = request.context.options.pop(_OPTION, None)
    if sent is not None:
        if sent.is_streamed:
            request.context.options["stream"] = True
        request.http_request = sent.request
    return sent


def _not_decoded(request: PipelineRequest[Any], error: DecodeError) -> PipelineResponse[Any, Any]:
    """Return a response that a later policy could not decode; the SDK's own call reads it, and raises the error."""
    if error.response is None:
        raise error
    return PipelineResponse(request.http_request, error.response, request.context)


def _content(response: Any) -> Any:
    return response.read() if hasattr(response, "read") else response.body()


class _Replay(HttpTransport[Any, Any]):
    """A transport that answers a request with the response that its call carries, or with the given one."""

    def __init__(self, response: Any = None) -> None:
        self._response = response
        self.sent: list[Any] = []
        """The requests that carried no response."""

    def send(self, request: Any, **options: Any) -> Any:
        response = options.get(_RESPONSE)
        if response is None:
            self.sent.append(request)
            return self._response
        if options.get("stream"):
            # The SDK looks there for the requests of the parts
            response.request = request
        return response

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class _AioReplay(AsyncHttpTransport[Any, Any]):
    """The same for async clients."""

    def __init__(self, response: Any = None) -> None:
        self._replay = _Replay(response)
        self.sent = self._replay.sent

    async def send(self, request: Any, **options: Any) -> Any:
        return self._replay.send(request, **options)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def __aexit__(self, *error: object) -> None: ...


def replaying(kind: Any, response: Any = None) -> Any:
    """Return a transport for clients of a class that sends nothing.

    It answers a request with the response that its call carries, or else with the given one. `sent` has the requests
    that carried none.
    """
    return _AioReplay(response) if _is_async(kind) else _Replay(response)
