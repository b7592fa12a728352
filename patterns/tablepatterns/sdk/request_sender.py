"""Send requests of the library's own through the policies of an SDK client.

The request is handed to the SDK's first policy, so signing, retries, hooks, logging and tracing are the SDK's. A
response that is not read here is given to the SDK's own call, which raises its error. The reasons:
docs/decisions/0013-requests-go-to-the-sdks-policies.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, Final
from urllib.parse import quote, urlsplit
from uuid import uuid4

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import DecodeError
from azure.core.pipeline import PipelineContext, PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import HTTPPolicy
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator_async import distributed_trace_async

from .call import settled

NO_CREDENTIAL: Final = AzureNamedKeyCredential("unused", "a2V5")
# Not of logging.getLogger: dictConfig enables those again
NO_LOG: Final = logging.Logger(f"{__name__}.none", logging.CRITICAL + 1)
SILENT: Final[Mapping[str, Any]] = {"logger": NO_LOG, "tracing_options": {"enabled": False}}
"""The options of a call that is neither logged nor traced."""

_RESPONSE: Final = "tablepatterns_response"
"""The option of an SDK call that carries a response to the transport that replays it."""
MAX_LAYOUTS: Final = 2048
"""A program has few layouts of rows, unless it uses data as property names."""
_MAX_READERS: Final = 64
_ID_OPTIONS: Final = frozenset({"auto_request_id", "request_id", "request_id_header_name"})


@dataclass(eq=False, slots=True)
class Prepared:
    """A request, the SDK's call that would send it, and what its response means.

    :param name: the name of the table or queue
    :param span: the name of the span in which the SDK sends it, such as `TableClient.create_entity`
    :param by_sdk: the SDK's call, which takes a client of the table or queue and options
    :param read: reads a response, given its content if it is streamed: returns the result or an error, or None if the
        SDK must read it
    :param is_streamed: whether the SDK reads the content later than its policies, so that they do not decode it
    """

    request: HttpRequest
    name: str
    span: str
    by_sdk: Callable[..., Any]
    read: Callable[[PipelineResponse[Any, Any], bytes], Any]
    is_streamed: bool = False


def entity_address(partition_key: str, row_key: str) -> str:
    """Return the part of an entity's URL that follows the table's name."""
    return f"(PartitionKey='{quoted_key(partition_key)}',RowKey='{quoted_key(row_key)}')"


def quoted_key(key: str) -> str:
    if key.isalnum() and key.isascii():
        return key
    return quote(key.replace("'", "''"), safe="")


def is_async(kind: Any) -> bool:
    return hasattr(kind, "__aenter__")


class RequestSender:
    """A client of a Table service that sends prepared requests; `options` has the account's shared `transport`."""

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self.is_async = is_async(kind)
        self._transport = options["transport"]
        client = self._link(kind, service, options)
        self.service = str(client.url).partition("?")[0]
        """The URL of the service, without a query."""
        self.version: str = client.api_version
        self.headers = {"x-ms-version": self.version, "DataServiceVersion": "3.0"}
        address = urlsplit(self.service)
        host = address.hostname or ""
        self.is_cosmos = ".table.cosmos" in host or (host == "localhost" and address.port != 10002)
        self._names_requests = not options.keys() & _ID_OPTIONS
        self._reader: Callable[[str], Any] = lru_cache(_MAX_READERS)(partial(new_reader, kind, self.service))

    def _link(self, kind: Any, service: str, options: Mapping[str, Any]) -> Any:
        """Return a client for whose policies azure-core has set the `next` one of `policies`."""
        entry = EntryPolicy()
        # Not a table: no method of this client is called, and each request names its own
        client = kind(service, "Unused", **options, per_call_policies=[entry])
        self.policies: Any = entry.next
        """The SDK's first policy, through which requests pass the others."""
        return client

    async def send(self, prepared: Prepared, **options: Any) -> Any:
        """Send a request, and return its result; the errors are those of the SDK's call."""
        if self._names_requests:
            # The SDK uses uuid1, for which libuuid asks the system: a twentieth of the time of a request
            prepared.request.headers["x-ms-client-request-id"] = str(uuid4())
        return await self._in_span(prepared.span)(self, prepared, **options)

    async def _send(self, prepared: Prepared, **options: Any) -> Any:
        context = PipelineContext(self._transport, stream=prepared.is_streamed, **options)
        request = PipelineRequest(prepared.request, context)
        try:
            response: Any = self.policies.send(request)
            if self.is_async:
                response = await response
        except DecodeError as error:
            # Raised by a later policy; the SDK's own call reads the response, and raises the error
            if error.response is None:
                raise
            response = PipelineResponse(request.http_request, error.response, context)
        answer, content = response.http_response, b""
        if prepared.is_streamed:
            content = await settled(answer.read() if hasattr(answer, "read") else answer.body())
        result = prepared.read(response, content)
        if result is None:
            return await self._by_sdk(prepared, answer)
        if isinstance(result, Exception):
            raise result
        return result

    async def _by_sdk(self, prepared: Prepared, response: Any) -> Any:
        return await settled(prepared.by_sdk(self._reader(prepared.name), **SILENT, **{_RESPONSE: response}))

    @staticmethod
    @cache
    def _in_span(span: str) -> Callable[..., Any]:
        return distributed_trace_async(name_of_span=span)(RequestSender._send)


class EntryPolicy(HTTPPolicy[Any, Any]):
    """The first policy of a pipeline, sync or async, which leads to the SDK's own: azure-core sets its `next`."""

    def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        """Reject a request that a method of the client made: only requests of the library pass."""
        raise NotImplementedError(f"{request.http_request.method} {request.http_request.url}")


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


def new_reader(kind: Any, service: str, name: str, response: Any = None) -> Any:
    """Return a client that reads responses and sends nothing."""
    options = {"credential": NO_CREDENTIAL, "retry_total": 0, "logger": NO_LOG}
    return kind(service.partition("?")[0], name, transport=replaying(kind, response), **options)


def replaying(kind: Any, response: Any = None) -> Any:
    """Return a transport for clients of a class that sends nothing; see `_Replay`."""
    return _AioReplay(response) if is_async(kind) else _Replay(response)
