"""The server's HTTP, with requests as the SDKs of other languages send them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from azure.core.exceptions import ServiceResponseError

from support.raw_http import Line, head
from support.table_states import insert
from tablepatterns import connect
from tablepatterns_engine.account import Engine
from tablepatterns_engine.faults import RESPONSE_LOST

CREATE = b'{"TableName": "Employees"}'
TABLES = "/devstoreaccount1/Tables"


def test_requests_follow_one_another_on_one_connection(engine: Engine, call: Callable[..., Line]) -> None:
    create = head(engine, "POST", TABLES, {"Content-Length": str(len(CREATE))}) + CREATE
    line = call(create + create + head(engine, "GET", TABLES))
    answers = [line.answer() for _ in range(3)]
    assert [answer.status for answer in answers] == [201, 409, 200]
    assert json.loads(answers[2].body) == {"value": [{"TableName": "Employees"}]}


def test_a_body_may_come_in_chunks(engine: Engine, call: Callable[..., Line]) -> None:
    chunks = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (10, CREATE[:10], len(CREATE) - 10, CREATE[10:])
    line = call(head(engine, "POST", TABLES, {"Transfer-Encoding": "chunked"}) + chunks)
    assert line.answer().status == 201
    assert engine.tables.names() == (["Employees"], None)


def test_a_client_that_expects_100_continue_gets_it(engine: Engine, call: Callable[..., Line]) -> None:
    asked = {"Expect": "100-continue", "Content-Length": str(len(CREATE))}
    line = call(head(engine, "POST", TABLES, asked))
    assert line.answer().status == 100
    line.send(CREATE)
    assert line.answer().status == 201


def test_the_answer_to_head_has_no_body(engine: Engine, call: Callable[..., Line]) -> None:
    line = call(head(engine, "HEAD", TABLES) + head(engine, "GET", TABLES))
    assert line.answer(head_only=True).status == 405
    assert line.answer().status == 200


def test_lines_may_end_with_a_line_feed_alone(engine: Engine, call: Callable[..., Line]) -> None:
    assert call(head(engine, "GET", TABLES).replace(b"\r\n", b"\n")).answer().status == 200


def test_a_client_of_http_1_0_names_no_host(engine: Engine, call: Callable[..., Line]) -> None:
    request = head(engine, "GET", TABLES).replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: 127.0.0.1\r\n", b"")
    line = call(request)
    assert line.answer().status == 200
    assert line.is_ended()


def test_the_url_may_be_absolute(engine: Engine, call: Callable[..., Line]) -> None:
    request = head(engine, "GET", TABLES).replace(b"GET /", b"GET http://localhost/")
    assert call(request).answer().status == 200


def test_the_account_may_be_in_the_host(engine: Engine, call: Callable[..., Line]) -> None:
    request = head(engine, "GET", "/Tables", {"Host": "devstoreaccount1.localhost"})
    assert call(request).answer().status == 200


@pytest.mark.parametrize("path", [TABLES, "/devstoreaccount1/Employees(PartitionKey='p',RowKey='r')"])
def test_urls_in_a_response_have_the_scheme_of_the_proxy_that_ends_tls(
    engine: Engine, call: Callable[..., Line], path: str
) -> None:
    engine.tables.create("Employees")
    engine.tables.apply("Employees", insert("p", "r"))
    for proxy, scheme in (
        ({"X-Forwarded-Proto": "https"}, b"https"),
        ({"X-Forwarded-Proto": "ftp"}, b"http"),
        ({}, b"http"),
    ):
        request = head(engine, "GET", path, {"Accept": "application/json;odata=minimalmetadata", **proxy})
        assert b'"odata.metadata":"%s://127.0.0.1/' % scheme in call(request).answer().body


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/json", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"),
        ("application/json;odata=fullmetadata", "application/json;odata=fullmetadata;streaming=true;charset=utf-8"),
        ("*/*", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"),
    ],
)
def test_the_format_is_the_one_that_is_accepted(
    engine: Engine, call: Callable[..., Line], accept: str, content_type: str
) -> None:
    assert call(head(engine, "GET", TABLES, {"Accept": accept})).answer().headers["content-type"] == content_type


def test_the_option_for_the_format_is_stronger_than_the_header(engine: Engine, call: Callable[..., Line]) -> None:
    request = head(engine, "GET", TABLES).replace(b"Tables HTTP", b"Tables?$format=application/json HTTP")
    assert "odata=minimalmetadata" in call(request).answer().headers["content-type"]


def test_the_answer_has_each_header_of_the_service_once(engine: Engine, call: Callable[..., Line]) -> None:
    line = call(head(engine, "GET", TABLES))
    raw = line.answer().headers
    assert raw["server"] == "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"
    assert {"date", "x-ms-request-id", "x-ms-version", "content-length"} <= raw.keys()


def test_metadata_keep_the_spelling_of_their_names(served: str) -> None:
    with connect(served) as storage:
        storage.queues.create_queue("orders", metadata={"TeamName": "Sales"})
        assert storage.queues.get_queue_client("orders").get_queue_properties().metadata == {"TeamName": "Sales"}


def test_a_lost_response_ends_the_connection_after_the_commit(engine: Engine, served: str) -> None:
    with (
        connect(served, retry_total=0) as storage,
        engine.faults.lose_response(operation="CreateTable"),
        pytest.raises(ServiceResponseError),
    ):
        storage.tables.create_table("Employees")
    assert engine.tables.names() == (["Employees"], None)
    assert [record.fault for record in engine.ledger.records] == [RESPONSE_LOST.name]


def test_a_body_that_breaks_off_ends_the_connection(engine: Engine, call: Callable[..., Line]) -> None:
    with engine.faults.break_body(5, operation="QueryTables"):
        line = call(head(engine, "GET", TABLES))
        answer = line.answer()
    assert (answer.headers["content-length"], answer.body) == ("12", b'{"val')
    assert line.is_ended()
