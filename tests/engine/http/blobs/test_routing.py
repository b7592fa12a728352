"""URLs of blobs, and the responses to URLs that are invalid or unknown."""

from __future__ import annotations

import pytest

from support.blob_requests import BLOCK_BLOB, BlobWire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.call import locate
from tablepatterns_engine.errors import ServiceError

HOST = "https://contoso.blob.core.windows.net"
LOCAL = "http://127.0.0.1:10000/contoso"


@pytest.mark.parametrize("base", [HOST, LOCAL, "https://contoso-secondary.blob.core.windows.net", f"{LOCAL}-secondary"])
@pytest.mark.parametrize(
    ("tail", "found"),
    [
        ("/?comp=list", ("containers", "", "")),
        ("/?restype=service&comp=properties", ("properties", "", "")),
        ("/?restype=account&comp=properties", ("account", "", "")),
        ("/photos?restype=account&comp=properties", ("account", "photos", "")),
        ("/photos?restype=container", ("container", "photos", "")),
        ("/photos/?restype=container&comp=list", ("blobs", "photos", "")),
        ("/photos/don.jpg", ("blob", "photos", "don.jpg")),
        ("/photos/2014/08/don.jpg", ("blob", "photos", "2014/08/don.jpg")),
        ("/photos/2014%2F08%2Fdon.jpg", ("blob", "photos", "2014/08/don.jpg")),
        ("/photos/2014%5C08/don.jpg", ("blob", "photos", "2014/08/don.jpg")),
        ("/photos//don.jpg", ("blob", "photos", "/don.jpg")),
        ("/photos/a%20b%2Bc%25d", ("blob", "photos", "a b+c%d")),
        ("/photos/a+b", ("blob", "photos", "a+b")),
        ("/photos/%C3%A9", ("blob", "photos", "é")),
        ("/don.jpg", ("blob", "$root", "don.jpg")),
        ("/$root/don.jpg", ("blob", "$root", "don.jpg")),
        ("/photos/b?comp=lease", ("lease", "photos", "b")),
        ("/photos/b?comp=page", ("unknown", "photos", "b")),
    ],
)
def test_a_url_names_something(base: str, tail: str, found: tuple[str, str, str]) -> None:
    target = locate(base + tail, "contoso")
    assert (target.kind, target.resource, target.item) == found
    assert target.address.base == base


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"{HOST}/", "InvalidQueryParameterValue"),
        (f"{HOST}/?restype=service", "InvalidQueryParameterValue"),
        (f"{HOST}/photos/%FF", "InvalidUri"),
        (f"{HOST}/photos/b?comp=nothing", "InvalidQueryParameterValue"),
        (f"{HOST}/photos?restype=container&comp=nothing", "InvalidQueryParameterValue"),
        ("https://other.blob.core.windows.net/photos/b", "InvalidUri"),
        ("photos/b", "InvalidUri"),
    ],
)
def test_a_url_that_names_nothing_is_rejected(url: str, code: str) -> None:
    with pytest.raises(ServiceError) as caught:
        locate(url, "contoso")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/photos/b?comp=page"),
        ("GET", "/photos/b?comp=pagelist"),
        ("POST", "/photos/b?comp=query"),
        ("PUT", "/photos/b?comp=undelete"),
        ("PUT", "/photos/b?comp=immutabilityPolicies"),
        ("PUT", "/photos?restype=container&comp=rename"),
        ("GET", "/photos?restype=container&comp=blobs&where=x"),
        ("GET", "/?comp=blobs&where=x"),
        ("POST", "/?restype=service&comp=userdelegationkey"),
    ],
)
def test_what_the_service_does_and_the_engine_does_not_is_said_so(wire: BlobWire, method: str, path: str) -> None:
    assert wire.error(method, path)[:3] == (
        501,
        "NotImplemented",
        "The requested operation is not implemented on the specified resource.",
    )


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("PUT", "/photos/b", {"x-ms-blob-type": "PageBlob"}),
        ("PUT", "/photos/b", {**BLOCK_BLOB, "x-ms-if-tags": "(a = 'b')"}),
        ("PUT", "/photos/b", {"x-ms-copy-source": "https://other.blob.core.windows.net/photos/b"}),
    ],
)
def test_so_are_page_blobs_parentheses_around_tags_and_other_accounts(
    wire: BlobWire, method: str, path: str, headers: dict[str, str]
) -> None:
    assert wire.error(method, path, headers)[:2] == (501, "NotImplemented")


@pytest.mark.parametrize("element", ["DeleteRetentionPolicy", "StaticWebsite"])
def test_so_are_properties_that_would_have_an_effect(wire: BlobWire, element: str) -> None:
    def body(enabled: str) -> str:
        kept = f"<{element}><Enabled>{enabled}</Enabled></{element}>"
        return f"<StorageServiceProperties>{kept}</StorageServiceProperties>"

    path = "/?restype=service&comp=properties"
    assert wire.error("PUT", path, {}, body("true"))[:2] == (501, "NotImplemented")
    assert wire.send("PUT", path, {}, body("false")).status == 202


@pytest.mark.parametrize(("method", "path"), [("PATCH", "/photos/b"), ("POST", "/photos?restype=container")])
def test_a_verb_that_nothing_has_is_rejected(wire: BlobWire, method: str, path: str) -> None:
    assert wire.error(method, path)[:2] == (405, "UnsupportedHttpVerb")


@pytest.mark.parametrize("verb", ["PUT", "DELETE"])
def test_writes_to_the_secondary_are_rejected(wire: BlobWire, verb: str) -> None:
    base = "https://contoso-secondary.blob.core.windows.net"
    assert wire.error(verb, "/photos/b", BLOCK_BLOB, base=base)[:3] == (
        403,
        "InsufficientAccountPermissions",
        "Write operations are not allowed.",
    )


def test_reads_from_the_secondary_are_allowed(wire: BlobWire) -> None:
    wire.send("PUT", "/photos/b", BLOCK_BLOB, b"...")
    base = "https://contoso-secondary.blob.core.windows.net"
    assert wire.send("GET", "/photos/b", base=base).body == b"..."
    stats = wire.xml("GET", "/?restype=service&comp=stats", base=base)
    assert stats.findtext("GeoReplication/Status") == "live"


def test_a_blob_in_the_root_needs_no_container_in_its_url(wire: BlobWire) -> None:
    assert wire.send("PUT", "/$root?restype=container").status == 201
    assert wire.send("PUT", "/don.jpg", BLOCK_BLOB, b"...").status == 201
    assert wire.send("GET", "/$root/don.jpg").body == b"..."


def test_an_address_in_path_style_works_as_well(engine: Engine, wire: BlobWire) -> None:
    assert wire.send("PUT", "/photos/a%20b", BLOCK_BLOB, b"...", base=LOCAL).status == 201
    assert engine.blobs.get("photos", "a b").name == "a b"
    listed = wire.xml("GET", "/photos?restype=container&comp=list", base=LOCAL)
    assert listed.get("ServiceEndpoint") == f"{LOCAL}/"
