"""CORS rules: what a page of another origin may ask, and which headers tell its browser so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from support.documented_account import Account
from support.raw_http import Line
from tablepatterns_engine.account import Engine
from tablepatterns_engine.resources import CorsRule, ServiceProperties
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.serving import serving

RULES = (
    CorsRule(("GET", "PUT"), ("https://contoso.com",), ("x-ms-meta-*", "x-ms-version"), ("x-ms-request-id",), 60),
    CorsRule(("DELETE",), ("*",)),
)
PATHS = {"table": "/Employees()", "queue": "/orders/messages?peekonly=true", "blob": "/photos/b"}
PAGE = {"origin": "https://contoso.com"}


@pytest.fixture(params=PATHS)
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A function that sends a request to one service whose rules are RULES, and returns status, code and headers."""
    account, service = Account(), request.param
    getattr(account.engine, f"{service}s").set_service_properties(ServiceProperties(cors=RULES))

    def send(method: str, headers: Mapping[str, str], *, signed: bool = True) -> Any:
        response = account.wires[service].send(method, PATHS[service], headers, signed=signed)
        told = {
            name: value for name, value in response.headers.items() if name[:14] == "Access-Control" or name == "Vary"
        }
        return response.status, account.engine.ledger.records[-1].error, told

    return send


def preflight(method: str, names: str = "", origin: str = PAGE["origin"]) -> dict[str, str]:
    named = {"access-control-request-headers": names} if names else {}
    return {"origin": origin, "access-control-request-method": method, **named}


def test_a_rule_answers_the_question_of_a_browser(ask: Callable[..., Any]) -> None:
    status, _, told = ask("OPTIONS", preflight("PUT", "x-ms-meta-a, X-MS-Version"), signed=False)
    assert (status, told) == (
        200,
        {
            "Access-Control-Allow-Origin": "https://contoso.com",
            "Access-Control-Allow-Credentials": "true",
            "Access-Control-Allow-Methods": "PUT",
            "Access-Control-Allow-Headers": "x-ms-meta-a, X-MS-Version",
            "Access-Control-Max-Age": "60",
            "Vary": "Origin",
        },
    )
    assert ask("OPTIONS", preflight("DELETE", origin="https://any.example"), signed=False)[2] == {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": "DELETE",
        "Access-Control-Max-Age": "0",
    }


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        (preflight("POST"), (403, "CorsPreflightFailure")),
        (preflight("GET", origin="https://contoso.com.evil.example"), (403, "CorsPreflightFailure")),
        (preflight("GET", "x-ms-version, authorization"), (403, "CorsPreflightFailure")),
        (preflight("DELETE", "x-ms-version"), (403, "CorsPreflightFailure")),
        ({}, (400, "MissingRequiredHeader")),
        (PAGE, (400, "MissingRequiredHeader")),
    ],
)
def test_what_no_rule_allows_is_rejected(ask: Callable[..., Any], headers: dict[str, str], error: Any) -> None:
    status, code, told = ask("OPTIONS", headers, signed=False)
    assert (status, code) == error
    assert "Access-Control-Allow-Origin" not in told


def test_a_response_tells_the_browser_who_may_read_it(ask: Callable[..., Any]) -> None:
    _, _, told = ask("GET", PAGE)
    assert told == {
        "Access-Control-Allow-Origin": "https://contoso.com",
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Expose-Headers": "x-ms-request-id",
        "Vary": "Origin",
    }
    assert ask("GET", {"origin": "https://evil.example"})[2] == {"Vary": "Origin"}
    assert "Access-Control-Allow-Origin" not in ask("GET", {})[2]


ANY_ORIGIN = CorsRule(("GET", "HEAD", "PUT", "DELETE"), ("*",), exposed_headers=("*", "x-ms-meta-m"))


def test_a_star_exposes_the_headers_of_the_response() -> None:
    account = Account()
    account.engine.blobs.set_service_properties(ServiceProperties(cors=(ANY_ORIGIN,)))
    response = account.wires["blob"].send("GET", "/photos/b", {**PAGE, "x-ms-range": "bytes=0-1"})
    exposed = response.headers["Access-Control-Expose-Headers"].split(",")
    own = {name for name in response.headers if not name.startswith("Access-Control")}
    assert {"ETag", "x-ms-blob-type", "x-ms-request-id", "Content-Type"} < own
    assert set(exposed) == (own - {"Content-Range"}) | {"Transfer-Encoding"}
    error = account.wires["blob"].send("GET", "/photos/none", PAGE).headers["Access-Control-Expose-Headers"].split(",")
    assert "x-ms-error-code" in error
    assert "Content-Type" not in error


@pytest.mark.parametrize(
    ("method", "path", "has_type", "has_encoding"),
    [
        ("GET", "/?restype=service&comp=properties", False, True),
        ("GET", "/photos?restype=container&comp=acl", False, True),
        ("GET", "/photos/b?comp=tags", True, False),
        ("GET", "/photos/none?comp=tags", True, False),
        ("PUT", "/photos/log?comp=seal", False, False),
    ],
)
def test_some_operations_expose_fewer_headers(method: str, path: str, has_type: bool, has_encoding: bool) -> None:
    account = Account()
    account.engine.blobs.set_service_properties(ServiceProperties(cors=(ANY_ORIGIN,)))
    exposed = account.wires["blob"].send(method, path, PAGE).headers["Access-Control-Expose-Headers"].split(",")
    assert ("Content-Type" in exposed, "Transfer-Encoding" in exposed) == (has_type, has_encoding)


@pytest.mark.parametrize(
    ("method", "path", "is_told"),
    [("GET", "/photos/b", True), ("HEAD", "/photos/none", True), ("DELETE", "/photos/b", False)],
)
def test_reads_of_programs_are_answered_as_to_any_origin(method: str, path: str, is_told: bool) -> None:
    account = Account()
    account.engine.blobs.set_service_properties(ServiceProperties(cors=(ANY_ORIGIN,)))
    told = account.wires["blob"].send(method, path, {}).headers
    assert (told.get("Access-Control-Allow-Origin") == "*") is is_told
    assert ("Access-Control-Expose-Headers" in told) is is_told


def test_the_server_lets_a_page_ask_what_a_rule_allows(engine: Engine) -> None:
    listeners = Listeners(ports=dict.fromkeys(PORTS, 0))
    port = next(port for port, service in listeners.services.items() if service == "blob")
    lines = ["OPTIONS /contoso/photos/b HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Length: 0"]
    lines += [f"{name}: {value}" for name, value in preflight("GET").items()]
    data = "\r\n".join([*lines, "Sec-Fetch-Site: cross-site", "", ""]).encode()
    with serving(engine, listeners):
        for rules, status in (((), 403), (RULES, 200), ((), 403)):
            engine.blobs.set_service_properties(ServiceProperties(cors=rules))
            line = Line(port)
            line.send(data)
            answer = line.answer()
            assert (answer.status, "access-control-allow-origin" in answer.headers) == (status, status == 200)
            line.close()
