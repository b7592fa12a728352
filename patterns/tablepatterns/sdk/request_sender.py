"""Send requests of the library's own through the policies of an SDK client.

The SDK's calls spend most of their time on writing a request and reading its response. Here, the request is handed to
the SDK's first policy directly, so signing, retries, hooks, logging and tracing are the SDK's. No method of a client
is called. A response that is not read here is given to the SDK's own call, which raises its error. Why it is done this
way: docs/decisions/0013-requests-go-to-the-sdks-policies.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, Final
from urllib.parse import urlsplit

from azure.core.exceptions import DecodeError, ResponseNotReadError
from azure.core.pipeline import PipelineContext, PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import AsyncRetryPolicy, RetryPolicy
from azure.core.rest import HttpRequest
from azure.core.tracing.decorator_async import distributed_trace_async
from azure.data import tables

from .call import settled
from .short_pipeline import (
    NO_CREDENTIAL,
    NO_LOG,
    RESPONSE,
    SILENT,
    AioEntryPolicy,
    EntryPolicy,
    HeadersPolicy,
    ShortPipeline,
    is_async,
    replaying,
    short_pipeline,
    trial_options,
)

_MAX_READERS: Final = 64


@dataclass(eq=False, slots=True)
class Prepared:
    """A request, the SDK's call that would send it, and what its response means.

    :param span: the name of the span in which the SDK sends it, such as `TableClient.create_entity`
    :param by_sdk: the SDK's call, which takes a client of the table and options
    :param read: reads a response, given its content if no policy has decoded it: returns the result or an error, or
        None if the SDK must read it
    :param is_streamed: whether the SDK reads the content later than its policies, so that they do not decode it
    """

    request: HttpRequest
    table: str
    span: str
    by_sdk: Callable[..., Any]
    read: Callable[[PipelineResponse[Any, Any], bytes], Any]
    is_streamed: bool = False


def _is_cosmos(service: str) -> bool:
    address = urlsplit(service)
    host = address.hostname or ""
    return ".table.cosmos" in host or (host == "localhost" and address.port != 10002)


class RequestSender:
    """A client of a Table service that sends prepared requests; `options` has the account's shared `transport`."""

    def __init__(self, kind: Any, service: str, options: Mapping[str, Any]) -> None:
        self.is_async = is_async(kind)
        # Not a table: no method of this client is called, and each request names its own
        self._kind, self._new_client = kind, partial(kind, service, "Unused")
        client, self.policies = self._linked(options)
        self._options = options
        self._transport = options["transport"]
        self._short: ShortPipeline | None = None
        self.service = str(client.url).partition("?")[0]
        """The URL of the service, without a query."""
        self.version: str = client.api_version
        self.headers = {"x-ms-version": self.version, "DataServiceVersion": "3.0"}
        """The first headers of each request."""
        self.is_cosmos = _is_cosmos(self.service)
        self._reader: Callable[[str], Any] = lru_cache(_MAX_READERS)(partial(new_reader, kind, self.service))

    def _linked(self, options: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return a client and the SDK's first policy, through which requests pass the others."""
        entry = AioEntryPolicy() if self.is_async else EntryPolicy()
        return self._new_client(**options, per_call_policies=[entry]), entry.next

    async def shorten(self) -> None:
        """Send by fewer policies from now on, where the others have nothing to do."""
        _, first = self._linked(trial_options(self._kind, self._options))
        headers = HeadersPolicy(f"data-tables/{tables.__version__}", ("x-ms-date", "Date"), self._options)
        self._short = await short_pipeline(first, self._options, headers, (RetryPolicy, AsyncRetryPolicy))

    async def send(self, prepared: Prepared, **options: Any) -> Any:
        """Send a request, and return its result; the errors are those of the SDK's call."""
        if self._short is not None and self._short.takes(options):
            return await self.send_shortly(prepared, **options)
        return await self._in_span(prepared.span)(self, self.policies, prepared, **options)

    async def send_shortly(self, prepared: Prepared, **options: Any) -> Any:
        """Send a request by the fewer policies, without looking at logging and tracing."""
        return await self._send(self._short.first if self._short else self.policies, prepared, **options)

    async def _send(self, first: Any, prepared: Prepared, **options: Any) -> Any:
        context = PipelineContext(self._transport, stream=prepared.is_streamed, **options)
        request = PipelineRequest(prepared.request, context)
        try:
            response: Any = first.send(request)
            if self.is_async:
                response = await response
        except DecodeError as error:
            # Raised by a later policy; the SDK's own call reads the response, and raises the error
            if error.response is None:
                raise
            response = PipelineResponse(request.http_request, error.response, context)
        if first is not self.policies and 300 <= response.http_response.status_code < 400:
            # The SDK's policy for redirects follows it
            return await self._send(self.policies, prepared, **options)
        is_undecoded = prepared.is_streamed or first is not self.policies
        content = await settled(_content(response.http_response)) if is_undecoded else b""
        result = prepared.read(response, content)
        if result is None:
            reader = self._reader(prepared.table)
            return await settled(prepared.by_sdk(reader, **SILENT, **{RESPONSE: response.http_response}))
        if isinstance(result, Exception):
            raise result
        return result

    @staticmethod
    @cache
    def _in_span(span: str) -> Callable[..., Any]:
        return distributed_trace_async(name_of_span=span)(RequestSender._send)


def _content(response: Any) -> Any:
    if not hasattr(response, "read"):
        return response.body()
    with suppress(ResponseNotReadError):
        # An async response without content cannot be read twice
        return response.content
    return response.read()


def new_reader(kind: Any, service: str, table: str, response: Any = None) -> Any:
    """Return a client that reads responses and sends nothing: its transport is that of `replaying`."""
    options = {"credential": NO_CREDENTIAL, "retry_total": 0, "logger": NO_LOG}
    return kind(service.partition("?")[0], table, transport=replaying(kind, response), **options)
