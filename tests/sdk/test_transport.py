"""The transport of sync clients does what the SDK's does, whatever the server does."""

from __future__ import annotations

import copy
import http.client
import os
import pickle
import re
import socket
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any, Final

import pytest
import requests
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest, HttpResponse
from azure.data.tables import TableClient

from support.misbehaving_server import (
    BEHAVIORS,
    JSON,
    ROW,
    Connection,
    MisbehavingServer,
    Received,
    misbehaving_server,
    refused_origin,
)
from support.misbehaving_server import response as response_bytes
from support.recorded_requests import CREDENTIAL
from tablepatterns.sdk.transport import Transport

OPTIONS: Final[dict[str, Any]] = {"connection_timeout": 30, "read_timeout": 30}
PAUSES: Final = [name for name in BEHAVIORS if name.startswith(("never", "pauses"))]
IMPATIENT: Final[dict[str, Any]] = {"connection_timeout": 30, "read_timeout": 0.5}
PATH: Final = "/account/Employees(PartitionKey='p',RowKey='it%27s')?$select=Name"
ENTITY: Final = {"PartitionKey": "p", "RowKey": "r", "Name": "Jones"}
METHODS: Final = {"GET": None, "POST": b'{"Name":"J\xc3\xb6nes"}', "PUT": "{}", "PATCH": b"", "DELETE": None}
"""The methods of requests, and their content."""
EVERY_RUN: Final = ("GET", "PUT")
"""Without content, and with it."""


_BOUNDARY: Final = re.compile("[0-9a-f]{32}")


class Quick(Transport):
    """The library's transport, without waiting between retries."""

    def sleep(self, duration: float) -> None: ...


