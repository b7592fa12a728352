"""Multipart bodies: all valid forms are read, and malformed ones are rejected."""

from __future__ import annotations

from typing import Any

import pytest
from azure.core.rest import HttpRequest
from hypothesis import given
from hypothesis import strategies as st

from support.batch_responses import read_responses
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.http.multipart import (
    read_parts,
    read_requests,
    write_multipart,
    write_parts,
    write_response,
)

BODIES = st.binary(max_size=40).filter(lambda body: b"--b" not in body and b"--c" not in body)
ASCII = st.from_regex(r"[ -,.-~]*", fullmatch=True).map(str.encode)
HEADERS = st.dictionaries(st.sampled_from(["etag", "content-id", "a"]), st.sampled_from(["", "x: y", "é", 'W/"x"']))


@given(st.lists(st.tuples(st.sampled_from([200, 204, 404]), HEADERS, BODIES)))
def test_responses_are_read_as_they_were_written(responses: list[tuple[int, dict[str, str], bytes]]) -> None:
    inner = [write_response(Response(status, headers, body, "Any Reason")) for status, headers, body in responses]
    written = write_parts("b", [write_multipart("c", inner)])
    found = list(read_responses(written, 'multipart/mixed; boundary="b"'))
    assert [(each.status, each.headers, each.body) for each in found] == responses
    assert {each.reason for each in found} <= {"Any Reason"}


@given(st.lists(st.tuples(st.sampled_from(["PUT", "POST", "DELETE"]), ASCII), min_size=1))
def test_requests_are_read_as_azure_core_writes_them(requests: list[tuple[str, bytes]]) -> None:
    outer: Any = HttpRequest("POST", "https://contoso/$batch")
    changeset: Any = HttpRequest("POST", "")
    parts = [
        HttpRequest(method, "https://contoso/T", headers={"If-Match": "*"}, content=body) for method, body in requests
    ]
    changeset.set_multipart_mixed(*parts, boundary="c")
    outer.set_multipart_mixed(changeset, boundary="b")
    outer.prepare_multipart_body()
    (part,) = read_parts(outer.content, outer.headers["Content-Type"])
    found = list(read_requests(read_parts(part.content, part.headers["content-type"])))
    assert [(each.method, each.url, each.headers["if-match"]) for each in found] == [
        (method, "https://contoso/T", "*") for method, _ in requests
    ]
    assert [each.content_id for each in found] == [str(index) for index in range(len(requests))]
    assert [each.body for each in found] == [body for _, body in requests]


@pytest.mark.parametrize("blanks", [b"", b" ", b"\t "])
def test_a_delimiter_may_end_in_blanks_and_text_around_the_parts_is_ignored(blanks: bytes) -> None:
    body = b"preamble\r\n--b" + blanks + b"\r\nA: 1\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\nepilogue"
    assert read_parts(body, "multipart/mixed; Boundary=b; charset=x") == [({"a": "1"}, b"one"), ({}, b"two")]


@pytest.mark.parametrize("blank", [b"\r\n\r\n", b"\n\n", b"\n\r\n", b"\r\n\n"])
@pytest.mark.parametrize("rest", [b"", b"x", b"\n\nx", b"\r\n\r\nx", b"x\n\r\n\n"])
def test_the_first_blank_line_ends_the_headers_whatever_ends_the_lines(blank: bytes, rest: bytes) -> None:
    body = b"--b\r\nA: 1" + blank + rest + b"\r\n--b\n\ny" + rest + b"\n--b--"
    assert read_parts(body, "multipart/mixed; boundary=b") == [({"a": "1"}, rest), ({}, b"y" + rest)]


def test_a_content_may_hold_the_delimiter_inside_a_line() -> None:
    assert read_parts(b"--b\r\n\r\nx--b\r\n--b--", "multipart/mixed; boundary=b") == [({}, b"x--b")]


