"""What is refused on the wire of blobs, header by header, and content that comes from other blobs."""

from __future__ import annotations

import pytest

from blob_wire import APPEND_BLOB, BASE, BLOCK_BLOB, LEASE, BlobWire, etag
from queue_wire import said_by
from tablepatterns.engine.account import Engine
from tablepatterns.limits import MAX_APPEND_BYTES

# ------------------------------------------------------------------ refusals


def test_a_refusal_names_the_header_that_is_wrong(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    for name, value in (("x-ms-lease-duration", "5"), ("x-ms-lease-duration", "x"), ("x-ms-lease-action", "keep")):
        asked = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "15", name: value}
        said = wire.refusal("PUT", "/photos/b?comp=lease", asked)
        assert said == (
            400,
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
            {"HeaderName": name, "HeaderValue": value},
        )


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/photos/b", {}, "x-ms-blob-type"),
        ("/photos/b?comp=lease", {}, "x-ms-lease-action"),
        ("/photos/b?comp=lease", {"x-ms-lease-action": "acquire"}, "x-ms-lease-duration"),
        ("/photos/b?comp=lease", {"x-ms-lease-action": "renew"}, "x-ms-lease-id"),
        ("/photos/b?comp=lease", {"x-ms-lease-action": "change", "x-ms-lease-id": LEASE}, "x-ms-proposed-lease-id"),
        ("/photos/b?comp=tier", {}, "x-ms-access-tier"),
    ],
)
def test_so_it_does_with_one_that_is_missing(wire: BlobWire, path: str, headers: dict[str, str], name: str) -> None:
    assert wire.refusal("PUT", path, headers) == (
        400,
        "MissingRequiredHeader",
        "An HTTP header that's mandatory for this request is not specified.",
        {"HeaderName": name},
    )


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/photos/b", {"x-ms-blob-type": "x"}),
        ("/photos/b", {**BLOCK_BLOB, "if-modified-since": "yesterday"}),
        ("/photos/b", {**BLOCK_BLOB, "x-ms-lease-id": "x"}),
        ("/photos/b", {**BLOCK_BLOB, "x-ms-access-tier": "Tepid"}),
        ("/photos/b?comp=appendblock", {"x-ms-blob-condition-appendpos": "x"}),
        ("/other?restype=container", {"x-ms-blob-public-access": "x"}),
        ("/photos/b", {"x-ms-copy-source": f"{BASE}/photos?restype=container"}),
    ],
)
def test_a_header_that_says_nothing_sensible_is_refused(wire: BlobWire, path: str, headers: dict[str, str]) -> None:
    assert wire.refusal("PUT", path, headers, b"x" if "append" in path else b"")[:2] == (400, "InvalidHeaderValue")


def test_a_refusal_to_head_is_in_the_headers_alone(wire: BlobWire) -> None:
    response = wire.send("HEAD", "/photos/missing")
    assert (response.status, response.body) == (404, b"")
    assert (response.headers["x-ms-error-code"], response.reason) == (
        "BlobNotFound",
        "The specified blob does not exist.",
    )


