"""Exact headers, documents and statuses of blobs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from support.blob_requests import APPEND_BLOB, BASE, BLOCK_BLOB, LEASE, BlobWire, etag
from support.queue_requests import DATE, full_text
from support.table_requests import sign
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.leases import Acquire

BOM = b"\xef\xbb\xbf"
PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>'
MOMENT = "Fri, 22 Aug 2014 00:50:32 GMT"
EVERY = {"Server", "x-ms-request-id", "x-ms-version", "Date"}


def headers_of(response: Any) -> dict[str, str]:
    """Return the headers of an answer but those that every answer has."""
    return {name: value for name, value in response.headers.items() if name not in EVERY}


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
    assert headers_of(wire.send("GET", "/photos/b")) == {**common, **digest}
    head = wire.send("HEAD", "/photos/b")
    assert (headers_of(head), head.body) == ({**common, **digest, **tier}, b"")


def engine_md5(engine: Engine) -> str:
    md5 = engine.blobs.get("photos", "b").headers.md5
    assert md5 is not None
    return b64encode(md5).decode()


def test_an_append_blob_says_how_many_blocks_it_has_and_whether_it_is_sealed(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", APPEND_BLOB)
    appended = headers_of(wire.send("PUT", "/photos/b?comp=appendblock", {}, b"Don"))
    assert (appended["x-ms-blob-append-offset"], appended["x-ms-blob-committed-block-count"]) == ("0", "1")
    assert wire.send("PUT", "/photos/b?comp=seal").headers["x-ms-blob-sealed"] == "true"
    head = headers_of(wire.send("HEAD", "/photos/b"))
    assert (head["x-ms-blob-committed-block-count"], head["x-ms-blob-sealed"]) == ("1", "true")
    assert "x-ms-access-tier" not in head
    (properties,) = wire.xml("GET", "/photos?restype=container&comp=list").iter("Properties")
    assert [element.tag for element in properties][-2:] == ["ServerEncrypted", "Sealed"]


def test_a_snapshot_has_a_tier_and_no_lease(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    answer = wire.send("PUT", "/photos/b?comp=snapshot").headers
    taken = answer["x-ms-snapshot"]
    assert answer["x-ms-request-server-encrypted"] == "false"
    described = wire.send("PUT", "/photos/b?comp=snapshot", {"x-ms-meta-a": "b"})
    assert described.headers["x-ms-request-server-encrypted"] == "true"
    for method in ("HEAD", "GET"):
        headers = headers_of(wire.send(method, f"/photos/b?snapshot={taken}"))
        assert not [name for name in headers if "lease" in name or "snapshot" in name]
    assert wire.send("HEAD", f"/photos/b?snapshot={taken}").headers["x-ms-access-tier-inferred"] == "true"
    wire.send("PUT", f"/photos/b?comp=tier&snapshot={taken}", {"x-ms-access-tier": "Cool"})
    assert wire.send("HEAD", f"/photos/b?snapshot={taken}").headers["x-ms-access-tier"] == "Cool"


def test_the_code_of_a_malformed_snapshot_is_only_in_the_body(wire: BlobWire) -> None:
    response = wire.send("GET", "/photos/b?comp=metadata&snapshot=1")
    assert (response.status, response.body.count(b"<Code>InvalidQueryParameterValue</Code>")) == (400, 1)
    assert "x-ms-error-code" not in response.headers


def test_the_snapshots_of_a_snapshot_cannot_be_deleted(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    moment = wire.send("PUT", "/photos/b?comp=snapshot").headers["x-ms-snapshot"]
    error = wire.error("DELETE", f"/photos/b?snapshot={moment}", {"x-ms-delete-snapshots": "only"})
    assert (error.status, error.code) == (400, "InvalidQueryParameterValue")
    assert error.details == {
        "QueryParameterName": "snapshot",
        "QueryParameterValue": moment,
        "Reason": "This operation is only allowed on the root blob. Snapshot should not be provided.",
    }
    assert wire.send("HEAD", f"/photos/b?snapshot={moment}").status == 200


def test_a_version_has_an_id_and_no_lease(wire: BlobWire, engine: Engine) -> None:
    engine.keep_blob_versions = True
    first, second = [
        wire.send("PUT", "/photos/b", BLOCK_BLOB, body).headers["x-ms-version-id"] for body in (b"1", b"2")
    ]
    taken = wire.send("PUT", "/photos/b?comp=snapshot").headers["x-ms-snapshot"]
    third = wire.send("HEAD", "/photos/b").headers["x-ms-version-id"]
    assert first < second < taken < third
    expected = {"": (third, "true"), f"?snapshot={taken}": (None, None)}
    expected |= {f"?versionid={version}": (version, None) for version in (first, second)}
    expected |= {f"?versionid={third}": (third, "true")}
    for method in ("GET", "HEAD"):
        for query, (version, is_current) in expected.items():
            headers = wire.send(method, f"/photos/b{query}").headers
            assert (headers.get("x-ms-version-id"), headers.get("x-ms-is-current-version")) == (version, is_current)
            # Not even the current version has one if the URL has its id
            assert ("x-ms-lease-state" in headers) is (query == "")
    listed = wire.xml("GET", "/photos?restype=container&comp=list&include=versions").findall("Blobs/Blob")
    assert [[element.tag for element in blob][:3] for blob in listed] == [
        *[["Name", "VersionId", "Properties"]] * 2,
        ["Name", "VersionId", "IsCurrentVersion"],
    ]
    assert [blob.find("Properties/LeaseState") is None for blob in listed] == [True, True, False]


def test_a_deletion_says_whether_anything_is_kept(wire: BlobWire, engine: Engine) -> None:
    def delete(query: str = "", headers: Mapping[str, str] | None = None) -> str:
        return str(wire.send("DELETE", f"/photos/b{query}", headers or {}).headers["x-ms-delete-type-permanent"])

    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    assert delete() == "true"
    engine.keep_blob_versions = True
    version = wire.send("PUT", "/photos/b", BLOCK_BLOB).headers["x-ms-version-id"]
    taken = wire.send("PUT", "/photos/b?comp=snapshot").headers["x-ms-snapshot"]
    assert [delete(f"?versionid={version}"), delete(f"?snapshot={taken}"), delete()] == ["true", "true", "false"]
    wire.send("PUT", "/photos/b?comp=block&blockid=YQ==", {}, b"Don")
    assert delete() == "false"
    assert wire.error("DELETE", "/photos/b")[:2] == (404, "BlobNotFound")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_snapshot_of_a_version_cannot_be_asked_for(wire: BlobWire, method: str) -> None:
    moment = "2001-01-01T00:00:00.0000000Z"
    error = wire.error(method, f"/photos/b?snapshot={moment}&versionid={moment}")
    assert error[:2] == (400, "MutuallyExclusiveQueryParameters")


def test_what_the_engine_cannot_keep_is_disabled_in_the_properties(wire: BlobWire) -> None:
    body = wire.send("GET", "/?restype=service&comp=properties").body
    assert b"<StaticWebsite><Enabled>false</Enabled></StaticWebsite>" in body
    assert b"<Enabled>false</Enabled><AllowPermanentDelete>false</AllowPermanentDelete>" in body


def test_an_error_of_head_promises_no_content(wire: BlobWire) -> None:
    response = wire.send("HEAD", "/photos/missing")
    assert (response.status, response.headers["x-ms-error-code"]) == (404, "BlobNotFound")
    assert (response.headers["Content-Length"], response.body) == ("0", b"")
    assert "Content-Type" not in response.headers


def test_a_tier_that_was_set_is_reported_as_set(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-access-tier": "Cool"})
    head = headers_of(wire.send("HEAD", "/photos/b"))
    assert (head["x-ms-access-tier"], head["x-ms-access-tier-change-time"]) == ("Cool", MOMENT)
    assert "x-ms-access-tier-inferred" not in head
    tiers = ("Archive", "Archive", "Hot")
    statuses = [wire.send("PUT", "/photos/b?comp=tier", {"x-ms-access-tier": tier}).status for tier in tiers]
    assert statuses == [200, 200, 202]


def test_a_lease_is_reported_with_its_duration(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    for duration, word in ((15, "fixed"), (-1, "infinite")):
        engine.blobs.lease("photos", "b", Acquire(duration, UUID(LEASE)))
        head = headers_of(wire.send("HEAD", "/photos/b"))
        assert (head["x-ms-lease-state"], head["x-ms-lease-status"]) == ("leased", "locked")
        assert head["x-ms-lease-duration"] == word


def test_a_copy_says_where_it_came_from(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    answer = wire.send("PUT", "/photos/c", {"x-ms-copy-source": f"{BASE}/photos/b"})
    assert (answer.status, answer.headers["x-ms-copy-status"]) == (202, "success")
    head = headers_of(wire.send("HEAD", "/photos/c"))
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
    assert (made.status, headers_of(made)) == (201, {**version, "Content-Length": "0"})
    assert headers_of(wire.send("GET", "/other?restype=container")) == {
        **version,
        **headers,
        "x-ms-lease-state": "available",
        "x-ms-lease-status": "unlocked",
        "x-ms-default-encryption-scope": "$account-encryption-key",
        "x-ms-deny-encryption-scope-override": "false",
        "x-ms-has-immutability-policy": "false",
        "x-ms-has-legal-hold": "false",
        "Content-Length": "0",
    }
    metadata = headers_of(wire.send("GET", "/other?restype=container&comp=metadata"))
    assert metadata == {**version, "x-ms-meta-Owner": "Don", "Content-Length": "0"}
    acl = wire.send("GET", "/other?restype=container&comp=acl")
    assert headers_of(acl) == {**version, "x-ms-blob-public-access": "blob", "Content-Type": "application/xml"}
    assert acl.body == BOM + f"{PROLOGUE}<SignedIdentifiers />".encode()


def test_the_account_says_what_it_is(wire: BlobWire) -> None:
    version = {"x-ms-version": "2019-07-07"}
    assert headers_of(wire.send("HEAD", "/?restype=account&comp=properties", version)) == {
        "x-ms-sku-name": "Standard_RAGRS",
        "x-ms-account-kind": "StorageV2",
        "x-ms-is-hns-enabled": "false",
        "Content-Length": "0",
    }


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("2017-04-17", {"content-md5"}),
        ("2018-11-09", {"content-md5", "x-ms-creation-time", "x-ms-error-code"}),
        ("2019-02-02", {"x-ms-content-crc64", "x-ms-creation-time", "x-ms-error-code"}),
    ],
)
def test_a_version_has_the_headers_that_came_with_it(wire: BlobWire, version: str, names: set[str]) -> None:
    said = {"x-ms-version": version}
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    responses = [
        wire.send("PUT", "/photos/b?comp=block&blockid=YQ==", said, b"new"),
        wire.send("HEAD", "/photos/log", said),
        wire.send("HEAD", "/photos/none", said),
    ]
    found = {name.lower() for response in responses for name in response.headers}
    assert found & {"content-md5", "x-ms-content-crc64", "x-ms-creation-time", "x-ms-error-code"} == names


# ------------------------------------------------------------------ what writes are told


def test_a_snapshot_has_all_seven_digits(wire: BlobWire, engine: Engine) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"Don")
    taken = wire.send("PUT", "/photos/b?comp=snapshot")
    assert (taken.status, taken.headers["ETag"]) == (201, etag(engine))
    moment = taken.headers["x-ms-snapshot"]
    assert len(moment) == len("2014-08-22T00:50:32.5000001Z")
    assert wire.send("GET", f"/photos/b?snapshot={moment}").body == b"Don"
    assert wire.send("DELETE", f"/photos/b?snapshot={moment}").status == 202
    assert wire.error("GET", f"/photos/b?snapshot={moment}")[:2] == (404, "BlobNotFound")


def test_a_lease_operation_has_the_status_of_its_action(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB)
    other = str(UUID(int=2))

    def act(action: str, **headers: str) -> tuple[int, dict[str, str]]:
        named = {"x-ms-lease-action": action, **{name.replace("_", "-"): value for name, value in headers.items()}}
        response = wire.send("PUT", "/photos/b?comp=lease", named)
        return response.status, {
            name: value for name, value in headers_of(response).items() if name.startswith("x-ms-lease")
        }

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
            f"<Content-Encoding /><Content-Language /><Content-CRC64 /><Content-MD5>{engine_md5(engine)}</Content-MD5>"
            "<Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType>"
            "<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>"
            "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
            "<ServerEncrypted>true</ServerEncrypted><TagCount>1</TagCount></Properties>"
            "<Metadata><Owner>D&amp;n</Owner></Metadata>"
            "<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags><OrMetadata /></Blob>"
            "<Blob><Name>c</Name><Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType>"
            "<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>"
            "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
            "<ServerEncrypted>false</ServerEncrypted></Properties><OrMetadata /></Blob></Blobs>"
            "<NextMarker /></EnumerationResults>"
        ).encode()
    )


def test_a_list_contains_leases_copies_tiers_snapshots_and_seals(wire: BlobWire, engine: Engine) -> None:
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
            "<DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope>"
            "<DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>"
            "<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>"
            "<ImmutableStorageWithVersioningEnabled>false</ImmutableStorageWithVersioningEnabled></Properties>"
            "<Metadata><Owner>Don</Owner></Metadata></Container></Containers><NextMarker /></EnumerationResults>"
        ).encode()
    )


def test_a_name_that_xml_cannot_say_is_encoded(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/a%01b", BLOCK_BLOB)
    wire.send("PUT", "/photos/a/%EF%BF%BF", BLOCK_BLOB)
    names = [
        (name.get("Encoded"), name.text) for name in wire.xml("GET", "/photos?restype=container&comp=list").iter("Name")
    ]
    assert names == [("true", "a%01b"), ("true", "a%2F%EF%BF%BF")]


def test_the_values_of_a_list_may_be_given_one_by_one(wire: BlobWire) -> None:
    """The documentation of signatures has this request: its values are signed in order, and joined by commas."""
    wire.send("PUT", "/photos/staged?comp=block&blockid=YQ==", {}, b"one")
    path = "/photos?restype=container&comp=list&include=snapshots&include=metadata&include=uncommittedblobs"
    joined = "/photos?restype=container&comp=list&include=metadata,snapshots,uncommittedblobs"
    headers = {"x-ms-date": DATE}
    signature = sign(wire.engine, full_text("contoso", "GET", wire.base + joined, headers))
    response = wire.send("GET", path, {**headers, "authorization": f"SharedKey contoso:{signature}"}, signed=False)
    assert response.status == 200
    assert b"staged" in response.body
    assert response.body == wire.send("GET", joined).body
