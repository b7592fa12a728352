"""The server accepts requests of this machine's programs, and rejects those of web pages from other sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.raw_http import Line, head
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.connection import MAX_HEAD_BYTES
from tablepatterns_engine.server.listeners import PORTS, Listeners
from tablepatterns_engine.server.origin import Hosts

TABLES = "/devstoreaccount1/Tables"
Connect = Callable[[bytes], Line]


def request(port: int, method: str = "GET", **headers: str) -> bytes:
    """Return a request of which nothing is signed, with these headers."""
    fields = {"Host": f"127.0.0.1:{port}", "Content-Length": "0"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = [f"{method} {TABLES} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def status(call: Connect, data: bytes) -> tuple[int, str]:
    answer = call(data).answer()
    return answer.status, "x-ms-request-id" if "x-ms-request-id" in answer.headers else answer.body.decode()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost"},
        {"Host": "[::1]:10002"},
        {"Host": "devstoreaccount1.localhost:10002"},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "same-origin"},
        {"Host": "localhost:1", "Origin": "http://localhost:1"},
        {"Content_Type": "application/json"},
    ],
)
def test_a_request_of_this_machine_reaches_the_account(call: Connect, port: int, headers: dict[str, str]) -> None:
    _, body = status(call, request(port, "POST" if "Content_Type" in headers else "GET", **headers))
    assert body == "x-ms-request-id"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:10002"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "192.168.0.7:10002"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "text/plain;charset=UTF-8"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
def test_a_request_of_another_site_does_not_reach_it(
    engine: Engine, call: Connect, port: int, headers: dict[str, str], expected: int
) -> None:
    found, body = status(call, request(port, "POST", **headers))
    assert found == expected
    assert body != "x-ms-request-id"
    assert len(engine.ledger.records) == 0


def test_a_name_can_be_allowed_for_requests_and_for_pages(engine: Engine) -> None:
    listeners = Listeners(ports=dict.fromkeys(PORTS, 0), allow_hosts=["Host.docker.internal"])
    listeners.close()
    asked = {"host": "host.docker.internal:10002"}
    assert listeners.hosts.rejection("GET", asked) is None
    assert listeners.hosts.rejection("GET", asked | {"origin": "http://host.docker.internal:3000"}) is None
    assert listeners.hosts.rejection("GET", {"host": "evil.example"}) is not None


def test_where_other_machines_may_connect_any_name_will_do_and_no_other_site() -> None:
    hosts = Hosts(checked=False)
    assert hosts.rejection("GET", {"host": "azurite:10002"}) is None
    assert hosts.rejection("GET", {"host": "azurite:10002", "origin": "https://evil.example"}) is not None


hosts_of_others = st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){1,3}(:[0-9]{1,5})?", fullmatch=True)


@given(host=hosts_of_others.filter(lambda host: not host.startswith("127.") and ".localhost" not in host))
def test_no_name_of_another_is_taken_for_this_machine(host: str) -> None:
    assert Hosts().rejection("GET", {"host": host}) is not None
    assert Hosts().rejection("GET", {"host": "localhost", "origin": f"http://{host}"}) is not None


@given(st.text(), st.text(), st.text())
def test_whatever_the_headers_say_there_is_an_answer(host: str, origin: str, kind: str) -> None:
    rejection: Any = Hosts().rejection("POST", {"host": host, "origin": origin, "content-type": kind})
    assert rejection is None or rejection.status in (403, 415)


@pytest.mark.parametrize(("more", "expected"), [(0, 200), (1, 400)])
def test_a_head_that_comes_at_once_is_rejected_from_its_bound_on(
    engine: Engine, call: Connect, more: int, expected: int
) -> None:
    short = head(engine, "GET", TABLES, {"x-long": ""})
    line = call(head(engine, "GET", TABLES, {"x-long": "a" * (MAX_HEAD_BYTES - len(short) + more)}))
    assert line.answer().status == expected
