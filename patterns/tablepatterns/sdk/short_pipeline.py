"""Send requests through the policies of an SDK client that sign and retry, without those that have nothing to do.

A client of the SDK has 13 to 17 policies. With the usual options, and while logging and tracing are off, all but two
set headers and call hooks. Copies of those two, with steps for the headers and hooks, make a pipeline of azure-core.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from time import time
from typing import Any, Final
from uuid import uuid1
from wsgiref.handlers import format_date_time

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.pipeline import AsyncPipeline, Pipeline, PipelineContext, PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import (
    AsyncBearerTokenCredentialPolicy,
    AsyncHTTPPolicy,
    BearerTokenCredentialPolicy,
    CustomHookPolicy,
    HTTPPolicy,
    SansIOHTTPPolicy,
    UserAgentPolicy,
)
from azure.core.pipeline.transport import AsyncHttpTransport, HttpTransport
from azure.core.rest import HttpRequest
from azure.core.settings import settings

from .call import SimpleResponse, settled

NO_CREDENTIAL: Final = AzureNamedKeyCredential("unused", "a2V5")
# Not of logging.getLogger: dictConfig enables those again
NO_LOG: Final = logging.Logger(f"{__name__}.none", logging.CRITICAL + 1)
SILENT: Final[Mapping[str, Any]] = {"logger": NO_LOG, "tracing_options": {"enabled": False}}
"""The options of a call that is neither logged nor traced."""
RESPONSE: Final = "tablepatterns_response"
"""The option of an SDK call that carries a response to the transport that replays it."""

_CLIENT_OPTIONS: Final = frozenset(
    {
        *("api_version", "audience", "credential", "transport", "raw_request_hook", "raw_response_hook"),
        *("retry_total", "retry_connect", "retry_read", "retry_status", "retry_backoff_factor", "retry_backoff_max"),
        *("retry_mode", "retry_on_status_codes", "timeout", "initial_backoff", "increment_base", "random_jitter_range"),
        *("connection_timeout", "read_timeout", "connection_verify", "connection_cert", "connection_data_block_size"),
        *("use_env_settings", "session", "session_owner", "logger", "http_logging_level"),
        *("user_agent", "user_agent_overwrite", "user_agent_use_env", "base_user_agent"),
    }
)
"""The options of a client with which its other policies do nothing else."""
_CALL_OPTIONS: Final = frozenset({"stream", "raw_response_hook", "retry_connect", "retry_read"})
_TOKENS: Final[Any] = (BearerTokenCredentialPolicy, AsyncBearerTokenCredentialPolicy)
_LOGGER: Final = logging.getLogger("azure.core.pipeline.policies.http_logging_policy")


class ShortPipeline:
    """A pipeline of some policies, for calls that are neither logged nor traced."""

    def __init__(self, policies: Sequence[Any], options: Mapping[str, Any]) -> None:
        transport = options["transport"]
        is_async = isinstance(transport, AsyncHttpTransport)
        kind: Any = AsyncPipeline if is_async else Pipeline
        entry = AioEntryPolicy() if is_async else EntryPolicy()
        kind(transport, [entry, *policies])
        self.first: Any = entry.next
        """The first policy, through which requests pass the others."""
        self._logger: logging.Logger = options.get("logger") or _LOGGER
        self._level: int = options.get("http_logging_level", logging.INFO)

    def takes(self, options: Mapping[str, Any]) -> bool:
        """Return whether it can send a call with these options now."""
        is_logged = self._logger.isEnabledFor(self._level)
        return options.keys() <= _CALL_OPTIONS and not is_logged and not settings.tracing_enabled()


async def short_pipeline(
    first: Any, options: Mapping[str, Any], headers: HeadersPolicy, retry_kind: Any
) -> ShortPipeline | None:
    """Return the pipeline for the policies of a client; None if they do something else with these options.

    :param first: the first policy of a client that has no hooks, and a transport that replays a response
    :param options: the options of the account's clients, with their `transport`, and their hooks
    :param retry_kind: the class of the policy that retries
    """
    if not options.keys() <= _CLIENT_OPTIONS:
        return None
    policies = _linked(first)
    last = policies.pop()
    kept: dict[str, Any] = {}
    for policy in policies:
        if isinstance(policy, retry_kind):
            kept["retry"] = copy(policy)
        elif isinstance(policy, _TOKENS) or await _signs(policy, last):
            kept["sign"] = copy(policy)  # pyright: ignore[reportUnknownArgumentType]
    if len(kept) < 2:
        return None
    kept |= {"headers": headers, "hooks": CustomHookPolicy[Any, Any](**options)}
    # A storage client signs each attempt, after its hook; a table client signs once
    order = "headers sign retry hooks" if next(iter(kept)) == "sign" else "retry headers hooks sign"
    return ShortPipeline([kept[name] for name in order.split()], options)


def _linked(policy: Any) -> list[Any]:
    """Return the policies of a client in order; the last one sends."""
    return [policy, *_linked(policy.next)] if hasattr(policy, "next") else [policy]


async def _signs(policy: Any, last: Any) -> bool:
    alone: Any = copy(policy)
    alone.next = last
    request = HttpRequest("GET", "https://account.table.core.windows.net/Table")
    await settled(alone.send(PipelineRequest(request, PipelineContext(None, **SILENT))))
    return "Authorization" in request.headers or "sig=" in request.url


class HeadersPolicy(SansIOHTTPPolicy[Any, Any]):
    """Set the headers that are the same for each request of a client, or tell its time.

    :param moniker: the name of the client in the user agent, such as `data-tables/12.7.0`
    :param dates: the headers that tell the time
    """

    def __init__(self, moniker: str, dates: Sequence[str], options: Mapping[str, Any]) -> None:
        self._user_agent = UserAgentPolicy(sdk_moniker=moniker, **options)
        self._dates = dates

    def on_request(self, request: PipelineRequest[Any]) -> None:
        headers = request.http_request.headers
        date = format_date_time(time())
        for name in self._dates:
            headers[name] = date
        headers["x-ms-client-request-id"] = str(uuid1())
        headers["User-Agent"] = self._user_agent.user_agent


class EntryPolicy(HTTPPolicy[Any, Any]):
    """The first policy of a pipeline, which leads to the others: azure-core sets its `next`."""

    def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        """Reject a request that a method of the client made: only requests of the library pass."""
        raise NotImplementedError(f"{request.http_request.method} {request.http_request.url}")


class AioEntryPolicy(AsyncHTTPPolicy[Any, Any]):
    """The same for async clients."""

    async def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        raise NotImplementedError(f"{request.http_request.method} {request.http_request.url}")


# ------------------------------------------------------------------ responses that the SDK reads


class _Replay(HttpTransport[Any, Any]):
    """A transport that answers a request with the response that its call carries, or with the given one."""

    def __init__(self, response: Any = None) -> None:
        self._response = response
        self.sent: list[Any] = []
        """The requests that carried no response."""

    def send(self, request: Any, **options: Any) -> Any:
        response = options.get(RESPONSE)
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
    return _AioReplay(response) if is_async(kind) else _Replay(response)


def is_async(kind: Any) -> bool:
    """Return whether a class of clients is async."""
    return hasattr(kind, "__aenter__")


def trial_options(kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for a client of a class that sends nothing, and calls no hooks."""
    hookless = {name: value for name, value in options.items() if not name.endswith("_hook")}
    return {**hookless, "transport": replaying(kind, SimpleResponse(None, 200, "OK", {}, b""))}
