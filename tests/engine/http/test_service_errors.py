"""The formats of errors: JSON, XML, those of service resources, and the headers of every response."""

from __future__ import annotations

import json

import pytest
from defusedxml.ElementTree import fromstring

from support.table_requests import JSON, Wire, entity_path
from tablepatterns.edm import Ticks
from tablepatterns_engine.errors import PARAMETER_OUT_OF_RANGE, ServiceError
from tablepatterns_engine.http.headers import http_date, seven_digits
from tablepatterns_engine.http.message import Request
from tablepatterns_engine.http.permissions import Owner
from tablepatterns_engine.tables.call import TableCall, settings_error, xml_error

METADATA = "{http://schemas.microsoft.com/ado/2007/08/dataservices/metadata}"
MISSING = entity_path("a", "b")
TEXT = "The specified resource does not exist.\nRequestId:{id}\nTime:2014-08-22T00:50:32.5000000Z"


def test_json_is_for_clients_that_ask_for_it(wire: Wire) -> None:
    response = wire.send("GET", MISSING, {"accept": "application/json;odata=nometadata"})
    text = TEXT.format(id=response.headers["x-ms-request-id"])
    assert json.loads(response.body) == {
        "odata.error": {"code": "ResourceNotFound", "message": {"lang": "en-US", "value": text}}
    }
    assert response.headers["Content-Type"] == "application/json;odata=nometadata;streaming=true;charset=utf-8"
    assert "x-ms-error-code" not in response.headers
    assert (response.status, response.reason) == (404, "Not Found")


@pytest.mark.parametrize("headers", [{}, {"accept": "*/*"}])
def test_xml_is_for_all_others(headers: dict[str, str], wire: Wire) -> None:
    response = wire.send("DELETE", MISSING, {**headers, "if-match": "*"})
    text = TEXT.format(id=response.headers["x-ms-request-id"])
    assert response.body.decode() == (
        '<?xml version="1.0" encoding="utf-8"?>'
        '<error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">'
        f'<code>ResourceNotFound</code><message xml:lang="en-US">{text}</message></error>'
    )
    assert response.headers["Content-Type"] == "application/xml;charset=utf-8"


def test_the_option_format_decides_on_errors_too(wire: Wire) -> None:
    path = f"{MISSING}?$format=application/json"
    assert wire.error("GET", path, {})[:2] == (404, "ResourceNotFound")


@pytest.mark.parametrize("value", ["<&>", "\x00\x1f", "\ud800\uffff", "é🛫"])
def test_a_text_with_anything_in_it_is_still_xml(value: str, wire: Wire) -> None:
    error = ServiceError(PARAMETER_OUT_OF_RANGE.format(name="RowKey", value=value))
    moment = Ticks.parse("2014-08-22")
    call = TableCall(wire.engine, wire.engine.tables, Request("GET", "/", {}), "id", moment, lambda _: Owner())
    for response in (xml_error(error, call), settings_error(error, call)):
        message = fromstring(response.body).findtext(f"{METADATA}message")
        shown = "".join("?" if each in "\x00\x1f\ud800\uffff" else each for each in value)
        stamp = "RequestId:id\nTime:2014-08-22T00:00:00.0000000Z"
        assert message == f"The 'RowKey' parameter of value '{shown}' is out of range.\n{stamp}"


def test_every_answer_has_the_headers_that_the_service_sends_with_each(wire: Wire) -> None:
    asked = {**JSON, "x-ms-version": "2020-12-06", "x-ms-client-request-id": "mine"}
    for path in ("/Tables", MISSING, "/Employees?comp=acl", "/?restype=service&comp=properties"):
        headers = wire.send("GET", path, asked).headers
        assert (headers["x-ms-version"], headers["x-ms-client-request-id"]) == ("2020-12-06", "mine")
        assert headers["Server"] == "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"
        assert headers["Date"] == "Fri, 22 Aug 2014 00:50:32 GMT"
        uncached = (None, None) if "comp=" in path else ("nosniff", "no-cache")
        assert (headers.get("X-Content-Type-Options"), headers.get("Cache-Control")) == uncached


def test_the_date_follows_the_engines_clock(wire: Wire) -> None:
    wire.engine.clock.advance(86_400)
    assert wire.send("GET", "/Tables").headers["Date"] == "Sat, 23 Aug 2014 00:50:32 GMT"


@pytest.mark.parametrize(
    ("text", "header", "digits"),
    [
        ("0001-01-01T00:00:00Z", "Mon, 01 Jan 0001 00:00:00 GMT", "0001-01-01T00:00:00.0000000Z"),
        ("2014-02-28T23:59:59.9999999Z", "Fri, 28 Feb 2014 23:59:59 GMT", "2014-02-28T23:59:59.9999999Z"),
        ("9999-12-31T23:59:59.1Z", "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.1000000Z"),
    ],
)
def test_a_moment_is_written_for_headers_and_for_texts(text: str, header: str, digits: str) -> None:
    assert (http_date(Ticks.parse(text)), seven_digits(Ticks.parse(text))) == (header, digits)
