"""The transport of async clients does what the SDK's does, whatever the server does, and however a task ends."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import aiohttp
import pytest
from azure.core.exceptions import ServiceRequestError
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest

from sdk.test_transport import (
    EVERY_RUN,
    IMPATIENT,
    METHODS,
    ODD_REQUESTS,
    OPTIONS,
    PATH,
    PAUSES,
    comparable,
    left_to_sdk,
    odd_request,
    outcome,
    pickled,
    seen_at_once,
)
from support.certificates import Authority
from support.misbehaving_server import BEHAVIORS, JSON, ROW, MisbehavingServer, misbehaving_server, refused_origin
from support.misbehaving_server import response as response_bytes
from tablepatterns.sdk.aio_transport import AioTransport


class Direct(AioTransport):
    """The library's transport, which fails where it would leave a request to the SDK's."""

    async def send(self, request: Any, **options: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AioHttpTransport, "_build_ssl_config", left_to_sdk)
            return await super().send(request, **options)


async def ended(call: Callable[[], Awaitable[Any]]) -> Any:
    """Return what a caller can see of a response, or of an error."""
    try:
        result = await call()
    except Exception as error:  # noqa: BLE001 - compared
        failure = error

        def fail() -> None:
            raise failure

        return outcome(fail)
    return await seen(result) if isinstance(result, AsyncHttpResponse) else result


async def joined(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def seen(response: Any) -> Any:
    async with response:
        pass
    at_once = seen_at_once(response)
    return {
        # Not its items: of a name in capitals and in small letters, the SDK's response repeats only the last value
        "headers": {name.lower(): response.headers[name] for name in response.headers},
        "content": (response.content, response.body()),
        # The SDK cannot read an empty response twice
        "read": await response.read() if response.content else b"",
        "bytes": await joined(response.iter_bytes()),
        "raw": await ended(lambda: joined(response.iter_raw())),
        **at_once,
    }


async def results_of(kind: type[AioHttpTransport], server: MisbehavingServer, method: str, count: int) -> Any:
    """Return how some requests end, one after another, and what the server received."""
    headers = {"x-ms-date": "today", "Content-Type": "application/json"}
    request = HttpRequest(method, server.origin + PATH, headers=headers, content=METHODS[method])
    ends: list[Any] = []
    async with kind(**(OPTIONS if count > 1 else IMPATIENT)) as transport:
        for _ in range(count):
            ends.append(await ended(lambda: transport.send(request)))
            if count > 1:
                await asyncio.to_thread(server.wait)
    return ends, [comparable(received) for received in server.received], server.connections


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize(
    "method", [method if method in EVERY_RUN else pytest.param(method, marks=pytest.mark.nightly) for method in METHODS]
)
@pytest.mark.few(22)
async def test_each_behavior_of_a_server_ends_as_with_the_sdks_transport(behavior: str, method: str) -> None:
    with misbehaving_server(BEHAVIORS[behavior]) as one, misbehaving_server(BEHAVIORS[behavior]) as other:
        count = 1 if behavior in PAUSES else 3
        by_sdk = await results_of(AioHttpTransport, one, method, count)
        assert await results_of(Direct, other, method, count) == by_sdk


@pytest.mark.parametrize("behavior", [name for name in BEHAVIORS if "gzip" in name or "deflate" in name])
async def test_a_session_of_the_callers_decodes_as_with_the_sdks_transport(behavior: str) -> None:
    ends: list[Any] = []
    for kind in (AioHttpTransport, AioTransport):
        async with aiohttp.ClientSession() as session:
            with misbehaving_server(BEHAVIORS[behavior]) as server:
                transport = kind(**OPTIONS, session=session, session_owner=False)
                request = HttpRequest("GET", server.origin + PATH)
                ends.append(await ended(partial(transport.send, request)))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("case", ODD_REQUESTS)
async def test_each_request_arrives_as_from_the_sdks_transport(case: str, method: str) -> None:
    results: list[Any] = []
    for kind in (AioHttpTransport, AioTransport):
        with misbehaving_server(BEHAVIORS["answers"]) as server:
            async with kind(**OPTIONS) as transport:
                request = odd_request(server.origin, method, ODD_REQUESTS[case])
                end = await ended(partial(transport.send, request))
            results.append((end, [comparable(received) for received in server.received]))
    assert results[0] == results[1]


@pytest.mark.parametrize("origin", ["refused", "http://nowhere.invalid"])
async def test_a_server_that_is_not_there_ends_as_with_the_sdks_transport(origin: str) -> None:
    request = HttpRequest("GET", (refused_origin() if origin == "refused" else origin) + PATH)
    ends: list[Any] = []
    for kind in (AioHttpTransport, Direct):
        async with kind(**OPTIONS) as transport:
            ends.append(await ended(lambda: transport.send(request)))
    assert ends[0] == ends[1]
    assert ends[0][0] is ServiceRequestError


async def test_a_closed_transport_sends_nothing() -> None:
    ends: list[Any] = []
    with misbehaving_server(BEHAVIORS["answers"]) as server:
        request = HttpRequest("GET", server.origin + PATH)
        for kind in (AioHttpTransport, Direct):
            transport = kind(**OPTIONS)
            await transport.send(request)
            await transport.close()
            ends.append(await ended(partial(transport.send, request)))
        assert len(server.received) == 2
    assert ends[0] == ends[1]
    assert ends[0][0] is ValueError


# ------------------------------------------------------------------ TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.mark.parametrize("case", ["own CA", "unknown CA", "unverified", "missing file", "client certificate"])
async def test_tls_is_set_up_as_by_the_sdks_transport(authority: Authority, case: str) -> None:
    cases: dict[str, dict[str, Any]] = {
        "own CA": {"connection_verify": str(authority.path)},
        "unknown CA": {},
        "unverified": {"connection_verify": False},
        "missing file": {"connection_verify": "missing.pem"},
        "client certificate": {
            "connection_verify": str(authority.path),
            "connection_cert": (str(authority.issue("client")),),
        },
    }
    ends: list[Any] = []
    for kind in (AioHttpTransport, AioTransport):
        with misbehaving_server(
            BEHAVIORS["answers"], authority.server_context(asks=case == "client certificate")
        ) as server:
            async with kind(**OPTIONS, **cases[case]) as transport:
                end = await ended(lambda: transport.send(HttpRequest("GET", server.origin + PATH)))
            # Otherwise the event loop may end before the socket is closed, and Python 3.10 warns in a later test
            await asyncio.to_thread(server.join)
            ends.append((end, len(server.received)))
    assert ends[0] == ends[1]


async def test_a_connection_that_trusts_ones_own_ca_is_used_again(authority: Authority) -> None:
    with misbehaving_server(BEHAVIORS["answers"], authority.server_context()) as server:
        async with AioTransport(**OPTIONS, connection_verify=str(authority.path)) as transport:
            for _ in range(3):
                assert (await transport.send(HttpRequest("GET", server.origin + PATH))).status_code == 200
        await asyncio.to_thread(server.join)
        assert (len(server.received), server.connections) == (3, 1)


# ------------------------------------------------------------------ cancellation


LARGE: Final = bytes(20_000_000)


@asynccontextmanager
async def stalling_server(stage: str) -> AsyncIterator[tuple[str, asyncio.Event, list[str]]]:
    """Run a server that stalls at a stage of its first connection's request, and answers those of all others.

    :returns: its origin, an event that it has stalled, and the first line of each request
    """
    stalled, released, lines = asyncio.Event(), asyncio.Event(), list[str]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_first = not lines
        head = await reader.readuntil(b"\r\n\r\n")
        lines.append(head.partition(b"\r\n")[0].decode())
        if is_first:
            if stage == "content":
                writer.write(response_bytes(ROW, JSON, length=len(ROW) + 1))
                await writer.drain()
            stalled.set()
            # A client that is sending must not be read from, nor find the connection closed
            await released.wait()
        else:
            writer.write(response_bytes(ROW, JSON))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", stalled, lines
        finally:
            released.set()


@pytest.mark.parametrize("stage", ["sending", "waiting", "content"])
async def test_a_connection_is_not_used_again_after_its_task_was_canceled(stage: str) -> None:
    async with stalling_server(stage) as (origin, stalled, lines), Direct(**OPTIONS) as transport:
        request = HttpRequest("PUT", origin + PATH, content=LARGE if stage == "sending" else b"{}")
        task = asyncio.create_task(transport.send(request))
        await stalled.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        response = await transport.send(HttpRequest("GET", origin + "/T"))
        assert response.content == ROW
        assert [line.split("/")[0] for line in lines] == ["PUT ", "GET "]


# ------------------------------------------------------------------ copies


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
async def test_a_copy_has_the_options_and_connections_of_its_own(duplicate: Callable[[Any], Any]) -> None:
    with misbehaving_server(BEHAVIORS["answers"]) as server:
        request = HttpRequest("GET", server.origin + PATH)
        async with AioTransport(connection_timeout=7) as transport:
            await transport.send(request)
            duplicated = duplicate(transport)
            assert duplicated.connection_config.timeout == 7
            await transport.close()
            assert (await duplicated.send(request)).status_code == 200
            await duplicated.close()
        assert (len(server.received), server.connections) == (2, 2)
