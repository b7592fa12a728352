"""Options, the environment, TLS and proxies with the transport of sync clients."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from azure.core.exceptions import ServiceRequestError
from azure.core.pipeline.transport import AioHttpTransport, RequestsTransport
from azure.core.rest import HttpRequest

from support.certificates import Authority
from support.http_proxy import HttpProxy, http_proxy
from support.misbehaving_server import BEHAVIORS, misbehaving_server
from tablepatterns import aio, connect
from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.transport import Transport
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.serving import serving

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
