"""Short requests, which the server answers without h11: read as h11 reads them, and answered in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.raw_http import Answer, Line, head
from support.table_states import insert
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server.direct import MAX_BYTES, read_head

Connect = Callable[..., Line]

PIECES = st.sampled_from(
    [
        *(
            b"GET",
            b"POST",
            b"get",
            b"BREW",
            b" ",
            b"  ",
            b"\t",
            b"/",
            b"/a%20b?c=d",
            b"*",
            b"http://a/",
            b"\xff",
            b"\x00",
        ),
        *(b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b":", b": ", b" :", b",", b"a"),
        *(b"Host", b"host", b"localhost:10002", b"Content-Length", b"0", b"3", b"-1", b"+3", b"1_0", b"3, 3", b"abc"),
        *(
            b"Transfer-Encoding",
            b"chunked",
            b"Connection",
            b"close",
            b"keep-alive",
            b"Upgrade",
            b"Expect",
            b"x-ms-date",
        ),
    ]
)
VALID = [b"GET", b" ", b"/a%20b?c=d", b" ", b"HTTP/1.1", b"\r\n", b"Host", b":", b"localhost:10002", b"\r\n"]


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    """Heads of requests that are valid, or nearly."""
    pieces = [*VALID, *draw(st.lists(PIECES, max_size=8)), b"\r\n\r\n"]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(pieces) - 1))
        pieces[place : place + draw(st.integers(0, 1))] = [draw(PIECES)]
    return b"".join(pieces) + b"abc"


@given(heads())
@example(b"".join(VALID) + b"\r\nabc")
@example(b"".join(VALID) + b"Content-Length: 3\r\n\r\nabc")
@example(b"".join(VALID) + b"Connection: Keep-Alive\r\n\r\n")
def test_what_is_read_directly_is_read_in_the_same_way_by_h11(data: bytes) -> None:
    found = read_head(data)
    if found is None:
        return
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    request: Any = connection.next_event()
    assert isinstance(request, h11.Request)
    assert (found.method.encode(), found.target.encode()) == (request.method, request.target)
    assert {name.encode(): value.encode() for name, value in found.headers.items()} == dict(request.headers)
    assert tuple(name.encode() for name in found.names) == tuple(name for name, _ in request.headers.raw_items())
    body: Any = connection.next_event()
    length = len(body.data) if isinstance(body, h11.Data) else 0
    assert (found.length, data[found.end :][:length]) == (length, b"abc"[:length])


def test_a_plain_request_is_read_directly() -> None:
    assert read_head(b"".join(VALID) + b"\r\n") is not None


@pytest.mark.parametrize("size", [MAX_BYTES, 2 * MAX_BYTES])
def test_a_long_head_is_not_read_directly(size: int) -> None:
    assert read_head(b"".join(VALID) + b"x: " + b"a" * size + b"\r\n\r\n") is None


ENTITY = "/devstoreaccount1/Employees(PartitionKey='Sales',RowKey='000223')"
MISSING = "/devstoreaccount1/Employees(PartitionKey='Sales',RowKey='000224')"


def unstamped(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """Return a response without what differs between any two."""
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "x-ms-request-id")}
    return answer.status, headers, answer.body.partition(b"\\nRequestId:")[0]


@pytest.fixture
def employees(engine: Engine) -> None:
    """A table with one entity."""
    engine.tables.create("Employees")
    engine.tables.apply("Employees", insert("Sales", "000223", Name="Don Hall"))


@pytest.mark.usefixtures("employees")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", ENTITY, b""),
        ("GET", MISSING, b""),
        ("GET", f"{ENTITY}?$select=Name", b""),
        ("DELETE", ENTITY, b""),
        ("POST", "/devstoreaccount1/Tables", b'{"TableName": "Employees"}'),
        ("POST", "/devstoreaccount1/Nothing", b"{"),
        ("BREW", ENTITY, b""),
    ],
)
def test_a_response_is_the_same_as_through_h11(
    engine: Engine, call: Connect, method: str, path: str, body: bytes
) -> None:
    length = {"Content-Length": str(len(body))} if body else {}
    direct = call(head(engine, method, path, length) + body).answer()
    other = call(head(engine, method, path, {**length, "TE": "trailers"}) + body).answer()
    assert unstamped(direct) == unstamped(other)


@pytest.mark.usefixtures("employees")
def test_a_point_read_takes_no_thread_and_a_query_does(
    engine: Engine, call: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    to_thread = asyncio.to_thread

    async def recorded(*args: Any) -> Any:
        threads.append("query")
        return await to_thread(*args)

    monkeypatch.setattr(asyncio, "to_thread", recorded)
    assert call(head(engine, "GET", ENTITY)).answer().status == 200
    assert threads == []
    assert call(head(engine, "GET", "/devstoreaccount1/Employees()")).answer().status == 200
    assert threads == ["query"]


def test_a_body_may_follow_its_head(engine: Engine, call: Connect) -> None:
    body = b'{"TableName": "Employees"}'
    line = call(head(engine, "POST", "/devstoreaccount1/Tables", {"Content-Length": str(len(body))}))
    for piece in (body[:5], body[5:]):
        assert engine.tables.names() == ([], None)
        line.send(piece)
    assert line.answer().status == 201
    line.send(head(engine, "GET", "/devstoreaccount1/Tables"))
    assert line.answer().status == 200