def test_a_multipart_of_no_parts_is_written_as_one_that_is_empty() -> None:
    assert read_parts(b"--b\r\n\r\n--b--\r\n", "multipart/mixed; boundary=b") == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"--b--", "multipart/mixed"),
        (b"", "multipart/mixed; boundary=b"),
        (b"--b\r\n\r\nx", "multipart/mixed; boundary=b"),
        (b"--b\r\nA: 1\r\nx\r\n--b--", "multipart/mixed; boundary=b"),
        (b"--bx\r\n\r\nx\r\n--b--", "multipart/mixed; boundary=b"),
        (b"--b x\r\n--b--", "multipart/mixed; boundary=b"),
    ],
)
def test_what_is_broken_is_rejected(body: bytes, content_type: str) -> None:
    with pytest.raises(ValueError, match=r"delimiter|boundary|header"):
        read_parts(body, content_type)


@pytest.mark.parametrize(
    "content",
    [b"GET /", b"GET / HTTP/1.1", *(b"GET /%s HTTP/1.1\r\n\r\n" % url for url in (b" x", b"\tx", b"\t", b" "))],
)
def test_a_part_that_is_no_request_is_rejected(content: bytes) -> None:
    parts = read_parts(b"--b\r\n\r\n" + content + b"\r\n--b--", "multipart/mixed; boundary=b")
    with pytest.raises(ValueError, match=r"no request line|no blank line"):
        list(read_requests(parts))


@pytest.mark.parametrize(("length", "content"), [(b"3", b"one"), (b"2", b"on"), (b"0", b"")])
def test_a_content_has_the_length_that_it_names(length: bytes, content: bytes) -> None:
    part = b"POST /T HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\none"
    (request,) = read_requests(read_parts(b"--b\r\n\r\n" + part + b"\r\n--b--", "multipart/mixed; boundary=b"))
    assert request.body == content


@pytest.mark.parametrize("length", [b"4", b"-1", b"x", b"", b"3.0", b"\xb2"])
def test_a_content_that_ends_before_its_length_is_rejected(length: bytes) -> None:
    part = b"POST /T HTTP/1.1\r\nContent-Length: " + length + b"\r\n\r\none"
    parts = read_parts(b"--b\r\n\r\n" + part + b"\r\n--b--", "multipart/mixed; boundary=b")
    with pytest.raises(ValueError, match="Content-Length"):
        list(read_requests(parts))


BATCH = b"--b\r\nA: 1\r\n\r\nDELETE /T HTTP/1.1\r\nIf-Match: *\r\nB: 2\r\n\r\n\r\n--b--\r\n"


@given(st.data())
def test_each_line_ends_with_lf_with_or_without_cr(data: st.DataObject) -> None:
    lines = BATCH.split(b"\r\n")
    body = b"".join(line + data.draw(st.sampled_from([b"\r\n", b"\n"])) for line in lines[:-1])
    (found,) = read_requests(read_parts(body, "multipart/mixed; boundary=b"))
    assert (found.method, found.url, found.headers) == ("DELETE", "/T", {"if-match": "*", "b": "2"})
    assert found.body in (b"", b"\r", b"\r\n", b"\n")


def test_a_cr_alone_ends_no_line() -> None:
    ends = [at for at in range(len(BATCH)) if BATCH.startswith(b"\r\n", at)]
    halved = [BATCH[:at] + b"\r" + BATCH[at + 2 :] for at in ends[:-1]]
    for body in (BATCH.replace(b"\r\n", b"\r"), *halved):
        with pytest.raises(ValueError, match=r"delimiter|header|request line"):
            list(read_requests(read_parts(body, "multipart/mixed; boundary=b")))


def test_a_cr_alone_smuggles_no_header_in() -> None:
    body = BATCH.replace(b"If-Match: *", b"If-Match: *\rx-ms-delete-snapshots: include")
    with pytest.raises(ValueError, match="CR without LF"):
        list(read_requests(read_parts(body, "multipart/mixed; boundary=b")))