def test_what_was_not_modified_has_no_body(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    response = wire.send("GET", "/photos/b", {"if-none-match": etag(engine)})
    assert (response.status, response.body) == (304, b"")
    assert response.headers["x-ms-error-code"] == "ConditionNotMet"


@pytest.mark.parametrize("form", ["{}", '"{}"', '"0x1", "{}"', '"{}" , "0x1"'])
def test_an_etag_may_stand_with_and_without_quotes_and_among_others(wire: BlobWire, engine: Engine, form: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    assert wire.send("GET", "/photos/b", {"if-match": form.format(etag(engine)[1:-1])}).status == 200
    assert wire.send("GET", "/photos/b", {"if-none-match": form.format(etag(engine)[1:-1])}).status == 304


def test_an_etag_is_no_condition_for_a_container(wire: BlobWire) -> None:
    said = wire.refusal("DELETE", "/photos?restype=container", {"if-match": "*"})
    assert said[:2] == (400, "ConditionHeadersNotSupported")


@pytest.mark.parametrize(("version", "largest"), [("2021-12-02", 4 * 1024 * 1024), ("2022-11-02", MAX_APPEND_BYTES)])
def test_what_may_be_appended_at_once_depends_on_the_version(
    wire: BlobWire, version: str, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns.engine.blob_versions.MAX_APPEND_BYTES", 8 * 1024 * 1024)
    wire.send("PUT", "/photos/b", APPEND_BLOB)
    for size in (min(largest, 8 * 1024 * 1024), min(largest, 8 * 1024 * 1024) + 1):
        response = wire.send("PUT", "/photos/b?comp=appendblock", {"x-ms-version": version}, bytes(size))
        assert response.status == (413 if size % 2 else 201)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "InvalidXmlDocument"),
        ("<BlockList><Other>YQ==</Other></BlockList>", "InvalidXmlDocument"),
        ("<BlockList><Latest>YQ==</Latest></BlockList>", "InvalidBlockList"),
        ("<BlockList><Latest>no base64</Latest></BlockList>", "InvalidBlockList"),
    ],
)
def test_a_block_list_that_cannot_be_is_refused(wire: BlobWire, body: str, code: str) -> None:
    assert wire.refusal("PUT", "/photos/b?comp=blocklist", {}, body)[:2] == (400, code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("x", "InvalidXmlDocument"),
        ("<Tags><TagSet><Tag><Value>b</Value></Tag></TagSet></Tags>", "InvalidXmlDocument"),
        (f"<Tags><TagSet>{'<Tag><Key>a</Key></Tag>' * 2}</TagSet></Tags>", "InvalidTag"),
    ],
)
def test_tags_that_cannot_be_are_refused(wire: BlobWire, body: str, code: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    assert wire.refusal("PUT", "/photos/b?comp=tags", {}, body)[:2] == (400, code)
    assert wire.refusal("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-tags": "a=b&a=c"})[:2] == (400, "InvalidTag")


def test_a_block_without_an_id_is_refused(wire: BlobWire) -> None:
    said = said_by(wire.send("PUT", "/photos/b?comp=block", {}, b"Don"))
    assert said[:2] == (400, "MissingRequiredQueryParameter")
    assert said.details == {"QueryParameterName": "blockid"}


def test_what_is_of_the_body_is_of_the_blob_only_where_the_body_is_the_blob(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", {**BLOCK_BLOB, "content-type": "text/plain", "content-language": "en"}, b"Don")
    assert wire.send("HEAD", "/photos/b").headers["Content-Type"] == "text/plain"
    assert wire.send("HEAD", "/photos/b").headers["Content-Language"] == "en"
    wire.send("PUT", "/photos/b?comp=blocklist", {"content-type": "text/plain"}, "<BlockList />")
    assert wire.send("HEAD", "/photos/b").headers["Content-Type"] == "application/octet-stream"


# ------------------------------------------------------------------ content from other blobs


def test_a_range_of_another_blob_becomes_a_block(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"0123456789")
    source = {"x-ms-copy-source": f"{BASE}/photos/b"}
    wire.send("PUT", "/photos/c?comp=block&blockid=YQ==", {**source, "x-ms-source-range": "bytes=2-4"})
    wire.send("PUT", "/photos/c?comp=blocklist", {}, "<BlockList><Latest>YQ==</Latest></BlockList>")
    assert bytes(engine.blobs.get("photos", "c").content) == b"234"
    said = wire.refusal("PUT", "/photos/c?comp=block&blockid=YQ==", {**source, "x-ms-source-range": "bytes=10-"})
    assert said[:2] == (416, "InvalidRange")


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({"x-ms-source-if-match": '"0x1"'}, (412, "SourceConditionNotMet")),
        ({"x-ms-source-content-md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, (400, "Md5Mismatch")),
        ({"x-ms-copy-source": f"{BASE}/photos/missing"}, (404, "BlobNotFound")),
        ({"x-ms-copy-source": f"{BASE}/nowhere/b"}, (404, "ContainerNotFound")),
    ],
)
def test_so_it_does_not_if_the_source_is_another(
    wire: BlobWire, headers: dict[str, str], refusal: tuple[int, str]
) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"0123456789")
    asked = {"x-ms-copy-source": f"{BASE}/photos/b", **headers}
    assert wire.refusal("PUT", "/photos/c?comp=block&blockid=YQ==", asked)[:2] == refusal
    assert wire.refusal("PUT", "/photos/c", {**BLOCK_BLOB, **asked})[:2] == refusal


def test_a_request_brings_content_or_names_it(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"0123456789")
    asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/photos/b"}
    assert wire.refusal("PUT", "/photos/c", asked, b"more")[:2] == (400, "InvalidHeaderValue")
