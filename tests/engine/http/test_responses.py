"""Responses as azure-core and its policies use them."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.rest import HttpRequest

from tablepatterns_engine.http.message import Response
from tablepatterns_engine.http.multipart import write_multipart, write_parts, write_response
from tablepatterns_engine.transport import AioEngineResponse, EngineResponse, Headers

REQUEST = HttpRequest("GET", "https://contoso.table.core.windows.net/Tables")
JSON = {"Content-Type": "application/json", "ETag": "x"}


def plain(body: bytes = b'{"value":[]}', status: int = 200, headers: dict[str, str] = JSON) -> EngineResponse:
    return EngineResponse(REQUEST, Response(status, headers, body))


def a_batch(*statuses: int) -> Response:
    parts = [Response(status, {"ETag": f"e{status}"}, b"{}", "Some Reason") for status in statuses]
    body = write_parts("b", [write_multipart("c", list(map(write_response, parts)))])
    response = Response(202, {"Content-Type": "multipart/mixed; boundary=b"}, body)
    response.parts = parts
    return response


def a_request(policies: list[Any], methods: list[str]) -> Any:
    request: Any = HttpRequest("POST", "https://contoso.table.core.windows.net/$batch")
    changeset: Any = HttpRequest("POST", "")
    changeset.set_multipart_mixed(*(HttpRequest(method, "/Employees") for method in methods))
    request.set_multipart_mixed(changeset, policies=policies)
    return request


def test_a_response_says_what_azure_core_asks_of_it() -> None:
    response = plain()
    with response as entered:
        assert (entered.status_code, entered.reason, entered.url) == (200, "OK", REQUEST.url)
        assert (entered.headers["etag"], entered.content_type) == ("x", "application/json")
        assert (entered.text(), entered.json(), entered.read()) == ('{"value":[]}', {"value": []}, b'{"value":[]}')
        assert b"".join(entered.iter_raw()) == b"".join(entered.iter_bytes()) == entered.content
    assert response.is_closed
    assert response.is_stream_consumed
    assert repr(response) == "<HttpResponse: 200 OK, Content-Type: application/json>"


def test_the_content_type_is_the_one_received_whatever_the_headers_are_replaced_with() -> None:
    response = plain()
    response.headers["Content-Type"] = "text/plain"
    assert (response.content_type, response.headers["content-type"]) == ("application/json", "text/plain")
    response.headers = {}
    assert response.content_type == "application/json"


def test_the_text_has_no_byte_order_mark_and_the_encoding_that_it_is_given() -> None:
    assert plain(b"\xef\xbb\xbf<a />").text() == plain(b"\xef\xbb\xbf<a />").text("utf-8") == "<a />"
    response = plain("é".encode("latin-1"))
    response.encoding = "latin-1"
    assert (response.encoding, response.text()) == ("latin-1", "é")


def test_a_response_is_gone_with_its_last_reference() -> None:
    gone = weakref.ref(plain())
    assert gone() is None


def test_a_long_body_comes_in_chunks() -> None:
    mib = 1024 * 1024
    assert [len(chunk) for chunk in plain(bytes(9 * mib)).iter_bytes()] == [4 * mib, 4 * mib, mib]


def test_only_an_error_raises_for_its_status() -> None:
    plain(status=399).raise_for_status()
    with pytest.raises(HttpResponseError) as caught:
        plain(b"no", status=404).raise_for_status()
    assert (caught.value.status_code, caught.value.reason) == (404, "Not Found")


def test_the_parts_of_a_changeset_are_laid_flat_and_know_their_requests() -> None:
    request = a_request([], ["POST", "DELETE"])
    parts = list(EngineResponse(request, a_batch(201, 204)).parts())
    assert [(part.status_code, part.reason, part.headers["etag"], part.request.method) for part in parts] == [
        (201, "Some Reason", "e201", "POST"),
        (204, "Some Reason", "e204", "DELETE"),
    ]


def test_a_part_without_a_request_of_its_own_belongs_to_the_batch() -> None:
    request = a_request([], [])
    (part,) = EngineResponse(request, a_batch(400)).parts()
    assert part.request is request


def test_a_response_that_is_not_multipart_has_no_parts() -> None:
    with pytest.raises(ValueError, match="not multipart/mixed"):
        plain().parts()


def test_a_policy_that_observes_responses_sees_every_part() -> None:
    seen: list[int] = []

    class Observer(SansIOHTTPPolicy[Any, Any]):
        def on_response(self, request: Any, response: Any) -> None:
            assert request.http_request is response.http_request
            seen.append(response.http_response.status_code)

    request = a_request([SansIOHTTPPolicy(), Observer()], ["POST", "PUT"])
    list(EngineResponse(request, a_batch(201, 204)).parts())
    assert seen == [201, 204]


def test_an_aio_response_reads_and_parts_without_an_event_loop() -> None:
    seen: list[int] = []

    class Observer(SansIOHTTPPolicy[Any, Any]):
        async def on_response(self, request: Any, response: Any) -> None:
            seen.append(response.http_response.status_code)

    async def story() -> tuple[list[bytes], list[int]]:
        async with AioEngineResponse(REQUEST, Response(200, JSON, b"body")) as response:
            read = [await response.read(), *[chunk async for chunk in response.iter_raw()]]
            await response.load_body()
            read += [chunk async for chunk in response.stream_download(None)]
            read += [chunk async for chunk in response.iter_bytes()]
        assert response.is_closed
        outer = AioEngineResponse(a_request([Observer()], ["POST", "PUT"]), a_batch(201, 204))
        return read, [part.status_code async for part in outer.parts()]

    with pytest.raises(StopIteration) as stop:
        story().send(None)
    assert stop.value.value == ([b"body"] * 4, [201, 204])
    assert seen == [201, 204]


class TestHeaders:
    def test_names_are_case_insensitive_and_keep_their_spelling(self) -> None:
        headers = Headers({"ETag": "1", "x-ms-Meta-Name": "Don"})
        assert (headers["etag"], headers.get("ETAG"), headers.get("X-MS-META-NAME")) == ("1", "1", "Don")
        assert "eTag" in headers
        assert "Date" not in headers
        assert headers.get("Date") is None
        assert headers.get("Date", "never") == "never"
        assert list(headers.items()) == [("ETag", "1"), ("x-ms-Meta-Name", "Don")]
        with pytest.raises(KeyError):
            headers["Date"]

    def test_a_changed_header_is_one_header_in_the_new_spelling(self) -> None:
        headers, other = Headers({"ETag": "1", "Date": "d"}), Headers({"ETag": "1", "Date": "d"})
        headers["etag"] = "2"
        headers["Date"] = "e"
        headers["Age"] = "3"
        assert dict(headers) == {"Date": "e", "etag": "2", "Age": "3"}
        assert (len(headers), headers["ETag"], headers.get("ETag"), headers.get("AGE")) == (3, "2", "2", "3")
        assert dict(other) == {"ETag": "1", "Date": "d"}
        assert "age" not in other

    def test_a_removed_header_is_gone_in_every_spelling(self) -> None:
        headers, other = Headers({"ETag": "1", "Date": "d"}), Headers({"ETag": "1", "Date": "d"})
        del headers["etag"]
        assert dict(headers) == {"Date": "d"}
        assert ("ETag" in headers, headers.get("ETag"), other["etag"]) == (False, None, "1")
        with pytest.raises(KeyError):
            del headers["ETag"]

    def test_of_two_names_that_differ_in_case_the_last_counts(self) -> None:
        headers = Headers({"ETag": "1", "Date": "d", "etag": "2"})
        assert dict(headers) == {"etag": "2", "Date": "d"}
        assert (headers["ETag"], len(headers)) == ("2", 2)

    def test_they_are_independent_of_what_they_were_made_of(self) -> None:
        given = {"ETag": "1"}
        headers = Headers(given)
        headers["Date"] = "d"
        given["Age"] = "3"
        assert (dict(headers), given) == ({"ETag": "1", "Date": "d"}, {"ETag": "1", "Age": "3"})
