"""What travels over the wire, to the letter: headers, documents, statuses."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from uuid import UUID

import pytest

from blob_wire import APPEND_BLOB, BLOCK_BLOB, BlobWire
from queue_wire import said_by
from tablepatterns.engine.account import Engine
from tablepatterns.engine.leases import Acquire
from tablepatterns.limits import MAX_APPEND_BYTES

BOM = b"\xef\xbb\xbf"
PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>'
MOMENT = "Fri, 22 Aug 2014 00:50:32 GMT"
LEASE = str(UUID(int=1))
EVERY = {"Server", "x-ms-request-id", "x-ms-version", "Date"}
BASE = "https://contoso.blob.core.windows.net"


def told(response: Any) -> dict[str, str]:
    """Return the headers of an answer but those that every answer has."""
    return {name: value for name, value in response.headers.items() if name not in EVERY}


def etag(engine: Engine, name: str = "b") -> str:
    return engine.blobs.get("photos", name).etag


# ------------------------------------------------------------------ what reads are told


def test_a_blob_says_all_of_itself(wire: BlobWire, engine: Engine) -> None:
    said = {
        "x-ms-blob-content-type": "image/jpeg",
        "x-ms-blob-content-encoding": "identity",
        "x-ms-blob-content-language": "en",
        "x-ms-blob-content-disposition": "inline",
        "x-ms-blob-cache-control": "no-store",
    }
    wire.send("PUT", "/photos/b", {**BLOCK_BLOB, **said, "x-ms-meta-Owner": "Don", "x-ms-tags": "a=b&c=d"}, b"Don")
    common = {
        "ETag": etag(engine),
        "Last-Modified": MOMENT,
        "x-ms-creation-time": MOMENT,
        "x-ms-meta-Owner": "Don",
        "x-ms-tag-count": "2",
        "x-ms-blob-type": "BlockBlob",
        "x-ms-lease-state": "available",
        "x-ms-lease-status": "unlocked",
        "x-ms-server-encrypted": "true",
        "Accept-Ranges": "bytes",
        "Content-Type": "image/jpeg",
        "Content-Encoding": "identity",
        "Content-Language": "en",
        "Content-Disposition": "inline",
        "Cache-Control": "no-store",
        "Content-Length": "3",
    }
    digest = {"Content-MD5": engine_md5(engine)}
    tier = {"x-ms-access-tier": "Hot", "x-ms-access-tier-inferred": "true"}
    assert told(wire.send("GET", "/photos/b")) == {**common, **digest}
    head = wire.send("HEAD", "/photos/b")
    assert (told(head), head.body) == ({**common, **digest, **tier}, b"")


def engine_md5(engine: Engine) -> str:
    md5 = engine.blobs.get("photos", "b").headers.md5
    assert md5 is not None
    return b64encode(md5).decode()


def test_an_append_blob_says_how_many_blocks_it_has_and_whether_it_is_sealed(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", APPEND_BLOB)
    appended = told(wire.send("PUT", "/photos/b?comp=appendblock", {}, b"Don"))
    assert (appended["x-ms-blob-append-offset"], appended["x-ms-blob-committed-block-count"]) == ("0", "1")
    assert wire.send("PUT", "/photos/b?comp=seal").headers["x-ms-blob-sealed"] == "true"
    head = told(wire.send("HEAD", "/photos/b"))
    assert (head["x-ms-blob-committed-block-count"], head["x-ms-blob-sealed"]) == ("1", "true")
    assert "x-ms-access-tier" not in head


def test_a_tier_that_was_asked_for_is_told_as_such(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-access-tier": "Cool"})
    head = told(wire.send("HEAD", "/photos/b"))
    assert (head["x-ms-access-tier"], head["x-ms-access-tier-change-time"]) == ("Cool", MOMENT)
    assert "x-ms-access-tier-inferred" not in head
    tiers = ("Archive", "Archive", "Hot")
    statuses = [wire.send("PUT", "/photos/b?comp=tier", {"x-ms-access-tier": tier}).status for tier in tiers]
    assert statuses == [200, 200, 202]


def test_a_lease_is_told_with_its_duration(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    for duration, word in ((15, "fixed"), (-1, "infinite")):
        engine.blobs.lease("photos", "b", Acquire(duration, UUID(LEASE)))
        head = told(wire.send("HEAD", "/photos/b"))
        assert (head["x-ms-lease-state"], head["x-ms-lease-status"]) == ("leased", "locked")
        assert head["x-ms-lease-duration"] == word


def test_a_copy_says_where_it_came_from(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    answer = wire.send("PUT", "/photos/c", {"x-ms-copy-source": f"{BASE}/photos/b"})
    assert (answer.status, answer.headers["x-ms-copy-status"]) == (202, "success")
    head = told(wire.send("HEAD", "/photos/c"))
    assert {name: value for name, value in head.items() if "copy" in name} == {
        "x-ms-copy-id": answer.headers["x-ms-copy-id"],
        "x-ms-copy-source": f"{BASE}/photos/b",
        "x-ms-copy-status": "success",
        "x-ms-copy-progress": "3/3",
        "x-ms-copy-completion-time": MOMENT,
    }


def test_a_container_says_all_of_itself(wire: BlobWire, engine: Engine) -> None:
    headers = {"x-ms-meta-Owner": "Don", "x-ms-blob-public-access": "blob"}
    made = wire.send("PUT", "/other?restype=container", headers)
    version = {"ETag": engine.blobs.containers.get("other").etag, "Last-Modified": MOMENT}
    assert (made.status, told(made)) == (201, {**version, "Content-Length": "0"})
    assert told(wire.send("GET", "/other?restype=container")) == {
        **version,
        **headers,
        "x-ms-lease-state": "available",
        "x-ms-lease-status": "unlocked",
        "x-ms-has-immutability-policy": "false",
        "x-ms-has-legal-hold": "false",
        "Content-Length": "0",
    }
    metadata = told(wire.send("GET", "/other?restype=container&comp=metadata"))
    assert metadata == {**version, "x-ms-meta-Owner": "Don", "Content-Length": "0"}
    acl = wire.send("GET", "/other?restype=container&comp=acl")
    assert told(acl) == {**version, "x-ms-blob-public-access": "blob", "Content-Type": "application/xml"}
    assert acl.body == BOM + f"{PROLOGUE}<SignedIdentifiers />".encode()


def test_the_account_says_what_it_is(wire: BlobWire) -> None:
    assert told(wire.send("HEAD", "/?restype=account&comp=properties")) == {
        "x-ms-sku-name": "Standard_RAGRS",
        "x-ms-account-kind": "StorageV2",
        "x-ms-is-hns-enabled": "false",
        "Content-Length": "0",
    }


# ------------------------------------------------------------------ what writes are told


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("PUT", "/photos/b?comp=metadata", {}, "", 200),
        ("PUT", "/photos/b?comp=properties", {}, "", 200),
        ("PUT", "/photos/b?comp=blocklist", {}, "<BlockList />", 201),
        ("PUT", "/photos/b", APPEND_BLOB, "", 201),
    ],
)
def test_a_write_is_told_the_version_that_it_made(
    wire: BlobWire, engine: Engine, method: str, path: str, headers: dict[str, str], body: str, status: int
) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    before = etag(engine)
    response = wire.send(method, path, headers, body)
    assert (response.status, response.headers["ETag"], response.headers["Last-Modified"]) == (
        status,
        etag(engine),
        MOMENT,
    )
    assert etag(engine) != before


def test_a_snapshot_has_all_seven_digits(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    taken = wire.send("PUT", "/photos/b?comp=snapshot")
    assert (taken.status, taken.headers["ETag"]) == (201, etag(engine))
    moment = taken.headers["x-ms-snapshot"]
    assert len(moment) == len("2014-08-22T00:50:32.5000001Z")
    assert wire.send("GET", f"/photos/b?snapshot={moment}").body == b"Don"
    assert wire.send("DELETE", f"/photos/b?snapshot={moment}").status == 202
    assert wire.refusal("GET", f"/photos/b?snapshot={moment}")[:2] == (404, "BlobNotFound")


def test_a_lease_operation_has_the_status_of_its_action(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    other = str(UUID(int=2))

    def act(action: str, **headers: str) -> tuple[int, dict[str, str]]:
        named = {"x-ms-lease-action": action, **{name.replace("_", "-"): value for name, value in headers.items()}}
        response = wire.send("PUT", "/photos/b?comp=lease", named)
        return response.status, {name: value for name, value in told(response).items() if name.startswith("x-ms-lease")}

    acquired = act("acquire", x_ms_lease_duration="60", x_ms_proposed_lease_id=f"{{{LEASE.upper()}}}")
    assert acquired == (201, {"x-ms-lease-id": LEASE})
    assert act("renew", x_ms_lease_id=LEASE) == (200, {"x-ms-lease-id": LEASE})
    changed = act("change", x_ms_lease_id=LEASE, x_ms_proposed_lease_id=other)
    assert changed == (200, {"x-ms-lease-id": other})
    assert act("break", x_ms_lease_break_period="5") == (202, {"x-ms-lease-time": "5"})
    assert act("release", x_ms_lease_id=other) == (200, {})


# ------------------------------------------------------------------ lists


def test_a_list_of_blobs_is_this_document(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/a/1", BLOCK_BLOB)
    headers = {**BLOCK_BLOB, "x-ms-meta-Owner": "D&n", "x-ms-tags": "k=v"}
    wire.send("PUT", "/photos/b", headers, b"Don")
    wire.send("PUT", "/photos/c?comp=block&blockid=YQ==", {}, b"Don")
    response = wire.send(
        "GET",
        "/photos?restype=container&comp=list&delimiter=%2F&maxresults=9&include=metadata,tags,uncommittedblobs",
    )
    assert response.headers["Content-Type"] == "application/xml"
    assert (
        response.body
        == BOM
        + (
            f'{PROLOGUE}<EnumerationResults ServiceEndpoint="{BASE}/" ContainerName="photos">'
            "<MaxResults>9</MaxResults><Delimiter>/</Delimiter>"
            "<Blobs><BlobPrefix><Name>a/</Name></BlobPrefix>"
            f"<Blob><Name>b</Name><Properties><Creation-Time>{MOMENT}</Creation-Time>"
            f"<Last-Modified>{MOMENT}</Last-Modified><Etag>{etag(engine)[1:-1]}</Etag>"
            "<Content-Length>3</Content-Length><Content-Type>application/octet-stream</Content-Type>"
            f"<Content-Encoding /><Content-Language /><Content-MD5>{engine_md5(engine)}</Content-MD5>"
            "<Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType>"
            "<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>"
            "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState><TagCount>1</TagCount>"
            "<ServerEncrypted>true</ServerEncrypted></Properties>"
            "<Metadata><Owner>D&amp;n</Owner></Metadata>"
            "<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags></Blob>"
            "<Blob><Name>c</Name><Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType>"
            "</Properties></Blob></Blobs><NextMarker /></EnumerationResults>"
        ).encode()
    )


def test_a_list_tells_leases_copies_tiers_snapshots_and_seals(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-access-tier": "Cool"})
    wire.send("PUT", "/photos/b?comp=snapshot")
    engine.blobs.lease("photos", "b", Acquire(15))
    wire.send("PUT", "/photos/c", {"x-ms-copy-source": f"{BASE}/photos/b"})
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    wire.send("PUT", "/photos/log?comp=seal")
    listed = wire.xml("GET", "/photos?restype=container&comp=list&include=copy,snapshots")
    snapshot, blob, copy, log = listed.iterfind("Blobs/Blob")
    assert (snapshot.findtext("Name"), blob.findtext("Name")) == ("b", "b")
    assert snapshot.findtext("Snapshot")
    assert blob.find("Snapshot") is None
    assert snapshot.find("Properties/LeaseState") is None
    lease = [blob.findtext(f"Properties/Lease{name}") for name in ("Status", "State", "Duration")]
    assert lease == ["locked", "leased", "fixed"]
    assert blob.findtext("Properties/AccessTier") == "Cool"
    assert (copy.findtext("Properties/CopyStatus"), copy.findtext("Properties/CopyProgress")) == ("success", "0/0")
    assert (log.findtext("Properties/Sealed"), log.find("Properties/AccessTier")) == ("true", None)


def test_a_list_of_containers_is_this_document(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos?restype=container&comp=metadata", {"x-ms-meta-Owner": "Don"})
    response = wire.send("GET", "/?comp=list&prefix=ph&include=metadata")
    assert (
        response.body
        == BOM
        + (
            f'{PROLOGUE}<EnumerationResults ServiceEndpoint="{BASE}/"><Prefix>ph</Prefix><Containers>'
            f"<Container><Name>photos</Name><Properties><Last-Modified>{MOMENT}</Last-Modified>"
            f"<Etag>{engine.blobs.containers.get('photos').etag}</Etag>"
            "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
            "<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold></Properties>"
            "<Metadata><Owner>Don</Owner></Metadata></Container></Containers><NextMarker /></EnumerationResults>"
        ).encode()
    )


def test_a_name_that_xml_cannot_say_is_encoded(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/a%01b", BLOCK_BLOB)
    wire.send("PUT", "/photos/a%EF%BF%BF", BLOCK_BLOB)
    names = [
        (name.get("Encoded"), name.text) for name in wire.xml("GET", "/photos?restype=container&comp=list").iter("Name")
    ]
    assert names == [("true", "a%01b"), ("true", "a%EF%BF%BF")]


@pytest.mark.parametrize("path", ["/?comp=list", "/photos?restype=container&comp=list"])
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("maxresults=0", "OutOfRangeQueryParameterValue"),
        ("maxresults=-1", "OutOfRangeQueryParameterValue"),
        ("maxresults=x", "InvalidQueryParameterValue"),
        ("marker=x", "InvalidMarker"),
        ("marker=1!4!YQ--", "InvalidMarker"),
    ],
)
def test_a_page_that_cannot_be_is_refused(wire: BlobWire, path: str, options: str, code: str) -> None:
    assert wire.refusal("GET", f"{path}&{options}")[:2] == (400, code)


@pytest.mark.parametrize("options", ["include=x", "include=snapshots&delimiter=%2F"])
def test_what_cannot_be_included_is_refused(wire: BlobWire, options: str) -> None:
    said = wire.refusal("GET", f"/photos?restype=container&comp=list&{options}")
    assert said[:2] == (400, "InvalidQueryParameterValue")
    assert said.details["QueryParameterName"] == "include"


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
