"""Rejected headers of blob requests, and content from other blobs."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from azure.storage.blob import generate_blob_sas, generate_container_sas

from support.blob_requests import APPEND_BLOB, BASE, BLOCK_BLOB, LEASE, BlobWire, etag
from support.option_values import OF_BLOBS
from support.queue_requests import said_by
from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_APPEND_BYTES
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.blob import CURRENT, Revision, Tier
from tablepatterns_engine.blobs.state import PublicAccess
from tablepatterns_engine.http.headers import http_date

PAST = "Wed, 01 Jan 2014 00:00:00 GMT"

# ------------------------------------------------------------------ errors


def test_an_error_names_the_header_that_is_wrong(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    for name, value in (("x-ms-lease-duration", "5"), ("x-ms-lease-duration", "x"), ("x-ms-lease-action", "keep")):
        asked = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "15", name: value}
        said = wire.error("PUT", "/photos/b?comp=lease", asked)
        assert said == (
            400,
            "InvalidHeaderValue",
            "The value for one of the HTTP headers is not in the correct format.",
            {"HeaderName": name, "HeaderValue": value},
        )


DAYS = "<StorageServiceProperties><Logging><RetentionPolicy><Enabled>true</Enabled>\n<Days>%d</Days></RetentionPolicy>"
DAYS += "</Logging></StorageServiceProperties>"
RETENTION = "Retention days must be greater than 0 and less than or equal to 365 days."


@pytest.mark.parametrize(
    ("body", "details"),
    [
        ("<StorageServiceProperties>\n<Cors>&</Cors>", ("2", "8", "Error parsing Xml content")),
        (DAYS % 366, ("2", "19", RETENTION)),
        (DAYS % 0, ("2", "17", RETENTION)),
        ("<Cors />", ("0", "0", None)),
    ],
)
def test_an_error_says_where_the_xml_is_wrong(wire: BlobWire, body: str, details: tuple[str, str, str | None]) -> None:
    said = wire.error("PUT", "/?restype=service&comp=properties", {}, body.encode())
    assert said[:2] == (400, "InvalidXmlDocument")
    assert said[3] == dict(zip(("LineNumber", "LinePosition", "Reason"), details, strict=True))


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
    assert wire.error("PUT", path, headers) == (
        400,
        "MissingRequiredHeader",
        "An HTTP header that's mandatory for this request is not specified.",
        {"HeaderName": name},
    )


@pytest.mark.parametrize("form", ["{}", '"{}"', '"0x1", "{}"', '"{}" , "0x1"'])
def test_an_etag_may_stand_with_and_without_quotes_and_among_others(wire: BlobWire, engine: Engine, form: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    assert wire.send("GET", "/photos/b", {"if-match": form.format(etag(engine)[1:-1])}).status == 200
    assert wire.send("GET", "/photos/b", {"if-none-match": form.format(etag(engine)[1:-1])}).status == 304


def test_an_etag_is_no_condition_for_a_container(wire: BlobWire) -> None:
    said = wire.error("DELETE", "/photos?restype=container", {"if-match": "*"})
    assert said[:2] == (400, "ConditionHeadersNotSupported")


@pytest.mark.parametrize(("version", "largest"), [("2021-12-02", 4 * 1024 * 1024), ("2022-11-02", MAX_APPEND_BYTES)])
def test_what_may_be_appended_at_once_depends_on_the_version(
    wire: BlobWire, version: str, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns_engine.blobs.service.MAX_APPEND_BYTES", 8 * 1024 * 1024)
    wire.send("PUT", "/photos/b", APPEND_BLOB)
    for size in (min(largest, 8 * 1024 * 1024), min(largest, 8 * 1024 * 1024) + 1):
        response = wire.send("PUT", "/photos/b?comp=appendblock", {"x-ms-version": version}, bytes(size))
        assert response.status == (413 if size % 2 else 201)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "InvalidXmlDocument"),
        ("<BlockList><Other>YQ==</Other></BlockList>", "InvalidXmlDocument"),
        ("<BlockList><Latest><Name>YQ==</Name></Latest></BlockList>", "InvalidXmlDocument"),
        ("<BlockList><Latest>YQ==</Latest></BlockList>", "InvalidBlockList"),
        ("<BlockList><Latest>no base64</Latest></BlockList>", "InvalidBlockList"),
    ],
)
def test_a_block_list_that_cannot_be_is_rejected(wire: BlobWire, body: str, code: str) -> None:
    assert wire.error("PUT", "/photos/b?comp=blocklist", {}, body)[:2] == (400, code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("x", "InvalidXmlDocument"),
        ("<Tags><TagSet><Tag><Value>b</Value></Tag></TagSet></Tags>", "InvalidXmlDocument"),
        ("<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet></Tags>", "InvalidXmlDocument"),
        ("<Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags>", "InvalidXmlDocument"),
        ("<Tags><TagSet><Label /></TagSet></Tags>", "InvalidXmlDocument"),
        ("<Tags><TagSet><Tag><Key><b>a</b></Key><Value>b</Value></Tag></TagSet></Tags>", "InvalidXmlDocument"),
        ("<Tags />", "InvalidXmlDocument"),
        (f"<Tags><TagSet>{'<Tag><Key>a</Key><Value /></Tag>' * 2}</TagSet></Tags>", "InvalidTag"),
    ],
)
def test_tags_that_cannot_be_are_rejected(wire: BlobWire, body: str, code: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    assert wire.error("PUT", "/photos/b?comp=tags", {}, body)[:2] == (400, code)
    assert wire.error("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-tags": "a=b&a=c"})[:2] == (400, "InvalidTag")


def test_a_block_without_an_id_is_rejected(wire: BlobWire) -> None:
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


def _public(wire: BlobWire) -> None:
    """Write a blob that anyone may read."""
    wire.send("PUT", "/public?restype=container", {"x-ms-blob-public-access": "blob"})
    wire.send("PUT", "/public/b", {**BLOCK_BLOB, **SAID}, b"0123456789")


SAID = {"x-ms-tags": "team=Sales", "x-ms-blob-content-type": "text/plain", "x-ms-blob-cache-control": "no-cache"}


def test_a_range_of_another_blob_becomes_a_block(wire: BlobWire, engine: Engine) -> None:
    _public(wire)
    source = {"x-ms-copy-source": f"{BASE}/public/b"}
    wire.send("PUT", "/photos/c?comp=block&blockid=YQ==", {**source, "x-ms-source-range": "bytes=2-4"})
    wire.send("PUT", "/photos/c?comp=blocklist", {}, "<BlockList><Latest>YQ==</Latest></BlockList>")
    assert bytes(engine.blobs.get("photos", "c").content) == b"234"
    said = wire.error("PUT", "/photos/c?comp=block&blockid=YQ==", {**source, "x-ms-source-range": "bytes=10-"})
    assert said[:2] == (416, "InvalidRange")


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"x-ms-source-if-match": '"0x1"'}, (412, "SourceConditionNotMet")),
        ({"x-ms-source-if-unmodified-since": PAST}, (412, "CannotVerifyCopySource")),
        ({"x-ms-source-if-tags": "team = 'IT'"}, (412, "CannotVerifyCopySource")),
        ({"x-ms-source-content-crc64": "AAAAAAAAAAA="}, (400, "Crc64Mismatch")),
        ({"x-ms-source-content-md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, (400, "Md5Mismatch")),
        ({"x-ms-copy-source": f"{BASE}/public/missing"}, (404, "CannotVerifyCopySource")),
        ({"x-ms-copy-source": f"{BASE}/nowhere/b"}, (401, "CannotVerifyCopySource")),
    ],
)
def test_so_it_does_not_if_the_source_is_another(
    wire: BlobWire, headers: dict[str, str], error: tuple[int, str]
) -> None:
    _public(wire)
    asked = {"x-ms-copy-source": f"{BASE}/public/b", **headers}
    assert wire.error("PUT", "/photos/c?comp=block&blockid=YQ==", asked)[:2] == error
    assert wire.error("PUT", "/photos/c", {**BLOCK_BLOB, **asked})[:2] == error


def test_a_request_brings_content_or_names_it(wire: BlobWire) -> None:
    _public(wire)
    asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/public/b"}
    assert wire.error("PUT", "/photos/c", asked, b"more")[:2] == (400, "InvalidHeaderValue")


@pytest.mark.parametrize("own", [{}, {"x-ms-requires-sync": "true"}, BLOCK_BLOB], ids=["later", "now", "put from URL"])
def test_a_copy_has_the_tags_of_its_source_if_asked_to(wire: BlobWire, engine: Engine, own: dict[str, str]) -> None:
    _public(wire)
    engine.blobs.containers.set_access("photos", PublicAccess.BLOBS, [])
    wire.send("PUT", "/photos/b", {**BLOCK_BLOB, **SAID})
    asked = {**own, "x-ms-copy-source": f"{BASE}/photos/b?{tag_sas(engine)}"}
    for option, tags in ((None, {}), ("REPLACE", {}), ("COPY", {"team": "Sales"})):
        named = {} if option is None else {"x-ms-copy-source-tag-option": option}
        assert wire.send("PUT", "/photos/c", {**asked, **named}).status < 300
        assert engine.blobs.get("photos", "c").tags == tags
    both = {**asked, "x-ms-copy-source-tag-option": "COPY", "x-ms-tags": "a=b"}
    assert wire.error("PUT", "/photos/c", both)[:2] == (400, "InvalidHeaderValue")


def test_put_from_url_copies_the_properties_of_its_source_by_default(wire: BlobWire, engine: Engine) -> None:
    _public(wire)
    asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/public/b"}
    for own, found in (
        ({}, ("text/plain", "no-cache")),
        ({"x-ms-blob-content-type": "image/png"}, ("image/png", "no-cache")),
        ({"x-ms-copy-source-blob-properties": "false"}, ("application/octet-stream", None)),
    ):
        wire.send("PUT", "/photos/c", {**asked, **own})
        said = engine.blobs.get("photos", "c").headers
        assert (said.content_type, said.cache_control) == found


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_copy_of_an_append_blob_is_sealed_like_its_source_or_as_asked(
    wire: BlobWire, engine: Engine, is_sealed: bool
) -> None:
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    if is_sealed:
        wire.send("PUT", "/photos/log?comp=seal")
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    asked = {"x-ms-copy-source": f"{BASE}/photos/log"}
    for option, expected in (({}, is_sealed), ({"x-ms-seal-blob": "false"}, False), ({"x-ms-seal-blob": "true"}, True)):
        wire.send("PUT", "/photos/copy", {**asked, **option})
        assert engine.blobs.get("photos", "copy").sealed is expected
    asked = {"x-ms-copy-source": f"{BASE}/photos/b", "x-ms-seal-blob": "true"}
    assert wire.error("PUT", "/photos/new", asked)[:2] == (409, "InvalidBlobType")


def test_an_error_of_the_source_is_passed_on(wire: BlobWire) -> None:
    _public(wire)
    asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/public/b", "x-ms-source-if-unmodified-since": PAST}
    response = wire.send("PUT", "/photos/c", asked)
    assert response.headers["x-ms-copy-source-status-code"] == "412"
    assert response.headers["x-ms-copy-source-error-code"] == "ConditionNotMet"
    assert said_by(response).details["CopySourceErrorCode"] == "ConditionNotMet"


@pytest.mark.parametrize("path", ["/photos/c", "/photos/c?comp=block&blockid=YQ==", "/photos/log?comp=appendblock"])
def test_a_source_that_has_not_changed_is_not_read(wire: BlobWire, engine: Engine, path: str) -> None:
    _public(wire)
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/public/b"}
    current = {"x-ms-source-if-none-match": engine.blobs.get("public", "b").etag}
    for condition in (current, {"x-ms-source-if-modified-since": http_date(engine.clock.now())}):
        response = wire.send("PUT", path, {**asked, **condition})
        assert (response.status, response.headers["x-ms-error-code"]) == (304, "CannotVerifyCopySource")
        assert response.body == b""
        assert "Content-Type" not in response.headers


@pytest.mark.parametrize("url", [f"{BASE}/public/missing", f"{BASE}/public/b?snapshot=2001-01-01T00:00:00.0000000Z"])
def test_a_source_that_does_not_exist_is_not_read(wire: BlobWire, url: str) -> None:
    _public(wire)
    response = wire.send("PUT", "/photos/c", {**BLOCK_BLOB, "x-ms-copy-source": url})
    assert (response.status, response.headers["x-ms-copy-source-error-code"]) == (404, "BlobNotFound")


@pytest.mark.parametrize("snapshot", [True, False], ids=["snapshot", "blob"])
def test_a_tier_is_that_of_the_snapshot_or_of_the_blob(wire: BlobWire, engine: Engine, snapshot: bool) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    taken = wire.send("PUT", "/photos/b?comp=snapshot").headers["x-ms-snapshot"]
    path = f"/photos/b?comp=tier&snapshot={taken}" if snapshot else "/photos/b?comp=tier"
    assert wire.send("PUT", path, {"x-ms-access-tier": "Smart"}).status == 200
    revisions = CURRENT, Revision(Ticks.parse(taken))
    tiers = [engine.blobs.get("photos", "b", revision=revision).tier for revision in revisions]
    assert tiers == ([None, Tier.SMART] if snapshot else [Tier.SMART, None])


@pytest.mark.parametrize(("version", "is_told"), [("2024-11-04", False), ("2026-10-06", True)])
def test_newer_versions_return_the_tier_with_the_content(wire: BlobWire, version: str, is_told: bool) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    wire.send("PUT", "/photos/b?comp=tier", {"x-ms-access-tier": "Smart"})
    told = wire.send("GET", "/photos/b", {"x-ms-version": version}).headers
    assert (told.get("x-ms-access-tier"), told.get("x-ms-smart-access-tier")) == (
        ("Smart", "Hot") if is_told else (None, None)
    )
    assert ("x-ms-access-tier-change-time" in told) is is_told
    assert wire.send("HEAD", "/photos/b").headers["x-ms-smart-access-tier"] == "Hot"
    assert b"<SmartAccessTier>Hot<" in wire.send("GET", "/photos?restype=container&comp=list").body


def test_only_a_block_blob_has_a_tier(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    tier = {"x-ms-access-tier": "Archive"}
    assert wire.error("PUT", "/photos/new", APPEND_BLOB | tier)[:2] == (409, "InvalidBlobType")
    copy = {"x-ms-copy-source": f"{BASE}/photos/log"} | tier
    assert wire.error("PUT", "/photos/new", copy)[:2] == (409, "InvalidBlobType")
    assert wire.error("PUT", "/photos/log?comp=tier", tier)[:2] == (409, "InvalidBlobType")


def test_a_deletion_may_depend_on_when_the_tier_was_changed(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    engine.clock.advance(60)
    between = http_date(engine.clock.now())
    engine.clock.advance(60)
    wire.send("PUT", "/photos/b?comp=tier", {"x-ms-access-tier": "Cool"})
    since, until = "x-ms-access-tier-if-modified-since", "x-ms-access-tier-if-unmodified-since"
    assert wire.error("DELETE", "/photos/b", {until: between})[:2] == (412, "ConditionNotMet")
    assert wire.error("DELETE", "/photos/b", {since: between, until: between})[0] == 400
    assert wire.send("DELETE", "/photos/b", {since: between}).status == 202


@pytest.mark.parametrize("path", ["/photos/b", "/photos/b?comp=blocklist"])
def test_the_holder_of_a_lease_replaces_a_blob_that_must_not_be_there(wire: BlobWire, path: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    lease = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "15", "x-ms-proposed-lease-id": LEASE}
    wire.send("PUT", "/photos/b?comp=lease", lease)
    body = "<BlockList />" if "blocklist" in path else ""
    asked = {**BLOCK_BLOB, "if-none-match": "*"}
    other = {"x-ms-lease-id": LEASE[:-1] + "f"}
    assert wire.error("PUT", path, asked, body)[:2] == (412, "LeaseIdMissing")
    assert wire.error("PUT", path, asked | other, body)[:2] == (412, "LeaseIdMismatchWithBlobOperation")
    assert wire.send("PUT", path, {**asked, "x-ms-lease-id": LEASE}, body).status == 201


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/photos/b", BLOCK_BLOB, b"123456789"),
        ("/photos/b?comp=block&blockid=YQ==", {}, b"123456789"),
        ("/photos/log?comp=appendblock", {}, b"123456789"),
        ("/photos/b", {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/public/b"}, b""),
    ],
)
def test_every_write_of_content_returns_its_crc64(
    wire: BlobWire, path: str, headers: dict[str, str], body: bytes
) -> None:
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    wire.send("PUT", "/public?restype=container", {"x-ms-blob-public-access": "blob"})
    wire.send("PUT", "/public/b", BLOCK_BLOB, b"123456789")
    assert wire.send("PUT", path, headers, body).headers["x-ms-content-crc64"] == "iJh5CoYUi64="


@pytest.mark.parametrize("digest", ["AAAA", "AAAAAAAAAAAAAAAAAAAAAA=="])
def test_an_md5_that_is_only_kept_may_have_any_length(wire: BlobWire, digest: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    for path, body in (("/photos/b?comp=properties", ""), ("/photos/b?comp=blocklist", "<BlockList />")):
        assert wire.send("PUT", path, {"x-ms-blob-content-md5": digest}, body).status < 300
        assert wire.send("HEAD", "/photos/b").headers["Content-MD5"] == digest
    assert wire.error("PUT", "/photos/b?comp=properties", {"x-ms-blob-content-md5": "%"})[:2] == (400, "InvalidMd5")


@pytest.mark.parametrize("kind", ["md5", "crc64"])
def test_a_range_without_an_end_has_a_checksum_if_it_is_short(wire: BlobWire, kind: str) -> None:
    asked = {f"x-ms-range-get-content-{kind}": "true"}
    size = 4 * 1024 * 1024 + 9
    wire.send("PUT", "/photos/b", BLOCK_BLOB, bytes(size))
    response = wire.send("GET", "/photos/b", {**asked, "x-ms-range": f"bytes={size - 9}-"})
    assert response.status == 206
    assert {"md5": "Content-MD5", "crc64": "x-ms-content-crc64"}[kind] in response.headers
    for span in ({}, {"x-ms-range": "bytes=8-"}, {"x-ms-range": f"bytes=0-{size}"}):
        assert wire.error("GET", "/photos/b", {**asked, **span})[:2] == (400, "InvalidHeaderValue")


@pytest.mark.parametrize("version", ["x", "", "2019-02-03", "1999-01-01", "2030-13-01", "2019-2-2"])
def test_a_version_that_there_never_was_is_rejected(wire: BlobWire, version: str) -> None:
    assert wire.error("GET", "/?comp=list", {"x-ms-version": version})[:2] == (400, "InvalidHeaderValue")


@pytest.mark.parametrize("version", ["2011-08-18", "2019-02-02", "2024-11-04", "2026-04-06"])
def test_any_other_version_is_accepted(wire: BlobWire, version: str) -> None:
    response = wire.send("GET", "/?comp=list", {"x-ms-version": version})
    assert (response.status, response.headers["x-ms-version"]) == (200, version)


def test_the_default_version_is_kept_and_is_that_of_requests_without_one(wire: BlobWire) -> None:
    path = "/?restype=service&comp=properties"

    def body(version: str) -> str:
        said = f"<DefaultServiceVersion>{version}</DefaultServiceVersion>"
        return f"<StorageServiceProperties>{said}</StorageServiceProperties>"

    assert wire.send("PUT", path, {}, body("2020-06-12")).status == 202
    assert wire.send("PUT", path, {}, "<StorageServiceProperties></StorageServiceProperties>").status == 202
    assert wire.xml("GET", path).findtext("DefaultServiceVersion") == "2020-06-12"
    assert wire.send("GET", path).headers["x-ms-version"] == "2020-06-12"
    assert wire.send("GET", path, {"x-ms-version": "2019-02-02"}).headers["x-ms-version"] == "2019-02-02"
    assert wire.error("PUT", path, {}, body("yesterday"))[:2] == (400, "InvalidXmlDocument")


@pytest.mark.parametrize("permission", ["r", "w", "t"])
def test_a_signature_of_a_container_or_a_blob_gives_the_account_information(
    wire: BlobWire, engine: Engine, permission: str
) -> None:
    later, key = datetime(2014, 8, 23, tzinfo=timezone.utc), engine.account_key
    asked = "restype=account&comp=properties"
    blob = generate_blob_sas("contoso", "photos", "b", account_key=key, permission=permission, expiry=later)
    home = generate_container_sas("contoso", "photos", account_key=key, permission=permission, expiry=later)
    for path, token in (("/photos/b", blob), ("/photos", home), ("/photos/b", home)):
        response = wire.send("GET", f"{path}?{asked}&{token}", signed=False)
        assert (response.status, response.headers["x-ms-account-kind"]) == (200, "StorageV2")
    for path, token in (("/other", home), ("/photos/c", blob), ("/", home)):
        assert wire.send("GET", f"{path}?{asked}&{token}", signed=False).status == 403


def tag_sas(engine: Engine) -> str:
    """Return a signature to read the blob b and its tags."""
    later = datetime(2014, 8, 23, tzinfo=timezone.utc)
    return generate_blob_sas("contoso", "photos", "b", account_key=engine.account_key, permission="rt", expiry=later)


# ------------------------------------------------------------------ options that contradict each other


def test_only_one_checksum_of_a_range_can_be_asked_for(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    asked = {"x-ms-range": "bytes=0-1", "x-ms-range-get-content-md5": "true", "x-ms-range-get-content-crc64": "true"}
    assert wire.error("GET", "/photos/b", asked)[:2] == (400, "BothCrc64AndMd5RangeHeaderPresent")
    assert wire.send("GET", "/photos/b", {**asked, "x-ms-range-get-content-crc64": "false"}).status == 206


@pytest.mark.parametrize("path", ["/photos/c", "/photos/c?comp=block&blockid=YQ==", "/photos/log?comp=appendblock"])
def test_only_one_checksum_of_a_source_can_be_given(wire: BlobWire, path: str) -> None:
    _public(wire)
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    content = wire.send("GET", "/public/b", {"x-ms-range": "bytes=0-", "x-ms-range-get-content-md5": "true"}).headers
    md5 = {"x-ms-source-content-md5": content["Content-MD5"]}
    asked = {**BLOCK_BLOB, "x-ms-copy-source": f"{BASE}/public/b", **md5}
    both = {**asked, "x-ms-source-content-crc64": "AAAAAAAAAAA="}
    assert wire.error("PUT", path, both)[:2] == (400, "BothCrc64AndMd5HeaderPresent")
    assert wire.send("PUT", path, asked).status == 201


def test_a_blob_is_not_taken_for_its_container(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    assert wire.error("DELETE", "/photos/b?restype=container")[:2] == (400, "InvalidUri")
    assert engine.blobs.get("photos", "b").name == "b"


@pytest.mark.parametrize("option", ["?copyid", "x-ms-copy-action"])
def test_the_abort_of_a_copy_has_valid_options(wire: BlobWire, option: str) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    for value in ("", *OF_BLOBS[option].malformed):
        copy_id, action = (value, "abort") if option == "?copyid" else (LEASE, value)
        error = wire.error("PUT", f"/photos/b?comp=copy&copyid={copy_id}", {"x-ms-copy-action": action})
        assert error[:2] == (400, OF_BLOBS[option].code)
    assert wire.error("PUT", "/photos/b?comp=copy")[:2] == (400, "MissingRequiredQueryParameter")