class Direct(Quick):
    """The same, which fails where it would leave a request to the SDK's."""

    def send(self, request: Any, **options: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(requests.Session, "request", left_to_sdk)
            return super().send(request, **options)


def left_to_sdk(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("the SDK's transport sent the request")


class Sdk(RequestsTransport):
    """The SDK's transport, without waiting between retries."""

    def sleep(self, duration: float) -> None: ...


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a caller can see of a response, or of an error."""
    try:
        found = call()
    except Exception as error:  # noqa: BLE001 - compared
        inner = getattr(error, "inner_exception", None)
        return type(error), type(inner), _stable(str(error)), getattr(error, "status_code", None)
    return seen(found) if isinstance(found, HttpResponse) else found


def seen(response: HttpResponse) -> Any:
    at_once = seen_at_once(response)
    return {
        "headers": {name.lower(): value for name, value in response.headers.items()},
        "content": response.content,
        "read": response.read(),
        "bytes": b"".join(response.iter_bytes()),
        "raw": outcome(lambda: b"".join(response.iter_raw())),
        **at_once,
    }


def seen_at_once(response: Any) -> dict[str, Any]:
    """Return what a caller can see of a response, sync or async, before the content is read again."""
    return {
        "status": (response.status_code, response.reason, response.is_closed, response.is_stream_consumed),
        "text": response.text(),
        "as latin": response.text("latin-1"),
        "encoding": response.encoding,
        "json": outcome(response.json),
        "raised": outcome(response.raise_for_status),
        "type": response.content_type,
        "url": response.url.partition("//")[2].partition("/")[2],
        "repr": repr(response),
    }


def _stable(text: str) -> str:
    # Before urllib3 2.1, texts have the full name of the class of a connection
    text = text.replace("tablepatterns.sdk.transport.", "urllib3.connection.")
    return re.sub(
        r"0x[0-9a-f]+|(?<=test):\d+|port=\d+|127\.0\.0\.1:\d+|HTTPS?ConnectionPool|object at \S+", "...", text
    )


def results_of(kind: type[RequestsTransport], server: MisbehavingServer, method: str, count: int) -> Any:
    """Return how some requests end, one after another, and what the server received."""
    headers = {"x-ms-date": "today", "Content-Type": "application/json"}
    request = HttpRequest(method, server.origin + PATH, headers=headers, content=METHODS[method])
    ends: list[Any] = []
    with kind(**(OPTIONS if count > 1 else IMPATIENT)) as transport:
        for _ in range(count):
            ends.append(outcome(lambda: transport.send(request)))
            if count > 1:
                server.wait()
    return ends, [comparable(received) for received in server.received], server.connections


def comparable(received: Received) -> Any:
    """Return what does not differ from run to run."""
    headers = dict(sorted((name, text) for name, text in received.headers.items() if name != "host"))
    return _BOUNDARY.sub("boundary", str(received._replace(headers=headers)))


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize(
    "method", [method if method in EVERY_RUN else pytest.param(method, marks=pytest.mark.nightly) for method in METHODS]
)
@pytest.mark.few(22)
def test_each_behavior_of_a_server_ends_as_with_the_sdks_transport(behavior: str, method: str) -> None:
    # The SDK's transport sends the requests after a cookie
    ours = Transport if behavior == "sets a cookie" else Direct
    with misbehaving_server(BEHAVIORS[behavior]) as one, misbehaving_server(BEHAVIORS[behavior]) as other:
        count = 1 if behavior in PAUSES else 3
        assert results_of(ours, other, method, count) == results_of(Sdk, one, method, count)


CALLS: Final[dict[str, Callable[[TableClient], Any]]] = {
    "get": lambda client: dict(client.get_entity("p", "r")),
    "insert": lambda client: client.create_entity(ENTITY),
    "upsert": lambda client: client.upsert_entity(ENTITY),
    "merge": lambda client: client.update_entity(ENTITY),
    "delete": lambda client: client.delete_entity(ENTITY),
    "transaction": lambda client: client.submit_transaction([("create", ENTITY)]),
}


@pytest.mark.parametrize(
    ("behavior", "call"),
    [
        (behavior, call)
        for behavior in BEHAVIORS
        for call in CALLS
        if behavior not in PAUSES or call in ("get", "insert")
    ],
)
@pytest.mark.few(60)
def test_a_call_of_the_sdk_is_retried_as_often_and_ends_the_same(behavior: str, call: str) -> None:
    results: list[Any] = []
    for kind in (Sdk, Quick):
        # Each attempt waits until the time is up
        options, retries = (IMPATIENT, 1) if behavior in PAUSES else (OPTIONS, 3)
        with misbehaving_server(BEHAVIORS[behavior]) as server, kind(**options) as transport:
            client = TableClient(
                f"{server.origin}/account", "Employees", credential=CREDENTIAL, transport=transport, retry_total=retries
            )
            end = outcome(lambda client=client: CALLS[call](client))
            results.append((end, [request.method for request in server.received]))
    assert results[0] == results[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_refused_connection_ends_as_with_the_sdks_transport(method: str) -> None:
    request = HttpRequest(method, refused_origin() + PATH)
    ends = [outcome(lambda kind=kind: kind(**OPTIONS).send(request)) for kind in (Sdk, Direct)]
    assert ends[0] == ends[1]
    assert ends[0][0] is ServiceRequestError


def test_an_unknown_host_ends_as_with_the_sdks_transport() -> None:
    request = HttpRequest("GET", "http://nowhere.invalid/account/T")
    ends = [outcome(lambda kind=kind: kind(**OPTIONS).send(request)) for kind in (Sdk, Direct)]
    assert ends[0] == ends[1]


def status_of(transport: RequestsTransport, request: HttpRequest) -> int:
    return int(transport.send(request).status_code)


INTERNATIONAL: Final = ("b\u00fccher.test", "B\u00dcCHER.test", "xn--bcher-kva.test", "\u3002.test", "a..test")


@pytest.mark.parametrize("host", INTERNATIONAL)
def test_an_international_host_is_asked_as_by_the_sdks_transport(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    resolve = socket.getaddrinfo

    def resolved(name: object, *arguments: Any, **options: Any) -> Any:
        asked.append(name)
        return resolve("127.0.0.1", *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    results: list[Any] = []
    for kind in (Sdk, Transport):
        asked.clear()
        with misbehaving_server(BEHAVIORS["answers"]) as server, kind(**OPTIONS) as transport:
            request = HttpRequest("GET", server.origin.replace("127.0.0.1", host) + PATH)
            end = outcome(partial(status_of, transport, request))
            hosts = [received.headers["host"].partition(":")[0] for received in server.received]
        results.append((end, hosts, [*asked]))
    assert results[0] == results[1]


def test_the_response_to_head_has_no_content_though_it_has_a_length() -> None:
    ends: list[Any] = []
    for kind in (Sdk, Direct):
        with misbehaving_server(BEHAVIORS["ends before the content"]) as server, kind(**OPTIONS) as transport:
            for _ in range(2):
                ends.append(outcome(lambda: transport.send(HttpRequest("HEAD", server.origin + PATH))))
                # The second request finds a closed connection
                server.wait()
    assert ends[:2] == ends[2:]
    assert ends[0]["content"] == b""


@pytest.mark.skipif(not socket.has_ipv6, reason="the system has no IPv6")
def test_a_server_with_an_ipv6_address_is_asked() -> None:
    with misbehaving_server(BEHAVIORS["answers"], address="::1") as server, Direct(**OPTIONS) as transport:
        assert transport.send(HttpRequest("GET", server.origin + PATH)).status_code == 200
        (received,) = server.received
    assert (received.target, received.headers["host"]) == (PATH, server.origin.removeprefix("http://"))


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_is_not_used_again_after_an_interrupt(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Ctrl+C were pressed while the content is read, or a download were abandoned midway."""

    def interrupted(*arguments: Any, **options: Any) -> bytes:
        raise KeyboardInterrupt

    def behave(connection: Connection) -> None:
        is_last = connection.request.target == "/T"
        connection.send(response_bytes(ROW if is_last else bytes(1_000_000), JSON))

    with misbehaving_server(behave) as server, Transport(**OPTIONS) as transport:
        if stream:
            response = transport.send(HttpRequest("GET", server.origin + PATH), stream=True)
            next(response.iter_raw())
            response.close()
        else:
            with monkeypatch.context() as patch:
                patch.setattr("http.client.HTTPResponse.read", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    transport.send(HttpRequest("GET", server.origin + PATH))
        assert transport.send(HttpRequest("GET", server.origin + "/T")).json()["Name"] == "J\u00f6nes"
        assert len(server.received) == server.connections == 2


@pytest.mark.parametrize("size", [1, 5_000_000])
def test_a_connection_is_not_used_again_after_an_interrupt_of_a_write(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if Ctrl+C were pressed when the server has received a part of the request."""
    send = http.client.HTTPConnection.send

    def interrupted(self: Any, data: Any) -> None:
        send(self, data[: len(data) // 2])
        raise KeyboardInterrupt

    with misbehaving_server(BEHAVIORS["answers"]) as server, Direct(**OPTIONS) as transport:
        with monkeypatch.context() as patch:
            patch.setattr(http.client.HTTPConnection, "send", interrupted)
            with pytest.raises(KeyboardInterrupt):
                transport.send(HttpRequest("PUT", server.origin + PATH, content=bytes(size)))
        assert transport.send(HttpRequest("PUT", server.origin + "/T", content=b"{}")).status_code == 200
        # The server may take what arrived of the first request for a request, before the second one or after it
        assert [request.body for request in server.received if request.target == "/T"] == [b"{}"]
        assert server.connections == 2


@pytest.mark.parametrize("size", [1, 64 * 1024, 64 * 1024 + 1, 5_000_000])
def test_a_body_arrives_whole_in_one_write_or_more(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    send = http.client.HTTPConnection.send

    def recorded(self: Any, data: Any) -> None:
        writes.append(len(data))
        send(self, data)

    content = bytes(range(256)) * (size // 256 + 1)
    monkeypatch.setattr(http.client.HTTPConnection, "send", recorded)
    with misbehaving_server(BEHAVIORS["answers"]) as server, Direct(**OPTIONS) as transport:
        transport.send(HttpRequest("PUT", server.origin + PATH, content=content[:size]))
    assert [request.body for request in server.received] == [content[:size]]
    assert len(writes) == (1 if size <= 64 * 1024 else 2)


def test_a_server_that_closes_between_requests_receives_each_write_once() -> None:
    with misbehaving_server(BEHAVIORS["closes at the second request"]) as server, Direct(**OPTIONS) as transport:
        request = HttpRequest("POST", server.origin + PATH, content=b"{}")
        assert transport.send(request).status_code == 200
        with pytest.raises(ServiceResponseError):
            transport.send(request)
        assert len(server.received) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork processes")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_both_processes_continue_after_a_fork_and_the_child_may_close_its_own() -> None:
    with misbehaving_server(BEHAVIORS["answers"]) as server, Transport(**OPTIONS) as transport:
        request = HttpRequest("GET", server.origin + PATH)
        assert transport.send(request).status_code == 200
        child = os.fork()
        if child == 0:
            status = transport.send(request).status_code
            transport.close()
            os._exit(0 if status == 200 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert transport.send(request).status_code == 200
        assert (len(server.received), server.connections) == (3, 2)


def pickled(transport: Any) -> Any:
    return pickle.loads(pickle.dumps(transport))  # noqa: S301 - its own


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_has_the_options_and_connections_of_its_own(duplicate: Callable[[Any], Any]) -> None:
    with misbehaving_server(BEHAVIORS["answers"]) as server, Transport(connection_timeout=7) as transport:
        request = HttpRequest("GET", server.origin + PATH)
        transport.send(request)
        with duplicate(transport) as duplicated:
            assert duplicated.connection_config.timeout == 7
            transport.close()
            assert duplicated.send(request).status_code == 200
        assert (len(server.received), server.connections) == (2, 2)


def test_a_closed_transport_sends_nothing() -> None:
    with misbehaving_server(BEHAVIORS["answers"]) as server:
        ends = []
        for kind in (Sdk, Direct):
            transport = kind(**OPTIONS)
            transport.send(HttpRequest("GET", server.origin + PATH))
            transport.close()
            ends.append(outcome(lambda transport=transport: transport.send(HttpRequest("GET", server.origin + PATH))))
        assert ends[0] == ends[1]
        assert ends[0][0] is ValueError
        assert len(server.received) == 2


# ------------------------------------------------------------------ requests


ODD_REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "escapes that are not needed": {"url": "/a%2Db/%7e?x=%41"},
    "lower-case escapes": {"url": "/T?sig=a%2bb%3d"},
    "dot segments": {"url": "/a/./b/../c?x=/../y"},
    "two slashes": {"url": "//a//b"},
    "brackets and quotes": {"url": '/T?a=[1]&b="x"|{}^`<>'},
    "spaces and letters": {"url": "/T?a=b c&d=\u00f6"},
    "a bare percent sign": {"url": "/T?a=100%"},
    "a fragment": {"url": "/T?a=1#part"},
    "no path": {"url": ""},
    "only a query": {"url": "?a=1"},
    "an injected header": {"headers": {"x-ms-meta-a": "1\r\nX-Evil: 1"}},
    "an injected line": {"headers": {"x-ms-meta-a": "1\nX-Evil: 1"}},
    "an injected zero byte": {"headers": {"x-ms-meta-a": "1\0X-Evil: 1"}},
    "a name with a colon": {"headers": {"x-ms-meta-a: 1\r\nX-Evil": "1"}},
    "a name with a space": {"headers": {"x-ms-meta a": "1"}},
    "an empty name": {"headers": {"": "1"}},
    "a value with spaces around": {"headers": {"x-ms-meta-a": " 1 "}},
    "an empty value": {"headers": {"x-ms-meta-a": ""}},
    "a value of bytes": {"headers": {"x-ms-meta-a": b"1"}},
    "a value that is a number": {"headers": {"x-ms-meta-a": 1}},
    "no value": {"headers": {"x-ms-meta-a": None}},
    "a latin letter": {"headers": {"x-ms-meta-a": "\u00f6"}},
    "a Greek letter": {"headers": {"x-ms-meta-a": "\u03c9"}},
    "its own host": {"headers": {"Host": "elsewhere"}},
    "its own length": {"headers": {"content-length": "0"}},
    "a wrong length": {"headers": {"Content-Length": "1"}, "content": b"abc"},
    "its own agent and encodings": {
        "headers": {"user-agent": "me", "accept-encoding": "identity", "connection": "close"}
    },
    "text": {"content": "J\u00f6nes"},
    "empty text": {"content": ""},
    "bytes": {"content": b"\0" * 100_000},
    "an iterator": {"content": "chunks"},
    "a file": {"content": "file"},
    "a form": {"data": {"a": "1"}},
    "files": {"files": {"a": b"1"}},
    "JSON": {"json": {"a": 1}},
    "multipart": {"content": b"--b--", "headers": {"Content-Type": "multipart/mixed; boundary=b"}},
}


def odd_request(origin: str, method: str, odd: dict[str, Any]) -> HttpRequest:
    options = {name: value for name, value in odd.items() if name != "url"}
    if odd.get("content") == "chunks":
        options["content"] = iter([b"abc", b"def"])
    if odd.get("content") == "file":
        options["content"] = BytesIO(b"abc")
    return HttpRequest(method, origin + odd.get("url", PATH), **options)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("case", ODD_REQUESTS)
def test_each_request_arrives_as_from_the_sdks_transport(case: str, method: str) -> None:
    results: list[Any] = []
    for kind in (Sdk, Transport):
        with misbehaving_server(BEHAVIORS["answers"]) as server, kind(**OPTIONS) as transport:
            end = outcome(lambda: transport.send(odd_request(server.origin, method, ODD_REQUESTS[case])))
            results.append((end, [comparable(request) for request in server.received]))
    assert results[0] == results[1]
    assert not any("'x-evil'" in request for _, received in results for request in received)
