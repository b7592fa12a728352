"""Clients that send invalid data, too much, or too slowly are rejected or dropped, and the server keeps running."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterator
from itertools import repeat
from unittest.mock import Mock

import pytest
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import AccountSasPermissions, ResourceTypes, TableServiceClient, generate_account_sas

from support.raw_http import NO_ANSWER, Line, head
from tablepatterns import connect
from tablepatterns.limits import MAX_REQUEST_BYTES
from tablepatterns_engine.account import Engine
from tablepatterns_engine.server import connection
from tablepatterns_engine.server.connection import MAX_HEAD_BYTES, Application, Connection
from tablepatterns_engine.server.listeners import Listeners
from tablepatterns_engine.server.origin import Hosts

TABLES = "/devstoreaccount1/Tables"
SERVICE = "/devstoreaccount1/?restype=service&comp=properties"
AT_ONCE = 0.05
"""A deadline in seconds, in place of the server's."""

Connect = Callable[..., Line]


@pytest.fixture(autouse=True)
def lives_on(engine: Engine, call: Connect) -> Iterator[None]:
    """After every test the server still answers."""
    yield
    assert call(head(engine, "GET", TABLES)).answer().status == 200


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\r\n\r\nhello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 the beginning of TLS\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nx: \x00\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n\r\n",
    ],
)
def test_what_is_no_http_is_rejected_and_the_connection_ended(call: Connect, nonsense: bytes) -> None:
    line = call(nonsense)
    statuses = [answer.status for answer in iter(line.answer, NO_ANSWER)]
    assert statuses
    assert set(statuses) <= {400, 501}


@pytest.mark.parametrize(
    "request_line",
    [b"CONNECT a:1 HTTP/1.1", b"GET * HTTP/1.1", b"BREW /devstoreaccount1 HTTP/1.1", b"GET //[ HTTP/1.1"],
)
def test_a_request_for_nothing_of_the_account_gets_the_error_of_the_service(call: Connect, request_line: bytes) -> None:
    answer = call(request_line + b"\r\nHost: localhost\r\n\r\n").answer()
    assert 400 <= answer.status <= 404
    assert "x-ms-request-id" in answer.headers


def test_a_protocol_that_is_not_spoken_is_not_switched_to(engine: Engine, call: Connect) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "a", "Sec-WebSocket-Version": "13"}
    assert call(head(engine, "GET", TABLES, upgrade)).answer().status == 200


def test_a_head_that_does_not_end_is_rejected_at_its_bound(call: Connect) -> None:
    line = call(b"GET / HTTP/1.1\r\nHost: a\r\nx: " + b"a" * (MAX_HEAD_BYTES + 1))
    assert line.answer().status == 400
    assert line.is_ended()


def test_a_long_head_within_the_bound_is_read(engine: Engine, call: Connect) -> None:
    assert call(head(engine, "GET", TABLES, {"x-long": "a" * (MAX_HEAD_BYTES - 1024)})).answer().status == 200


def test_a_client_that_sends_its_head_too_slowly_is_dropped(call: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(connection, "SECONDS_TO_SEND_A_HEAD", AT_ONCE)
        assert call(b"GET / HTTP/1.1\r\nHost:").is_ended()


def test_a_client_that_sends_its_body_too_slowly_is_dropped(
    engine: Engine, call: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(connection, "SECONDS_TO_BEGIN", AT_ONCE)
        assert call(head(engine, "POST", TABLES, {"Content-Length": "26"}) + b'{"TableName": ').is_ended()
    assert list(engine.ledger.records) == []


class StalledClient(asyncio.Transport):
    """A connection whose client reads nothing."""

    def __init__(self, protocol: Connection) -> None:
        super().__init__({"socket": Mock(), "sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)})
        self.protocol = protocol
        self.written = b""
        self.ended = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self.protocol.pause_writing()

    def abort(self) -> None:
        self.ended.set()

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def is_closing(self) -> bool:
        return self.ended.is_set()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


def test_a_client_that_does_not_read_its_answer_is_dropped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS_TO_READ_A_PIECE", AT_ONCE)

    async def serve() -> bytes:
        protocol = Connection(Application(engine, {1: "table"}, Hosts()), set())
        client = StalledClient(protocol)
        protocol.connection_made(client)
        protocol.data_received(head(engine, "GET", "/", {"TE": "trailers"}))
        await asyncio.wait_for(client.ended.wait(), 5)
        protocol.connection_lost(None)
        return client.written

    assert asyncio.run(serve()).startswith(b"HTTP/1.1 ")


def test_a_client_that_disconnects_within_its_body_changes_nothing(engine: Engine, call: Connect) -> None:
    line = call(head(engine, "POST", TABLES, {"Content-Length": "1000"}) + b'{"TableName": "Employees"}')
    line.close()
    assert call(head(engine, "GET", TABLES)).answer().body == b'{"value":[]}'


@pytest.mark.parametrize(
    ("size", "error"),
    [(MAX_REQUEST_BYTES, (400, "InvalidInput")), (MAX_REQUEST_BYTES + 1, (413, "RequestBodyTooLarge"))],
)
def test_a_body_over_the_limit_is_rejected_when_it_is_read(
    engine: Engine, call: Connect, size: int, error: tuple[int, str]
) -> None:
    line = call(head(engine, "POST", TABLES, {"Content-Length": str(size)}) + b"a" * size)
    answer = line.answer()
    assert (answer.status, json.loads(answer.body)["odata.error"]["code"]) == error
    line.send(head(engine, "GET", TABLES))
    assert line.answer().status == 200


def test_a_body_without_end_is_answered_and_read_no_further(engine: Engine, call: Connect) -> None:
    line = call(head(engine, "POST", TABLES, {"Transfer-Encoding": "chunked"}))
    chunk = b"%x\r\n%s\r\n" % (1 << 20, b"a" * (1 << 20))
    with pytest.raises(ConnectionError):
        deque(map(line.send, repeat(chunk)), maxlen=0)
    assert [record.error for record in engine.ledger.records] == ["RequestBodyTooLarge"]
    assert engine.ledger.totals.bytes_in == MAX_REQUEST_BYTES + 1


@pytest.mark.parametrize(
    "bomb",
    [
        b'<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><StorageServiceProperties>&b;'
        b"</StorageServiceProperties>",
        b'<!DOCTYPE b [<!ENTITY f SYSTEM "file:///etc/passwd">]><StorageServiceProperties>&f;'
        b"</StorageServiceProperties>",
        b"<a>" * 200_000,
    ],
)
def test_xml_that_would_grow_or_reach_out_is_rejected(engine: Engine, call: Connect, bomb: bytes) -> None:
    request = head(engine, "PUT", SERVICE, {"Content-Length": str(len(bomb)), "Content-Type": "application/xml"})
    answer = call(request + bomb).answer()
    assert (answer.status, answer.headers["x-ms-error-code"]) == (400, "InvalidXmlDocument")


def test_a_forwarded_header_does_not_change_the_client_address(
    engine: Engine, listeners: Listeners, served: str
) -> None:
    with connect(served) as storage:
        signature = generate_account_sas(
            storage.target.credential,
            ResourceTypes(service=True, object=True),
            AccountSasPermissions(read=True, list=True),
            expiry=storage.now().replace(year=2100),
            ip_address_or_range="10.0.0.1",
        )
    url = listeners.urls(engine.account_name)["table"]
    with (
        TableServiceClient(url, credential=AzureSasCredential(signature), retry_total=0) as client,
        pytest.raises(HttpResponseError, match="source IP"),
    ):
        client.get_service_properties(headers={"X-Forwarded-For": "10.0.0.1"})
