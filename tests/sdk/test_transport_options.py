"""Options, the environment, TLS, proxies, large blobs and logs with the transport of sync clients."""

from __future__ import annotations

import logging
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import RawIOBase
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from azure.core.exceptions import AzureError, ServiceRequestError
from azure.core.pipeline.transport import AioHttpTransport, RequestsTransport
from azure.core.rest import HttpRequest

from support.certificates import Authority
from support.http_proxy import HttpProxy, http_proxy
from support.misbehaving_server import BEHAVIORS, Connection, misbehaving_server, response
from tablepatterns import EntitySet, Key, aio, connect
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.transport import Transport
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.server.server import serving

ANSWERS: Final = BEHAVIORS["answers"]
MEGABYTE: Final = 1024 * 1024
KINDS: Final = (RequestsTransport, Transport)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def proxy() -> Iterator[HttpProxy]:
    with http_proxy() as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without proxies, certificates and logins of the machine."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def ended(transport: Any, url: str, **options: Any) -> Any:
    """Return the status, or the classes of the error."""
    try:
        return transport.send(HttpRequest("GET", url), **options).status_code
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), type(getattr(error, "inner_exception", None))


def is_direct(transport: Any, url: str) -> bool:
    """Return whether a request is not left to the SDK's transport."""
    with transport:
        return type(transport.send(HttpRequest("GET", url))) is SimpleResponse


# ------------------------------------------------------------------ TLS


TLS: Final[dict[str, tuple[Callable[[Authority], ssl.SSLContext], Callable[[Authority], dict[str, Any]], bool]]] = {
    "custom CA": (Authority.server_context, lambda ca: {"connection_verify": str(ca.path)}, True),
    "no verification": (Authority.server_context, lambda ca: {"connection_verify": False}, True),
    "unknown CA": (Authority.server_context, lambda ca: {}, False),
    "missing file of a CA": (Authority.server_context, lambda ca: {"connection_verify": "/nowhere.pem"}, False),
    "another address": (
        lambda ca: ca.server_context("other", "127.0.0.9"),
        lambda ca: {"connection_verify": str(ca.path)},
        False,
    ),
    "client certificate": (
        lambda ca: ca.server_context(asks=True),
        lambda ca: {"connection_verify": str(ca.path), "connection_cert": str(ca.issue("client"))},
        True,
    ),
    "client certificate and key": (
        lambda ca: ca.server_context(asks=True),
        lambda ca: {"connection_verify": str(ca.path), "connection_cert": (str(ca.issue("client")),) * 2},
        True,
    ),
    "no client certificate": (
        lambda ca: ca.server_context(asks=True),
        lambda ca: {"connection_verify": str(ca.path)},
        False,
    ),
    "missing client certificate": (
        lambda ca: ca.server_context(asks=True),
        lambda ca: {"connection_verify": str(ca.path), "connection_cert": "/nowhere.pem"},
        False,
    ),
}


@pytest.mark.parametrize("case", TLS)
@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_tls_is_set_up_as_by_the_sdks_transport(authority: Authority, case: str) -> None:
    context, options, is_accepted = TLS[case]
    with misbehaving_server(ANSWERS, context(authority)) as server:
        ends = []
        for kind in KINDS:
            with kind(**options(authority), read_timeout=5) as transport:
                ends.append([ended(transport, f"{server.origin}/T") for _ in range(2)])
        assert ends[0] == ends[1]
        assert (ends[0] == [200, 200]) is is_accepted
        if is_accepted:
            assert is_direct(Transport(**options(authority)), f"{server.origin}/T")


def test_a_ca_of_the_environment_is_trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.path))
    with misbehaving_server(ANSWERS, authority.server_context()) as server:
        for kind in KINDS:
            assert ended(kind(), f"{server.origin}/T") == 200
            with kind(use_env_settings=False) as transport:
                assert ended(transport, f"{server.origin}/T")[0] is ServiceRequestError


def test_https_to_a_server_without_tls_ends_as_with_the_sdks_transport() -> None:
    with misbehaving_server(ANSWERS) as server:
        url = server.origin.replace("http:", "https:") + "/T"
        assert ended(RequestsTransport(), url) == ended(Transport(), url)


# ------------------------------------------------------------------ proxies, and other options


