"""Ranges: which bytes are returned, and the response if there are none."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from support.blob_requests import BLOCK_BLOB, BlobWire
from support.queue_requests import said_by
from tablepatterns_engine.account import Engine

TEXT = b"0123456789"


@pytest.fixture(autouse=True)
def blob(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, TEXT)
    wire.send("PUT", "/photos/empty", BLOCK_BLOB)


@pytest.mark.parametrize(
    ("asked", "content", "content_range"),
    [
        ("bytes=0-9", TEXT, "bytes 0-9/10"),
        ("bytes=3-5", b"345", "bytes 3-5/10"),
        ("bytes=3-", b"3456789", "bytes 3-9/10"),
        ("bytes=9-9", b"9", "bytes 9-9/10"),
        ("bytes=8-1000", b"89", "bytes 8-9/10"),
    ],
)
@pytest.mark.parametrize("header", ["Range", "x-ms-range"])
def test_a_range_is_answered_as_far_as_there_are_bytes(
    wire: BlobWire, header: str, asked: str, content: bytes, content_range: str
) -> None:
    response = wire.send("GET", "/photos/b", {header: asked})
    assert (response.status, response.reason, response.body) == (206, "Partial Content", content)
    assert (response.headers["Content-Range"], response.headers["Content-Length"]) == (content_range, str(len(content)))


def test_the_service_s_own_header_counts_before_that_of_http(wire: BlobWire) -> None:
    assert wire.send("GET", "/photos/b", {"Range": "bytes=0-1", "x-ms-range": "bytes=2-3"}).body == b"23"


@pytest.mark.parametrize("asked", ["bytes=-3", "bytes=5-3", "bytes=a-b", "0-3", "bytes=0-1,3-4", ""])
def test_what_is_no_single_range_is_ignored(wire: BlobWire, asked: str) -> None:
    response = wire.send("GET", "/photos/b", {"x-ms-range": asked})
    assert (response.status, response.body, "Content-Range" in response.headers) == (200, TEXT, False)


@pytest.mark.parametrize(("path", "asked"), [("b", "bytes=10-"), ("b", "bytes=11-20"), ("empty", "bytes=0-")])
def test_a_range_that_begins_behind_the_end_is_rejected(wire: BlobWire, path: str, asked: str) -> None:
    response = wire.send("GET", f"/photos/{path}", {"x-ms-range": asked})
    assert said_by(response)[:3] == (
        416,
        "InvalidRange",
        "The range specified is invalid for the current size of the resource.",
    )
    assert response.headers["Content-Range"] == f"bytes */{10 if path == 'b' else 0}"


@given(content=st.binary(max_size=20), first=st.integers(0, 25), last=st.integers(0, 25))
def test_a_range_is_the_slice_with_both_its_ends(content: bytes, first: int, last: int) -> None:
    wire = BlobWire(Engine("contoso"))
    wire.engine.blobs.containers.create("photos")
    wire.send("PUT", "/photos/b", BLOCK_BLOB, content)
    response = wire.send("GET", "/photos/b", {"x-ms-range": f"bytes={first}-{last}"})
    if last < first:
        assert (response.status, response.body) == (200, content)
    elif first >= len(content):
        assert response.status == 416
    else:
        assert (response.status, response.body) == (206, content[first : last + 1])