@pytest.mark.parametrize("is_secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("how", ["environment", "option", "call", "not for this host", "not at all", "no environment"])
def test_a_proxy_is_used_as_by_the_sdks_transport(
    authority: Authority, proxy: HttpProxy, monkeypatch: pytest.MonkeyPatch, how: str, is_secure: bool
) -> None:
    scheme = "https" if is_secure else "http"
    call: dict[str, Any] = {}
    options: dict[str, Any] = {"connection_verify": str(authority.path)}
    if how in ("environment", "not for this host", "no environment"):
        monkeypatch.setenv(f"{scheme}_proxy", proxy.url.replace("//", "//user:word@"))
    if how == "not for this host":
        monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    if how == "no environment":
        options["use_env_settings"] = False
    if how == "call":
        call["proxies"] = {scheme: proxy.url}
    with misbehaving_server(ANSWERS, authority.server_context() if is_secure else None) as server:
        ends: list[Any] = []
        for kind in KINDS:
            proxy.lines.clear()
            proxy.heads.clear()
            with kind(**options) as transport:
                status = [ended(transport, f"{server.origin}/T?a=1", **call) for _ in range(2)]
            logins = ["Basic" in head for head in proxy.heads]
            ends.append((status, list(proxy.lines), logins))
        assert ends[0] == ends[1]
        assert ends[0][0] == [200, 200]
        assert bool(ends[0][1]) is (how in ("environment", "call"))


def test_a_proxy_that_is_not_there_ends_as_with_the_sdks_transport(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for url in ("https://127.0.0.1:8/T", "http://127.0.0.1:8/T"):
        ends = [ended(kind(connection_verify=str(authority.path)), url) for kind in KINDS]
        assert ends[0] == ends[1]
        assert ends[0][0] is ServiceRequestError


def test_a_login_of_netrc_is_sent_as_by_the_sdks_transport(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "logins"
    netrc.write_text("machine 127.0.0.1 login user password word\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    with misbehaving_server(ANSWERS) as server:
        for kind in KINDS:
            assert ended(kind(), f"{server.origin}/T") == 200
        assert [request.headers["authorization"] for request in server.received] == ["Basic dXNlcjp3b3Jk"] * 2


def test_a_session_of_the_users_sends_all_requests() -> None:
    with misbehaving_server(ANSWERS) as server, requests.Session() as session:
        session.headers["x-mine"] = "1"
        with Transport(session=session, session_owner=False) as transport:
            transport.send(HttpRequest("GET", f"{server.origin}/T"))
        assert session.get(f"{server.origin}/T").status_code == 200
        assert [request.headers["x-mine"] for request in server.received] == ["1", "1"]


@pytest.mark.parametrize(
    "options",
    [
        {"stream": True},
        {"connection_timeout": (1, 1)},
        {"connection_timeout": None},
        {"read_timeout": None},
        {"connection_verify": False},
        {"connection_cert": None},
        {"proxies": {}},
    ],
    ids=str,
)
def test_the_options_of_a_call_are_left_to_the_sdks_transport(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Any] = []
    request = requests.Session.request

    def recorded(self: Any, method: str, *arguments: Any, **options: Any) -> Any:
        received.append(method)
        return request(self, method, *arguments, **options)

    monkeypatch.setattr(requests.Session, "request", recorded)
    with misbehaving_server(ANSWERS) as server:
        assert ended(Transport(), f"{server.origin}/T", **options) == 200
    assert received == ["GET"]


def test_a_replaced_transport_of_the_sdk_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of users replace its method, and `patch_azure` does."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise ServiceRequestError("replaced")

    with misbehaving_server(ANSWERS) as server:
        transport = Transport()
        assert ended(transport, f"{server.origin}/T") == 200
        monkeypatch.setattr(RequestsTransport, "send", refuse)
        with pytest.raises(ServiceRequestError, match="replaced"):
            transport.send(HttpRequest("GET", f"{server.origin}/T"))


@pytest.mark.parametrize(
    "options", [{"read_timeout": -1}, {"read_timeout": "1"}, {"unknown": 1}, {"connection_timeout": 0}]
)
def test_the_options_of_a_call_are_rejected_as_by_the_sdks_transport(options: dict[str, Any]) -> None:
    with misbehaving_server(ANSWERS) as server:
        ends = [ended(kind(), f"{server.origin}/T", **options) for kind in KINDS]
    assert ends[0] == ends[1]
    assert ends[0] != 200


def test_connect_uses_the_transport_and_a_transport_of_the_users_wins() -> None:
    class Own(RequestsTransport):
        sent = 0

        def send(self, *arguments: Any, **options: Any) -> Any:
            Own.sent += 1
            return super().send(*arguments, **options)

    responses: list[Any] = []
    with serving(Engine(), Listeners(ports=dict.fromkeys(PORTS, 0))) as target:
        for options in ({}, {"transport": Own()}):
            hook = {"raw_response_hook": lambda response: responses.append(response.http_response)}
            with connect(target, **hook, **options) as storage:
                storage.tables.create_table(f"Employees{len(responses)}")
                storage.queues.create_queue(f"tasks{len(responses)}")
                storage.blobs.create_container(f"photos{len(responses)}")
    assert [type(response) is SimpleResponse for response in responses] == [True] * 3 + [False] * 3
    assert Own.sent == 3


# ------------------------------------------------------------------ threads, large blobs, logs


def test_threads_receive_the_responses_to_their_own_requests() -> None:
    with serving(Engine(), Listeners(ports=dict.fromkeys(PORTS, 0))) as target, connect(target) as storage:
        numbers = EntitySet(storage, "Numbers", Key("all", "{Number:06d}"))
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda number: numbers.insert({"Number": number}), range(64)))
            read = list(pool.map(lambda number: numbers.get(Number=number)["Number"], [*range(64)] * 5))
    assert read == [*range(64)] * 5


class Zeros(RawIOBase):
    """A file of zeros that is not in memory."""

    def __init__(self, size: int) -> None:
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._left)
        buffer[:size] = bytes(size)
        self._left -= size
        return size


CHUNK: Final = 4 * MEGABYTE
SIZE: Final = 200 * MEGABYTE
LARGE: Final = """
import resource, sys
from tablepatterns import connect
from tablepatterns.recipe import finish
from sdk.test_transport_options import CHUNK, SIZE, Zeros

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

with connect(sys.argv[1], max_single_get_size=CHUNK) as storage:
    container = storage.container("photos")
    finish(container.upload("small", Zeros(2 * CHUNK)))
    sum(map(len, storage.blobs.get_blob_client("photos", "small").download_blob(0, CHUNK).chunks()))
    before = peak()
    finish(container.upload("large", Zeros(SIZE)))
    size = sum(map(len, storage.blobs.get_blob_client("photos", "large").download_blob().chunks()))
    print(size, peak() - before)
"""


def blob_service(uploaded: list[int]) -> Callable[[Connection], None]:
    """Return what a service does that only counts what is uploaded, and whose blobs are zeros."""

    def behave(connection: Connection) -> None:
        request = connection.request
        if request.method != "GET":
            uploaded.append(len(request.body) * ("comp=block&" in request.target))
            connection.send(response(b"", 'ETag: "1"', "Last-Modified: Mon, 23 Nov 2026 21:00:00 GMT", status="201 OK"))
            return
        first, last = (int(text) for text in request.headers["x-ms-range"].removeprefix("bytes=").split("-"))
        last = min(last, SIZE - 1)
        headers = (f"Content-Range: bytes {first}-{last}/{SIZE}", 'ETag: "1"', "x-ms-blob-type: BlockBlob")
        connection.send(response(bytes(last + 1 - first), *headers, status="206 Partial"))

    return behave


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not report the memory of a process")
def test_a_blob_of_200_mb_is_sent_and_received_without_holding_it() -> None:
    uploaded: list[int] = []
    with misbehaving_server(blob_service(uploaded)) as server:
        account = f"AccountName=account;AccountKey=a2V5;BlobEndpoint={server.origin}/account"
        command = [sys.executable, "-c", LARGE, account]
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    downloaded, grown = map(int, done.stdout.split())
    assert sum(uploaded) == SIZE + 2 * CHUNK
    assert downloaded == SIZE
    assert grown < 40 * MEGABYTE


def test_a_body_of_200_mb_is_streamed_in_one_request() -> None:
    received: list[int] = []

    def behave(connection: Connection) -> None:
        received.append(len(connection.request.body))
        connection.send(response(status="201 OK"))

    with misbehaving_server(behave) as server, Transport() as transport:
        sizes: list[int] = []
        chunks = (sizes.append(len(chunk)) or chunk for chunk in iter(partial(Zeros(SIZE).read, CHUNK), b""))
        assert transport.send(HttpRequest("PUT", f"{server.origin}/a", content=chunks)).status_code == 201
    assert received == [SIZE]
    assert max(sizes) == CHUNK


SIGNATURE: Final = "c2VjcmV0LXNpZ25hdHVyZQ%3D%3D"


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_no_signature_is_logged_or_in_an_error(behavior: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    with misbehaving_server(BEHAVIORS[behavior]) as server:
        for kind in KINDS:
            for stream in (False, True):
                with kind(read_timeout=0.2) as transport:
                    url = f"{server.origin}/T?sv=1&sig={SIGNATURE}&se=2"
                    try:
                        transport.send(HttpRequest("GET", url), stream=stream)
                    except AzureError as error:
                        texts.append(f"{error} {error.__cause__!r}")
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert SIGNATURE not in logged + " ".join(texts)
    assert behavior != "never answers" or len(texts) == 4
    if behavior == "answers":
        assert '"GET /T?sv=1&sig=...&se=2 HTTP/1.1" 200' in logged


# ------------------------------------------------------------------ asyncio


async def test_the_environment_is_read_once_for_async_clients(
    proxy: HttpProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trusts: list[bool] = []
    init = AioHttpTransport.__init__

    def recorded(self: Any, **options: Any) -> None:
        trusts.append(options.get("use_env_settings", True))
        init(self, **options)

    async def sent(**options: Any) -> None:
        async with aio.connect(
            f"AccountName=account;AccountKey=a2V5;TableEndpoint={server.origin}/a", **options
        ) as storage:
            assert await storage.table("Employees").get("p", "r") is not None

    with misbehaving_server(ANSWERS) as server:
        monkeypatch.setattr(AioHttpTransport, "__init__", recorded)
        await sent()
        assert trusts[-1] is False
        await sent(use_env_settings=True)
        assert trusts[-1] is True
        monkeypatch.setenv("http_proxy", proxy.url)
        await sent()
        assert trusts[-1] is True
        assert proxy.lines == [f"GET {server.origin}/a/Employees(PartitionKey='p',RowKey='r')"]
        monkeypatch.delenv("http_proxy")
        (tmp_path / ".netrc").write_text("machine localhost login user password word\n", encoding="utf-8")
        await sent()
        assert trusts[-1] is True
